/* A figure, run after run: a dot for each run, the oldest first; a ring and a line where it has changed.  */

import { h, s } from "./dom.js";
import { number } from "./format.js";
import { ticks } from "./timestrip.js";

const WIDTH = 360;
const HEIGHT = 140;
const LEFT = 52;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 20;

const known = (value) => typeof value === "number";

/** `events`: those of this line, each {verdict, run}. */
export function trendChart(line, events) {
  const there = line.values.filter(known);
  const span = [Math.min(...there), Math.max(...there)];
  const low = span[0] >= 0 && span[0] < span[1] / 2 ? 0 : span[0];
  const high = span[1] > low ? span[1] : low + 1;
  const x = (at) => LEFT + ((at + 0.5) * (WIDTH - LEFT - RIGHT)) / line.values.length;
  const y = (value) => HEIGHT - BOTTOM - ((value - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const marks = ticks(low, high, 3).flatMap((at) => [
    s("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(at), y2: y(at) }),
    s("text", { class: "y", x: LEFT - 6, y: y(at) + 4 }, number(at)),
  ]);
  const ends = [
    s("text", { x: x(0), y: HEIGHT - 4, "text-anchor": "start" }, "oldest"),
    s("text", { class: "y", x: WIDTH - RIGHT, y: HEIGHT - 4 }, "newest"),
  ];
  const places = line.values.flatMap((value, at) => (known(value) ? [[at, value]] : []));
  const path = places.map(([at, value], place) => `${place ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`);
  const dots = places.map(([at, value]) =>
    s(
      "circle",
      { cx: x(at).toFixed(1), cy: y(value).toFixed(1), r: places.length > 80 ? 1.5 : 2.5 },
      s("title", {}, `${line.runs[at]}: ${number(value)} ${line.unit}`),
    ),
  );
  const changes = events.flatMap((event) => {
    const at = line.runs.indexOf(event.run);
    if (at < 0 || !known(line.values[at])) return [];
    const here = x(at);
    return [
      s(
        "g",
        { class: `change ${event.verdict}` },
        event.what === "since" ? s("line", { x1: here, x2: here, y1: TOP, y2: HEIGHT - BOTTOM }) : "",
        s("circle", { cx: here, cy: y(line.values[at]), r: 5.5 }),
      ),
    ];
  });
  const words = `${line.subject}, ${line.measure}: ${line.values.length} runs, from ${number(span[0])} to ${number(span[1])} ${line.unit}`;
  return h(
    "div",
    {},
    s(
      "svg",
      { class: "trend", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words },
      s("g", { class: "axis" }, marks, ends),
      s("path", { class: "way", d: path.join("") }),
      s("g", { class: "dots" }, dots),
      changes,
    ),
  );
}
