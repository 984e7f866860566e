// The notebooks in JupyterLab as a reader has them: opened, run by the menu, and looked at. JUPYTER is
// the program, JUPYTER_PATH has the kernel, SCREENSHOTS is a folder for pictures of the whole notebooks.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Browser } from "../pages/browser.mjs";

const saved = new URL("../../demos/notebooks/", import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "xtape-lab-"));
let server, address, browser;

before(async () => {
  const own = Object.fromEntries(["JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR",
    "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR"].map((name) => [name, join(folder, "state", name)]));
  server = spawn(process.env.JUPYTER, ["lab", "--allow-root", "--no-browser", "--port=0", "--IdentityProvider.token=",
    `--ServerApp.root_dir=${folder}`], { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, ...own } });
  let log = "";
  address = await new Promise((resolve, reject) => {
    server.stderr.setEncoding("utf8").on("data", (text) => {
      log += text;
      const found = log.match(/http:\/\/localhost:\d+\/lab/);
      if (found) resolve(found[0]);
    });
    server.on("exit", () => reject(new Error(log)));
  });
  browser = await Browser.start();
});
after(async () => {
  await browser?.close();
  const gone = new Promise((resolve) => server.on("exit", resolve));
  server.kill();
  await gone;
  rmSync(folder, { recursive: true, force: true });
});

/** The type by which JupyterLab shows an output. */
function shown(output) {
  if (output.output_type === "stream") return `application/vnd.jupyter.${output.name}`;
  return ["text/html", "application/vnd.vegalite.v5+json", "text/latex", "image/svg+xml"]
    .find((type) => type in output.data);
}
const OUTPUTS = `[...document.querySelectorAll(".jp-OutputArea-output")]`;
const TYPES = `${OUTPUTS}.map((output) => output.dataset.mimeType ??
  (output.matches(".jp-RenderedVegaLite") ? "application/vnd.vegalite.v5+json" : "unknown"))`;

/** The whole notebook, as far as it came. */
async function photograph(page, name) {
  const scrolled = `document.querySelector(".jp-WindowedPanel-outer")`;
  const height = await page.evaluate(`(${scrolled}?.scrollHeight ?? 800) + 120`);
  await page.send("Emulation.setDeviceMetricsOverride", { width: 1200, height, deviceScaleFactor: 1, mobile: false });
  await page.evaluate(`${scrolled}?.scrollTo(0, 0)`);
  await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");
  writeFileSync(join(process.env.SCREENSHOTS, `${name}.png`), await page.screenshot());
}

for (const file of readdirSync(saved).filter((file) => file.endsWith(".ipynb"))) {
  const name = file.replace(".ipynb", "");
  test(`JupyterLab runs ${name} and shows its pictures`, async () => {
    const notebook = JSON.parse(readFileSync(new URL(file, saved)));
    const expected = notebook.cells.flatMap((cell) => cell.outputs ?? []).map(shown);
    for (const cell of notebook.cells) if (cell.outputs) cell.outputs = [];
    writeFileSync(join(folder, file), JSON.stringify(notebook));

    const page = await browser.open(`${address}/workspaces/${name}/tree/${file}`);
    try {
      await page.until(`document.querySelectorAll(".jp-Cell").length === ${notebook.cells.length} &&
        document.body.innerText.includes("C++17 | Idle")`, false, 60);
      await page.evaluate(`void ([...document.querySelectorAll(".lm-MenuBar-item")]
        .find((item) => item.textContent === "Run").id = "run")`);
      await page.click("#run");
      const all = '.lm-Menu-item[data-command="runmenu:run-all"]';
      await page.until(`document.querySelector('${all}')`);
      await page.click(all);
      // An error looks like what goes to standard error, and ends the run.
      await page.until(`${OUTPUTS}.length >= ${expected.length} ||
        ${TYPES}.includes("application/vnd.jupyter.stderr")`, false, 120);

      assert.deepEqual(await page.evaluate(TYPES), expected);
      const drawn = `${OUTPUTS}.map((output) => output.querySelector("img, canvas, svg, table, mjx-container, pre"))`;
      await page.until(`${drawn}.every((picture) => picture?.getBoundingClientRect().height > 0 &&
        (picture.tagName !== "IMG" || picture.naturalWidth > 0))`);
      assert.deepEqual(page.complaints, []);
    } finally {
      await photograph(page, name);
    }
  });
}
