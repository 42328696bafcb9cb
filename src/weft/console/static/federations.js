/* Federations: what is the matter, who waits for whom, where everybody is in logical time, and every federate with its facts. */

import { blockersOf, blocking, findings, waits } from "./blocking.js";
import { BlockGraph } from "./blockgraph.js";
import { card, chip, each, filterBox, h, icon, note, text, whenChanged } from "./dom.js";
import { bytes, count, logical, names, NONE, rate, seconds } from "./format.js";
import { own } from "./patch.js";
import { href } from "./routes.js";
import { cell, Table } from "./table.js";
import { TimeStrip } from "./timestrip.js";

const STATES = {
  joined: ["plain", "dot"],
  saving: ["info", "save"],
  restoring: ["info", "save"],
  lost: ["bad", "bad"],
  resigned: ["warn", "out"],
};

/** Tone, icon and word; `holds`: how many others wait for it, if it is the culprit. */
export function stateOf(federate, holds = 0) {
  const state = federate.state ?? "joined";
  if (state === "joined" && holds) return ["bad", "warn", `holds up ${holds}`];
  if (state === "joined" && waits(federate))
    return ["warn", "wait", `waits ${federate.seconds === undefined ? "" : seconds(federate.seconds)}`.trim()];
  return [...(STATES[state] ?? ["info", "info"]), state];
}

const traffic = (federate) =>
  federate.bytes_in_rate === undefined && federate.bytes_out_rate === undefined
    ? undefined
    : (federate.bytes_in_rate ?? 0) + (federate.bytes_out_rate ?? 0);

export default {
  id: "federations",
  title: "Federations",
  sections: [],
  ofFederation: true,

  mount(root, app) {
    this.app = app;
    this.filter = "";
    const hrefOf = (name) => href("federations", this.federation, name);
    this.sentence = h("ul", { class: "findings", "aria-label": "What is the matter" });
    this.graph = new BlockGraph(hrefOf);
    this.strip = new TimeStrip(hrefOf);
    this.points = h("div", {});
    this.saves = h("div", {});
    this.details = h("aside", { class: "card details", "aria-label": "Selected federate" });
    this.table = this.makeTable(hrefOf);
    const box = filterBox("Filter federates", (words) => {
      this.filter = words;
      app.draw();
    });
    this.list = h(
      "section",
      { class: "card list", "aria-label": "Federates" },
      h("div", { class: "bar" }, h("h2", {}, "Federates"), box),
      this.table.element,
    );
    this.lower = h("div", { class: "split" }, this.list, this.details);
    root.append(
      this.sentence,
      card("Who waits for whom", { class: "a-graph" }, this.graph.element),
      card("Logical time", { class: "a-times" }, this.strip.element),
      h(
        "div",
        { class: "a-side" },
        card("Synchronization points", {}, this.points),
        card("Save and restore", {}, this.saves),
      ),
      this.lower,
    );
  },

  makeTable(hrefOf) {
    const one = (id) => (row) => row.federate[id];
    return new Table({
      label: "Federates",
      noun: "federate",
      key: (row) => row.name,
      empty: "No federate has joined yet.",
      rowClass: (row) => (row.holds ? "culprit" : waits(row.federate) ? "waits" : ""),
      columns: [
        {
          id: "name",
          title: "Federate",
          value: (row) => row.name,
          width: 128,
          show: cell(
            (row) => [row.name, this.federation],
            (row) => [h("a", { href: hrefOf(row.name), title: row.name }, row.name)],
          ),
        },
        { id: "node", title: "Node", width: 58, value: one("node"), say: (row) => row.federate.node ?? NONE },
        {
          id: "state",
          title: "State",
          width: 132,
          value: (row) => stateOf(row.federate, row.holds)[2],
          show: cell(
            (row) => stateOf(row.federate, row.holds),
            (_, state) => [chip(...state)],
          ),
        },
        {
          id: "time",
          title: "Granted",
          width: 74,
          number: true,
          value: one("time"),
          say: (row) => logical(row.federate.time),
        },
        {
          id: "requested",
          title: "Requested",
          width: 100,
          number: true,
          hint: "by which service, and what it asks for",
          value: one("requested"),
          say: (row) =>
            waits(row.federate) ? [row.federate.asks, logical(row.federate.requested)].filter(Boolean).join(" ") : NONE,
        },
        {
          id: "lookahead",
          title: "Lookahead",
          width: 100,
          number: true,
          value: one("lookahead"),
          say: (row) => logical(row.federate.lookahead),
        },
        {
          id: "blocked",
          title: "Blocked by",
          width: 112,
          value: (row) => blockersOf(row.federate, row.all)[0],
          show: cell(
            (row) => [blockersOf(row.federate, row.all), this.federation],
            (row) => blockers(row, hrefOf),
          ),
        },
        {
          id: "queue",
          title: "Queue",
          width: 60,
          number: true,
          hint: "messages that wait for logical time",
          value: one("queued"),
          say: (row) => count(row.federate.queued),
        },
        {
          id: "bytes",
          title: "Bytes/s",
          width: 74,
          number: true,
          hint: "from and to the federate",
          value: (row) => traffic(row.federate),
          say: (row) => bytes(traffic(row.federate)),
        },
        {
          id: "last",
          title: "Last callback",
          width: 192,
          value: (row) => row.federate.last_callback?.ago,
          show: cell(
            (row) => lastCallback(row.federate),
            (_, words) => lastParts(words),
          ),
        },
      ],
    });
  },

  draw(view) {
    const { federation, name, item } = view;
    this.federation = name;
    const federates = federation.federates ?? {};
    drawFindings(this.sentence, findings(federation, view.picture.nodes ?? {}), name, federates);
    this.graph.draw(federates);
    this.strip.draw(federates);
    drawPoints(this.points, federation, name);
    drawSaves(this.saves, federation, name);
    this.drawTable(federates, item);
    this.drawDetails(own(federates, item), item, this.held.get(item));
  },

  drawTable(federates, item) {
    const held = new Map(blocking(federates).culprits.map((one) => [one.name, one.holds]));
    this.held = held;
    const all = Object.entries(federates);
    const rows = all
      .map(([name, federate]) => ({ name, federate, all: federates, holds: held.get(name) ?? 0 }))
      .filter((row) => matches(row, this.filter) || row.name === item);
    this.table.draw(rows, { of: all.length });
    if (this.table.marked !== item) this.reveal(item);
  },

  reveal(item) {
    if (this.table.mark(item) && this.arrived) this.list.scrollIntoView({ block: "nearest" });
    this.arrived = true;
  },

  drawDetails(federate, item, holds) {
    this.details.hidden = federate === undefined;
    this.lower.classList.toggle("with-details", federate !== undefined);
    if (federate === undefined) return;
    whenChanged(this.details, [item, this.federation], () => [
      h(
        "div",
        { class: "bar" },
        h("h2", {}, item),
        h("a", { class: "close", href: href("federations", this.federation), "aria-label": "Close" }, icon("close")),
      ),
      h("p", { class: "now" }),
      h("dl", { class: "facts" }),
      h("p", {}, h("a", { href: href("steer", this.federation, item) }, "Resign this federate…")),
    ]);
    const [, now, facts] = this.details.children;
    whenChanged(now, stateOf(federate, holds), () => [chip(...stateOf(federate, holds))]);
    const make = ([term]) => h("div", {}, h("dt", {}, term), h("dd", {}));
    each(
      facts,
      detailsOf(federate),
      ([term]) => term,
      make,
      (element, [, words]) => text(element.lastChild, words),
    );
  },
};

function matches({ name, federate, holds }, words) {
  if (!words) return true;
  return [name, federate.node, federate.type, stateOf(federate, holds)[2], ...(federate.blocked_by ?? [])].some((one) =>
    String(one ?? "")
      .toLowerCase()
      .includes(words),
  );
}

function blockers(row, hrefOf) {
  const all = blockersOf(row.federate, row.all);
  if (!waits(row.federate) || !all.length) return [NONE];
  const known = (name) => own(row.all, name) !== undefined;
  const first = known(all[0])
    ? h("a", { class: "blocker", href: hrefOf(all[0]), title: all.join(", ") }, all[0])
    : h("span", { title: all.join(", ") }, all[0]);
  return [first, all.length > 1 ? ` +${all.length - 1}` : ""];
}

const lastCallback = (federate) =>
  federate.last_callback ? [federate.last_callback.name, seconds(federate.last_callback.ago)] : [];

const lastParts = (words) =>
  words.length
    ? [h("span", { class: "service", title: words[0] }, words[0]), h("span", { class: "ago" }, words[1])]
    : [NONE];

export const linked = (part, federation, federates) => {
  if (typeof part === "string") return part;
  if (part.page) return h("a", { href: href(part.page, federation) }, "Steer");
  if (part.node) return h("a", { href: href("fabric", undefined, part.node) }, h("code", {}, part.node));
  if (own(federates, part.federate) === undefined) return h("code", {}, part.federate);
  return h("a", { href: href("federations", federation, part.federate) }, h("code", {}, part.federate));
};

/** Words that change (how long somebody waits) change in place, so that a link among them keeps the focus. */
export function drawFindings(list, found, federation, federates) {
  const rows = found.map((one, place) => ({ ...one, key: `${place} ${one.tone} ${one.shape}`, place }));
  const make = ({ tone, shape, place }) =>
    h("li", { class: `finding ${tone}${place === 0 ? " first" : ""}` }, icon(shape), h("span", {}));
  each(
    list,
    rows,
    (one) => one.key,
    make,
    (element, { parts }) => drawParts(element.lastChild, parts, federation, federates),
  );
}

function drawParts(element, parts, federation, federates) {
  const all = parts.map((part, place) => ({
    part,
    key: `${place} ${typeof part === "string" ? "" : JSON.stringify([part, federation])}`,
  }));
  const make = ({ part }) => (typeof part === "string" ? h("span", {}) : linked(part, federation, federates));
  each(
    element,
    all,
    (one) => one.key,
    make,
    (span, { part }) => typeof part === "string" && text(span, part),
  );
}

function drawPoints(root, federation, name) {
  const all = Object.entries(federation.synchronization ?? {}).sort();
  whenChanged(root, [all, name], () =>
    all.length
      ? all.map(([label, point]) => pointOf(label, point, name, federation.federates ?? {}))
      : [note("None is open.")],
  );
}

function pointOf(label, point, name, federates) {
  const missing = point.waits_for ?? [];
  const achieved = point.achieved?.length ?? 0;
  const shown = missing
    .slice(0, 8)
    .flatMap((one, place) => [place ? ", " : "", linked({ federate: one }, name, federates)]);
  return h(
    "div",
    { class: "point" },
    h(
      "p",
      {},
      h("strong", {}, label),
      h("span", { class: "muted" }, ` ${achieved} of ${achieved + missing.length} there`),
    ),
    meter(achieved, achieved + missing.length, `${label}: ${achieved} of ${achieved + missing.length}`),
    h(
      "p",
      { class: "muted" },
      missing.length
        ? ["missing: ", shown, missing.length > 8 ? ` and ${missing.length - 8} more` : ""].flat()
        : "all are there",
    ),
  );
}

export function meter(value, most, label) {
  const bar = h("span", { class: "fill" });
  bar.style.width = `${most ? Math.round((100 * value) / most) : 0}%`;
  return h("div", { class: "meter", role: "img", "aria-label": label }, bar);
}

function drawSaves(root, federation, name) {
  const found = ["save", "restore"].filter((key) => federation[key] !== undefined).map((key) => [key, federation[key]]);
  whenChanged(root, [found, name], () =>
    found.length
      ? found.map(([key, one]) =>
          h(
            "div",
            { class: "point" },
            h(
              "p",
              {},
              chip("info", "save", `${key}: ${one.state ?? "under way"}`),
              " ",
              h("strong", {}, one.label ?? ""),
            ),
            one.waits_for?.length ? h("p", { class: "muted" }, `waits for ${names(one.waits_for, 6)}`) : "",
          ),
        )
      : [note("None is under way.")],
  );
}

const yes = (value) => (value === undefined ? undefined : value ? "yes" : "no");

function detailsOf(federate) {
  const misses = Object.values(federate.misses ?? {}).reduce((sum, one) => sum + one, 0);
  const facts = [
    ["type", federate.type],
    ["handle", federate.handle],
    ["node", federate.node],
    ["address", federate.address],
    ["regulating", yes(federate.regulating)],
    ["constrained", yes(federate.constrained)],
    ["granted", federate.time === undefined ? undefined : logical(federate.time)],
    ["lookahead", federate.lookahead === undefined ? undefined : logical(federate.lookahead)],
    ["GALT", federate.galt === undefined ? undefined : logical(federate.galt)],
    [
      "requested",
      waits(federate) ? `${logical(federate.requested)}${federate.asks ? ` (${federate.asks})` : ""}` : undefined,
    ],
    ["blocked by", federate.blocked_by?.length ? names(federate.blocked_by, 6) : undefined],
    ["queued", federate.queued === undefined ? undefined : count(federate.queued)],
    [
      "unread",
      federate.backlog_bytes === undefined
        ? undefined
        : `${bytes(federate.backlog_bytes)}${federate.slow ? ", too slow" : ""}`,
    ],
    ["calls", federate.calls_rate === undefined ? undefined : `${rate(federate.calls_rate)} /s`],
    ["callbacks", federate.callbacks_rate === undefined ? undefined : `${rate(federate.callbacks_rate)} /s`],
    ["bytes from it", federate.bytes_in_rate === undefined ? undefined : `${bytes(federate.bytes_in_rate)}/s`],
    ["bytes to it", federate.bytes_out_rate === undefined ? undefined : `${bytes(federate.bytes_out_rate)}/s`],
    [
      "last callback",
      federate.last_callback ? `${federate.last_callback.name}, ${seconds(federate.last_callback.ago)} ago` : undefined,
    ],
    [
      "deadlines",
      federate.deadlines === undefined ? undefined : `${count(federate.deadlines)}, ${count(misses)} missed`,
    ],
  ];
  return facts.filter(([, words]) => words !== undefined).map(([term, words]) => [term, String(words)]);
}
