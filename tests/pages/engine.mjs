// A page with xtape inside, beside the same sources as a program of this machine. PAGES is a folder
// with the pages, DEMOS one with the programs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** For a page of this name: opens it, and asks the program. */
export function engineOf(name, browser) {
  return {
    async opened(options) {
      const page = await browser().open(join(process.env.PAGES, `${name}.html`), options);
      await page.until("!document.getElementById('answer').hidden");
      return page;
    },
    native: (question) => JSON.parse(execFileSync(join(process.env.DEMOS, "pages", `${name}_engine`),
      { input: JSON.stringify(question), encoding: "utf8" })),
  };
}

export const set = (page, id, value) => page.evaluate(`(() => {
  const input = document.getElementById("${id}");
  input.value = ${JSON.stringify(value)};
  input.dispatchEvent(new Event("input", { bubbles: true }));
})()`);

/** Does an action, which must change what the page answers. */
export async function changes(page, action) {
  const shown = () => page.evaluate("document.getElementById('answer').innerHTML");
  const before = await shown();
  await action();
  assert.notEqual(await shown(), before);
}

/** Where two answers differ by more than 1e-12 of the larger, or of 1. */
export function differences(a, b, place = "") {
  if (typeof a === "number" && typeof b === "number")
    return Math.abs(a - b) <= 1e-12 * Math.max(1, Math.abs(a), Math.abs(b)) ? [] : [`${place}: ${a}, ${b}`];
  if (a !== null && typeof a === "object" && b !== null && typeof b === "object")
    return [...new Set([...Object.keys(a), ...Object.keys(b)])]
      .flatMap((key) => differences(a[key], b[key], `${place}.${key}`));
  return a === b ? [] : [`${place}: ${a}, ${b}`];
}
