"use strict";
// The explorer's page. `data` is what explore.py put into it; network.js computes in a worker.

const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const units = data.model.layers.at(-1).units;
const left = floats(data.decay.left); // (times, units)
const REMEMBERED = [10, 100, 1000];

const state = {
  number: 0, // of the sequence; what is read from the text field has none
  sequence: null,
  unit: null, // looked into
  since: 0, // and from which step on
  off: new Set(),
  base: null, // the run with all units on
  now: null, // the run with those units off
};

// ---- computing ----

const worker = new Worker(
  URL.createObjectURL(new Blob([element("network").textContent], { type: "text/javascript" })));
worker.onerror = (error) => say(`the network cannot be computed here: ${error.message}`);
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

const available = data.served ? data.size : data.sequences.length;
const within = (value, count) => Math.min(Math.max(0, Math.trunc(value) || 0), count - 1);

async function choose(number) {
  number = within(number, available);
  element("number").value = state.number = number;
  try {
    const sequence = await sequenceOf(number);
    if (state.number === number) show(sequence); // and not another, asked for meanwhile
  } catch (error) {
    say(`sequence ${number} cannot be had: ${error.message}`);
  }
}

function show(sequence) {
  say("");
  state.sequence = sequence;
  state.since = 0;
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
    const passed = characters.length - inputs.length;
    return { inputs, targets, note: passed && `${passed} characters that the network does not know were passed over` };
  },
  words(text) {
    const known = new Map(data.inputNames.map((name, symbol) => [name, symbol]));
    const words = tokenise(text);
    const inputs = words.map((word) => known.get(word) ?? data.inputNames.length - 1);
    const strange = words.filter((word) => !known.has(word));
    return { inputs, target: null, words, note: strange.length && `words that the network does not know: ${[...new Set(strange)].join(", ")}` };
  },
};

const PLAIN = {
  "’": "'", "´": "'", "\x91": "'", "\x92": "'", "\x93": '"', "\x94": '"', "\x85": "...", "\x96": " -- ", "\x97": " -- ",
};
const CONTRACTIONS = /(?<=[\p{L}\p{N}])(n't|'(?:s|m|d|ll|re|ve))(?![\p{L}\p{N}_])/gu;
const TOKENS = new RegExp([
  String.raw`n't|'(?:s|m|d|ll|re|ve)(?![\p{L}\p{N}_])`,
  String.raw`(?:[\p{L}\p{Nl}\p{No}]\.){2,}`,
  String.raw`\p{Nd}+(?:[.,:]\p{Nd}+)*`,
  String.raw`[\p{L}\p{N}]+(?:[-'][\p{L}\p{N}]+)*`,
  // What Python takes for a blank is not quite what JavaScript does.
  String.raw`\.\.\.|--|[^\p{L}\p{N}_\s\x1c-\x1f]|\ufeff`,
].join("|"), "gu");

function tokenise(text) {
  const plain = text.toLowerCase().replaceAll("<br />", " ").replace(/[’´\x91-\x94\x85\x96\x97]/g, (sign) => PLAIN[sign]);
  return plain.replace(CONTRACTIONS, " $1").match(TOKENS) ?? [];
}

function read(text) {
  const { note, ...sequence } = READERS[data.reads](text);
  if (!sequence.inputs.length) return say("there is nothing in this text that the network knows");
  const cut = sequence.inputs.length > data.steps;
  for (const name of ["inputs", "targets", "words"]) sequence[name] = sequence[name]?.slice(0, data.steps);
  element("number").value = "";
  show({ asked: 0, ...sequence });
  say([note, cut && `the text was cut after ${data.steps} steps`].filter(Boolean).join("; "));
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
  // Summed over all times, so that neither the fastest nor the slowest are all alike.
  decay: () => (u) => -data.decay.times.reduce((sum, _, n) => sum + left[n * units + u], 0),
  reset: () => {
    const { age } = state.base.seen, at = Number(element("at").value);
    return (u) => -age[at * units + u];
  },
  unit: () => (u) => u,
};

function order() {
  const keys = Array.from({ length: units }, (_, u) => u).map(ORDERS[element("order").value]());
  return [...keys.keys()].sort((a, b) => keys[a] - keys[b] || a - b);
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const layout = (more) => ({
  paper_bgcolor: "transparent", plot_bgcolor: "transparent", font: { color: css("--ink"), size: 12 },
  margin: { l: 46, r: 12, t: 28, b: 36 }, showlegend: false, hoverlabel: { namelength: -1 }, ...more,
});
const axis = (more) => ({ gridcolor: css("--rule"), zerolinecolor: css("--rule"), linecolor: css("--rule"), ...more });
const CONFIG = { displaylogo: false, responsive: true, displayModeBar: false };
const blue = () => css("--blue"), orange = () => css("--orange");

// Weak is near the page's own colour, strong far from it, in the light and in the dark.
const shades = (...names) => names.map((name, n) => [n / (names.length - 1), css(name)]);
const sequential = () => shades("--weak", "--middling", "--strong");
const diverging = () => shades("--negative", "--weak", "--positive");

// How each value is coloured. Where a few units would leave no colour for the others, ages are on a logarithmic scale
// and the cells' colours end at the 99th percentile; hovering tells the value itself.
const PAINTS = {
  age: (values) => {
    const most = extreme(values) || 1, ticks = [0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000].filter((age) => age <= most);
    return { of: Math.log1p, low: 0, high: Math.log1p(most), scale: sequential(), tickvals: ticks.map(Math.log1p), ticktext: ticks.map(String) };
  },
  cell: (values) => {
    const most = common(values) || 1;
    return { of: (value) => value, low: -most, high: most, scale: diverging() };
  },
};
const share = () => ({ of: (value) => value, low: 0, high: 1, scale: sequential() });

const extreme = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

// The 99th percentile of the magnitude, from some thousand of the values.
function common(values) {
  const stride = Math.ceil(values.length / 20000), some = [];
  for (let n = 0; n < values.length; n += stride) some.push(Math.abs(values[n]));
  return some.sort((a, b) => a - b)[Math.floor(0.99 * some.length)];
}

const PLACES = [0, 1, 2, 3].map((n) => ({ axis: n ? n + 1 : "", right: n % 2, below: n > 1 }));
const LEFT = [0, 0.54], WIDE = 0.44; // of a heat map

let shown = []; // the units in the order of the heat maps
let sorting = ""; // a zoom lasts as long as the rows do
function drawMaps() {
  shown = order();
  const { seen, sequence } = state.now, steps = sequence.inputs.length;
  const names = shown.map((u) => `unit ${u}`), x = Array.from({ length: steps }, (_, t) => t);
  const traces = [], axes = {};
  Object.keys(seen).forEach((name, n) => {
    const { axis: suffix, right, below } = PLACES[n], paint = (PAINTS[name] ?? share)(seen[name]);
    const rows = (value) => shown.map((u) => {
      const row = new Float32Array(steps);
      for (let t = 0; t < steps; t++) row[t] = value(seen[name][t * units + u]);
      return row;
    });
    const z = rows(paint.of);
    traces.push({
      type: "heatmap", name, z, customdata: name === "age" ? rows((value) => value) : z, x, y: names,
      xaxis: `x${suffix}`, yaxis: `y${suffix}`, zmin: paint.low, zmax: paint.high, zauto: false, colorscale: paint.scale,
      colorbar: { thickness: 8, len: 0.44, x: LEFT[right] + WIDE + 0.005, y: below ? 0.22 : 0.76, outlinewidth: 0, tickfont: { size: 10 },
        ...(paint.tickvals && { tickvals: paint.tickvals, ticktext: paint.ticktext }) },
      hovertemplate: `%{y}, step %{x}: ${name} %{customdata:.4g}<extra></extra>`,
    });
    axes[`xaxis${suffix}`] = axis({ domain: [LEFT[right], LEFT[right] + WIDE], anchor: `y${suffix}`, matches: n ? "x" : undefined,
      title: below ? { text: "step" } : undefined, showgrid: false, zeroline: false });
    axes[`yaxis${suffix}`] = axis({ domain: below ? [0, 0.44] : [0.54, 0.98], anchor: `x${suffix}`, matches: n ? "y" : undefined,
      autorange: "reversed", showticklabels: false, ticks: "", showgrid: false, title: right ? undefined : { text: "units", standoff: 12 } });
  });
  sorting = `${element("order").value} ${element("at").value} ${state.number} ${steps}`;
  const plot = element("maps");
  Plotly.react(plot, traces, layout({ ...axes, ...marks(), height: 660, margin: { l: 40, r: 40, t: 22, b: 36 }, uirevision: sorting }), CONFIG);
  plot.removeAllListeners?.("plotly_click");
  plot.on("plotly_click", ({ points: [{ x, y }] }) => pick(Number(y.slice(5)), x));
}

// The names of the heat maps; an arrow at the unit that is looked into, and a bar beside those that are off.
function marks() {
  const notes = [], bars = [], row = shown.indexOf(state.unit), gaps = runs(shown.map((u) => state.off.has(u)));
  Object.keys(state.now.seen).forEach((name, n) => {
    const { axis: suffix, right, below } = PLACES[n];
    notes.push({ text: `<b>${name}</b>`, x: LEFT[right], y: below ? 0.445 : 0.985, xref: "paper", yref: "paper",
      xanchor: "left", yanchor: "bottom", showarrow: false });
    const beside = { xref: "paper", yref: `y${suffix}` };
    if (row >= 0) notes.push({ ...beside, text: "▶", x: LEFT[right] - 0.002, y: row, xanchor: "right", yanchor: "middle", showarrow: false,
      font: { color: orange(), size: 12 } });
    for (const [from, to] of gaps) bars.push({ ...beside, type: "rect", x0: LEFT[right] - 0.006, x1: LEFT[right] - 0.002,
      y0: from - 0.5, y1: to - 0.5, fillcolor: css("--quiet"), line: { width: 0 } });
  });
  return { annotations: notes, shapes: bars };
}

// Where a list of truths is true: from, and up to.
function runs(truths) {
  const found = [];
  truths.forEach((truth, n) => {
    if (!truth) return;
    if (n && truths[n - 1]) found.at(-1)[1] = n + 1;
    else found.push([n, n + 1]);
  });
  return found;
}

function drawPrediction() {
  const { base, now } = state, { sequence } = now, steps = sequence.inputs.length;
  const x = Array.from({ length: steps }, (_, t) => t), off = state.off.size;
  const line = (run, name, colour, dash) => ({ x, y: curve(run), name, mode: "lines", line: { color: colour, dash, width: 1.8 },
    hovertemplate: `step %{x}: %{y:.3f}<extra>${name}</extra>` });
  const traces = [line(base, "all units", blue())];
  if (off) traces.push(line(now, `${off} off`, orange(), "dot"));
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
  const shade = (t) => probabilities[t] === null ? "" : `background: color-mix(in srgb, var(--blue) ${Math.round(55 * probabilities[t])}%, transparent)`;
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
    colorway: [blue(), orange(), css("--green")],
    xaxis: axis(sequence.dt ? { title: { text: "time" } } : { title: { text: "step" }, range: [-0.5, rows.length - 0.5] }), yaxis: axis({}) }), CONFIG);
}

function cumulated(dt) {
  let time = 0;
  return dt.map((step) => (time += step));
}

function percent(share) {
  if (share < 0.0001) return "less than 0.01 %";
  return share >= 0.0995 ? `${(100 * share).toFixed(0)} %` : `${Number((100 * share).toPrecision(2))} %`;
}

function leftAfter(unit, time) {
  return left[data.decay.times.indexOf(time) * units + unit];
}

// The share of a unit's cell as it was after step `since` that is still in it later: the product of its forget gates.
// It is exact whatever came in meanwhile, for what comes in is added.
function kept(run, unit, since) {
  const { seen: { forget }, sequence } = run, times = [0], shares = [1];
  for (let t = since + 1; t < sequence.inputs.length; t++) {
    times.push(times.at(-1) + (sequence.dt ? sequence.dt[t] : 1));
    shares.push(shares.at(-1) * forget[t * units + unit]);
  }
  return { times, shares };
}

function drawUnit() {
  const { unit } = state;
  element("unit").hidden = unit === null;
  if (unit === null) return;
  const { seen, sequence } = state.now, steps = sequence.inputs.length, x = Array.from({ length: steps }, (_, t) => t);
  const lasted = kept(state.now, unit, state.since), clock = sequence.dt ? "units of time" : "steps";
  element("unit-number").value = unit;
  element("unit-name").textContent = `Unit ${unit}`;
  const facts = REMEMBERED.map((time) => `after ${time.toLocaleString("en")} ${clock} ${percent(leftAfter(unit, time))}`);
  const power = data.power ? `, p = ${data.power[unit].toFixed(3)}` : "";
  const free = `${power}. With nothing coming in, it keeps of its memory ${facts.join(", ")}.`;
  const real = `In this sequence, ${percent(lasted.shares.at(-1))} of what its cell held after step ${state.since} is still there at the end.`;
  element("unit-facts").textContent = steps - 1 > state.since ? `${free} ${real}` : free;
  element("unit-off").checked = state.off.has(unit);

  const values = (name) => x.map((t) => seen[name][t * units + unit]);
  const rows = [["forget", "reset", "input", "output"].filter((name) => seen[name]), ...["age", "cell"].filter((name) => seen[name]).map((name) => [name])];
  const colours = { forget: blue(), reset: orange(), input: orange(), output: css("--green"), age: css("--purple"), cell: blue() };
  const traces = [], axes = {}, notes = [], height = 1 / rows.length;
  rows.forEach((names, n) => {
    const suffix = n ? n + 1 : "", top = 1 - n * height;
    axes[`yaxis${suffix}`] = axis({ domain: [top - height + 0.05, top - 0.06], range: n ? undefined : [-0.03, 1.03], nticks: 4 });
    const label = names.map((name) => `<span style="color:${colours[name]}">${name}</span>`).join("  ");
    notes.push({ text: label, x: 1, y: top - 0.055, xref: "paper", yref: "paper", xanchor: "right", yanchor: "bottom", showarrow: false });
    for (const name of names) traces.push({ x, y: values(name), name, mode: "lines", yaxis: `y${suffix}`, line: { color: colours[name], width: 1.6 },
      hovertemplate: `step %{x}: ${name} %{y:.4g}<extra></extra>` });
  });
  const since = { type: "line", x0: state.since, x1: state.since, y0: 0, y1: 1, yref: "paper", line: { color: css("--quiet"), width: 1, dash: "dot" } };
  Plotly.react("timeline", traces, layout({ ...axes, annotations: notes, shapes: [since], height: 320,
    xaxis: axis({ title: { text: "step" }, anchor: `y${rows.length}`, range: [-0.5, steps - 0.5], zeroline: false }) }), CONFIG);

  const { times } = data.decay, coloured = (colour, text) => `<span style="color:${colour}">${text}</span>`;
  const names = [coloured(blue(), "with nothing coming in"), coloured(orange(), `in this sequence since step ${state.since}`), coloured(css("--quiet"), "grey: most units")];
  const after = `%{y:.3g}<extra></extra>`;
  Plotly.react("decay", [
    { x: times, y: DECILES[0], mode: "lines", line: { width: 0 }, hoverinfo: "skip" },
    { x: times, y: DECILES[1], mode: "lines", line: { width: 0 }, fill: "tonexty", fillcolor: "rgba(128, 128, 128, 0.25)", hoverinfo: "skip" },
    { x: times, y: times.map((_, n) => left[n * units + unit]), mode: "lines", line: { color: blue(), width: 2.2 }, hovertemplate: `with nothing coming in, after %{x}: ${after}` },
    { x: lasted.times, y: lasted.shares, mode: "lines", line: { color: orange(), width: 1.8, dash: "dot" }, hovertemplate: `in this sequence, after %{x:.4g}: ${after}` },
  ], layout({ height: 320, title: { text: `what is left: ${names.join(" · ")}`, font: { size: 12 }, x: 0, xref: "paper" },
    xaxis: axis({ type: "log", range: [0, 4], title: { text: `${clock} later` }, tickvals: [1, 10, 100, 1000, 10000], ticktext: ["1", "10", "100", "1,000", "10,000"] }),
    yaxis: axis({ type: "log", range: [-4, 0.05], tickvals: [1, 0.1, 0.01, 0.001, 0.0001], ticktext: ["100 %", "10 %", "1 %", "0.1 %", "0.01 %"] }) }), CONFIG);
}

// Eight of ten units lie between these.
const DECILES = [0.1, 0.9].map((q) => data.decay.times.map((_, n) =>
  left.slice(n * units, (n + 1) * units).sort()[Math.round(q * (units - 1))]));

function drawOff() {
  const off = [...state.off].sort((a, b) => a - b);
  const names = off.length > 12 ? `${off.slice(0, 12).join(", ")} and ${off.length - 12} more` : off.join(", ");
  element("off").textContent = off.length ? `${off.length} of ${units} off: ${names}` : "all units on";
  element("all-on").disabled = !off.length;
}

function draw() {
  if (!state.now) return;
  element("at-label").hidden = element("order").value !== "reset";
  drawMaps();
  drawPrediction();
  drawReading();
  drawUnit();
  drawOff();
  document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
}

// ---- controls ----

function pick(unit, since = 0) {
  Object.assign(state, { unit, since });
  Plotly.relayout("maps", marks());
  drawUnit();
}

function silence(units, first = 0) {
  state.off = new Set(units);
  element("first").value = element("first-count").textContent = first;
  drawOff();
  update();
}

element("number").max = available - 1;
element("number").addEventListener("change", (event) => choose(Number(event.target.value)));
element("before").addEventListener("click", () => choose(state.number - 1));
element("after").addEventListener("click", () => choose(state.number + 1));
element("any").addEventListener("click", () => {
  // Another than this one.
  const number = Math.floor(Math.random() * (available - 1));
  choose(number < state.number ? number : number + 1);
});
element("read")?.addEventListener("click", () => read(element("text").value));
element("order").addEventListener("change", draw);
element("at").addEventListener("change", (event) => {
  event.target.value = within(event.target.value, state.sequence.inputs.length);
  draw();
});
element("first").addEventListener("input", (event) => {
  const count = Number(event.target.value);
  silence(shown.slice(0, count), count);
});
element("all-on").addEventListener("click", () => silence([]));
element("unit-off").addEventListener("change", ({ target: { checked } }) =>
  silence(checked ? [...state.off, state.unit] : [...state.off].filter((unit) => unit !== state.unit)));
element("unit-number").addEventListener("change", (event) => pick(within(event.target.value, units)));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

choose(0);
