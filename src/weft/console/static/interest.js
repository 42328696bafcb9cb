/* Interest: which classes are published and subscribed by whom and how busy they are; regions on a map; what channels carry. */

import { chip, field, filterBox, h, select } from "./dom.js";
import { Channels } from "./channels.js";
import { count, names, NONE, rate } from "./format.js";
import { Map2 } from "./ddm.js";
import { own } from "./patch.js";
import { cell, Table } from "./table.js";

/** Classes as rows of a tree, depth first; ancestors that nobody named are there too. */
export function tree(classes, folded) {
  const known = new Map();
  for (const name of Object.keys(classes)) {
    const parts = name.split(".");
    for (let at = 1; at <= parts.length; at++) known.set(parts.slice(0, at).join("."), undefined);
  }
  const all = [...known.keys()].sort((left, right) => (left < right ? -1 : 1));
  const parents = new Set(all.map((name) => name.slice(0, Math.max(0, name.lastIndexOf(".")))));
  const hidden = (name) => [...folded].some((one) => name.startsWith(`${one}.`));
  return all
    .filter((name) => !hidden(name))
    .map((name) => ({
      name,
      short: name.slice(name.lastIndexOf(".") + 1),
      depth: name.split(".").length - 1,
      parent: parents.has(name),
      facts: own(classes, name) ?? {},
      isFolded: folded.has(name),
    }));
}

/** The strategy, what it did wrong, and how its partitions changed: what that was to save, and saved. */
function howItIsSent({ strategy, strategy_fault: fault, adaptation }) {
  if (!strategy) return "";
  const parts = [`Strategy of data distribution: ${strategy}`];
  const { predicted, obtained } = adaptation ?? {};
  if (predicted)
    parts.push(
      `changes of partitions: ${count(adaptation.changes)} (${adaptation.state})`,
      `copies a message: ${predicted.before} before, ${predicted.after} predicted` +
        (obtained ? `, ${obtained.after} obtained` : ""),
    );
  if (fault) parts.push(fault);
  return parts.join("; ");
}

/** Who hears of a class: those who subscribed it or one above it. */
function hearers(classes, name) {
  const found = new Set();
  const parts = name.split(".");
  for (let at = parts.length; at > 0; at--)
    for (const one of own(classes, parts.slice(0, at).join("."))?.subscribers ?? []) found.add(one);
  return found;
}

/** Of the management object model: its other side is the RTI, which is no federate. */
const isMom = (name) => /^HLA(object|interaction)Root\.HLAmanager(\.|$)/.test(name);

/** What a newcomer should know of a class: that what is sent reaches nobody, or that nobody sends. */
function remark(classes, { name, facts }) {
  if (isMom(name)) return ["plain", "info", "the RTI's own"];
  const publishes = facts.publishers?.length ?? 0;
  const subscribes = facts.subscribers?.length ?? 0;
  if (publishes && !hearers(classes, name).size) return ["warn", "warn", "no subscriber"];
  const below = Object.keys(classes).some(
    (other) => (other === name || other.startsWith(`${name}.`)) && classes[other].publishers?.length,
  );
  if (subscribes && !below) return ["warn", "warn", "no publisher"];
  return undefined;
}

export default {
  id: "interest",
  title: "Interest",
  sections: ["classes", "regions"],
  needs: "classes",
  ofFederation: true,

  mount(root, app) {
    this.app = app;
    this.filter = "";
    this.folded = new Set();
    this.across = this.up = undefined;
    this.table = this.makeTable();
    const box = filterBox("Filter classes or federates", (words) => {
      this.filter = words;
      app.draw();
    });
    this.map = new Map2(() => app.draw());
    this.acrossBox = select("Dimension across", (name) => this.choose("across", name));
    this.upBox = select("Dimension upwards", (name) => this.choose("up", name));
    this.ownerBox = select("Regions of", (name) => this.choose("owner", name));
    this.owner = "";
    this.channels = new Channels();
    this.mapTools = h(
      "div",
      { class: "tools map-tools" },
      field("across", this.acrossBox),
      field("up", this.upBox),
      this.ownerBox,
    );
    root.append(
      h(
        "section",
        { class: "card list", "aria-label": "Classes" },
        h("div", { class: "bar" }, h("h2", {}, "Classes"), box),
        this.table.element,
      ),
      h(
        "div",
        { class: "halves" },
        h(
          "section",
          { class: "card", "aria-label": "Regions" },
          h("div", { class: "bar" }, h("h2", {}, "Regions"), this.mapTools),
          this.map.element,
        ),
        h(
          "section",
          { class: "card", "aria-label": "Channels" },
          h("div", { class: "bar" }, h("h2", {}, "Channels"), this.channels.bar),
          this.channels.element,
        ),
      ),
    );
  },

  choose(what, name) {
    this[what] = name;
    this.app.draw();
  },

  makeTable() {
    const list = (key) =>
      cell(
        (row) => row.facts[key],
        (row) => [people(row.facts[key])],
      );
    return new Table({
      label: "Classes",
      noun: "class",
      nouns: "classes",
      key: (row) => row.name,
      fixedOrder: true,
      empty: "Nobody publishes or subscribes to anything yet.",
      columns: [
        {
          id: "class",
          title: "Class",
          width: 184,
          show: cell(
            (row) => [row.name, row.depth, row.parent, row.isFolded],
            (row) => [this.nameOf(row)],
          ),
        },
        { id: "kind", title: "Kind", width: 98, say: (row) => row.facts.kind ?? "" },
        { id: "publishers", title: "Publishers", width: 112, show: list("publishers") },
        { id: "subscribers", title: "Subscribers", width: 114, show: list("subscribers") },
        {
          id: "instances",
          title: "Instances",
          width: 84,
          number: true,
          say: (row) => (row.facts.kind === "interaction" ? "" : count(row.facts.instances)),
        },
        { id: "sent", title: "Sent/s", width: 64, number: true, say: (row) => rate(row.facts.sent_rate) },
        { id: "received", title: "Received/s", width: 92, number: true, say: (row) => rate(row.facts.received_rate) },
        { id: "order", title: "Order", width: 112, say: (row) => row.facts.order ?? "" },
        {
          id: "remark",
          title: "Remark",
          width: 150,
          show: cell(
            (row) => row.remark,
            (row) => [row.remark ? chip(...row.remark) : ""],
          ),
        },
      ],
    });
  },

  nameOf(row) {
    const inside = h(
      "span",
      { class: "tree", title: row.name },
      row.parent ? this.fold(row) : h("span", { class: "nofold" }),
      row.short,
    );
    inside.style.paddingInlineStart = `${row.depth * 16}px`;
    return inside;
  },

  fold(row) {
    const turn = () => {
      if (!this.folded.delete(row.name)) this.folded.add(row.name);
      this.app.draw();
    };
    return h(
      "button",
      {
        type: "button",
        class: "fold",
        "aria-expanded": String(!row.isFolded),
        "aria-label": `${row.isFolded ? "Unfold" : "Fold"} ${row.short}`,
        onclick: turn,
      },
      row.isFolded ? "▸" : "▾",
    );
  },

  draw({ federation, name }) {
    if (this.of !== name) {
      this.of = name;
      this.across = this.up = undefined;
      this.owner = "";
    }
    const classes = federation.classes ?? {};
    const rows = tree(classes, this.filter ? new Set() : this.folded)
      .filter((row) => wanted(row, this.filter))
      .map((row) => ({ ...row, remark: remark(classes, row) }));
    this.table.draw(rows, { of: this.filter ? tree(classes, new Set()).length : rows.length });
    this.drawMap(federation);
    this.channels.draw(federation.channels ?? {}, howItIsSent(federation));
  },

  drawMap(federation) {
    const all = byUse(federation);
    if (!all.includes(this.across)) this.across = all[0];
    if (!all.includes(this.up) || (this.up === this.across && all.length > 1))
      this.up = all.find((one) => one !== this.across);
    const options = all.map((one) => [one, one]);
    this.acrossBox.offer(options, this.across ?? "");
    this.upBox.offer(
      options.filter(([one]) => one !== this.across),
      this.up ?? "",
    );
    const owners = [...new Set(Object.values(federation.regions ?? {}).map((one) => one.owner))].sort();
    if (!owners.includes(this.owner)) this.owner = "";
    this.ownerBox.offer([["", "all federates"], ...owners.map((one) => [one, one])], this.owner);
    this.mapTools.hidden = !all.length;
    this.map.draw(federation, this.across, this.up, this.owner);
  },
};

/** Dimensions, those first that most regions use. */
function byUse(federation) {
  const uses = new Map();
  for (const region of Object.values(federation.regions ?? {}))
    for (const name of Object.keys(region.ranges ?? {})) uses.set(name, (uses.get(name) ?? 0) + 1);
  return Object.keys(federation.dimensions ?? {}).sort(
    (left, right) => (uses.get(right) ?? 0) - (uses.get(left) ?? 0) || (left < right ? -1 : 1),
  );
}

const wanted = (row, words) =>
  !words ||
  [row.name, ...(row.facts.publishers ?? []), ...(row.facts.subscribers ?? [])].some((one) =>
    one.toLowerCase().includes(words),
  );

const people = (list) =>
  list?.length ? h("span", { title: list.join(", ") }, names(list, 2)) : h("span", { class: "muted" }, NONE);
