/* Results: what reviews of many runs have found.  Federations, how their figures go, what differs between two groups of runs.

   None of it is part of the live picture: it is asked for when somebody comes here, chooses, or asks again. */

import { card, chip, field, filterBox, h, put, select, text, whenChanged } from "./dom.js";
import { count, moment, NONE, number, plural, seconds } from "./format.js";
import { request } from "./link.js";
import { href } from "./routes.js";
import { cell, Table } from "./table.js";
import { trendChart } from "./trendchart.js";

const STATUS = {
  ok: ["good", "good", "nothing is wrong"],
  violated: ["bad", "warn", "violated"],
  inconclusive: ["warn", "warn", "inconclusive"],
  failed: ["bad", "bad", "not reviewed"],
  following: ["info", "dot", "being followed"],
};
const VERDICTS = { worse: ["bad", "warn"], better: ["good", "good"], changed: ["info", "info"] };
const RANGES = [
  ["last:20", "last 20 runs"],
  ["last:50", "last 50 runs"],
  ["last:200", "last 200 runs"],
  ["", "all runs"],
];
const CHARTS = 12;

const began = (row) => moment(row.start_ns / 1e9);
const verdict = (one) => chip(...(VERDICTS[one.verdict] ?? ["plain", "info"]), one.verdict);
const figure = (value, unit) => `${number(value)} ${unit}`.trim();
const percent = (one) =>
  one.before && Number.isFinite(one.after / one.before)
    ? `${one.after >= one.before ? "+" : "−"}${Math.abs(Math.round(100 * (one.after / one.before - 1)))} %`
    : "";

const isFlat = (line) => line.values.every((value) => value === line.values[0]);

/** How sure it is, in words. */
const sure = (one) =>
  one.why ||
  (one.p === undefined
    ? ""
    : `by ${figure(one.shift, one.unit)}, between ${figure(one.low, one.unit)} and ${figure(one.high, one.unit)}; p ${number(one.p, 1)}`);

const column = (id, title, width, say, more = {}) => ({ id, title, width, value: say, say, ...more });
const said = (id, title, width, say, value) => ({ id, title, width, say, value });
const verdictColumn = {
  id: "verdict",
  title: "Verdict",
  width: 104,
  value: (one) => one.verdict,
  show: cell(
    (one) => one.verdict,
    (one) => [verdict(one)],
  ),
};
const WHAT = [
  column("kind", "Kind", 80, (one) => one.kind),
  column("what", "What", 220, (one) => one.subject),
  column("measure", "Measure", 88, (one) => one.measure),
];

export default {
  id: "lake",
  title: "Results",
  sections: [],
  ofFederation: false,

  mount(root, app) {
    this.app = app;
    this.lake = this.trend = this.comparison = this.federation = undefined;
    this.range = this.range ?? "last:50";
    this.words = "";
    this.problem = h("div", { role: "status" });
    this.federations = this.federationTable();
    this.runs = this.runTable();
    this.again = h("button", { type: "button", class: "small", onclick: () => this.load() }, "Read again");
    const box = filterBox("Filter runs", (words) => {
      this.words = words;
      this.drawRuns();
    });
    this.whole = h(
      "div",
      { class: "page", hidden: true },
      h(
        "div",
        { class: "halves" },
        h(
          "section",
          { class: "card", "aria-label": "Federations" },
          h("div", { class: "bar" }, h("h2", {}, "Federations"), this.again),
          this.federations.element,
        ),
        this.compareCard(),
      ),
      this.trendCard(),
      h(
        "section",
        { class: "card list", "aria-label": "Reviewed runs" },
        h("div", { class: "bar" }, (this.runsTitle = h("h2", {}, "Runs")), box),
        this.runs.element,
      ),
    );
    root.append(this.problem, this.whole);
    this.load();
  },

  // What is asked for

  async get(path, asked = {}) {
    const query = new URLSearchParams(asked).toString();
    return request("GET", query ? `${path}?${query}` : path);
  },

  async load() {
    this.again.disabled = true;
    if (this.lake === undefined) this.say("info", "wait", "Reading the results…");
    const found = await this.get("/api/lake");
    this.again.disabled = false;
    this.lake = found.error === undefined ? found : undefined;
    this.whole.hidden = this.lake === undefined;
    this.say("bad", "bad", found.error);
    if (this.lake === undefined) return;
    this.federation = undefined;
    this.app.draw();
  },

  say(tone, shape, words) {
    whenChanged(this.problem, [tone, words], () =>
      words === undefined ? [] : [h("p", { class: `banner ${tone}` }, chip(tone, shape, words))],
    );
  },

  draw({ item }) {
    if (this.lake === undefined) return;
    const names = this.lake.federations.map((one) => one.name);
    const chosen = names.includes(item) ? item : names[0];
    if (chosen === this.federation) return;
    this.federation = chosen;
    this.federations.draw(this.lake.federations);
    this.federations.mark(chosen);
    text(this.runsTitle, `Runs of ${chosen}`);
    this.drawRuns();
    this.suggest();
    this.askTrend();
  },

  // Federations and runs

  federationTable() {
    const many = (id, title, width, kinds) => {
      const of = (one) => kinds.reduce((sum, kind) => sum + (one.status[kind] ?? 0), 0);
      const hint = kinds.map((kind) => STATUS[kind][2]).join(", ");
      return { id, title, width, hint, number: true, value: of, say: (one) => count(of(one)) };
    };
    return new Table({
      label: "Federations",
      noun: "federation",
      key: (one) => one.name,
      empty: "No run was reviewed yet.",
      columns: [
        {
          id: "name",
          title: "Federation",
          width: 120,
          value: (one) => one.name,
          show: cell(
            (one) => one.name,
            (one) => [h("a", { href: href("lake", "", one.name), title: one.name }, one.name)],
          ),
        },
        { ...column("runs", "Runs", 56, (one) => count(one.runs)), value: (one) => one.runs, number: true },
        many("violated", "Violated", 72, ["violated"]),
        many("other", "Other", 60, ["inconclusive", "failed", "following"]),
        said("newest", "Newest", 148, (one) => moment(one.newest_ns / 1e9), (one) => one.newest_ns),
      ],
    });
  },

  runTable() {
    return new Table({
      label: "Reviewed runs",
      noun: "run",
      key: (row) => row.run,
      sort: { id: "started", down: true },
      empty: "No run of this federation was reviewed yet.",
      columns: [
        column("run", "Run", 220, (row) => row.run),
        said("started", "Started", 150, began, (row) => row.start_ns),
        {
          id: "status",
          title: "Result",
          width: 150,
          value: (row) => row.status,
          show: cell(
            (row) => [row.status, row.error],
            (row) => [
              h("span", { title: row.error ?? "" }, chip(...(STATUS[row.status] ?? ["plain", "info", row.status]))),
            ],
          ),
        },
        { ...said("violations", "Violations", 84, (row) => count(row.violations), (row) => row.violations), number: true },
        { ...said("unsure", "Unsure", 64, (row) => count(row.unsure), (row) => row.unsure), number: true },
        { ...said("rows", "Rows", 90, (row) => count(row.rows), (row) => row.rows), number: true },
        { ...said("seconds", "Lasted", 84, (row) => seconds(row.seconds), (row) => row.seconds), number: true },
      ],
    });
  },

  drawRuns() {
    const all = this.lake.runs.filter((row) => row.federation === this.federation);
    const rows = all.filter((row) => !this.words || `${row.run} ${row.status}`.toLowerCase().includes(this.words));
    this.runs.draw(rows, { of: all.length });
  },

  // How figures go

  trendCard() {
    this.ranges = select("Runs", (range) => {
      this.range = range;
      this.askTrend();
    });
    this.trendWords = h("p", { class: "note", role: "status" });
    this.events = new Table({
      label: "What changes",
      noun: "change",
      key: (one) => `${one.subject} ${one.measure} ${one.what} ${one.run}`,
      fixedOrder: true,
      empty: "Nothing changes by more than noise.",
      columns: [
        verdictColumn,
        ...WHAT,
        said("change", "From, to", 160, (one) => `${figure(one.before, one.unit)} → ${figure(one.after, one.unit)}`),
        said("percent", "Change", 76, percent),
        said("when", "When", 176, (one) => `${one.what === "once" ? "only" : "since"} ${began(one)}`),
        said("inrun", "Run", 200, (one) => one.run),
      ],
    });
    this.charts = h("ul", { class: "charts" });
    this.more = h("button", { type: "button", onclick: () => this.drawCharts(Infinity) }, "All figures");
    return h(
      "section",
      { class: "card", "aria-label": "Run after run" },
      h("div", { class: "bar" }, h("h2", {}, "Run after run"), field("", this.ranges)),
      this.trendWords,
      this.events.element,
      this.charts,
      h("div", { class: "buttons wide" }, this.more),
    );
  },

  async askTrend() {
    this.ranges.offer(RANGES, this.range);
    const runs = this.range ? `${this.federation}/${this.range}` : this.federation;
    this.asked = runs;
    text(this.trendWords, "Reading the figures…");
    const found = await this.get("/api/lake/trend", { runs });
    if (this.asked !== runs) return; // another was chosen meanwhile
    this.trend = found.error === undefined ? found : undefined;
    const changes = this.trend?.events ?? [];
    const worse = this.trend?.worse ?? 0;
    text(
      this.trendWords,
      found.error ??
        `${plural(found.runs.length, "run")}, ${plural(found.lines.length, "figure")}: ${
          changes.length
            ? `${plural(changes.length, "change")} by more than noise, ${count(worse)} for the worse.`
            : "nothing changes by more than noise."
        }`,
    );
    this.events.element.hidden = !changes.length;
    this.events.draw(changes);
    this.drawCharts(CHARTS);
  },

  drawCharts(most) {
    const same = (one, other) => one.kind === other.kind && one.subject === other.subject && one.measure === other.measure;
    const all = (this.trend?.lines ?? [])
      .filter((line) => line.values.some((value) => typeof value === "number"))
      .map((line) => ({ line, events: this.trend.events.filter((event) => same(event, line)) }))
      .sort((left, right) => right.events.length - left.events.length || isFlat(left.line) - isFlat(right.line));
    put(
      this.charts,
      all
        .slice(0, most)
        .map(({ line, events }) =>
          h(
            "li",
            {},
            h("h3", {}, `${line.subject}: ${line.measure}`),
            h("p", { class: "caption" }, line.unit ? `${line.kind}, ${line.unit}` : line.kind),
            trendChart(line, events),
          ),
        ),
    );
    this.more.hidden = all.length <= most;
    text(this.more, `All ${count(all.length)} figures`);
  },

  // Two groups of runs

  compareCard() {
    const input = (label) =>
      h("input", { type: "text", list: "lake-runs", required: true, maxlength: "300", spellcheck: "false", "aria-label": label });
    this.before = input("Runs before");
    this.after = input("Runs after");
    this.choices = h("datalist", { id: "lake-runs" });
    this.compareWords = h("p", { class: "note", role: "status" });
    this.differences = new Table({
      label: "What differs",
      noun: "difference",
      key: (one) => `${one.kind} ${one.subject} ${one.measure}`,
      fixedOrder: true,
      empty: "Nothing differs by more than noise.",
      columns: [
        verdictColumn,
        ...WHAT,
        said("change", "Before, after", 180, (one) => `${figure(one.before, one.unit)} → ${figure(one.after, one.unit)}`),
        said("percent", "Change", 76, percent),
        said("sure", "How sure", 260, sure),
      ],
    });
    this.differences.element.hidden = true;
    this.compareButton = h("button", { type: "submit", class: "primary" }, "Compare");
    const submit = (event) => {
      event.preventDefault();
      this.askComparison();
    };
    return card(
      "Compare",
      {},
      h(
        "form",
        { class: "compare", onsubmit: submit },
        field("Before", this.before),
        field("After", this.after),
        this.compareButton,
        this.choices,
      ),
      h(
        "p",
        { class: "caption" },
        "A federation, some of its runs (Range/last:20, Range/first:20), a day or several (Range/2026-11-18), or one run.",
      ),
      this.compareWords,
      this.differences.element,
    );
  },

  /** Days and runs of the federation; the two newest groups that there are, if nothing was written yet. */
  suggest() {
    const runs = this.lake.runs.filter((row) => row.federation === this.federation);
    const days = [...new Set(runs.map((row) => new Date(row.start_ns / 1e6).toISOString().slice(0, 10)))];
    const name = this.federation;
    const groups = days.length > 1 ? days.slice(0, 30).map((day) => `${name}/${day}`) : [];
    const each = runs.slice(0, 50).map((row) => `${name}/${row.run}`);
    put(
      this.choices,
      [...groups, ...each].map((value) => h("option", { value })),
    );
    const half = Math.floor(runs.length / 2);
    const [after, before] =
      groups.length > 1 ? groups : half > 1 ? [`${name}/last:${half}`, `${name}/first:${half}`] : each;
    this.before.value = before ?? "";
    this.after.value = after ?? "";
    this.differences.element.hidden = true;
    text(this.compareWords, "");
  },

  async askComparison() {
    this.compareButton.disabled = true;
    text(this.compareWords, "Comparing…");
    const found = await this.get("/api/lake/compare", { before: this.before.value, after: this.after.value });
    this.compareButton.disabled = false;
    this.differences.element.hidden = !found.differences?.length;
    if (found.error !== undefined) {
      text(this.compareWords, found.error);
      return;
    }
    const { differences, compared, worse, before, after, notes } = found;
    const sides = `${plural(before.length, "run")} before, ${plural(after.length, "run")} after.`;
    const told = differences.length
      ? `${worse || "Nothing"} worse, ${differences.length - worse} otherwise different, ${compared - differences.length} alike.`
      : `Nothing differs by more than noise, of ${plural(compared, "figure")}.`;
    text(this.compareWords, [told, sides, ...notes.map((one) => `Note: ${one}.`)].join(" "));
    this.differences.draw(differences);
  },
};
