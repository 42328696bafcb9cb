/* Who waits for whom, drawn: arrows go from who waits to whom it waits for, left to right, so that the culprit stands at the right end.
   Federates that wait alike are one box: with a thousand behind one culprit there are two boxes, not a thousand arrows. */

import { blocking, standing } from "./blocking.js";
import { h, s, text, whenChanged } from "./dom.js";
import { logical, plural, seconds, shorten } from "./format.js";
import { own } from "./patch.js";

const BOX = { width: 176, height: 46, gap: 12, between: 72, edge: 6 };
const ALONE = 3;
const MOST = 36;
const DEEPEST = 500;

/** Boxes {id, names, known, layer, culprit, circle, holds} and arrows {from, to}: what there is to draw, without where. */
export function boxes(federates) {
  const { edges, waiters, culprits } = blocking(federates);
  const guilty = new Map(culprits.map((one) => [one.name, one]));
  const groups = new Map();
  for (const name of new Set([...edges.keys(), ...waiters.keys()])) {
    const ahead = [...(edges.get(name) ?? [])].sort();
    const behind = [...(waiters.get(name) ?? [])].sort();
    const alike = JSON.stringify([ahead, behind]);
    if (!groups.has(alike)) groups.set(alike, []);
    groups.get(alike).push(name);
  }
  const all = [];
  for (const members of groups.values())
    for (const part of members.length > ALONE ? [members.sort()] : members.map((name) => [name])) {
      const culprit = guilty.get(part[0]);
      const known = own(federates, part[0]) !== undefined;
      all.push({
        id: part.join("\n"),
        names: part,
        known,
        culprit: culprit !== undefined,
        circle: culprit?.circle ?? false,
        holds: culprit?.holds ?? 0,
      });
    }
  return arranged(all, edges);
}

function arranged(all, edges) {
  const boxOf = new Map(all.flatMap((box) => box.names.map((name) => [name, box])));
  // Who stands in a circle stands in one column, at the end.
  const layers = new Map(all.filter((box) => box.circle).map((box) => [box, 0]));
  const layer = (box, path) => {
    if (layers.has(box)) return layers.get(box);
    if (path.has(box) || path.size > DEEPEST) return 0;
    path.add(box);
    const ahead = (edges.get(box.names[0]) ?? []).map((name) => 1 + layer(boxOf.get(name), path));
    path.delete(box);
    const found = ahead.length ? Math.max(...ahead) : 0;
    layers.set(box, found);
    return found;
  };
  for (const box of all) box.layer = Math.min(12, layer(box, new Set()));
  all.sort(
    (left, right) =>
      right.culprit - left.culprit ||
      right.names.length - left.names.length ||
      right.holds - left.holds ||
      (left.id < right.id ? -1 : 1),
  );
  const drawn = all.slice(0, MOST);
  const shown = new Set(drawn);
  const arrows = new Map();
  for (const box of drawn)
    for (const name of edges.get(box.names[0]) ?? []) {
      const to = boxOf.get(name);
      if (shown.has(to)) arrows.set(`${box.id}\t${to.id}`, { from: box, to });
    }
  return { boxes: drawn, arrows: [...arrows.values()], left: all.slice(MOST).flatMap((box) => box.names).length };
}

export class BlockGraph {
  constructor(hrefOf) {
    this.hrefOf = hrefOf;
    this.drawing = h("div", { class: "drawing" });
    this.left = h("p", { class: "caption" });
    this.element = h("div", { class: "blockgraph" }, this.drawing, this.left);
  }

  draw(federates) {
    const found = boxes(federates);
    const shape = [
      found.boxes.map((box) => [box.id, box.layer, box.culprit]),
      found.arrows.map((one) => [one.from.id, one.to.id]),
    ];
    whenChanged(this.drawing, shape, () => [
      found.boxes.length ? this.build(found) : h("p", { class: "note empty" }, "Nobody waits for anybody."),
    ]);
    for (const box of found.boxes) this.say(box, federates);
    for (const arrow of found.arrows)
      text(this.labels.get(`${arrow.from.id}\t${arrow.to.id}`), longest(arrow.from, federates));
    this.left.hidden = !found.left;
    text(
      this.left,
      `${plural(found.left, "more federate waits", "more federates wait")} and ${found.left === 1 ? "is" : "are"} not drawn.`,
    );
  }

  build({ boxes: all, arrows }) {
    const layers = [];
    for (const box of [...all].sort((left, right) => (left.id < right.id ? -1 : 1)))
      (layers[box.layer] ??= []).push(box);
    const columns = layers.filter(Boolean);
    const deep = columns.length;
    const rows = Math.max(...columns.map((column) => column.length));
    const around = all.some((box) => box.circle) ? 72 : 0;
    const width = deep * BOX.width + (deep - 1) * BOX.between + 2 * BOX.edge + around;
    const height = rows * (BOX.height + BOX.gap) - BOX.gap + 2 * BOX.edge;
    columns.forEach((column, layer) =>
      column.forEach((box, row) => {
        box.x = BOX.edge + (deep - 1 - layer) * (BOX.width + BOX.between);
        box.y = BOX.edge + row * (BOX.height + BOX.gap) + ((rows - column.length) * (BOX.height + BOX.gap)) / 2;
      }),
    );
    this.labels = new Map();
    this.words = new Map();
    const drawing = s(
      "svg",
      { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Who waits for whom" },
      s("defs", {}, head("tip", ""), head("tip-culprit", "culprit")),
      arrows.map((arrow) => this.arrow(arrow)),
      // After all arrows: one that goes past a box runs along those before it, and would strike their labels through.
      s("g", {}, [...this.labels.values()]),
      all.map((box) => this.box(box)),
    );
    // Where there is little room it shrinks, but never so far that it cannot be read.
    drawing.style.minWidth = `${0.75 * width}px`;
    return drawing;
  }

  arrow({ from, to }) {
    const back = to.x <= from.x;
    const start = [from.x + BOX.width, from.y + BOX.height / 2];
    const side = to.y < from.y ? 8 : -8;
    const end = back ? [to.x + BOX.width + 3, to.y + BOX.height / 2 + side] : [to.x - 3, to.y + BOX.height / 2];
    // In a circle, who is further away is passed by further outside.
    const bend = back ? 36 + 0.1 * Math.abs(to.y - from.y) : BOX.between / 2;
    const middle = [(start[0] + end[0]) / 2 + (back ? 0.75 * bend : -4), (start[1] + end[1]) / 2 + 4];
    const label = s("text", { class: "since", x: middle[0], y: middle[1] });
    this.labels.set(`${from.id}\t${to.id}`, label);
    const path = `M${start}C${start[0] + bend} ${start[1]} ${end[0] + (back ? bend : -bend)} ${end[1]} ${end}`;
    const guilty = to.culprit ? "-culprit" : "";
    return s(
      "g",
      { class: `arrow${guilty && " culprit"}` },
      s("path", { d: path, "marker-end": `url(#tip${guilty})` }),
    );
  }

  box(box) {
    const name = s("text", { class: "name", x: 12, y: 19 });
    const state = s("text", { class: "state", x: 12, y: 36 });
    const title = s("title");
    this.words.set(box.id, { name, state, title });
    const group = box.names.length > 1;
    const inside = [
      s("rect", {
        class: "shadow",
        x: 4,
        y: -4,
        width: BOX.width,
        height: BOX.height,
        rx: 6,
        display: group ? undefined : "none",
      }),
      s("rect", { width: BOX.width, height: BOX.height, rx: 6 }),
      title,
      name,
      state,
    ];
    return s(
      box.known ? "a" : "g",
      {
        class: `box${box.culprit ? " culprit" : ""}`,
        href: box.known ? this.hrefOf(box.names[0]) : undefined,
        transform: `translate(${box.x} ${box.y})`,
      },
      ...inside,
    );
  }

  say(box, federates) {
    const words = this.words.get(box.id);
    const [name, state] = box.known ? linesOf(box, own(federates, box.names[0])) : linesOfReason(box);
    text(words.name, shorten(name, 19));
    text(words.state, shorten(state, 23));
    const facts = box.names
      .slice(0, 12)
      .map((name) => (own(federates, name) ? `${name}: ${standing(own(federates, name))}` : name));
    text(words.title, facts.join("\n") + (box.names.length > 12 ? `\nand ${box.names.length - 12} more` : ""));
  }
}

function linesOf(box, first) {
  if (box.names.length > 1 && !box.culprit) return [plural(box.names.length, "federate"), box.names.join(", ")];
  const where = first.time === undefined ? "" : `at ${logical(first.time)}`;
  const held = [where, `holds up ${box.holds}`].filter(Boolean).join(" · ");
  const name = box.names.length > 1 ? plural(box.names.length, "federate") : box.names[0];
  return [name, box.culprit ? held : `waits for ${logical(first.requested)}`];
}

/** What is no federate is a sentence: it takes both lines. */
function linesOfReason(box) {
  if (box.names.length > 1) return [plural(box.names.length, "reason"), box.names.join(", ")];
  const whole = box.names[0];
  const space = whole.length > 19 ? whole.lastIndexOf(" ", 19) : whole.length;
  return space > 0 ? [whole.slice(0, space), whole.slice(space).trim() || `holds up ${box.holds}`] : [whole, ""];
}

const longest = (box, federates) => {
  const most = Math.max(...box.names.map((name) => own(federates, name)?.seconds ?? -1));
  return most < 0 ? "" : seconds(most);
};

const head = (id, style) =>
  s(
    "marker",
    { id, class: style, viewBox: "0 0 10 10", refX: 8, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto" },
    s("path", { d: "M0 0L10 5L0 10z" }),
  );
