/* The live time line: for each consumer, when it was at work; what came too late is red, and crossed out for who sees no red.
   Clocks of nodes are not the same: each lane is shown relative to the latest of its node. */

import { h } from "./dom.js";
import { shorten } from "./format.js";
import { ticks } from "./timestrip.js";

const LANE = 26;
const LEFT = 148;
const RIGHT = 16;
const AXIS = 24;
export const MOST_LANES = 40;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export class TimeLine {
  constructor() {
    this.window = 10;
    this.canvas = h("canvas", { role: "img", "aria-label": "Time line of consumers; the table has the figures" });
    this.element = h("div", { class: "timeline" }, this.canvas);
    new ResizeObserver(() => this.last && this.draw(this.last)).observe(this.element);
  }

  /** lanes: {name, node, recent: [[start, end, class, missed]]} */
  draw(lanes) {
    this.last = lanes;
    const shown = lanes.slice(0, MOST_LANES);
    const ends = new Map();
    for (const lane of shown)
      for (const [, end] of lane.recent) ends.set(lane.node, Math.max(ends.get(lane.node) ?? -Infinity, end));
    const width = Math.max(320, this.element.clientWidth);
    const height = shown.length * LANE + AXIS;
    const pen = this.sheet(width, height);
    const x = (ago) => LEFT + (1 - ago / this.window) * (width - LEFT - RIGHT);
    this.axis(pen, x, shown.length * LANE);
    shown.forEach((lane, place) =>
      this.lane(pen, lane, place * LANE, (at) => x((ends.get(lane.node) ?? 0) - at), width),
    );
  }

  sheet(width, height) {
    const scale = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.height = `${height}px`;
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    return pen;
  }

  axis(pen, x, bottom) {
    pen.textAlign = "center";
    for (const ago of ticks(0, this.window)) {
      pen.fillStyle = colour("line");
      pen.fillRect(Math.round(x(ago)), 0, 1, bottom + 4);
      pen.fillStyle = colour("muted");
      pen.fillText(ago === 0 ? "now" : `−${ago} s`, Math.min(x(ago), x(0) - 6), bottom + 14);
    }
  }

  lane(pen, lane, top, x, width) {
    pen.textAlign = "right";
    pen.fillStyle = colour("text");
    pen.fillText(shorten(lane.name, 20), LEFT - 12, top + LANE / 2);
    pen.fillStyle = colour("line");
    pen.fillRect(LEFT, top + LANE - 1, width - LEFT - RIGHT, 1);
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, top, width - LEFT - RIGHT, LANE);
    pen.clip();
    for (const [start, end, , missed] of lane.recent) {
      const from = x(start);
      const long = Math.max(2, x(end) - from);
      if (from + long < LEFT) continue;
      pen.fillStyle = colour(missed ? "bad" : "accent");
      pen.fillRect(from, top + 6, long, LANE - 12);
      if (missed) this.cross(pen, from + long / 2, top + LANE / 2);
    }
    pen.restore();
  }

  cross(pen, x, y) {
    for (const [tone, width] of [
      ["bad", 6],
      ["on-accent", 2],
    ]) {
      pen.strokeStyle = colour(tone);
      pen.lineWidth = width;
      pen.beginPath();
      for (const way of [-1, 1]) {
        pen.moveTo(x - 4 * way, y - 4);
        pen.lineTo(x + 4 * way, y + 4);
      }
      pen.stroke();
    }
  }
}
