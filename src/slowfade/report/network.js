"use strict";
// The network in the page: the forward pass of a trained model, one sequence at a time, in double precision.
// It runs in a worker, so that the page answers while it computes. The tests hold it to PyTorch's own numbers.

const sigmoid = (z) => 1 / (1 + Math.exp(-z));

// A cell takes the pre-activations z of all gates (blocks of H), moves h and c on by one step, and writes what it
// shows of every unit to `seen`, one array of H per name.
const CELLS = {
  // src/slowfade/gate.py has the equations.
  powerlaw: {
    seen: ["reset", "age", "forget", "cell"],
    step(layer, z, h, c, age, dt, [reset, ages, forget, cell]) {
      const { units, power, epsilon, coupled } = layer;
      for (let j = 0; j < units; j++) {
        const r = sigmoid(z[j]), q = sigmoid(-z[j]), o = sigmoid(z[units + j]), g = Math.tanh(z[2 * units + j]);
        const denominator = q * (age[j] + dt) + 1;
        const ratio = (q * (age[j] + 1) + epsilon) / denominator;
        const logRatio = ratio > 0.5 ? Math.log1p((epsilon - (r + q * dt)) / denominator) : Math.log(ratio);
        const f = Math.exp(power[j] * logRatio);
        const i = coupled ? -Math.expm1(power[j] * logRatio) : sigmoid(z[3 * units + j]);
        c[j] = f * c[j] + i * g;
        age[j] = q * (age[j] + dt);
        h[j] = o * Math.tanh(c[j]);
        reset[j] = r; ages[j] = age[j]; forget[j] = f; cell[j] = c[j];
      }
    },
  },
  lstm: {
    seen: ["input", "output", "forget", "cell"],
    step({ units }, z, h, c, age, dt, [input, output, forget, cell]) {
      for (let j = 0; j < units; j++) {
        input[j] = sigmoid(z[j]);
        forget[j] = sigmoid(z[units + j]);
        output[j] = sigmoid(z[3 * units + j]);
        c[j] = forget[j] * c[j] + input[j] * Math.tanh(z[2 * units + j]);
        h[j] = output[j] * Math.tanh(c[j]);
        cell[j] = c[j];
      }
    },
  },
};

// out = W x + start, for a matrix of rows. Four rows at a time: x is read once for the four of them, and no sum waits
// for its own last addition.
function affine(out, weight, x, start) {
  const width = x.length, whole = out.length - (out.length % 4);
  let row = 0, at = 0;
  for (; row < whole; row += 4, at += 4 * width) {
    let a = start[row], b = start[row + 1], c = start[row + 2], d = start[row + 3];
    for (let k = 0, i = at; k < width; k++, i++) {
      const value = x[k];
      a += weight[i] * value;
      b += weight[i + width] * value;
      c += weight[i + 2 * width] * value;
      d += weight[i + 3 * width] * value;
    }
    out[row] = a; out[row + 1] = b; out[row + 2] = c; out[row + 3] = d;
  }
  for (; row < out.length; row++, at += width) {
    let sum = start[row];
    for (let k = 0; k < width; k++) sum += weight[at + k] * x[k];
    out[row] = sum;
  }
}

function encoded(encoder, sequence, t) {
  if (encoder.width === undefined) return sequence.inputs[t];
  const symbol = sequence.inputs[t], { table, width } = encoder;
  if (table) return table.subarray(symbol * width, (symbol + 1) * width);
  const oneHot = new Float32Array(width);
  oneHot[symbol] = 1;
  return oneHot;
}

// Run a model over a sequence with some units of its last layer held at zero.
// Returns what the last layer's cell shows, (T, H) each by name, and the head's output at every step, (T, O).
function run(model, sequence, off = [], report = () => {}) {
  const steps = sequence.inputs.length, last = model.layers.length - 1, { units } = model.layers[last];
  const cell = CELLS[model.cell], outputs = model.head.bias.length;
  const seen = cell.seen.map(() => new Float32Array(steps * units));
  const prediction = new Float32Array(steps * outputs);
  const states = model.layers.map((layer) => ({
    h: new Float64Array(layer.units), c: new Float64Array(layer.units), age: new Float64Array(layer.units),
    z: new Float64Array(layer.bias.length),
  }));
  const hidden = cell.seen.map(() => new Float32Array(units));
  const answer = new Float64Array(outputs);
  for (let t = 0; t < steps; t++) {
    const dt = sequence.dt ? sequence.dt[t] : 1;
    let x = encoded(model.encoder, sequence, t);
    model.layers.forEach((layer, n) => {
      const { h, c, age, z } = states[n];
      affine(z, layer.ih, x, layer.bias);
      affine(z, layer.hh, h, z);
      const shown = n === last ? seen.map((values) => values.subarray(t * units, (t + 1) * units)) : hidden;
      cell.step(layer, z, h, c, age, dt, n === last ? shown : hiddenOf(layer, hidden));
      if (n === last) for (const unit of off) h[unit] = 0;
      x = h;
    });
    affine(answer, model.head.weight, x, model.head.bias);
    prediction.set(answer, t * outputs);
    if (t % 50 === 0) report(t / steps);
  }
  return { seen: Object.fromEntries(cell.seen.map((name, n) => [name, seen[n]])), prediction };
}

// Layers below the last are computed and not shown; they may have another number of units.
function hiddenOf(layer, hidden) {
  return hidden[0].length >= layer.units ? hidden : hidden.map(() => new Float32Array(layer.units));
}

// Weights travel as base64 of little-endian float32.
function floats(text) {
  return new Float32Array(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer);
}

function unpacked(model) {
  const layer = ({ ih, hh, bias, power, ...rest }) =>
    ({ ...rest, ih: floats(ih), hh: floats(hh), bias: floats(bias), power: power && floats(power) });
  const { head, encoder } = model;
  return {
    ...model,
    layers: model.layers.map(layer),
    head: { weight: floats(head.weight), bias: floats(head.bias) },
    encoder: { ...encoder, table: encoder.table && floats(encoder.table) },
  };
}

// In the worker: {model} first, then {sequence, off} for each run. What comes back is {share} while it runs, then the result.
if (typeof WorkerGlobalScope !== "undefined") {
  let model;
  self.onmessage = ({ data }) => {
    if (data.model) {
      model = unpacked(data.model);
      return;
    }
    const result = run(model, data.sequence, data.off, (share) => self.postMessage({ share }));
    const buffers = [...Object.values(result.seen), result.prediction].map((values) => values.buffer);
    self.postMessage({ result }, buffers);
  };
}
