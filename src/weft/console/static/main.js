/* The page as a whole: which page is shown, of which federation, how the connection is, and when to draw.

   What comes over the WebSocket is drawn at most twice a second; what a person does is drawn at once. */

import { attribute, chip, h, icon, put, select, text, whenChanged } from "./dom.js";
import channel from "./channel.js";
import fabric from "./fabric.js";
import federations from "./federations.js";
import { seconds } from "./format.js";
import interest from "./interest.js";
import lake from "./lake.js";
import { Link } from "./link.js";
import { own } from "./patch.js";
import { here, href } from "./routes.js";
import runs from "./runs.js";
import steer from "./steer.js";
import { asking, gone, welcome } from "./welcome.js";

const PAGES = [federations, interest, fabric, channel, runs, lake, steer];
const PAUSE = 500;
/** After so long a page says that nodes do not answer what they were not asked for before. */
const ASKING = 3000;
const byId = (id) => document.getElementById(id);

class App {
  constructor() {
    this.drawnAt = -PAUSE;
    this.draws = 0;
    this.chooser = select("Federation", (name) => (location.hash = href(this.page.id, name)));
    byId("chooser").append(h("label", { class: "field" }, h("span", {}, "Federation"), this.chooser));
    put(
      byId("pages"),
      PAGES.map((page) =>
        h("li", {}, h("a", { href: href(page.id), "data-page": page.id }, icon(page.id), h("span", {}, page.title))),
      ),
    );
    addEventListener("hashchange", () => this.draw());
    addEventListener("error", (event) => this.drawFault(event.message));
    document.addEventListener("visibilitychange", () => document.hidden || this.draw());
    // Skipping to the content must not look like a route.
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault();
      byId("content").focus();
    });
    this.link = new Link({ changed: () => this.soon(), state: () => this.drawConnection() });
    setInterval(() => this.link.phase !== "open" && this.drawConnection(), 1000);
  }

  soon() {
    if (this.waiting !== undefined) return;
    const pause = Math.max(0, this.drawnAt + PAUSE - performance.now());
    this.waiting = setTimeout(() => {
      this.waiting = undefined;
      if (!document.hidden) this.draw();
    }, pause);
  }

  /** What is to be seen now. */
  view() {
    const place = here();
    const picture = this.link.picture;
    const all = Object.keys(picture.federations ?? {}).sort();
    const name = place.federation ?? (all.includes(this.last) ? this.last : all[0]);
    this.last = name;
    const page = PAGES.find((one) => one.id === place.page) ?? federations;
    return {
      picture,
      all,
      name,
      federation: name === undefined ? undefined : own(picture.federations, name),
      item: place.item,
      page,
    };
  }

  draw() {
    if (this.link?.picture === undefined) return;
    this.drawnAt = performance.now();
    const view = this.view();
    this.page = view.page;
    if (this.link.look(view.page.ofFederation ? view.name : undefined, view.page.sections)) {
      this.lookedAt = performance.now();
      if (view.page.needs !== undefined) setTimeout(() => this.draw(), ASKING);
    }
    this.drawFrame(view);
    const [content, key] = this.contentFor(view);
    if (this.shown !== key) {
      this.shown = key;
      const root = h("div", { class: `page p-${key}` });
      put(byId("content"), root);
      content.mount(root, this);
      scrollTo(0, 0);
    }
    content.draw(view);
    byId("content").dataset.draws = ++this.draws;
  }

  contentFor(view) {
    if (!view.page.ofFederation) return [view.page, view.page.id];
    if (!view.all.length) return [welcome, "welcome"];
    if (view.federation === undefined) return [gone, "gone"];
    const { needs } = view.page;
    if (needs !== undefined && view.federation[needs] === undefined) return [asking, "asking"];
    return [view.page, view.page.id];
  }

  /** Whether the nodes should have answered by now. */
  get isLate() {
    return performance.now() - this.lookedAt >= ASKING;
  }

  drawFrame({ picture, page, all, name, federation }) {
    document.title = `${page.title} · Weft`;
    text(byId("title"), page.title);
    for (const link of byId("pages").querySelectorAll("a")) {
      attribute(link, "aria-current", link.dataset.page === page.id ? "page" : undefined);
      attribute(link, "href", href(link.dataset.page, all.includes(name) ? name : undefined));
    }
    byId("chooser").hidden = !page.ofFederation || !all.length;
    const options = all.includes(name) || name === undefined ? all : [name, ...all];
    this.chooser.offer(
      options.map((one) => [one, one]),
      name ?? "",
    );
    const badges = [];
    const down = Object.entries(picture.nodes ?? {})
      .filter(([, node]) => node.state === "down")
      .map(([one]) => one);
    if (down.length)
      badges.push(["bad", "bad", down.length === 1 ? `node ${down[0]} is down` : `${down.length} nodes are down`]);
    if (page.ofFederation && federation?.paused) badges.push(["warn", "pause", "paused"]);
    if (picture.console && !picture.console.may_steer) badges.push(["plain", "info", "read-only"]);
    whenChanged(byId("badges"), badges, () => badges.map((one) => chip(...one)));
    const version = picture.console?.version;
    whenChanged(byId("about"), [version], () => [version ? `Weft ${version}` : "Weft"]);
  }

  drawConnection() {
    const link = this.link;
    if (link === undefined) return; // the link tells its first state before it is assigned
    const live = link.phase === "open";
    const lost = link.lostAt !== undefined;
    const words = live
      ? ["good", "dot", "live"]
      : lost
        ? ["bad", "bad", "connection lost"]
        : ["plain", "wait", "connecting…"];
    whenChanged(byId("connection"), words, () => [chip(...words)]);
    document.body.classList.toggle("stale", lost);
    byId("banner").hidden = !lost;
    if (lost) this.drawLoss(link);
    if (link.picture === undefined) this.drawFirst(lost);
  }

  /** Better than a page that stands still and looks live. */
  drawFault(message) {
    const words = `This page has a fault and may show old figures: ${message}. Load it again; if it comes again, please report it.`;
    const again = h("button", { type: "button", onclick: () => location.reload() }, "Load again");
    whenChanged(byId("banner"), ["fault", message], () => [icon("bad"), h("span", {}, words), again]);
    byId("banner").hidden = false;
  }

  drawLoss(link) {
    const banner = byId("banner");
    whenChanged(banner, ["built"], () => [
      icon("bad"),
      h("span", {}),
      h("button", { type: "button", onclick: () => this.link.connect() }, "Try now"),
    ]);
    const ago = (Date.now() - link.lostAt) / 1000;
    const next =
      link.tryAt === undefined
        ? "Trying again…"
        : `Next try in ${Math.max(1, Math.ceil((link.tryAt - Date.now()) / 1000))} s.`;
    const since = `since ${new Date(link.lostAt).toLocaleTimeString("en-GB")} (${ago < 60 ? `${Math.round(ago)} s` : seconds(ago)})`;
    const why = link.refused
      ? "The console no longer accepts this page: it was started anew. Open the address that it printed."
      : "The console may have been stopped.";
    text(banner.children[1], `No connection to the console ${since}; what is shown is as of then. ${why} ${next}`);
  }

  drawFirst(lost) {
    whenChanged(byId("content"), ["first", lost], () => [
      h(
        "div",
        { class: "hero" },
        h("h2", {}, lost ? "The console does not answer" : "Connecting to the console…"),
        h(
          "p",
          {},
          lost
            ? "Is it still running? This page tries again by itself."
            : "The picture of all nodes comes in a moment.",
        ),
      ),
    ]);
  }
}

new App().drawConnection();
