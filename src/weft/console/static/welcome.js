/* For a newcomer: nothing is running yet, so here is how to begin. */

import { each, h, note, put, text, whenChanged } from "./dom.js";
import { href } from "./routes.js";

const example = (address) => `from importlib.resources import files
import weft

fom = files("weft.cli.data") / "range.xml"  # an object model that comes with Weft
with weft.join("Range", "first", fom=fom, rti="${address}") as first:
    first.run(seconds=60)
`;

export function addresses(picture) {
  return Object.values(picture.nodes ?? {})
    .map((node) => node.server?.address ?? node.address)
    .filter(Boolean);
}

export const welcome = {
  mount(root) {
    this.address = h("ul", { class: "addresses" });
    this.code = h("code", {});
    this.copy = h("button", { type: "button", onclick: () => this.copyCode() }, "Copy");
    root.append(
      h(
        "section",
        { class: "card hero", "aria-label": "No federation yet" },
        h("h2", {}, "No federation yet"),
        h(
          "p",
          {},
          "This console shows what federates do as soon as one has joined a federation. It appears here by itself.",
        ),
        h("h3", {}, "1. Where to join"),
        this.address,
        h("h3", {}, "2. A first federate"),
        h("p", {}, "Save this as ", h("code", {}, "first.py"), " and run ", h("code", {}, "python first.py"), ":"),
        h("div", { class: "code" }, h("pre", {}, this.code), this.copy),
        note("Federates in C++ and Java join at the same address."),
      ),
    );
  },

  async copyCode() {
    let worked = true;
    await navigator.clipboard.writeText(this.code.textContent).catch(() => (worked = false));
    text(this.copy, worked ? "Copied" : "Select and copy it");
  },

  draw({ picture }) {
    const all = addresses(picture);
    whenChanged(this.address, all, () =>
      all.length ? all.map((one) => h("li", {}, h("code", {}, one))) : [h("li", {}, "No node has answered yet.")],
    );
    text(this.code, example(all[0] ?? "127.0.0.1:15164"));
  },
};

/** Details come a moment after somebody looks at them; until then nothing is said of them. */
export const asking = {
  mount(root, app) {
    this.app = app;
    this.words = h("p", { class: "note hero", role: "status" });
    root.append(this.words);
  },

  draw() {
    const late =
      "The nodes have not answered yet. They may be busy; one that is down, or has an older version of Weft, does not answer.";
    text(this.words, this.app.isLate ? late : "Asking the nodes…");
  },
};

/** The federation of this address is not there (any more). */
export const gone = {
  mount(root) {
    this.words = h("p", {});
    this.list = h("ul", {});
    root.append(
      h(
        "section",
        { class: "card hero", "aria-label": "No such federation" },
        h("h2", {}, "No such federation"),
        this.words,
        this.list,
      ),
    );
  },

  draw({ name, all, page }) {
    put(
      this.words,
      "There is no federation ",
      h("code", {}, name),
      " now: it was destroyed, or its node does not answer. If it comes, it appears here. There are:",
    );
    each(
      this.list,
      all,
      (one) => one,
      (one) => h("li", {}, h("a", { href: href(page.id, one) }, one)),
      () => undefined,
    );
  },
};
