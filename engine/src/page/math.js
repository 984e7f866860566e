// Formulas as the headers write them, "da = g b^T, db = a^T g", typeset as MathML.
//
//   text    := (term | symbol | word)*
//   term    := product ("/" product)*
//   product := factor factor ...
//   factor  := ["-"] atom ["_" atom] ["^" factor]
"use strict";

const GREEK = { pi: "π", phi: "φ", Phi: "Φ", lambda: "λ", dlambda: "dλ", epsilon: "ε" };
const PREFIX = new Set(
  ["sum", "prod", "mean", "var", "max", "min", "ln", "sin", "cos", "tanh", "integral"]);
const SYMBOL = { "-": "−", ".": "⋅", "<=": "≤", ">=": "≥", "!=": "≠", "...": "…" };
const TOKEN = new RegExp([
  "i-th",
  "(?!lambda_)[a-z]{2,}(?:_[a-z]{3,})+",  // an op's name: scatter_add
  "[A-Za-z]+[0-9]*'?",
  "[0-9]+(?:\\.[0-9]+)?",
  "\\.\\.\\.|<=|>=|!=|\\S",
].join("|"), "g");
const CLOSING = { "(": ")", "[": "]" };

const escapeText = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const tag = (name, ...children) => `<${name}>${children.join("")}</${name}>`;

class Formula {
  constructor(text) {
    this.tokens = text.match(TOKEN) ?? [];
    this.at = 0;
  }
  get next() { return this.tokens[this.at]; }
  take() { return this.tokens[this.at++]; }

  /** Everything up to a closing token, or to the end. */
  text(closing) {
    let result = "";
    while (this.next !== undefined && this.next !== closing)
      result += this.beginsFactor() ? this.term() : this.plain();
    return result;
  }

  /** Words of prose, or an operator. */
  plain() {
    const words = [this.take()];
    if (!/^[A-Za-z]/.test(words[0])) return tag("mo", escapeText(SYMBOL[words[0]] ?? words[0]));
    while (/^[A-Za-z]/.test(this.next ?? "") && !this.beginsFactor()) words.push(this.take());
    return tag("mtext", `&#160;${words.join("&#160;")}&#160;`);
  }

  beginsFactor() {
    const token = this.next;
    if (token === undefined) return false;
    if (/^[0-9([]/.test(token)) return true;
    if (!/^[A-Za-z]/.test(token)) return false;
    return token.replace(/[0-9]+$/, "").length === 1 || /^d[a-z][0-9]*$/.test(token) ||
      token in GREEK || PREFIX.has(token) || ["(", "_", "^"].includes(this.tokens[this.at + 1]);
  }

  term() {
    let result = this.product();
    while (this.next === "/" && this.tokens[this.at + 1] !== undefined) {
      this.take();
      result = tag("mfrac", tag("mrow", result), this.below());
    }
    return result;
  }

  /** What stands below a line: a product, or the inside of parentheses that are all of it. */
  below() {
    const start = this.at;
    const product = tag("mrow", this.product());
    let depth = 0, closing = start;
    do {
      depth += (this.tokens[closing] === "(") - (this.tokens[closing] === ")");
    } while (depth > 0 && ++closing < this.at);
    if (this.tokens[start] !== "(" || closing !== this.at - 1) return product;
    this.at = start;
    return this.script();
  }

  product() {
    let result = this.factor();
    while (this.beginsFactor()) result += this.factor();
    return result;
  }

  factor() {
    if (this.next === "-") return this.plain() + this.factor();
    let result = this.atom();
    if (this.next === "_") {
      this.take();
      result = tag("msub", result, this.script());
    }
    if (this.next === "^") {
      this.take();
      result = tag("msup", result, this.script());
    }
    return result;
  }

  /** What stands raised or lowered, without its parentheses. */
  script() {
    if (this.next !== "(") return tag("mrow", this.factor());
    this.take();
    const inner = this.text(")");
    this.take();
    return tag("mrow", inner);
  }

  atom() {
    const token = this.take();
    if (token in CLOSING) {
      const inner = this.text(CLOSING[token]);
      return tag("mrow", tag("mo", token), inner, tag("mo", this.take() ?? ""));
    }
    if (/^[0-9]/.test(token)) return tag("mn", token);
    if (token === "sqrt" && this.next === "(") return tag("msqrt", this.script());
    if (token === "sum") return tag("mo", "∑");
    if (token === "prod") return tag("mo", "∏");
    if (token === "integral") return tag("mo", "∫");
    if (token in GREEK) return tag("mi", GREEK[token]);
    const differential = /^d([a-z])([0-9]*)$/.exec(token);
    if (differential) {
      const [, letter, digits] = differential;
      return tag("mrow", '<mi mathvariant="normal">d</mi>', name(letter + digits));
    }
    return name(token ?? "");
  }
}

/** x, q1 with its number lowered, or a longer name upright. */
function name(token) {
  const [, letters, digits] = /^(.*?)([0-9]*)$/.exec(token);
  const base = tag("mi", escapeText(letters));
  if (PREFIX.has(token)) return base + '<mspace width="0.17em"></mspace>';
  return digits ? tag("msub", base, tag("mn", digits)) : base;
}

/** A formula as a <math> element's text, which reads as it was written where MathML is not shown. */
function mathml(formula) {
  return `<math alttext="${escapeText(formula)}">${tag("mrow", new Formula(formula).text())}</math>`;
}

/** The two halves of a docstring's formula: what the op computes, and its gradient. */
function halves(formula) {
  const cut = formula.indexOf("; ");
  return cut < 0 ? [formula, ""] : [formula.slice(0, cut), formula.slice(cut + 2)];
}

if (typeof module !== "undefined") module.exports = { mathml, halves };
