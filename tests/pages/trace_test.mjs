// The page of a tape in a browser. PAGES is a folder with those of some demos; LONG is a page of 2000
// lines.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Browser } from "./browser.mjs";

const file = (name) => join(process.env.PAGES, name);
const json = (name, id) => JSON.parse(
  readFileSync(file(name), "utf8").split(`<script type="application/json" id="${id}">`)[1].split("</script>")[0]);

let browser;
before(async () => { browser = await Browser.start(); });
after(() => browser.close());

/** The address, when it has followed the step that is shown. */
async function position(page) {
  await page.until("location.hash === '#' + addressOf(steps[current])");
  return page.evaluate("location.hash");
}

test("a trace steps by keys, buttons and slider", async () => {
  const page = await browser.open(file("cancellation.html"));
  assert.equal(await position(page), "#forward-0");
  await page.press("ArrowRight");
  assert.equal(await position(page), "#forward-1");
  await page.press("b");
  assert.equal(await position(page), "#backward-1");
  await page.press("ArrowLeft");
  assert.equal(await position(page), "#backward-2");
  await page.press("End");
  assert.equal(await position(page), "#backward-0");
  await page.press("Home");
  assert.equal(await position(page), "#forward-0");
  await page.click("#next");
  await page.click("#next");
  await page.click("#back");
  assert.equal(await position(page), "#forward-1");
  await page.click("#turn");
  assert.equal(await position(page), "#backward-1");
  await page.click("#last");
  assert.equal(await position(page), "#backward-0");
  assert.equal(await page.evaluate("document.getElementById('next').ariaDisabled"), "true");
  await page.click("#next");
  assert.equal(await position(page), "#backward-0");
  await page.click("#first");
  assert.equal(await position(page), "#forward-0");
  await page.evaluate("document.getElementById('slider').focus()");
  await page.press("ArrowRight");
  assert.equal(await position(page), "#forward-1");
  assert.deepEqual(page.complaints, []);
});

test("a trace's steps have links that work", async () => {
  const page = await browser.open(file("cancellation.html"), { fragment: "#backward-3" });
  assert.match(await page.text("#step h2"), /^%3: f64\[1, 1, 1, 4\] = matmul\(%2, const\)$/);
  await page.click("#lines li:nth-child(6) a");
  assert.equal(await position(page), "#forward-5");
  await page.click("#lines li:nth-child(6) a + a");
  assert.equal(await position(page), "#backward-5");
  await page.evaluate("location.hash = '#forward-2'");
  await page.until("document.querySelector('#step h2').textContent.startsWith('%2')");
  assert.deepEqual(page.complaints, []);
});

test("a trace shows its data: formulas, values and paths", async () => {
  const page = await browser.open(file("char_attention.html"));
  const { lines } = json("char_attention.html", "tape");
  const shared = lines.findIndex((line, at) =>  // what five projections read
    lines.flatMap((from) => from.passed ?? []).filter(({ to }) => to === at).length === 5);
  await page.evaluate(`location.hash = "#backward-${shared}"`);
  await page.until("document.querySelector('#step').textContent.includes('The sum of 5 paths')");
  assert.equal(await page.evaluate("document.querySelectorAll('#step math').length > 0"), true);
  const small = lines.findIndex((line) => line.value?.values.length === 1);
  await page.evaluate(`location.hash = "#forward-${small}"`);
  await page.until(`document.querySelector('#step h2').textContent.startsWith('%${small}:')`);
  assert.equal(Number(await page.text("#step td:last-child")),
    Number(lines[small].value.values[0].toPrecision(3)));
  assert.deepEqual(page.complaints, []);
});

test("the list shows the line that a link leads to", async () => {
  for (const fragment of ["#forward-116", "#backward-60"]) {
    const page = await browser.open(file("tiny_lm.html"), { fragment });
    await new Promise((resolve) => setTimeout(resolve, 200));  // until it is drawn
    const place = (node) => page.evaluate(`document.${node}.getBoundingClientRect().toJSON()`);
    const [list, line] = [await place("getElementById('listing')"), await place("querySelector('#lines .here')")];
    assert.ok(line.top >= list.top && line.bottom <= list.bottom, fragment);
    assert.deepEqual(page.complaints, []);
  }
});

test("the numbers behind a map of pixels unfold", async () => {
  const { lines } = json("char_attention.html", "tape");
  const wide = lines.findIndex(({ value }) => value?.shown[2] > 8);
  const page = await browser.open(file("char_attention.html"), { fragment: `#forward-${wide}` });
  assert.equal(await page.evaluate("document.querySelector('#step canvas').getAttribute('role')"), "img");
  await page.click("#step summary");
  await page.until("document.querySelectorAll('#step details td').length > 8");
  assert.deepEqual(page.complaints, []);
});

test("every step of a trace can be shown", async () => {
  for (const name of ["cancellation.html", "char_attention.html", "tiny_lm.html"]) {
    const page = await browser.open(file(name));
    assert.equal(await page.evaluate("steps.every((_, i) => (goTo(i), current === i))"), true);
    assert.deepEqual(await page.nameless(), []);
    assert.deepEqual(page.complaints, []);
  }
});

test("a trace leads to the first NaN", async () => {
  const page = await browser.open(file("cancellation.html"));
  assert.equal(await page.evaluate("document.getElementById('faults').hidden"), true);
  const broken = join(mkdtempSync(join(tmpdir(), "xtape-")), "broken.html");
  writeFileSync(broken, readFileSync(file("cancellation.html"), "utf8")
    .replace('"faults":{"backward":null,"forward":null}', '"faults":{"backward":1,"forward":2}'));
  const marked = await browser.open(broken);
  const says = (text) => marked.until(`document.querySelector("#step .bad")?.textContent.includes("${text}")`);
  await marked.click("#faults a");
  await says("infinity of the forward pass");
  assert.equal(await position(marked), "#forward-2");
  await marked.click("#faults a + a");
  await says("infinity of the backward sweep");
  assert.equal(await position(marked), "#backward-1");
});

test("all formulas are typeset", async () => {
  const page = await browser.open(file("cancellation.html"));
  const bad = await page.evaluate(`Object.values(formulas).flat().filter((text) => {
    const math = new DOMParser().parseFromString(mathml(text), "text/xml").documentElement;
    return math.nodeName !== "math" || math.getAttribute("alttext") !== text ||
      /undefined|[\\^_]/.test(math.textContent.replace(/[a-z]_[a-z]/g, ""));
  })`);
  assert.deepEqual(bad, []);
});

test("a trace of 2000 lines opens within a second", async () => {
  const seconds = [];
  for (let i = 0; i < 3; ++i) {
    const started = performance.now();
    const page = await browser.open(process.env.LONG);
    assert.equal(await page.evaluate("document.querySelectorAll('#lines li').length"), 2000);
    seconds.push((performance.now() - started) / 1000);
    assert.deepEqual(page.complaints, []);
  }
  const best = Math.min(...seconds);  // others may use the machine too
  console.log(`2000 lines: ${best.toFixed(2)} s`);
  assert.ok(best < 1, `${best} s`);
});

test("a trace fits on a phone", async () => {
  for (const name of ["cancellation.html", "char_attention.html", "tiny_lm.html"]) {
    const page = await browser.open(file(name), { width: 360, height: 740 });
    assert.equal(await page.evaluate("document.getElementById('listing').open"), false);
    assert.equal(await page.evaluate(
      "Math.max(...steps.map((_, i) => (goTo(i), document.documentElement.scrollWidth - innerWidth)))"), 0);
    assert.deepEqual(page.complaints, []);
  }
});

test("a trace asks for no other file", async () => {
  const page = await browser.open(file("cancellation.html"));
  assert.deepEqual(page.requests.filter((url) => !url.endsWith("/cancellation.html")), []);
});
