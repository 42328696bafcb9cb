/* The fabric drawn: nodes, the domains around them, links between them; a router lies in the domains that it joins.

   Where nodes go is found once for each topology, by springs from the same start, so that the picture is always the same: members are
   drawn to the middle of their domain, everything pushes everything else away, and the longest side ends up lying flat. */

import { attribute, each, h, s, text, whenChanged } from "./dom.js";
import { own } from "./patch.js";

const ROUNDS = 400;
const SPRING = 70;
const PUSH = 5200;
const NODE = 17;

/** names -> {x, y}.  domains: {D1: [names]} */
export function places(names, domains) {
  const groups = Object.values(domains).filter((members) => members.length);
  const points = names.map((name, place) => start(name, place, names.length));
  const middles = groups.map((members, place) => start(undefined, place + 0.5, groups.length));
  const at = new Map(points.map((point) => [point.name, point]));
  const springs = groups.flatMap((members, place) =>
    members.filter((name) => at.has(name)).map((name) => [at.get(name), middles[place], SPRING + 5 * members.length]),
  );
  const all = [...points, ...middles];
  for (let round = 0; round < ROUNDS; round++) relax(all, springs, 1 - round / ROUNDS);
  flatten(all);
  return at;
}

const start = (name, place, of) => {
  const angle = (2 * Math.PI * place) / of;
  return { name, x: 120 * Math.cos(angle), y: 80 * Math.sin(angle), dx: 0, dy: 0 };
};

function relax(all, springs, heat) {
  for (const one of all) one.dx = one.dy = 0;
  for (let at = 0; at < all.length; at++)
    for (let other = at + 1; other < all.length; other++) {
      const x = all[at].x - all[other].x || 0.1 * (at - other);
      const y = all[at].y - all[other].y || 0.1;
      const push = PUSH / Math.max(25, x * x + y * y);
      const far = Math.hypot(x, y);
      move(all[at], all[other], (x / far) * push, (y / far) * push);
    }
  for (const [one, middle, length] of springs) {
    const x = one.x - middle.x;
    const y = one.y - middle.y;
    const far = Math.hypot(x, y) || 1;
    const pull = 0.12 * (length - far);
    move(one, middle, (x / far) * pull, (y / far) * pull);
  }
  for (const one of all) {
    const far = Math.hypot(one.dx, one.dy) || 1;
    const step = Math.min(far, 24 * heat + 0.5);
    one.x += (one.dx / far) * step;
    one.y += (one.dy / far) * step;
  }
}

function move(one, other, x, y) {
  one.dx += x;
  one.dy += y;
  other.dx -= x;
  other.dy -= y;
}

/** Turned so that it is widest across the page. */
function flatten(all) {
  const middle = { x: mean(all.map((one) => one.x)), y: mean(all.map((one) => one.y)) };
  const [xx, yy, xy] = [0, 1, 2].map((kind) =>
    mean(
      all.map(
        (one) => [(one.x - middle.x) ** 2, (one.y - middle.y) ** 2, (one.x - middle.x) * (one.y - middle.y)][kind],
      ),
    ),
  );
  const turn = -0.5 * Math.atan2(2 * xy, xx - yy);
  for (const one of all) {
    const [x, y] = [one.x - middle.x, one.y - middle.y];
    one.x = x * Math.cos(turn) - y * Math.sin(turn);
    one.y = x * Math.sin(turn) + y * Math.cos(turn);
  }
}

const mean = (list) => list.reduce((sum, one) => sum + one, 0) / (list.length || 1);

/** The corners of what encloses the points, in order. */
export function hull(points) {
  const sorted = [...points].sort((left, right) => left.x - right.x || left.y - right.y);
  const turn = (a, b, c) => (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
  const half = (list) => {
    const kept = [];
    for (const point of list) {
      while (kept.length > 1 && turn(kept.at(-2), kept.at(-1), point) <= 0) kept.pop();
      kept.push(point);
    }
    return kept.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}

/** Both ends tell of a link; it is down if either says so, or if either end is down. */
export function linksOf(nodes) {
  const found = new Map();
  for (const [from, node] of Object.entries(nodes))
    for (const [to, link] of Object.entries(node.fabric?.links ?? {})) {
      const ends = [from, to].sort();
      const key = JSON.stringify(ends);
      const dead = [own(nodes, from), own(nodes, to)].some((one) => one?.state === "down");
      const before = found.get(key);
      const why = link.up === false ? link.why || "no connection" : dead ? "an end is down" : "";
      found.set(key, {
        key,
        ends,
        up: (before?.up ?? true) && link.up !== false && !dead,
        why: before?.why || why,
        rate: Math.max(before?.rate ?? 0, (link.sent_rate ?? 0) + (link.received_rate ?? 0)),
      });
    }
  return [...found.values()];
}

export class FabricGraph {
  constructor(hrefOf) {
    this.hrefOf = hrefOf;
    this.groups = s("g", {});
    this.lines = s("g", {});
    this.dots = s("g", {});
    this.svg = s(
      "svg",
      { class: "fabric", role: "group", "aria-label": "Nodes, domains and links" },
      this.groups,
      this.lines,
      this.dots,
    );
    this.element = h("div", { class: "drawing center" }, this.svg);
  }

  draw(nodes, domains, routers, chosen) {
    const names = [...new Set([...Object.keys(nodes), ...Object.values(domains).flat()])].sort();
    const topology = JSON.stringify([names, domains]);
    if (topology !== this.topology) {
      this.topology = topology;
      this.at = places(names, domains);
      this.fit();
      this.drawDomains(domains);
    }
    const lines = linksOf(nodes).filter((link) => link.ends.every((name) => this.at.has(name)));
    each(
      this.lines,
      lines,
      (one) => one.key,
      () => s("g", { class: "link" }, s("title"), s("line"), s("text")),
      (element, link) => this.drawLink(element, link),
    );
    each(
      this.dots,
      names,
      (name) => name,
      (name) => this.makeNode(name),
      (element, name) => this.drawNode(element, name, own(nodes, name), routers.has(name), chosen === name),
    );
  }

  fit() {
    const all = [...this.at.values()];
    const [left, right] = [Math.min(...all.map((one) => one.x)) - 80, Math.max(...all.map((one) => one.x)) + 80];
    const [top, bottom] = [Math.min(...all.map((one) => one.y)) - 56, Math.max(...all.map((one) => one.y)) + 64];
    attribute(this.svg, "viewBox", [left, top, right - left, bottom - top].map((one) => one.toFixed(0)).join(" "));
    this.svg.style.maxWidth = `${Math.max(420, 1.25 * (right - left))}px`;
  }

  drawDomains(domains) {
    whenChanged(this.groups, domains, () =>
      Object.entries(domains).flatMap(([name, members]) => {
        const points = members.map((one) => this.at.get(one)).filter(Boolean);
        if (!points.length) return [];
        const path = `M${hull(points)
          .map((point) => `${point.x.toFixed(1)} ${point.y.toFixed(1)}`)
          .join("L")}Z`;
        // The name stands at a node that is in no other domain, if there is one: several domains may meet in the highest.
        const elsewhere = new Set(Object.entries(domains).flatMap(([other, all]) => (other === name ? [] : all)));
        const own = members.filter((one) => !elsewhere.has(one)).map((one) => this.at.get(one)).filter(Boolean);
        const top = (own.length ? own : points).reduce((one, other) => (other.y < one.y ? other : one));
        return [
          s("g", { class: "domain" }, s("path", { d: path })),
          s("text", { class: "domain-name", x: top.x.toFixed(1), y: (top.y - 38).toFixed(1) }, name),
        ];
      }),
    );
  }

  drawLink(element, link) {
    const [from, to] = link.ends.map((name) => this.at.get(name));
    const [title, line, words] = element.children;
    attribute(element, "class", `link ${link.up ? "up" : "down"}`);
    text(title, `${link.ends.join(" – ")}: ${link.up ? "up" : `down${link.why ? `, ${link.why}` : ""}`}`);
    for (const [key, value] of [
      ["x1", from.x],
      ["y1", from.y],
      ["x2", to.x],
      ["y2", to.y],
    ])
      attribute(line, key, value.toFixed(1));
    line.style.strokeWidth = String(link.up ? 1.5 + Math.min(4, Math.log10(1 + link.rate)) : 2);
    text(words, link.up ? "" : "✕");
    attribute(words, "x", ((from.x + to.x) / 2).toFixed(1));
    attribute(words, "y", ((from.y + to.y) / 2 + 5).toFixed(1));
  }

  makeNode(name) {
    return s(
      "a",
      { href: this.hrefOf(name), "data-node": name },
      s("title"),
      s("rect", {}),
      s("text", { class: "name", y: 4 }, name),
      s("text", { class: "state", y: NODE + 16 }),
    );
  }

  drawNode(element, name, node, isRouter, isChosen) {
    const state = node?.state ?? "unknown";
    const { x, y } = this.at.get(name);
    const [title, shape, , words] = element.children;
    const half = Math.max(NODE, 7 + 4.2 * name.length);
    attribute(element, "transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    attribute(element, "class", `node ${state}${isRouter ? " router" : ""}${isChosen ? " chosen" : ""}`);
    for (const [key, value] of Object.entries({
      x: -half,
      y: -NODE,
      width: 2 * half,
      height: 2 * NODE,
      rx: isRouter ? 3 : NODE,
    }))
      attribute(shape, key, value);
    const said = state === "up" ? (isRouter ? "router" : "") : state === "down" ? "✕ down" : state;
    text(words, said);
    text(title, [name, state, isRouter ? "router" : "", node?.why].filter(Boolean).join(", "));
    attribute(element, "aria-label", title.textContent);
  }
}
