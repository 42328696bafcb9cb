/* One question before anything is changed.  Resolves to {value} if the answer was yes, otherwise to undefined. */

import { h, icon, put } from "./dom.js";

export function ask({ titled, words, yes, tone = "", shape = "info", input }) {
  const dialog = document.getElementById("ask");
  const box =
    input === undefined
      ? undefined
      : h("input", { type: "number", min: "1", max: "1000000", step: "1", required: true, "aria-label": input.label });
  if (box !== undefined) box.value = String(input.value);
  return new Promise((done) => {
    const end = new AbortController();
    const finish = (event, answer) => {
      event.preventDefault();
      end.abort();
      dialog.close();
      done(answer);
    };
    const form = h(
      "form",
      { method: "dialog", onsubmit: (event) => finish(event, { value: box?.valueAsNumber }) },
      h("h2", { id: "ask-title" }, icon(shape), h("span", {}, titled)),
      words.map((one) => h("p", {}, one)),
      box === undefined ? "" : h("label", { class: "field" }, h("span", {}, input.label), box),
      h(
        "div",
        { class: "buttons" },
        h("button", { type: "button", onclick: (event) => finish(event, undefined) }, "Cancel"),
        h("button", { type: "submit", class: `primary ${tone}` }, yes),
      ),
    );
    put(dialog, form);
    // Escape is "no" too.
    dialog.addEventListener("cancel", (event) => finish(event, undefined), { signal: end.signal });
    dialog.showModal();
  });
}
