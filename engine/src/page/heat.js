// Tensors as heat maps, and small helpers to build a page with.
// A picture is what C++ writes: {shape, shown: [slices, rows, columns], values, low, high, bad}, with
// labels where both its rows and its columns have names.
"use strict";

/** An element with attributes, and children that are elements or texts. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const shapeText = (shape) => "[" + shape.join(", ") + "]";

/** A number for the eye: three digits; what is no number comes as a text. */
function numberText(value) {
  if (typeof value === "string") return value;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(2);
  return String(Number(value.toPrecision(3)));
}

/** Blue above zero, orange below, white at zero; what is no number is magenta. */
function colour(value, scale) {
  if (typeof value === "string") return "#d000a0";
  const t = scale > 0 ? Math.min(1, Math.abs(value) / scale) : 0;
  const [r, g, b] = value > 0 ? [0, 92, 171] : [196, 84, 0];
  const mix = (c) => Math.round(255 + (c - 255) * t);
  return `rgb(${mix(r)}, ${mix(g)}, ${mix(b)})`;
}

const isDark = (value, scale) => typeof value === "string" || Math.abs(value) > 0.55 * scale;

/** The position that was taken for the i-th of `shown` along an axis of this length. */
const positionOf = (i, shown, length) => Math.floor((i * length) / shown);

/** The leading indices of a slice: [1, 0] for the third of [2, 2, rows, columns]. */
function leadingIndex(shape, slice) {
  const index = [];
  for (let axis = shape.length - 3; axis >= 0; --axis) {
    index.unshift(slice % shape[axis]);
    slice = Math.floor(slice / shape[axis]);
  }
  return index;
}

/** The part of a picture that is one slice, with the positions of its rows and columns. */
function sliceOf(picture, s) {
  const [slices, rows, columns] = picture.shown;
  const [height, width] = [picture.shape.at(-2) ?? 1, picture.shape.at(-1) ?? 1];
  const leading = picture.shape.slice(0, -2).reduce((a, b) => a * b, 1);
  const label = (at) => picture.labels?.[at] ?? String(at);
  return {
    rows, columns,
    index: leadingIndex(picture.shape, positionOf(s, slices, leading)),
    row: (i) => label(positionOf(i, rows, height)),
    column: (j) => label(positionOf(j, columns, width)),
    at: (i, j) => picture.values[(s * rows + i) * columns + j],
  };
}

/** A table of numbers, coloured when there is a scale. */
function numberTable(slice, name, scale) {
  const table = element("table", {}, element("caption", { class: "unseen" }, name));
  const head = element("tr", {}, element("td"));
  for (let j = 0; j < slice.columns; ++j)
    head.append(element("th", { scope: "col" }, slice.column(j)));
  table.append(head);
  for (let i = 0; i < slice.rows; ++i) {
    const row = element("tr", {}, element("th", { scope: "row" }, slice.row(i)));
    for (let j = 0; j < slice.columns; ++j) {
      const value = slice.at(i, j);
      const cell = element("td", {}, numberText(value));
      if (scale !== undefined) {
        cell.style.background = colour(value, scale);
        if (isDark(value, scale)) cell.style.color = "#fff";
      }
      row.append(cell);
    }
    table.append(row);
  }
  return table;
}

const pixelsFor = (slice) =>
  Math.max(4, Math.min(16, Math.floor(256 / Math.max(slice.rows, slice.columns))));

function canvasOf(slice, name, scale, pixels) {
  const canvas = element("canvas", {
    width: slice.columns, height: slice.rows, role: "img", "aria-label": name,
  });
  canvas.style.width = slice.columns * pixels + "px";
  const context = canvas.getContext("2d");
  for (let i = 0; i < slice.rows; ++i)
    for (let j = 0; j < slice.columns; ++j) {
      context.fillStyle = colour(slice.at(i, j), scale);
      context.fillRect(j, i, 1, 1);
    }
  return canvas;
}

/** A map of pixels that are large enough for the names of its rows and columns. */
function labelledMap(slice, name, scale) {
  const edge = (count, at) => element("div", { "aria-hidden": true },
    ...Array.from({ length: count }, (_, i) => element("span", {}, at(i))));
  return element("div", { class: "labelled" }, element("div"), edge(slice.columns, slice.column),
    edge(slice.rows, slice.row), canvasOf(slice, name, scale, 12));
}

/** What a picture leaves out, in words; empty when it shows all. */
function thinnedText(picture) {
  const { shape, shown } = picture;
  const whole = [shape.slice(0, -2).reduce((a, b) => a * b, 1), shape.at(-2) ?? 1, shape.at(-1) ?? 1];
  const parts = ["slices", "rows", "columns"]
    .map((word, i) => (shown[i] < whole[i] ? `${shown[i]} of ${whole[i]} ${word}` : ""))
    .filter((part) => part);
  return parts.length ? "thinned: " + parts.join(", ") : "";
}

const badText = (bad) => `first ${bad.what} at ${shapeText(bad.at)}`;

/** A figure of one tensor: numbers on colours when it is small, else pixels and a folded table. Its
    title is a text or an element. */
function heatMap(picture, title, scale = Math.max(Math.abs(picture.low), Math.abs(picture.high))) {
  const [slices, rows, columns] = picture.shown;
  const range = slices * rows * columns === 0 ? "empty" : picture.low === undefined ? "no finite value"
    : `${numberText(picture.low)} to ${numberText(picture.high)}`;
  const notes = [shapeText(picture.shape), range, thinnedText(picture)].filter((part) => part);
  const figure = element("figure", { class: "heat" },
    element("figcaption", {}, element("strong", {}, title), " ", notes.join(" · ")));
  if (picture.bad) figure.append(element("p", { class: "bad" }, badText(picture.bad)));
  const called = title.textContent ?? title;
  const small = columns <= 8 && rows <= 8;
  const maps = element("div", { class: "slices" });
  for (let s = 0; s < slices && rows * columns > 0; ++s) {
    const slice = sliceOf(picture, s);
    const place = slice.index.length ? shapeText(slice.index) : "";
    const name = `${called} ${place} ${range}`;
    const map = small ? numberTable(slice, name, scale)
      : picture.labels ? labelledMap(slice, name, scale) : canvasOf(slice, name, scale, pixelsFor(slice));
    maps.append(element("div", {}, place, map));
  }
  figure.append(maps);
  if (!small) figure.append(foldedNumbers(picture, called));
  return figure;
}

/** The numbers behind a map of pixels, made when they are asked for. */
function foldedNumbers(picture, title) {
  const details = element("details", {}, element("summary", {}, "numbers"));
  details.addEventListener("toggle", () => {
    for (let s = details.children.length - 1; s < picture.shown[0]; ++s) {
      const slice = sliceOf(picture, s);
      const name = `${title} ${shapeText(slice.index)}`;
      details.append(element("div", { class: "wide", tabindex: 0, role: "group",
                                      "aria-label": name }, numberTable(slice, name)));
    }
  });
  return details;
}
