/* Fabric: nodes in their domains, the links between them, and what order costs: stamps, and packets that were held back. */

import { card, chip, h, text, whenChanged } from "./dom.js";
import { FabricGraph } from "./fabricgraph.js";
import { bytes, count, NONE, plural, rate, seconds, share } from "./format.js";
import { own } from "./patch.js";
import { href } from "./routes.js";
import { cell, Table } from "./table.js";

const TONES = { up: ["good", "good", "up"], down: ["bad", "bad", "down"], starting: ["info", "wait", "starting"] };
const stateOf = (node) => TONES[node.state] ?? ["plain", "info", node.state ?? "unknown"];

/** All nodes know the same topology; any that is up may tell it. */
function topology(nodes) {
  const told = Object.values(nodes)
    .map((node) => node.fabric)
    .filter((one) => one?.domains !== undefined);
  const most = told.reduce(
    (one, other) => (Object.keys(other.domains).length > Object.keys(one?.domains ?? {}).length ? other : one),
    undefined,
  );
  return { domains: most?.domains ?? {}, routers: new Set(told.flatMap((one) => one.routers ?? [])) };
}

export default {
  id: "fabric",
  title: "Fabric",
  sections: [],
  ofFederation: false,

  mount(root) {
    this.summary = h("ul", { class: "findings", "aria-label": "What is the matter" });
    this.graph = new FabricGraph((name) => href("fabric", undefined, name));
    this.legend = h(
      "p",
      { class: "caption" },
      "A line is a link, the thicker the busier; a cut one is dashed and crossed. Angular nodes are routers: they lie in several domains.",
    );
    this.nodes = this.makeNodes();
    this.links = this.makeLinks();
    this.linkTitle = h("h2", {}, "Links");
    this.all = h("a", { href: href("fabric") }, "show all");
    this.drawn = card("Domains and links", { class: "graph" }, this.graph.element, this.legend);
    this.linked = h(
      "section",
      { class: "card list", "aria-label": "Links" },
      h("div", { class: "bar" }, this.linkTitle, this.all),
      this.links.element,
    );
    root.append(
      this.summary,
      h(
        "div",
        { class: "fabric-top" },
        this.drawn,
        h("section", { class: "card list", "aria-label": "Nodes" }, h("h2", {}, "Nodes"), this.nodes.element),
      ),
      this.linked,
    );
  },

  makeNodes() {
    const server = (key) => (row) => serverOf(row.node)?.[key];
    const fabric = (key) => (row) => row.node.fabric?.[key];
    return new Table({
      label: "Nodes",
      noun: "node",
      key: (row) => row.name,
      empty: "No node has answered yet.",
      rowClass: (row) => (row.node.state === "down" ? "down" : ""),
      columns: [
        {
          id: "node",
          title: "Node",
          width: 84,
          value: (row) => row.name,
          show: cell(
            (row) => row.name,
            (row) => [h("a", { href: href("fabric", undefined, row.name) }, row.name)],
          ),
        },
        {
          id: "nodestate",
          title: "State",
          width: 98,
          value: (row) => row.node.state,
          show: cell(
            (row) => stateOf(row.node),
            (_, state) => [chip(...state)],
          ),
        },
        {
          id: "address",
          title: "Address",
          width: 130,
          value: (row) => row.node.address,
          say: (row) => row.node.address ?? row.node.server?.address ?? NONE,
        },
        {
          id: "cpu",
          title: "CPU",
          width: 64,
          number: true,
          value: server("cpu"),
          say: (row) => share(serverOf(row.node)?.cpu),
        },
        {
          id: "memory",
          title: "Memory",
          width: 78,
          number: true,
          value: server("resident_bytes"),
          say: (row) => bytes(serverOf(row.node)?.resident_bytes),
        },
        {
          id: "sessions",
          title: "Sessions",
          width: 86,
          number: true,
          value: server("sessions"),
          say: (row) => count(serverOf(row.node)?.sessions),
        },
        {
          id: "messages",
          title: "Msgs/s",
          width: 76,
          number: true,
          hint: "messages of federates",
          value: server("messages_rate"),
          say: (row) => rate(serverOf(row.node)?.messages_rate),
        },
        {
          id: "stamp",
          title: "Stamps",
          width: 78,
          number: true,
          hint: "bytes of causal stamps sent so far",
          value: fabric("stamp_bytes"),
          say: (row) => bytes(row.node.fabric?.stamp_bytes),
        },
        {
          id: "held",
          title: "Held",
          width: 64,
          number: true,
          hint: "packets that wait here for others to come first",
          value: (row) => heldAt(row.node),
          say: (row) => count(heldAt(row.node)),
        },
        {
          id: "age",
          title: "Heard",
          width: 78,
          number: true,
          hint: "how long ago it last answered",
          value: (row) => row.node.age,
          say: (row) => (row.node.age === undefined ? NONE : seconds(row.node.age)),
        },
      ],
    });
  },

  makeLinks() {
    const one = (key, show) => ({ number: true, value: (row) => row.link[key], say: (row) => show(row.link[key]) });
    return new Table({
      label: "Links",
      noun: "link",
      key: (row) => `${row.from}\n${row.to}`,
      empty: "No links.",
      rowClass: (row) => (row.up ? "" : "down"),
      columns: [
        { id: "from", title: "From", width: 64, value: (row) => row.from, say: (row) => row.from },
        { id: "to", title: "To", width: 64, value: (row) => row.to, say: (row) => row.to },
        {
          id: "linkstate",
          title: "State",
          width: 84,
          value: (row) => row.up,
          show: cell(
            (row) => row.up,
            (row) => [row.up ? chip("good", "good", "up") : chip("bad", "bad", "down")],
          ),
        },
        {
          id: "since",
          title: "For",
          width: 96,
          number: true,
          value: (row) => row.link.since,
          say: (row) => seconds(row.link.since),
        },
        { id: "sentrate", title: "Sent/s", width: 72, ...one("sent_rate", rate) },
        { id: "receivedrate", title: "Received/s", width: 90, ...one("received_rate", rate) },
        { id: "out", title: "Bytes out", width: 84, ...one("bytes_out", bytes) },
        { id: "in", title: "Bytes in", width: 80, ...one("bytes_in", bytes) },
        { id: "stampbytes", title: "Stamps", width: 76, hint: "bytes of causal stamps", ...one("stamp_bytes", bytes) },
        {
          id: "perpacket",
          title: "Per packet",
          width: 92,
          number: true,
          hint: "bytes of stamp in a packet",
          value: perPacket,
          say: (row) => (perPacket(row) === undefined ? NONE : `${rate(perPacket(row))} B`),
        },
        {
          id: "backlog",
          title: "Backlog",
          width: 74,
          hint: "packets that the other end has not acknowledged",
          ...one("backlog", count),
        },
        {
          id: "heldback",
          title: "Held back",
          width: 84,
          hint: "packets from there that wait for others to come first",
          ...one("held", count),
        },
        {
          id: "why",
          title: "Why",
          width: 236,
          value: (row) => row.link.why,
          say: (row) => row.link.why || (row.up ? "" : "an end is down"),
        },
      ],
    });
  },

  draw({ picture, item }) {
    const nodes = picture.nodes ?? {};
    const { domains, routers } = topology(nodes);
    const down = Object.entries(nodes).filter(([, node]) => node.state === "down");
    const words = say(nodes, domains, down);
    whenChanged(this.summary, words, () =>
      words.map((one, place) =>
        h("li", { class: `finding ${one.tone}${place ? "" : " first"}` }, chip(one.tone, one.shape, one.words)),
      ),
    );
    this.graph.draw(nodes, domains, routers, item);
    // One server has neither: there is nothing to draw.
    this.drawn.hidden = this.linked.hidden = Object.keys(nodes).length < 2 && !Object.keys(domains).length;
    const rows = Object.entries(nodes).map(([name, node]) => ({ name, node }));
    this.nodes.draw(rows);
    this.nodes.mark(item);
    const links = rows.flatMap(({ name, node }) =>
      Object.entries(node.fabric?.links ?? {}).map(([to, link]) => ({
        from: name,
        to,
        link,
        up: link.up !== false && node.state !== "down" && own(nodes, to)?.state !== "down",
      })),
    );
    this.links.draw(item === undefined ? links : links.filter((row) => row.from === item || row.to === item));
    text(this.linkTitle, item === undefined ? "Links" : `Links of ${item}`);
    this.all.hidden = item === undefined;
  },
};

/** What a node that is down last said of itself is no longer so. */
const serverOf = (node) => (node.state === "down" ? undefined : node.server);

const heldAt = (node) => {
  const links = Object.values(node.fabric?.links ?? {});
  return links.length ? links.reduce((sum, link) => sum + (link.held ?? 0), 0) : node.fabric?.waiting;
};

const perPacket = (row) => (row.link.packets ? (row.link.stamp_bytes ?? 0) / row.link.packets : undefined);

function say(nodes, domains, down) {
  const found = down.map(([name, node]) => ({
    tone: "bad",
    shape: "bad",
    words: `${name} is down${node.why ? `: ${node.why}` : ""}.`,
  }));
  const cut = Object.entries(nodes).flatMap(([name, node]) =>
    Object.entries(node.fabric?.unreachable ?? {}).map(([to, why]) => `${name} cannot reach ${to}: ${why}`),
  );
  found.push(...cut.slice(0, 3).map((words) => ({ tone: "warn", shape: "warn", words })));
  const most = Object.keys(domains).length;
  const up = Object.values(nodes).filter((node) => node.state === "up").length;
  if (!down.length)
    found.unshift({
      tone: "good",
      shape: "good",
      words: `${plural(up, "node")} up${most ? ` in ${plural(most, "domain")}` : ", without a fabric: federates of one server need none"}.`,
    });
  return found;
}
