// Steps through a tape: forward over its lines, then backward from the target.
"use strict";

const tape = JSON.parse(document.getElementById("tape").textContent);
const formulas = JSON.parse(document.getElementById("formulas").textContent);
const lines = tape.lines;
const byId = (id) => document.getElementById(id);

// A step is {line, backward}; a line that no cotangent reaches has no step backward.
const steps = lines.map((_, line) => ({ line, backward: false }));
for (let line = lines.length - 1; line >= 0; --line)
  if (lines[line].gradient) steps.push({ line, backward: true });
const addressOf = (step) => `${step.backward ? "backward" : "forward"}-${step.line}`;
const stepAt = new Map(steps.map((step, i) => [addressOf(step), i]));

// Where a value goes, and where a cotangent comes from.
const uses = lines.map(() => []);
const paths = lines.map(() => []);
lines.forEach((line, from) => {
  for (const input of line.inputs) if (Number.isInteger(input)) uses[input].push(from);
  for (const passed of line.passed ?? []) paths[passed.to].push({ from, cotangent: passed.cotangent });
});

const nameOf = (line) => `%${line}` + (lines[line].label ? `:${lines[line].label}` : "");
const linkTo = (line, backward) => {
  const address = addressOf({ line, backward });
  return stepAt.has(address) ? element("a", { href: "#" + address }, nameOf(line)) : nameOf(line);
};

/** `matmul(%0:w, %1)`, with links when `linked`. */
function callParts(node, linked) {
  if (node.outputs < 0) return [`output ${-node.outputs} of `, linked(node.line + node.outputs)];
  const parts = [];
  const add = (part) => parts.push(...(parts.length ? [", "] : []), part);
  if (node.label) add(node.label);
  for (const input of node.inputs) add(Number.isInteger(input) ? linked(input) : input ?? "const");
  if (node.attributes) add(node.attributes);
  return [`${node.op}(`, ...parts, ")"];
}
const typeOf = (node) => tape.dtype + shapeText(node.shape);
const textOf = (line) =>
  `%${line}: ${typeOf(lines[line])} = ${callParts(lines[line], nameOf).join("")}`;

function typeset(op, half) {
  const found = (formulas[op] ?? []).map((formula) => halves(formula)[half]).filter((text) => text);
  const box = element("div", { class: "formulas", tabindex: 0, role: "group", "aria-label": "formula" });
  box.innerHTML = [...new Set(found)].map((text) => `<p>${mathml(text)}</p>`).join("");
  return found.length ? [box] : [];
}

const bytesText = (n) => (n < 10000 ? `${n} bytes` : `${numberText(n / 1024)} KiB`);

function keptText(node) {
  if (!node.value) return "The tape does not keep this value: no gradient needs it.";
  if (node.storage !== node.line) return `This value takes no bytes of its own: it shares the storage of ${nameOf(node.storage)}.`;
  return `The tape keeps this value: ${bytesText(node.bytes)}.`;
}

/** Words and links: "Used by %3, %4." */
function sentence(before, links, after) {
  const list = links.flatMap((link, i) => (i ? [", ", link] : [link]));
  return element("p", {}, before, ...list, after);
}

const times = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

function forwardView(node) {
  const view = [];
  if (tape.faults.forward === node.line)
    view.push(element("p", { class: "bad" }, "Here the first NaN or infinity of the forward pass appears."));
  if (node.value) view.push(heatMap(node.value, `value of ${nameOf(node.line)}`));
  view.push(element("p", {}, keptText(node)));
  const users = [...new Set(uses[node.line])];
  view.push(users.length
    ? sentence(`Used ${times(uses[node.line].length, "time")}, by `, users.map((line) => linkTo(line, false)), ".")
    : element("p", {}, node.line === tape.target ? "This is the target." : "Nothing uses this value."));
  for (const line of new Set(node.inputs.filter(Number.isInteger)))
    if (lines[line].value) view.push(heatMap(lines[line].value, `operand ${nameOf(line)}`));
  return view;
}

function incomingView(node) {
  const from = paths[node.line];
  const title = `cotangent of ${nameOf(node.line)}`;
  if (from.length === 0)
    return [element("p", {}, "The sweep begins here."), heatMap(node.gradient, title)];
  const links = [...new Set(from.map((path) => path.from))].map((line) => linkTo(line, true));
  const head = sentence(from.length === 1 ? "It comes from " : `The sum of ${from.length} paths, from `, links, ".");
  const parts = from.filter((path) => path.cotangent)
    .map((path) => heatMap(path.cotangent, `path from ${nameOf(path.from)}`));
  return [head, heatMap(node.gradient, title), ...parts];
}

function backwardView(node) {
  const view = [];
  if (tape.faults.backward === node.line)
    view.push(element("p", { class: "bad" }, "Here the first NaN or infinity of the backward sweep appears."));
  view.push(element("h3", {}, "Coming in"), ...incomingView(node));
  const passed = node.passed ?? [];
  if (node.outputs < 0) {
    const first = node.line + node.outputs;
    return [...view, sentence("All outputs pass on together, at ", [linkTo(first, true)], ".")];
  }
  if (passed.length === 0)
    return [...view, element("p", {}, "Nothing is passed on: this is a gradient.")];
  view.push(element("h3", {}, "Passed on"));
  for (const { to, cotangent } of passed)
    view.push(heatMap(cotangent ?? lines[to].gradient, element("span", {}, "to ", linkTo(to, true))));
  return view;
}

function show(index) {
  const { line, backward } = steps[index];
  const node = lines[line];
  const direction = backward ? "backward" : "forward";
  byId("step").replaceChildren(
    element("p", {}, element("span", { class: `direction ${direction}` }, direction)),
    element("h2", { class: "mono" }, `%${line}: ${typeOf(node)} = `,
      ...callParts(node, (input) => linkTo(input, backward))),
    ...typeset(node.op, backward ? 1 : 0),
    ...(backward ? backwardView(node) : forwardView(node)));
  byId("slider").value = index;
  byId("slider").setAttribute("aria-valuetext", `${direction}, ${textOf(line)}`);
  byId("position").replaceChildren(`${direction} %${line} · ${index + 1}/${steps.length}`,
    element("span", { class: "unseen" }, textOf(line)));  // read aloud at every step
  // Not disabled, which would take the focus away.
  const idle = (id, is) => byId(id).setAttribute("aria-disabled", is);
  for (const id of ["first", "back"]) idle(id, index === 0);
  for (const id of ["next", "last"]) idle(id, index === steps.length - 1);
  idle("turn", !lines[line].gradient);
  document.querySelector("#lines .here")?.classList.remove("here");
  const entry = byId("lines").children[line];
  entry?.classList.add("here");
  const list = byId("listing");
  if (entry && list.scrollHeight > list.clientHeight && matchMedia("(min-width: 56rem)").matches)
    list.scrollTop = entry.offsetTop - list.clientHeight / 2;
}

// As an iframe's srcdoc the page has no address of its own, and links would lead out of it.
const inFrame = location.protocol === "about:";
let current = 0;
let addressing;
/** Goes to a step; its address is a link to it, set when one stays, as browsers bear few changes. */
function goTo(index) {
  current = Math.max(0, Math.min(steps.length - 1, index));
  show(current);
  clearTimeout(addressing);
  const address = "#" + addressOf(steps[current]);
  if (!inFrame) addressing = setTimeout(() => history.replaceState(null, "", address), 100);
}
const turn = () =>
  goTo(stepAt.get(addressOf({ line: steps[current].line, backward: !steps[current].backward })) ?? current);
const followAddress = () => goTo(stepAt.get(location.hash.slice(1)) ?? current);

const moves = {
  first: () => goTo(0), back: () => goTo(current - 1), next: () => goTo(current + 1),
  last: () => goTo(steps.length - 1), turn,
};
for (const [id, move] of Object.entries(moves)) byId(id).addEventListener("click", move);
byId("slider").addEventListener("input", (event) => goTo(Number(event.target.value)));
addEventListener("hashchange", followAddress);
addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (!link || !inFrame) return;
  event.preventDefault();
  goTo(stepAt.get(link.getAttribute("href").slice(1)));
});
const KEYS = { Home: "first", ArrowLeft: "back", ArrowRight: "next", End: "last", b: "turn" };
addEventListener("keydown", (event) => {
  if (event.target.id === "slider" && event.key !== "b") return;  // it moves by itself
  if (!(event.key in KEYS) || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  moves[KEYS[event.key]]();
});

function listLines() {
  const entries = document.createDocumentFragment();
  lines.forEach((node, line) => {
    node.line = line;
    const item = element("li", node.gradient ? {} : { class: "unreached" },
      element("a", { href: `#forward-${line}` }, textOf(line)));
    if (node.gradient)
      item.append(element("a", { href: `#backward-${line}`, "aria-label": `backward through %${line}` }, "∂"));
    entries.append(item);
  });
  byId("lines").append(entries);
  byId("lines").classList.toggle("long", lines.length > 500);  // then heights are guessed, for speed
}

function summarise() {
  byId("summary").textContent =
    `${times(lines.length, "line")} of ${tape.dtype}, target ${nameOf(tape.target)}, ` +
    `${bytesText(tape.bytes)} of values kept. Colours: blue above zero, orange below, magenta no ` +
    "number. Arrow keys step, b turns between forward and backward.";
  const { forward, backward } = tape.faults;
  const where = [];
  if (forward !== null) where.push("First NaN or infinity forward: ", linkTo(forward, false), ". ");
  if (backward !== null) where.push("First NaN or infinity backward: ", linkTo(backward, true), ".");
  byId("faults").append(...where);
  byId("faults").hidden = where.length === 0;
}

listLines();
summarise();
byId("slider").max = steps.length - 1;
if (matchMedia("(max-width: 55.99rem)").matches) byId("listing").open = false;
if (steps.length) followAddress();
