/* Where everybody is in logical time: a dot for what is granted, a bar for the lookahead, a ring for what is asked for.
   Those furthest behind come first, since they are the ones that others wait for. */

import { waits } from "./blocking.js";
import { attribute, each, h, s, text } from "./dom.js";
import { logical, plural, shorten } from "./format.js";

const ROW = 22;
const RIGHT = 24;
const MOST = 8;

const finite = (value) => typeof value === "number" && Number.isFinite(value);

export function ticks(low, high, about = 6) {
  const rough = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999);
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high; at++) found.push(Number((at * step).toPrecision(12)));
  return found;
}

export class TimeStrip {
  constructor(hrefOf) {
    this.hrefOf = hrefOf;
    this.axis = s("g", { class: "axis" });
    this.lanes = s("g");
    this.svg = s(
      "svg",
      { class: "strip", role: "group", "aria-label": "Where federates are in logical time" },
      this.axis,
      this.lanes,
    );
    this.left = h("p", { class: "caption" });
    this.none = h("p", { class: "note empty" }, "No federate uses logical time.");
    this.element = h("div", { class: "timestrip" }, this.svg, this.left, this.none);
    new ResizeObserver(() => this.last && this.draw(this.last)).observe(this.element);
  }

  draw(federates) {
    this.last = federates;
    const all = Object.entries(federates)
      .filter(([, one]) => finite(one.time) && (one.regulating || one.constrained || one.time))
      .map(([name, one]) => ({ name, one, at: one.time }))
      .sort((left, right) => left.at - right.at || (left.name < right.name ? -1 : 1));
    const rows = all.slice(0, MOST);
    this.svg.style.display = rows.length ? "" : "none";
    this.none.hidden = rows.length > 0;
    this.left.hidden = all.length <= MOST;
    text(this.left, `The ${MOST} furthest behind, of ${plural(all.length, "federate")}.`);
    if (rows.length) this.drawRows(rows);
  }

  drawRows(rows) {
    const width = Math.max(280, this.element.clientWidth);
    const left = (this.leftEdge = 16 + 7 * Math.min(18, Math.max(...rows.map((row) => row.name.length))));
    const height = rows.length * ROW + 24;
    attribute(this.svg, "width", width);
    attribute(this.svg, "height", height);
    const ends = rows.flatMap(({ one }) => [
      one.time,
      one.time + (finite(one.lookahead) ? one.lookahead : 0),
      ...(waits(one) && finite(one.requested) ? [one.requested] : []),
    ]);
    const low = Math.min(...ends);
    const high = Math.max(...ends, low + 1);
    const spare = (high - low) * 0.04;
    const x = (value) => left + ((value - low + spare) / (high - low + 2 * spare)) * (width - left - RIGHT);
    const marks = ticks(low, high).map((value) => ({ value, at: x(value) }));
    each(
      this.axis,
      marks,
      (one) => one.value,
      makeTick,
      (element, { value, at }) => {
        attribute(element, "transform", `translate(${at.toFixed(1)} 0)`);
        attribute(element.firstChild, "y2", rows.length * ROW);
        attribute(element.lastChild, "y", rows.length * ROW + 16);
        text(element.lastChild, logical(value));
      },
    );
    each(
      this.lanes,
      rows,
      (row) => row.name,
      () => this.makeLane(),
      (element, row) => this.fill(element, row, rows.indexOf(row), x),
    );
  }

  makeLane() {
    return s(
      "a",
      { class: "lane" },
      s("title"),
      s("text", { class: "name", y: 15 }),
      s("line", { class: "track" }),
      s("rect", { class: "ahead", y: 8, height: 6, rx: 3 }),
      s("circle", { class: "asked", cy: 11, r: 4.5 }),
      s("circle", { class: "at", cy: 11, r: 4.5 }),
    );
  }

  fill(element, { name, one }, place, x) {
    const [title, label, track, ahead, asked, at] = element.children;
    attribute(element, "href", this.hrefOf(name));
    attribute(element, "transform", `translate(0 ${place * ROW})`);
    attribute(element, "class", `lane${waits(one) ? " waits" : ""}`);
    text(label, shorten(name, 18));
    attribute(label, "x", this.leftEdge - 12);
    const reach = finite(one.lookahead) ? one.time + one.lookahead : one.time;
    const wants = waits(one) && finite(one.requested);
    text(
      title,
      `${name}: granted ${logical(one.time)}, lookahead ${logical(one.lookahead)}${wants ? `, asks for ${logical(one.requested)}` : ""}`,
    );
    attribute(ahead, "x", x(one.time).toFixed(1));
    attribute(ahead, "width", Math.max(0, x(reach) - x(one.time)).toFixed(1));
    attribute(at, "cx", x(one.time).toFixed(1));
    asked.style.display = track.style.display = wants ? "" : "none";
    if (wants) {
      attribute(asked, "cx", x(one.requested).toFixed(1));
      for (const [key, value] of [
        ["x1", x(one.time)],
        ["x2", x(one.requested) - 4.5],
        ["y1", 11],
        ["y2", 11],
      ])
        attribute(track, key, value);
    }
  }
}

const makeTick = () => s("g", {}, s("line", { y1: 0 }), s("text", {}));
