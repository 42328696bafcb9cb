/* Channel: consumers by priority, how often they are called, how much time was left (laxity), what came too late, what waits. */

import { card, chip, field, h, note, select, text, whenChanged } from "./dom.js";
import { count, names, NONE, plural, rate, seconds } from "./format.js";
import { own } from "./patch.js";
import { href } from "./routes.js";
import { cell, Table } from "./table.js";
import { MOST_LANES, TimeLine } from "./timeline.js";

const WINDOWS = [
  ["1", "1 s"],
  ["5", "5 s"],
  ["10", "10 s"],
  ["30", "30 s"],
  ["120", "2 min"],
];

/** One row for each consumer, in order of urgency, with its classes below it. */
export function rowsOf(consumers, rates) {
  const found = [];
  const urgent = (one) => one.priority ?? Infinity;
  const all = Object.entries(consumers).sort(
    (left, right) => urgent(left[1]) - urgent(right[1]) || (left[0] < right[0] ? -1 : 1),
  );
  for (const [name, one] of all) {
    const classes = Object.entries(one.classes ?? {}).sort(
      (left, right) => urgent(left[1]) - urgent(right[1]) || (left[0] < right[0] ? -1 : 1),
    );
    const laxities = classes.map(([, entry]) => entry.laxity).filter((value) => typeof value === "number");
    found.push({
      key: name,
      name,
      depth: 0,
      facts: { laxity: laxities.length ? Math.min(...laxities) : undefined, ...one },
      rate: one.handed_rate ?? rates(name, one.handed),
    });
    for (const [entry, facts] of classes)
      found.push({
        key: `${name}\n${entry}`,
        name: entry,
        depth: 1,
        facts,
        rate: facts.handed_rate ?? rates(`${name}\n${entry}`, facts.handed),
      });
  }
  return found;
}

/** Rates from counters, for what the picture has no rate of: over what was seen in the last seconds. */
class Rates {
  constructor() {
    this.seen = new Map();
  }

  of(key, value, now) {
    if (typeof value !== "number") return undefined;
    const past = this.seen.get(key) ?? [];
    if (past.length && value < past.at(-1)[1]) past.length = 0;
    if (!past.length || now - past.at(-1)[0] > 0.2) past.push([now, value]);
    while (past.length > 2 && now - past[0][0] > 5) past.shift();
    this.seen.set(key, past);
    const long = past.at(-1)[0] - past[0][0];
    return long > 0 ? (past.at(-1)[1] - past[0][1]) / long : undefined;
  }
}

export default {
  id: "channel",
  title: "Channel",
  sections: ["consumers"],
  needs: "consumers",
  ofFederation: true,

  mount(root, app) {
    this.rates = new Rates();
    this.summary = h("ul", { class: "findings", "aria-label": "What is the matter" });
    this.line = new TimeLine();
    const window = select("Shown", (value) => {
      this.line.window = Number(value);
      app.draw();
    });
    window.offer(WINDOWS, "10");
    this.none = note(
      "No consumer yet. A federate is one when it says how urgent a class is, or by when a callback should be done: ",
      h("code", {}, 'federate.qos("Fire", urgency=0, deadline=0.01)'),
      ".",
    );
    this.more = h("p", { class: "caption" });
    this.legend = h(
      "ul",
      { class: "legend", "aria-label": "Legend" },
      h("li", {}, h("span", { class: "swatch work" }), "at work"),
      h("li", {}, h("span", { class: "swatch late" }, "✕"), "too late"),
    );
    this.timeCard = h(
      "section",
      { class: "card", "aria-label": "Time line" },
      h("div", { class: "bar" }, h("h2", {}, "Time line"), this.legend, field("shown", window)),
      this.line.element,
      this.more,
    );
    this.table = this.makeTable();
    this.tableCard = card("Consumers by priority", { class: "list" }, this.table.element);
    root.append(this.summary, this.none, this.tableCard, this.timeCard);
  },

  makeTable() {
    return new Table({
      label: "Consumers by priority",
      noun: "consumer or class",
      nouns: "consumers and classes",
      key: (row) => row.key,
      fixedOrder: true,
      empty: "No consumer yet.",
      rowClass: (row) => `${row.depth ? "sub" : "main"}${row.facts.missed ? " missed" : ""}`,
      columns: [
        {
          id: "priority",
          title: "Priority",
          width: 84,
          number: true,
          hint: "0 is the most urgent",
          say: (row) => (row.facts.priority === undefined ? NONE : String(row.facts.priority)),
        },
        {
          id: "consumer",
          title: "Consumer and class",
          width: 300,
          show: cell(
            (row) => [row.name, row.depth, this.federation],
            (row) => [
              row.depth
                ? h("span", { class: "tree indent", title: row.name }, row.name)
                : h("a", { href: href("federations", this.federation, row.name), title: row.name }, row.name),
            ],
          ),
        },
        { id: "rate", title: "Per second", width: 108, number: true, say: (row) => rate(row.rate) },
        {
          id: "handed",
          title: "Handed",
          width: 108,
          number: true,
          hint: "callbacks so far",
          say: (row) => count(row.facts.handed),
        },
        {
          id: "deadline",
          title: "Deadline",
          width: 108,
          number: true,
          say: (row) => (row.facts.deadline === undefined ? NONE : seconds(row.facts.deadline)),
        },
        {
          id: "laxity",
          title: "Laxity",
          width: 108,
          number: true,
          hint: "how much time was left before the deadline, at least",
          say: (row) => laxity(row.facts.laxity),
        },
        {
          id: "missed",
          title: "Missed",
          width: 116,
          number: true,
          value: (row) => row.facts.missed,
          show: cell(
            (row) => row.facts.missed,
            (row) => [row.facts.missed ? chip("bad", "bad", count(row.facts.missed)) : count(row.facts.missed)],
          ),
        },
        {
          id: "waiting",
          title: "Queue",
          width: 88,
          number: true,
          say: (row) => (row.depth ? "" : count(row.facts.queue)),
        },
      ],
    });
  },

  draw({ federation, name }) {
    this.federation = name;
    const consumers = federation.consumers ?? {};
    const now = performance.now() / 1000;
    const rows = rowsOf(consumers, (key, value) => this.rates.of(`${name}\n${key}`, value, now));
    const any = rows.length > 0;
    for (const part of [this.tableCard, this.timeCard, this.summary]) part.hidden = !any;
    this.none.hidden = any;
    if (!any) return;
    this.say(consumers);
    this.table.draw(rows);
    const lanes = rows
      .filter((row) => !row.depth)
      .map((row) => ({
        name: row.name,
        node: own(federation.federates, row.name)?.node,
        recent: row.facts.recent ?? [],
      }));
    this.line.draw(lanes);
    this.more.hidden = lanes.length <= MOST_LANES;
    text(this.more, `The ${MOST_LANES} most urgent; ${lanes.length - MOST_LANES} more are in the table only.`);
  },

  say(consumers) {
    const late = Object.entries(consumers)
      .filter(([, one]) => one.missed > 0)
      .sort((left, right) => right[1].missed - left[1].missed);
    const all = late.reduce((sum, [, one]) => sum + one.missed, 0);
    const words = late.length
      ? {
          tone: "bad",
          shape: "bad",
          words: `${plural(all, "deadline was", "deadlines were")} missed, by ${names(late.map(([name]) => name))}.`,
        }
      : {
          tone: "good",
          shape: "good",
          words: `${plural(Object.keys(consumers).length, "consumer")}, no deadline was missed.`,
        };
    whenChanged(this.summary, words, () => [
      h("li", { class: `finding first ${words.tone}` }, chip(words.tone, words.shape, words.words)),
    ]);
  },
};

const laxity = (value) => (value === undefined ? NONE : value < 0 ? `−${seconds(-value)}` : seconds(value));
