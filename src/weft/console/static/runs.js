/* Runs: what was recorded, whether it was reviewed, and what the review found. */

import { ask } from "./ask.js";
import { chip, filterBox, h, whenChanged } from "./dom.js";
import { bytes, count, moment, NONE, plural } from "./format.js";
import { meter } from "./federations.js";
import { request } from "./link.js";
import { cell, Table } from "./table.js";
import { READ_ONLY } from "./steer.js";

const STATES = {
  recording: ["info", "dot", "recording"],
  complete: ["good", "good", "complete"],
  incomplete: ["warn", "warn", "incomplete"],
  interrupted: ["warn", "warn", "interrupted"],
  unreadable: ["bad", "bad", "unreadable"],
};

/** Only addresses of this console: what a run is called must not lead elsewhere. */
const reportOf = (review) =>
  typeof review.report === "string" && /^\/runs\/[^\\]*$/.test(review.report) ? review.report : undefined;

const federationsOf = (run) => {
  const all = Array.isArray(run.federations) ? run.federations : Object.keys(run.federations ?? {});
  return all.join(", ") || NONE;
};

export default {
  id: "runs",
  title: "Runs",
  sections: [],
  ofFederation: false,
  problems: new Map(),

  mount(root, app) {
    this.app = app;
    this.filter = "";
    this.table = this.makeTable();
    this.problem = h("div", { role: "status" });
    const box = filterBox("Filter runs", (words) => {
      this.filter = words;
      app.draw();
    });
    root.append(
      this.problem,
      h(
        "section",
        { class: "card list tall", "aria-label": "Recorded runs" },
        h("div", { class: "bar" }, h("h2", {}, "Recorded runs"), box),
        this.table.element,
      ),
    );
  },

  makeTable() {
    const review = (row) =>
      row.run.review ?? (row.run.error ? { state: "failed", error: row.run.error } : { state: "none" });
    return new Table({
      label: "Recorded runs",
      noun: "run",
      key: (row) => row.name,
      sort: { id: "started", down: true },
      empty: "No recorded run yet. Nodes record into the folder runs, unless they were started with --no-record.",
      columns: [
        {
          id: "run",
          title: "Run",
          width: 246,
          value: (row) => row.name,
          show: cell(
            (row) => [row.name, row.run.path],
            (row) => [h("span", { title: row.run.path ?? row.name }, row.name)],
          ),
        },
        {
          id: "federation",
          title: "Federations",
          width: 100,
          value: (row) => federationsOf(row.run),
          say: (row) => federationsOf(row.run),
        },
        {
          id: "started",
          title: "Started",
          width: 156,
          value: (row) => moment(row.run.started),
          say: (row) => moment(row.run.started),
        },
        {
          id: "rows",
          title: "Rows",
          width: 84,
          number: true,
          value: (row) => row.run.rows,
          say: (row) => count(row.run.rows),
        },
        {
          id: "size",
          title: "Size",
          width: 72,
          number: true,
          value: (row) => row.run.bytes,
          say: (row) => bytes(row.run.bytes),
        },
        {
          id: "runstate",
          title: "State",
          width: 124,
          value: (row) => row.run.state,
          show: cell(
            (row) => row.run.state,
            (row) => [chip(...(STATES[row.run.state] ?? ["plain", "info", row.run.state ?? "unknown"]))],
          ),
        },
        {
          id: "review",
          title: "Review",
          width: 160,
          value: (row) => review(row).state,
          show: cell(
            (row) => review(row),
            (row) => [verdict(review(row))],
          ),
        },
        {
          id: "do",
          title: "",
          width: 160,
          show: cell(
            (row) => [row.name, review(row).state, reportOf(review(row)), this.may],
            (row) => this.deeds(row, review(row)),
          ),
        },
      ],
    });
  },

  deeds(row, review) {
    const report = reportOf(review);
    const button = (words, action) =>
      h(
        "button",
        {
          type: "button",
          class: "small",
          "data-review": row.name,
          disabled: !this.may,
          title: this.may ? undefined : READ_ONLY,
          onclick: action,
        },
        words,
      );
    return [
      report && review.state === "done"
        ? h("a", { class: "button small", href: report, target: "_blank", rel: "noopener" }, "Report")
        : "",
      review.state === "running"
        ? button("Stop…", () => this.stop(row.name))
        : button(review.state === "none" ? "Review…" : "Again…", () => this.start(row.name)),
    ];
  },

  draw({ picture }) {
    this.may = picture.console?.may_steer === true;
    const all = Object.entries(picture.runs ?? {}).map(([name, run]) => ({ name, run }));
    const rows = all.filter(
      ({ name, run }) =>
        !this.filter || `${name} ${federationsOf(run)} ${run.state}`.toLowerCase().includes(this.filter),
    );
    this.table.draw(rows, { of: all.length });
    const told = [...this.problems];
    whenChanged(this.problem, told, () =>
      told.map(([run, words]) => h("p", { class: "banner" }, chip("bad", "bad", `${run}: ${words}`))),
    );
  },

  async start(run) {
    const words = [
      "The audits read the whole run: did everybody get what they should, in the right order and in time? With many rows it takes minutes and a core of this machine.",
    ];
    await this.send("POST", run, {
      titled: ["Review ", h("code", {}, run), "?"],
      words,
      yes: "Start the review",
      shape: "runs",
    });
  },

  async stop(run) {
    await this.send("DELETE", run, {
      titled: ["Stop the review of ", h("code", {}, run), "?"],
      words: ["What it has found so far is dropped."],
      yes: "Stop it",
      tone: "danger",
      shape: "bad",
    });
  },

  async send(method, run, question) {
    if ((await ask(question)) === undefined) return;
    this.problems.delete(run);
    const answer = await request(method, `/api/runs/${encodeURIComponent(run)}/review`);
    if (answer.error !== undefined) this.problems.set(run, answer.error);
    this.app.draw();
  },
};

function verdict(review) {
  if (review.state === "running") {
    const part = review.progress ?? 0;
    const words = `${Math.round(100 * part)} %${review.stage ? ` · ${review.stage}` : ""}`;
    return h(
      "span",
      { class: "progress" },
      meter(part, 1, `Review: ${words}`),
      h("span", { title: review.stage }, words),
    );
  }
  if (review.state === "failed") return chip("bad", "bad", review.error ?? "failed");
  if (review.state !== "done") return h("span", { class: "muted" }, "not reviewed");
  if (review.violations === undefined) return chip("plain", "info", "reviewed");
  if (!review.violations && review.inconclusive) return chip("warn", "warn", "inconclusive");
  return review.violations
    ? chip("bad", "warn", plural(review.violations, "violation"))
    : chip("good", "good", "nothing is wrong");
}
