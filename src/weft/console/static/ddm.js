/* The map of regions: two dimensions of the routing space, what is published (solid, hatched) and what is subscribed (dashed, clear).
   What is neither, for instance where interactions are sent, is "other".  A region without a range in a dimension takes all of it.  With one dimension, every region has a lane of its own. */

import { attribute, each, h, note, s, text } from "./dom.js";
import { count, logical, names, plural, shorten } from "./format.js";
import { own } from "./patch.js";
import { ticks } from "./timestrip.js";

const SIZE = { width: 640, height: 440, left: 56, right: 20, top: 8, bottom: 40 };
const LABELLED = 60;
const LINES = 200;

export const overlap = (one, other) =>
  Object.entries(one.ranges ?? {}).every(([name, [low, high]]) => {
    const there = own(other.ranges, name);
    return there === undefined || (low < there[1] && there[0] < high);
  });

export class Map2 {
  constructor(redraw) {
    this.redraw = redraw;
    this.grid = s("g", { class: "cells" });
    this.axes = s("g", { class: "axis" });
    this.regions = s("g", { class: "regions" });
    const { width, height, left, top, right, bottom } = SIZE;
    const hatch = s(
      "pattern",
      { id: "hatch", width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      s("line", { y2: 8, class: "hatch" }),
    );
    this.svg = s(
      "svg",
      { class: "ddm", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Map of regions" },
      s(
        "defs",
        {},
        hatch,
        s(
          "clipPath",
          { id: "space" },
          s("rect", { x: left, y: top, width: width - left - right, height: height - top - bottom }),
        ),
      ),
      s("rect", { class: "space", x: left, y: top, width: width - left - right, height: height - top - bottom }),
      this.axes,
      s("g", { "clip-path": "url(#space)" }, this.grid, this.regions),
    );
    this.other = entry("other", "other");
    this.legend = h(
      "ul",
      { class: "legend", "aria-label": "Legend" },
      entry("publishes", "published"),
      entry("subscribes", "subscribed"),
      entry("both", "both"),
      this.other,
      entry("cell", "cells of the strategy"),
    );
    this.chosen = h("p", { class: "caption", role: "status" });
    this.none = note();
    this.element = h("div", { class: "map" }, this.svg, this.legend, this.chosen, this.none);
  }

  draw(federation, across, up, owner) {
    const all = Object.entries(federation.regions ?? {}).filter(([, one]) => !owner || one.owner === owner);
    const usable = across !== undefined;
    for (const part of [this.svg, this.legend, this.chosen]) part.style.display = usable ? "" : "none";
    this.none.hidden = usable;
    text(this.none, "No federate has regions. Without them, who subscribes a class gets all of it.");
    if (!usable) return;
    this.scales(federation, all, across, up);
    this.drawFrame(federation, across, up);
    const pick = all.find(([id]) => id === this.picked)?.[1];
    const lane = new Map(all.map(([id], place) => [id, place]));
    const boxes = all.map(([id, region]) => ({
      id,
      region,
      ...this.box(region, across, up, lane.get(id), all.length),
    }));
    // Small ones lie on top, so that each can be pointed at.
    boxes.sort((one, other) => other.width * other.height - one.width * one.height || (one.id < other.id ? -1 : 1));
    const labelled = boxes.length <= LABELLED;
    this.other.hidden = all.every(([, one]) => one.publishes?.length || one.subscribes?.length);
    each(
      this.regions,
      boxes,
      (one) => one.id,
      (one) => this.make(one),
      (element, one) => this.fill(element, one, pick, labelled),
    );
    this.say(all, pick, federation);
  }

  scales(federation, all, across, up) {
    const bound = (name) => {
      if (name === undefined) return 1;
      const high = all.map(([, one]) => own(one.ranges, name)?.[1] ?? 0).filter(Number.isFinite);
      const used = high.reduce((one, other) => Math.max(one, other), 0);
      const limit = federation.dimensions[name] ?? used;
      // A dimension may reach to 2^64 although regions use a corner of it: then the corner is shown, in steps that seldom change.
      return used > 0 && limit > used * 8 ? Math.min(limit, 2 ** Math.ceil(Math.log2(used * 1.05))) : limit || 1;
    };
    const wide = bound(across);
    const tall = bound(up);
    this.limits = [wide, tall];
    this.x = (value) => SIZE.left + (Math.min(value, wide) / wide) * (SIZE.width - SIZE.left - SIZE.right);
    this.y = (value) =>
      SIZE.height - SIZE.bottom - (Math.min(value, tall) / tall) * (SIZE.height - SIZE.top - SIZE.bottom);
  }

  box(region, across, up, place, of) {
    const [left, right] = own(region.ranges, across) ?? [0, this.limits[0]];
    const [low, high] =
      up === undefined
        ? [(of - place - 0.85) / of, (of - place - 0.15) / of]
        : (own(region.ranges, up) ?? [0, this.limits[1]]);
    const x = this.x(left);
    const y = this.y(high);
    return { x, y, width: Math.max(2, this.x(right) - x), height: Math.max(2, this.y(low) - y) };
  }

  drawFrame(federation, across, up) {
    const base = SIZE.height - SIZE.bottom;
    const marks = [
      ...ticks(0, this.limits[0]).map((value) => ({
        key: `x${value}`,
        at: [this.x(value), base + 16],
        words: logical(value),
        kind: "x",
      })),
      ...(up === undefined
        ? []
        : ticks(0, this.limits[1]).map((value) => ({
            key: `y${value}`,
            at: [SIZE.left - 8, this.y(value) + 4],
            words: logical(value),
            kind: "y",
          }))),
      { key: "across", at: [(SIZE.left + SIZE.width - SIZE.right) / 2, base + 34], words: across, kind: "x title" },
      ...(up === undefined ? [] : [{ key: "up", at: [14, base / 2], words: up, kind: "y title" }]),
    ];
    each(
      this.axes,
      marks,
      (one) => one.key,
      (one) => s("text", { class: one.kind }),
      (element, { at, words, kind }) => {
        text(element, words);
        attribute(element, "x", kind === "y title" ? 0 : at[0]);
        attribute(element, "y", kind === "y title" ? 0 : at[1]);
        attribute(element, "transform", kind === "y title" ? `translate(${at[0]} ${at[1]}) rotate(-90)` : undefined);
      },
    );
    const lines = [
      ...(own(federation.cells, across) ?? [])
        .slice(0, LINES)
        .map((value) => ({ key: `x${value}`, x1: this.x(value), x2: this.x(value), y1: SIZE.top, y2: base })),
      ...(up === undefined
        ? []
        : (own(federation.cells, up) ?? []).slice(0, LINES).map((value) => ({
            key: `y${value}`,
            x1: SIZE.left,
            x2: SIZE.width - SIZE.right,
            y1: this.y(value),
            y2: this.y(value),
          }))),
    ];
    each(
      this.grid,
      lines,
      (one) => one.key,
      () => s("line"),
      (element, one) => {
        for (const key of ["x1", "x2", "y1", "y2"]) attribute(element, key, one[key].toFixed(1));
      },
    );
    this.legend.lastChild.hidden = !lines.length;
  }

  make(one) {
    const pick = () => {
      this.picked = this.picked === one.id ? undefined : one.id;
      this.redraw();
    };
    const keys = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      pick();
    };
    return s(
      "g",
      { tabindex: 0, role: "button", "data-region": one.id, onclick: pick, onkeydown: keys },
      s("title"),
      s("rect", { class: "ground" }),
      s("rect", { class: "pattern" }),
      s("text", { class: "label" }),
    );
  }

  fill(element, { id, region, x, y, width, height }, pick, labelled) {
    const [title, ground, pattern, label] = element.children;
    const kind = `${region.publishes?.length ? " publishes" : ""}${region.subscribes?.length ? " subscribes" : ""}`;
    const mine = id === this.picked;
    const fades = pick !== undefined && !mine && !overlap(pick, region);
    attribute(element, "class", `region${kind}${mine ? " picked" : ""}${fades ? " fades" : ""}`);
    for (const rect of [ground, pattern])
      for (const [key, value] of Object.entries({ x, y, width, height })) attribute(rect, key, value.toFixed(1));
    const words = about(region);
    text(title, words);
    attribute(element, "aria-label", words);
    // Among thousands nobody wants to stop at each with the tabulator; the choice of one federate makes them few.
    attribute(element, "tabindex", labelled ? 0 : -1);
    text(label, labelled && width > 44 && height > 16 ? shorten(region.owner ?? "", Math.floor(width / 7)) : "");
    attribute(label, "x", (x + 6).toFixed(1));
    attribute(label, "y", (y + 14).toFixed(1));
  }

  say(all, pick, federation) {
    const left = federation.regions_left_off ? `; ${count(federation.regions_left_off)} more are not shown` : "";
    if (pick === undefined)
      return text(this.chosen, `${plural(all.length, "region")}${left}. Choose one to see what overlaps it.`);
    const others = all.filter(([id, one]) => id !== this.picked && overlap(pick, one)).map(([, one]) => one.owner);
    return text(
      this.chosen,
      `${about(pick)}. ${others.length ? `Overlaps ${plural(others.length, "region")}, of ${names([...new Set(others)].sort(), 6)}` : "Overlaps no other region"}.`,
    );
  }
}

const entry = (kind, words) =>
  h(
    "li",
    {},
    s(
      "svg",
      { class: `swatch ${kind}`, width: 22, height: 14, "aria-hidden": "true" },
      s("rect", { class: "ground", x: 1, y: 1, width: 20, height: 12 }),
      s("rect", { class: "pattern", x: 1, y: 1, width: 20, height: 12 }),
    ),
    words,
  );

function about(region) {
  const ranges = Object.entries(region.ranges ?? {}).map(
    ([name, [low, high]]) => `${name} ${logical(low)}–${logical(high)}`,
  );
  const does = [
    region.publishes?.length ? `publishes ${names(region.publishes)}` : "",
    region.subscribes?.length ? `subscribes ${names(region.subscribes)}` : "",
  ];
  return [`${region.owner}: ${ranges.join(", ")}`, ...does].filter(Boolean).join("; ");
}
