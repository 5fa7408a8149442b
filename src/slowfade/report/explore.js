"use strict";
// The explorer's page. `data` is what explore.py put into it; network.js computes in a worker.

const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const units = data.model.layers.at(-1).units;
const left = floats(data.decay.left); // (times, units)
const REMEMBERED = [10, 100, 1000];

const state = {
  sequence: null,
  unit: null,
  off: new Set(),
  base: null, // the run with all units on
  now: null, // the run with those units off
};

// ---- computing ----

const worker = new Worker(
  URL.createObjectURL(new Blob([element("network").textContent], { type: "text/javascript" })));
worker.postMessage({ model: data.model });

function compute(sequence, off) {
  return new Promise((resolve) => {
    worker.onmessage = ({ data: message }) => {
      if (message.result) resolve({ ...message.result, sequence });
      else element("busy").value = message.share;
    };
    worker.postMessage({ sequence, off });
  });
}

// One run at a time; what is asked for meanwhile is computed when it is over, and only the latest of it.
let running = false, asked = false;
async function update() {
  asked = true;
  if (running) return;
  running = true;
  element("busy").hidden = false;
  while (asked) {
    asked = false;
    const { sequence } = state, off = [...state.off];
    const base = state.base?.sequence === sequence ? state.base : await compute(sequence, []);
    const now = off.length ? await compute(sequence, off) : base;
    Object.assign(state, { base, now });
  }
  running = false;
  element("busy").hidden = true;
  draw();
}

// ---- sequences ----

async function sequenceOf(number) {
  if (number < data.sequences.length) return data.sequences[number];
  const answer = await fetch(`sequence/${number}`);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

async function choose(number) {
  const last = (data.served ? data.size : data.sequences.length) - 1;
  number = Math.min(Math.max(0, Math.trunc(number) || 0), last);
  element("number").value = number;
  try {
    show(await sequenceOf(number));
  } catch (error) {
    say(`sequence ${number} cannot be had: ${error.message}`);
  }
}

function show(sequence) {
  say("");
  state.sequence = sequence;
  const last = sequence.inputs.length - 1;
  element("at").max = last;
  element("at").value = sequence.asked > 0 ? sequence.asked - 1 : last;
  update();
}

// A text as inputs: by characters, or by words as src/slowfade/data/tokens.py splits them.
const READERS = {
  characters(text) {
    const known = new Map(data.inputNames.map((name, symbol) => [name, symbol]));
    const characters = [...text.toLowerCase().replaceAll(" ", "_")].map((name) => (name === "\n" ? "↵" : name));
    const inputs = characters.filter((name) => known.has(name)).map((name) => known.get(name));
    const targets = [...inputs.slice(1), -1];
    return { inputs, targets, passed: characters.length - inputs.length };
  },
  words(text) {
    const known = new Map(data.inputNames.map((name, symbol) => [name, symbol]));
    const words = tokenise(text);
    const inputs = words.map((word) => known.get(word) ?? data.inputNames.length - 1);
    return { inputs, target: null, words, passed: 0 };
  },
};

const PLAIN = {
  "’": "'", "´": "'", "\x91": "'", "\x92": "'", "\x93": '"', "\x94": '"', "\x85": "...", "\x96": " -- ", "\x97": " -- ",
};
const CONTRACTIONS = /(?<=[\p{L}\p{N}])(n't|'(?:s|m|d|ll|re|ve))(?![\p{L}\p{N}_])/gu;
const TOKENS = new RegExp([
  String.raw`n't|'(?:s|m|d|ll|re|ve)(?![\p{L}\p{N}_])`,
  String.raw`(?:\p{L}\.){2,}`,
  String.raw`\p{Nd}+(?:[.,:]\p{Nd}+)*`,
  String.raw`[\p{L}\p{N}]+(?:[-'][\p{L}\p{N}]+)*`,
  String.raw`\.\.\.|--|[^\p{L}\p{N}_\s]`,
].join("|"), "gu");

function tokenise(text) {
  const plain = text.toLowerCase().replaceAll("<br />", " ").replace(/[’´\x91-\x94\x85\x96\x97]/g, (sign) => PLAIN[sign]);
  return plain.replace(CONTRACTIONS, " $1").match(TOKENS) ?? [];
}

function read(text) {
  const { passed, ...sequence } = READERS[data.reads](text);
  if (!sequence.inputs.length) return say("there is nothing in this text that the network knows");
  const cut = sequence.inputs.length > data.steps;
  for (const name of ["inputs", "targets", "words"]) sequence[name] = sequence[name]?.slice(0, data.steps);
  show({ asked: 0, ...sequence });
  const notes = [];
  if (passed) notes.push(`${passed} characters that the network does not know were passed over`);
  if (cut) notes.push(`the text was cut after ${data.steps} steps`);
  say(notes.join("; "));
}

function say(text) {
  element("notice").textContent = text;
}

// ---- what the network says ----

const outputs = data.model.head.outputs;
const kind = data.outputNames === null ? "number" : outputs === 1 ? "binary" : "classes";

// The probabilities at step t, one per class; or the number itself.
function answer(run, t) {
  const logits = run.prediction.subarray(t * outputs, (t + 1) * outputs);
  if (kind === "number") return logits;
  if (kind === "binary") return [1 - sigmoid(logits[0]), sigmoid(logits[0])];
  const largest = Math.max(...logits), powers = Array.from(logits, (logit) => Math.exp(logit - largest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

const best = (probabilities) => probabilities.indexOf(Math.max(...probabilities));

// Which class the curve of the prediction is about at step t: what should be said, or else what is said at last.
function subject(run, t) {
  const { sequence } = run;
  if (kind === "number") return 0;
  if (data.everyStep) return sequence.targets[t];
  return kind === "binary" ? 1 : sequence.target ?? best(answer(state.base, sequence.inputs.length - 1));
}

function curve(run) {
  return run.sequence.inputs.map((_, t) => {
    const of = subject(run, t);
    return of < 0 ? null : answer(run, t)[of];
  });
}

// How many of the answers that count are right.
function score(run) {
  const { targets, asked } = run.sequence;
  let right = 0, count = 0;
  targets.forEach((target, t) => {
    if (t < asked || target < 0) return;
    count += 1;
    right += best(answer(run, t)) === target;
  });
  return `${right} of ${count} right`;
}

// ---- drawing ----

const ORDERS = {
  decay: () => (u) => -left[data.decay.times.indexOf(100) * units + u],
  reset: () => {
    const { age } = state.base.seen, at = Number(element("at").value);
    return (u) => -age[at * units + u];
  },
  unit: () => (u) => u,
};

function order() {
  const key = ORDERS[element("order").value]();
  return Array.from({ length: units }, (_, u) => u).sort((a, b) => key(a) - key(b) || a - b);
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const layout = (more) => ({
  paper_bgcolor: "transparent", plot_bgcolor: "transparent", font: { color: css("--ink"), size: 12 },
  margin: { l: 46, r: 12, t: 28, b: 36 }, showlegend: false, hoverlabel: { namelength: -1 }, ...more,
});
const axis = (more) => ({ gridcolor: css("--rule"), zerolinecolor: css("--rule"), linecolor: css("--rule"), ...more });
const CONFIG = { displaylogo: false, responsive: true, displayModeBar: false };
const BLUE = "#0072b2", ORANGE = "#d55e00";

const RANGES = {
  age: (values) => [0, extreme(values) || 1],
  cell: (values) => [-extreme(values) || -1, extreme(values) || 1],
};
function extreme(values) {
  let most = 0;
  for (const value of values) if (Math.abs(value) > most) most = Math.abs(value);
  return most;
}

let shown = []; // the units in the order of the heat maps
function drawMaps() {
  shown = order();
  const { seen, sequence } = state.now, steps = sequence.inputs.length;
  const names = shown.map((u) => `unit ${u}`), x = Array.from({ length: steps }, (_, t) => t);
  const traces = [], axes = {}, notes = [];
  Object.keys(seen).forEach((name, n) => {
    const suffix = n ? n + 1 : "", [low, high] = (RANGES[name] ?? (() => [0, 1]))(seen[name]);
    const z = shown.map((u) => {
      const row = new Float32Array(steps);
      for (let t = 0; t < steps; t++) row[t] = seen[name][t * units + u];
      return row;
    });
    const right = n % 2, below = n > 1;
    traces.push({
      type: "heatmap", name, z, x, y: names, xaxis: `x${suffix}`, yaxis: `y${suffix}`, zmin: low, zmax: high, zauto: false,
      colorscale: name === "cell" ? "RdBu" : "Cividis",
      colorbar: { thickness: 8, len: 0.42, x: right ? 1.0 : 0.465, y: below ? 0.21 : 0.79, outlinewidth: 0, tickfont: { size: 10 } },
      hovertemplate: `%{y}, step %{x}: ${name} %{z:.4g}<extra></extra>`,
    });
    axes[`xaxis${suffix}`] = axis({ domain: right ? [0.54, 0.99] : [0, 0.45], anchor: `y${suffix}`, matches: n ? "x" : undefined,
      title: below ? { text: "step" } : undefined, showgrid: false });
    axes[`yaxis${suffix}`] = axis({ domain: below ? [0, 0.44] : [0.54, 0.98], anchor: `x${suffix}`, matches: n ? "y" : undefined,
      autorange: "reversed", showticklabels: false, ticks: "", showgrid: false, title: right ? undefined : { text: "units", standoff: 4 } });
    notes.push({ text: `<b>${name}</b>`, x: right ? 0.54 : 0, y: below ? 0.46 : 1.0, xref: "paper", yref: "paper",
      xanchor: "left", yanchor: "bottom", showarrow: false });
  });
  const row = shown.indexOf(state.unit);
  const marks = row < 0 ? [] : traces.map(({ xaxis, yaxis }) => ({
    type: "rect", xref: xaxis.replace("axis", ""), yref: yaxis, x0: -0.5, x1: steps - 0.5, y0: row - 0.5, y1: row + 0.5,
    line: { color: ORANGE, width: 1.5 },
  }));
  const plot = element("maps");
  Plotly.react(plot, traces, layout({ ...axes, annotations: notes, shapes: marks, height: 640, margin: { l: 30, r: 44, t: 22, b: 36 },
    datarevision: traces }), CONFIG);
  plot.removeAllListeners?.("plotly_click");
  plot.on("plotly_click", ({ points }) => pick(Number(points[0].y.slice(5))));
}

function drawPrediction() {
  const { base, now } = state, { sequence } = now, steps = sequence.inputs.length;
  const x = Array.from({ length: steps }, (_, t) => t), off = state.off.size;
  const line = (run, name, colour, dash) => ({ x, y: curve(run), name, mode: "lines", line: { color: colour, dash, width: 1.8 },
    hovertemplate: `step %{x}: %{y:.3f}<extra>${name}</extra>` });
  const traces = [line(base, "all units", BLUE)];
  if (off) traces.push(line(now, `${off} off`, ORANGE, "dot"));
  const about = kind === "number" ? "the number said"
    : data.everyStep ? "probability of what should be said"
    : `probability of “${data.outputNames[subject(base, 0)]}” if the sequence ended here`;
  const y = kind === "number" ? {} : { range: [-0.02, 1.02] };
  Plotly.react("prediction", traces, layout({ height: 220, showlegend: off > 0, legend: { orientation: "h", x: 1, xanchor: "right", y: 1.18 },
    title: { text: about, font: { size: 13 }, x: 0, xref: "paper" }, xaxis: axis({ title: { text: "step" }, range: [-0.5, steps - 0.5] }), yaxis: axis(y) }), CONFIG);

  const verdict = [];
  if (data.everyStep) {
    verdict.push(`all units: ${score(base)}`);
    if (off) verdict.push(`${off} off: ${score(now)}`);
  } else if (sequence.target !== null && sequence.target !== undefined) {
    verdict.push(`should be: ${data.outputNames ? data.outputNames[sequence.target] : sequence.target.toFixed(3)}`);
  }
  element("verdict").textContent = verdict.join(" · ");
  element("classes").hidden = data.everyStep;
  if (!data.everyStep) drawClasses(off);
}

// The answer after the last step, of each class.
function drawClasses(off) {
  const { base, now } = state, last = base.sequence.inputs.length - 1;
  const [all, some] = [answer(base, last), answer(now, last)];
  const cell = (value) => `<td class="number">${kind === "number" ? value.toFixed(3) : `${(100 * value).toFixed(1)} %`}</td>`;
  const row = (name, n) => `<tr><td>${escaped(name)}</td>${cell(all[n])}${off ? cell(some[n]) : ""}</tr>`;
  element("classes").innerHTML = `<thead><tr><th>after the last step</th><th class="number">all units</th>` +
    `${off ? `<th class="number">${off} off</th>` : ""}</tr></thead><tbody>${(data.outputNames ?? ["the number"]).map(row).join("")}</tbody>`;
}

const escaped = (text) => text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);

// The sequence itself, step by step: symbols with what is said at each, words, or curves of numbers.
function drawReading() {
  const { now } = state, { sequence } = now, names = data.inputNames;
  element("numbers").hidden = names !== null;
  element("reading").hidden = names === null;
  if (names === null) return drawNumbers(sequence);
  const probabilities = curve(now);
  const shade = (t) => probabilities[t] === null ? "" : `background: color-mix(in srgb, ${BLUE} ${Math.round(55 * probabilities[t])}%, transparent)`;
  const columns = data.everyStep;
  element("reading").classList.toggle("words", !columns);
  element("reading").innerHTML = sequence.inputs.map((symbol, t) => {
    const input = escaped(sequence.words?.[t] ?? names[symbol]);
    if (!columns) return `<span style="${shade(t)}" title="step ${t}: ${probabilities[t].toFixed(3)}">${input}</span>`;
    const target = sequence.targets[t], said = data.outputNames[best(answer(now, t))];
    const wrong = target >= 0 && data.outputNames[target] !== said ? ' class="wrong"' : "";
    const about = target < 0 ? "" : `, then ${escaped(data.outputNames[target])}: ${probabilities[t].toFixed(3)}`;
    return `<span style="${shade(t)}" title="step ${t}: ${input}${about}">${input}<br><i${wrong}>${escaped(said)}</i></span>`;
  }).join("");
}

const CURVES = 3;
function drawNumbers(sequence) {
  const rows = sequence.inputs, width = Math.min(rows[0].length, CURVES);
  const times = sequence.dt ? cumulated(sequence.dt) : rows.map((_, t) => t);
  const traces = Array.from({ length: width }, (_, n) => ({
    x: times, y: rows.map((row) => row[n]), name: `input ${n}`, mode: "lines+markers", marker: { size: 3 }, line: { width: 1 },
    customdata: rows.map((_, t) => t), hovertemplate: `step %{customdata}: %{y:.4g}<extra>input ${n}</extra>` }));
  const more = rows[0].length > width ? ` (the first ${width} of ${rows[0].length})` : "";
  Plotly.react("numbers", traces, layout({ height: 180, title: { text: `what comes in${more}`, font: { size: 13 }, x: 0, xref: "paper" },
    xaxis: axis({ title: { text: sequence.dt ? "time" : "step" } }), yaxis: axis({}) }), CONFIG);
}

function cumulated(dt) {
  let time = 0;
  return dt.map((step) => (time += step));
}

function percent(share) {
  return share >= 0.0995 ? `${(100 * share).toFixed(0)} %` : `${(100 * share).toPrecision(2)} %`;
}

function leftAfter(unit, time) {
  return left[data.decay.times.indexOf(time) * units + unit];
}

function drawUnit() {
  const { unit } = state;
  element("unit").hidden = unit === null;
  if (unit === null) return;
  const { seen, sequence } = state.now, steps = sequence.inputs.length, x = Array.from({ length: steps }, (_, t) => t);
  element("unit-name").textContent = `Unit ${unit}`;
  const facts = REMEMBERED.map((time) => `after ${time.toLocaleString("en")} steps ${percent(leftAfter(unit, time))}`);
  const power = data.power ? `p = ${data.power[unit].toFixed(3)}. ` : "";
  element("unit-facts").textContent = `${power}With nothing coming in, it keeps of its memory ${facts.join(", ")}.`;
  element("unit-off").checked = state.off.has(unit);

  const values = (name) => x.map((t) => seen[name][t * units + unit]);
  const rows = [["forget", "reset", "input", "output"].filter((name) => seen[name]), ...["age", "cell"].filter((name) => seen[name]).map((name) => [name])];
  const colours = { forget: BLUE, reset: ORANGE, input: ORANGE, output: "#009e73", age: "#8c6bb1", cell: BLUE };
  const traces = [], axes = {}, notes = [], height = 1 / rows.length;
  rows.forEach((names, n) => {
    const suffix = n ? n + 1 : "", top = 1 - n * height;
    axes[`yaxis${suffix}`] = axis({ domain: [top - height + 0.05, top - 0.06], range: n ? undefined : [-0.03, 1.03] });
    const label = names.map((name) => `<span style="color:${colours[name]}">${name}</span>`).join("  ");
    notes.push({ text: label, x: 0, y: top - 0.055, xref: "paper", yref: "paper", xanchor: "left", yanchor: "bottom", showarrow: false });
    for (const name of names) traces.push({ x, y: values(name), name, mode: "lines", yaxis: `y${suffix}`, line: { color: colours[name], width: 1.6 },
      hovertemplate: `step %{x}: ${name} %{y:.4g}<extra></extra>` });
  });
  Plotly.react("timeline", traces, layout({ ...axes, annotations: notes, height: 320, xaxis: axis({ title: { text: "step" }, anchor: `y${rows.length}` }) }), CONFIG);

  const { times } = data.decay, of = (u) => times.map((_, n) => left[n * units + u]);
  const sorted = times.map((_, n) => Array.from(left.subarray(n * units, (n + 1) * units)).sort((a, b) => a - b));
  const quantile = (q) => sorted.map((row) => row[Math.round(q * (units - 1))]);
  Plotly.react("decay", [
    { x: times, y: quantile(0.1), mode: "lines", line: { width: 0 }, hoverinfo: "skip" },
    { x: times, y: quantile(0.9), mode: "lines", line: { width: 0 }, fill: "tonexty", fillcolor: "rgba(128, 128, 128, 0.25)", hoverinfo: "skip" },
    { x: times, y: of(unit), mode: "lines", line: { color: BLUE, width: 2.2 }, hovertemplate: "after %{x} steps: %{y:.3g}<extra></extra>" },
  ], layout({ height: 320, title: { text: "what is left after t steps of nothing (grey: most other units)", font: { size: 13 }, x: 0, xref: "paper" },
    xaxis: axis({ type: "log", title: { text: "t" }, dtick: 1 }), yaxis: axis({ type: "log", range: [-4, 0.05], dtick: 1, exponentformat: "power" }) }), CONFIG);
}

function drawOff() {
  const off = [...state.off].sort((a, b) => a - b);
  const names = off.length > 12 ? `${off.slice(0, 12).join(", ")} and ${off.length - 12} more` : off.join(", ");
  element("off").textContent = off.length ? `${off.length} of ${units} off: ${names}` : "all units on";
  element("all-on").disabled = !off.length;
}

function draw() {
  if (!state.now) return;
  drawMaps();
  drawPrediction();
  drawReading();
  drawUnit();
  drawOff();
  document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
}

// ---- controls ----

function pick(unit) {
  state.unit = unit;
  drawMaps();
  drawUnit();
}

function silence(unit, off) {
  off ? state.off.add(unit) : state.off.delete(unit);
  element("first").value = 0;
  drawOff();
  update();
}

element("number").addEventListener("change", (event) => choose(Number(event.target.value)));
element("before").addEventListener("click", () => choose(Number(element("number").value) - 1));
element("after").addEventListener("click", () => choose(Number(element("number").value) + 1));
element("any").addEventListener("click", () =>
  choose(Math.floor(Math.random() * (data.served ? data.size : data.sequences.length))));
element("read")?.addEventListener("click", () => read(element("text").value));
element("order").addEventListener("change", draw);
element("at").addEventListener("change", draw);
element("first").addEventListener("input", (event) => {
  const count = Number(event.target.value);
  element("first-count").textContent = count;
  state.off = new Set(shown.slice(0, count));
  drawOff();
  update();
});
element("all-on").addEventListener("click", () => {
  state.off.clear();
  element("first").value = 0;
  element("first-count").textContent = 0;
  drawOff();
  update();
});
element("unit-off").addEventListener("change", (event) => silence(state.unit, event.target.checked));
element("unit-number").addEventListener("change", (event) => {
  const unit = Math.min(Math.max(0, Math.trunc(Number(event.target.value)) || 0), units - 1);
  event.target.value = unit;
  pick(unit);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

choose(0);
