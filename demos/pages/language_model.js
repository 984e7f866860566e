// Asks xtape for all numbers, and draws its answers. It computes places on the screen only.
"use strict";

const MOST = 2000;  // characters that it writes
let text;           // what the model has seen and written
let random;         // where the draws stand, a number too long for JavaScript
let answer;         // of the present text
let timer;          // while it goes on

const question = () => ({
  text, random,
  layer: Number(byId("layer").value || 1),
  head: Number(byId("head").value || 1),
  shown: Number(byId("shown").value),
  temperature: byId("temperature").valueAsNumber,
  top_k: byId("top_k").valueAsNumber,
  top_p: byId("top_p").valueAsNumber,
});

/** What cannot be seen, to be seen. */
const visible = (symbol) => ({ " ": "␣", "\n": "↵" })[symbol] ?? symbol;

function bar(choice) {
  const part = (share) => element("span", { style: `width: ${100 * share}%` });
  return element("td", { class: "bar", "aria-hidden": "true" }, part(choice.model), part(choice.drawn));
}

function alternatives(list) {
  const head = ["", "", "drawn with", "model"].map((name) => element("th", { scope: "col" }, name));
  return element("table", {}, element("caption", { class: "unseen" }, "The likeliest next characters"),
    element("tr", {}, ...head),
    ...list.slice(0, 12).map((choice) => element("tr", {},
      element("th", { scope: "row", class: "mono" }, visible(choice.symbol)), bar(choice),
      element("td", {}, numberText(choice.drawn)), element("td", {}, numberText(choice.model)))));
}

function fillChoices({ layers, heads, context, parameters, steps }) {
  const fill = (id, count) =>
    byId(id).append(...Array.from({ length: count }, (_, i) => element("option", {}, String(i + 1))));
  fill("layer", layers);
  fill("head", heads);
  byId("about").textContent = `${parameters.toLocaleString("en")} parameters, trained for ${steps} steps: ${layers} layers of ` +
    `${heads} heads, each with two maps; it sees the last ${context} characters.`;
}

function draw() {
  const prompt = byId("prompt").value;
  byId("text").replaceChildren(prompt, element("span", { class: "written" }, text.slice(prompt.length)));
  byId("text").scrollTop = byId("text").scrollHeight;
  byId("seen").textContent = `It sees the last ${answer.seen} of ${text.length} characters.`;
  byId("alternatives").replaceChildren(alternatives(answer.alternatives));
  byId("lambdas").replaceChildren(...answer.lambdas.flatMap(({ now, init }, i) =>
    [`${i ? "; of" : "λ of"} layer ${i + 1}: ${numberText(now)}, where λ`, element("sub", {}, "init"),
      ` is ${numberText(init)}`]), ".");
  const map = (name, title) => heatMap({ ...answer[name], labels: answer.labels.map(visible) }, title, 1);
  byId("maps").replaceChildren(map("a1", "A1"), map("a2", "A2"), map("signed", "A1 − λ A2"));
}

function update() {
  answer = answered(question());
  byId("answer").hidden = !answer;
  byId("one").disabled = byId("go").disabled = !answer || text.length >= MOST;
  if (answer) draw();
}

function stop() {
  clearTimeout(timer);
  timer = undefined;
  byId("go").textContent = "go on";
}

function beginAgain() {
  stop();
  text = byId("prompt").value;
  random = byId("seed").value;
  update();
}

function writeOne() {
  text += answer.next;
  random = answer.random;
  update();
}

function goOn() {
  writeOne();
  if (byId("go").disabled) return stop();
  byId("go").textContent = "stop";
  timer = setTimeout(goOn, 50);
}

whenEngineIsReady(() => {
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["prompt", "seed"]) byId(id).addEventListener("input", beginAgain);
  for (const id of ["temperature", "top_k", "top_p", "layer", "head", "shown"])
    byId(id).addEventListener("input", update);
  byId("one").addEventListener("click", () => { stop(); writeOne(); });
  byId("go").addEventListener("click", () => { if (timer) stop(); else goOn(); });
  byId("again").addEventListener("click", beginAgain);
  beginAgain();
  if (answer) fillChoices(answer.model);
});
