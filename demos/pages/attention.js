// Asks xtape for all numbers, and draws its answers. It computes places on the screen only.
"use strict";

const START = [0, 0.2, 1, 0, 0.1, 0, 0.3, 0];

function addToken(signal) {
  const index = byId("tokens").children.length;
  const input = element("input", { type: "number", step: "0.1", value: signal, id: `signal-${index}` });
  byId("tokens").append(element("div", { class: "control" },
    element("label", { for: input.id }, `token ${index}`), input));
}

function question() {
  const number = (input) => input.valueAsNumber;  // NaN, which JSON calls null, where there is none
  return {
    signal: [...document.querySelectorAll("#tokens input")].map(number),
    offset: number(byId("offset")),
    lambda: number(byId("lambda")),
    causal: byId("causal").checked,
    same: byId("same").checked,
    target: byId("target").value,
  };
}

function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** What arrives at the last token over lambda, with a mark at the present one. */
function chart(curve, lambda, found) {
  const [width, height, edge] = [480, 300, 40];
  const { low, high, values } = curve;
  if (curve.values.some((value) => typeof value === "string") || !Number.isFinite(high - low))
    return "There is no curve of numbers beyond all bounds.";
  const rows = [...values.keys()].filter((i) => i % 3 === 0);  // lambda, signal, offset
  const x = (value) => edge + ((value + 0.5) / 2) * (width - 2 * edge);
  const y = (value) => height - edge - ((value - low) / (high - low || 1)) * (height - 2 * edge);
  const line = (column, name) => svg("polyline", {
    class: name, points: rows.map((i) => `${x(values[i])},${y(values[i + column])}`).join(" "),
  });
  const label = (px, py, text, more = {}) => svg("text", { x: px, y: py, ...more }, text);
  const zero = y(0), here = x(lambda);
  const drawing = svg("svg", {
    viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `What arrives at the last token over lambda from -0.5 to 1.5. At lambda ${lambda}: ` +
      `signal ${numberText(found.signal)}, offset ${numberText(found.offset)}.`,
  },
    svg("line", { class: "axis", x1: edge, x2: width - edge, y1: zero, y2: zero }),
    svg("line", { class: "axis", x1: here, x2: here, y1: edge / 2, y2: height - edge, "stroke-dasharray": "4 4" }),
    ...[-0.5, 0, 0.5, 1, 1.5].map((value) =>
      label(x(value), height - edge / 2, String(value), { "text-anchor": "middle" })),
    label(width - edge / 2, height - edge / 2, "λ"),
    label(4, y(high) + 4, numberText(high)), label(4, y(low) + 4, numberText(low)),
    line(1, "signal"), line(2, "offset"));
  for (const name of ["signal", "offset"])
    if (typeof found[name] === "number")
      drawing.append(svg("circle", { class: name, cx: here, cy: y(found[name]), r: 5 }));
  drawing.append(label(width - 150, 18, "signal", { class: "signal" }),
    label(width - 80, 18, "offset", { class: "offset" }));
  return drawing;
}

function draw(request, answer) {
  byId("maps").replaceChildren(
    heatMap(answer.a1, "A1", 1), heatMap(answer.a2, "A2", 1), heatMap(answer.signed, "A1 − λ A2", 1));
  const last = { signal: answer.found.signal.values.at(-1), offset: answer.found.offset.values.at(-1) };
  byId("arrives").textContent =
    `At the last token: signal ${numberText(last.signal)}, offset ${numberText(last.offset)}.`;
  byId("chart").replaceChildren(chart(answer.curve, request.lambda, last));
  byId("found").replaceChildren(
    heatMap(answer.found.signal, "signal at each token"), heatMap(answer.found.offset, "offset at each token"));
  byId("output").replaceChildren(heatMap(answer.output, "output O"));
  const g = answer.gradients;
  byId("slope").textContent =
    `One more of λ changes the ${request.target} at the last token by ${numberText(g.lambda.values[0])}; ` +
    `one more of the offset, by ${numberText(g.offset.values[0])}.`;
  byId("gradients").replaceChildren(
    ...["lambda", "offset", "signal", "q1", "k1", "q2", "k2", "value"].map((name) =>
      heatMap(g[name], `d ${name}`)));
  byId("tape-length").textContent = `its ${answer.lines} lines`;
  byId("tape").textContent = answer.tape;
}

function update() {
  const request = question();
  byId("lambda-value").textContent = request.lambda.toFixed(2);
  byId("remove").disabled = request.signal.length <= 1;
  byId("add").disabled = request.signal.length >= 16;
  const answer = answered(request);
  byId("answer").hidden = !answer;
  if (answer) draw(request, answer);
  byId("stepping").replaceChildren();
}

function stepThrough() {
  const { trace } = answered({ ...question(), trace: true }) ?? {};
  if (!trace) return;
  byId("stepping").replaceChildren(element("iframe", { title: "The tape, step by step", srcdoc: trace }));
}

whenEngineIsReady(() => {
  START.forEach(addToken);
  addEventListener("input", update);
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("add").addEventListener("click", () => { addToken(0); update(); });
  byId("remove").addEventListener("click", () => { byId("tokens").lastChild.remove(); update(); });
  byId("step").addEventListener("click", stepThrough);
  update();
});
