// Chromium without a window, by its DevTools protocol over a pipe: no package is needed.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const KEYS = { ArrowLeft: 37, ArrowRight: 39, End: 35, Home: 36, Tab: 9, Enter: 13, " ": 32 };

export class Browser {
  static async start() {
    const browser = new Browser();
    browser.profile = mkdtempSync(join(tmpdir(), "xtape-pages-"));
    browser.process = spawn("chromium", [
      "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
      `--user-data-dir=${browser.profile}`, "about:blank",
    ], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    let unread = "";
    browser.process.stdio[4].setEncoding("utf8").on("data", (text) => {
      const messages = (unread + text).split("\0");
      unread = messages.pop();
      for (const message of messages) browser.receive(JSON.parse(message));
    });
    browser.process.on("exit", () => browser.receive({ method: "exit" }));
    return browser;
  }

  waiting = new Map();
  pages = new Map();
  last = 0;

  send(method, params = {}, sessionId) {
    const id = ++this.last;
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject, method }));
  }

  receive(message) {
    if (message.method === "exit")
      for (const { reject, method } of this.waiting.values()) reject(new Error(`${method}: Chromium ended`));
    const call = this.waiting.get(message.id);
    if (!call) return this.pages.get(message.sessionId)?.see(message);
    this.waiting.delete(message.id);
    if (message.error) call.reject(new Error(`${call.method}: ${message.error.message}`));
    else call.resolve(message.result);
  }

  /** A page of this file (with #fragment) or address, loaded; width and height in CSS pixels. */
  async open(place, { fragment = "", width = 1200, height = 900 } = {}) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId);
    this.pages.set(sessionId, page);
    for (const domain of ["Page", "Runtime", "Log"]) await page.send(`${domain}.enable`);
    await page.send("Emulation.setDeviceMetricsOverride",
      { width, height, deviceScaleFactor: 1, mobile: width < 600 });
    await page.send("Network.enable");
    const loaded = new Promise((resolve) => (page.onLoad = resolve));
    const url = place.startsWith("http:") ? place : pathToFileURL(place).href;
    await page.send("Page.navigate", { url: url + fragment });
    await loaded;
    return page;
  }

  async close() {
    const gone = new Promise((resolve) => this.process.on("exit", resolve));
    await this.send("Browser.close").catch(() => {});
    await gone;
    rmSync(this.profile, { recursive: true, force: true });
  }
}

export class Page {
  complaints = [];  // of the console, and exceptions
  requests = [];
  contexts = [];  // of the page, and then of frames in it

  constructor(browser, session) {
    this.browser = browser;
    this.session = session;
  }
  send(method, params) { return this.browser.send(method, params, this.session); }

  see({ method, params }) {
    if (method === "Page.loadEventFired") this.onLoad?.();
    if (method === "Runtime.exceptionThrown") this.complaints.push(params.exceptionDetails.text);
    if (method === "Runtime.consoleAPICalled" && ["error", "warning"].includes(params.type))
      this.complaints.push(JSON.stringify(params.args));
    if (method === "Log.entryAdded" && params.entry.level !== "verbose") this.complaints.push(params.entry.text);
    if (method === "Runtime.executionContextCreated") this.contexts.push(params.context.id);
    if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
  }

  /** The value of an expression in the page, or in the frame that was opened last. */
  async evaluate(expression, inFrame = false) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", {
      expression, returnByValue: true, awaitPromise: true,
      contextId: inFrame ? this.contexts.at(-1) : undefined,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async until(expression, inFrame = false, seconds = 5) {
    for (let i = 0; i < 40 * seconds; ++i) {
      if (await this.evaluate(`Boolean(${expression})`, inFrame).catch(() => false)) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error(`never true: ${expression}`);
  }

  async press(key) {
    const code = { key, windowsVirtualKeyCode: KEYS[key] ?? key.toUpperCase().charCodeAt(0) };
    const text = key === "Enter" ? "\r" : key.length === 1 ? key : undefined;
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", ...code, text });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...code });
  }

  /** A click with the mouse in the middle of an element. */
  async click(selector) {
    const at = await this.evaluate(`(() => {
      const node = document.querySelector(${JSON.stringify(selector)});
      node.scrollIntoView({ block: "center" });
      const { x, y, width, height } = node.getBoundingClientRect();
      return { x: x + width / 2, y: y + height / 2 };
    })()`);
    await this.send("Input.dispatchMouseEvent", { type: "mouseMoved", ...at });
    for (const type of ["mousePressed", "mouseReleased"])
      await this.send("Input.dispatchMouseEvent", { type, ...at, button: "left", clickCount: 1 });
  }

  text(selector) { return this.evaluate(`document.querySelector(${JSON.stringify(selector)}).textContent`); }

  /** How far the page is wider than the window. */
  overflow() { return this.evaluate("document.documentElement.scrollWidth - innerWidth"); }

  async screenshot() {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    return Buffer.from(data, "base64");
  }

  /** Elements that a screen reader would find without a name. */
  async nameless() {
    const { nodes } = await this.send("Accessibility.getFullAXTree");
    const named = ["button", "slider", "spinbutton", "checkbox", "combobox", "image", "link", "Iframe"];
    return nodes.filter((node) => !node.ignored && named.includes(node.role?.value) && !node.name?.value)
      .map((node) => node.role.value);
  }
}
