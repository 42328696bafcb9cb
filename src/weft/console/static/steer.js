/* Steer: pause, step, resume, resign.  Each asks once, and its answer is shown until the page is left. */

import { ask } from "./ask.js";
import { attribute, card, chip, each, filterBox, h, icon, whenChanged } from "./dom.js";
import { logical, plural, seconds } from "./format.js";
import { stateOf } from "./federations.js";
import { request } from "./link.js";
import { href } from "./routes.js";
import { cell, Table } from "./table.js";

export const READ_ONLY =
  "This page was opened with a read-only token. To steer, open the address with the operator's token, which the console printed when it was started.";

const code = (name) => h("code", {}, name);

/** What each does, in words for who has never done it. */
const ACTIONS = {
  pause: {
    title: (on) => ["Pause ", code(on), "?"],
    words: [
      "No federate is granted a time advance until somebody resumes. Messages still flow, and calls are answered.",
    ],
    yes: "Pause",
    shape: "pause",
  },
  resume: {
    title: (on) => ["Resume ", code(on), "?"],
    words: ["Federates are granted time again as far as they have asked."],
    yes: "Resume",
    shape: "play",
  },
  step: {
    title: (on) => ["Step ", code(on), "?"],
    words: [
      "Each step lets the next logical time through, for everybody who may have it; then time stands still again.",
    ],
    yes: "Step",
    shape: "step",
    input: { label: "steps", value: 1 },
  },
};

export default {
  id: "steer",
  title: "Steer",
  sections: [],
  ofFederation: true,
  answers: [],

  mount(root, app) {
    this.app = app;
    this.filter = "";
    this.reason = h("p", { class: "banner info", role: "note" }, icon("info"), h("span", {}, READ_ONLY));
    this.state = h("p", { class: "paused" });
    this.buttons = Object.fromEntries(
      Object.keys(ACTIONS).map((action) => [
        action,
        h(
          "button",
          { type: "button", class: "big", "data-action": action, onclick: () => this.steer(action) },
          icon(ACTIONS[action].shape),
          h("span", {}, ACTIONS[action].yes + "…"),
        ),
      ]),
    );
    this.log = h("ol", { class: "answers", role: "status", "aria-label": "Answers" });
    this.noAnswers = h(
      "p",
      { class: "note" },
      "Nothing was steered from this page yet. Whatever is done is logged, and recorded in the run.",
    );
    this.table = this.makeTable();
    const box = filterBox("Filter federates", (words) => {
      this.filter = words;
      app.draw();
    });
    root.append(
      this.reason,
      h(
        "div",
        { class: "halves" },
        card("Time", {}, this.state, h("div", { class: "buttons wide" }, Object.values(this.buttons))),
        card("Answers", {}, this.noAnswers, this.log),
      ),
      h(
        "section",
        { class: "card list", "aria-label": "Federates" },
        h("div", { class: "bar" }, h("h2", {}, "Resign a federate"), box),
        this.table.element,
      ),
    );
  },

  makeTable() {
    return new Table({
      label: "Federates",
      noun: "federate",
      key: (row) => row.name,
      empty: "No federate has joined yet.",
      columns: [
        {
          id: "name",
          title: "Federate",
          width: 320,
          value: (row) => row.name,
          show: cell(
            (row) => [row.name, this.federation],
            (row) => [h("a", { href: href("federations", this.federation, row.name) }, row.name)],
          ),
        },
        {
          id: "node",
          title: "Node",
          width: 120,
          value: (row) => row.federate.node,
          say: (row) => row.federate.node ?? "",
        },
        {
          id: "state",
          title: "State",
          width: 150,
          value: (row) => stateOf(row.federate)[2],
          show: cell(
            (row) => stateOf(row.federate),
            (_, state) => [chip(...state)],
          ),
        },
        {
          id: "time",
          title: "Granted",
          width: 120,
          number: true,
          value: (row) => row.federate.time,
          say: (row) => logical(row.federate.time),
        },
        {
          id: "resign",
          title: "",
          width: 120,
          show: cell(
            (row) => [row.name, this.may],
            (row) => [
              h(
                "button",
                {
                  type: "button",
                  class: "small",
                  disabled: !this.may,
                  "data-resign": row.name,
                  onclick: () => this.resign(row.name),
                },
                "Resign…",
              ),
            ],
          ),
        },
      ],
    });
  },

  draw({ picture, federation, name, item }) {
    this.federation = name;
    this.may = picture.console?.may_steer === true;
    this.reason.hidden = this.may;
    const pause = federation.paused;
    const words = pause
      ? [
          "warn",
          "pause",
          `paused${pause.at === undefined ? "" : ` at ${logical(pause.at)}`}${pause.by ? ` by ${pause.by}` : ""}${pause.since === undefined ? "" : ` for ${seconds(pause.since)}`}${pause.steps ? `, ${plural(pause.steps, "step")} still allowed` : ""}`,
        ]
      : ["good", "play", "time advances freely"];
    whenChanged(this.state, words, () => [chip(...words)]);
    for (const [action, button] of Object.entries(this.buttons)) {
      const fits = (action === "pause") === (pause === undefined);
      attribute(button, "disabled", this.may && fits ? undefined : "");
      attribute(
        button,
        "title",
        !this.may ? READ_ONLY : fits ? undefined : pause ? "It is paused already." : "Only while it is paused.",
      );
      button.classList.toggle("primary", fits && action !== "step");
    }
    const all = Object.entries(federation.federates ?? {}).map(([one, federate]) => ({ name: one, federate }));
    this.table.draw(
      all.filter((row) => row.name === item || !this.filter || row.name.toLowerCase().includes(this.filter)),
      { of: all.length },
    );
    if (this.table.marked !== item) this.table.mark(item);
    this.drawAnswers();
  },

  drawAnswers() {
    this.noAnswers.hidden = this.answers.length > 0;
    each(
      this.log,
      this.answers,
      (one) => one.number,
      (one) => h("li", {}, h("time", {}, one.at), h("span", { class: "did" }, one.did), h("span", { class: "said" })),
      (element, one) => {
        attribute(element, "class", one.tone);
        whenChanged(element.lastChild, [one.tone, one.said], () => [chip(one.tone, one.shape, one.said)]);
      },
    );
  },

  async steer(action) {
    const federation = this.federation;
    const { title, ...rest } = ACTIONS[action];
    const answer = await ask({ ...rest, titled: title(federation) });
    if (answer === undefined) return;
    const target = action === "step" ? answer.value : undefined;
    await this.send(
      { action, federation, ...(target === undefined ? {} : { target }) },
      `${action} ${federation}${target === undefined ? "" : `, ${plural(target, "step")}`}`,
    );
  },

  async resign(target) {
    const federation = this.federation;
    const words = [
      "It is taken out as if it had been lost: its automatic resign directive applies, and it is told so. This cannot be undone; it may join again.",
    ];
    const answer = await ask({
      titled: ["Resign ", code(target), " from ", code(federation), "?"],
      words,
      yes: "Resign",
      tone: "danger",
      shape: "out",
    });
    if (answer !== undefined)
      await this.send({ action: "resign", federation, target }, `resign ${target} from ${federation}`);
  },

  async send(body, did) {
    const entry = {
      number: this.answers.length,
      at: new Date().toLocaleTimeString("en-GB"),
      did,
      tone: "plain",
      shape: "wait",
      said: "asked…",
    };
    this.answers.unshift(entry);
    this.app.draw();
    const answer = await request("POST", "/api/steer", body);
    Object.assign(
      entry,
      answer.error === undefined
        ? { tone: "good", shape: "good", said: said(answer, body) }
        : { tone: "bad", shape: "bad", said: answer.error },
    );
    this.app.draw();
  },
};

/** What the answer adds to what was asked, which stands beside it. */
function said({ ok, ...facts }, asked) {
  const rest = Object.entries(facts)
    .filter(([key, value]) => typeof value !== "object" && asked[key] !== value)
    .map(([key, value]) => `${key} ${value}`);
  return [ok ? "done" : "", ...rest].filter(Boolean).join(", ");
}
