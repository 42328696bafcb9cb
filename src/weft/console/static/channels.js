/* What channels of data distribution carry, as bars: what receivers wanted, and what they got for nothing.
   The bars are drawn with plotly, which is fetched only here; the same figures stand in a table below. */

import { h, note, select, text } from "./dom.js";
import { count, rate } from "./format.js";
import { Table } from "./table.js";

const MOST = 24;
let plotly;

function load() {
  plotly ??= new Promise((done, failed) => {
    const script = h("script", { src: "/static/plotly.min.js" });
    // Plotly's maps bring a sheet of style into the page, which the policy of the page refuses; there are no such maps here.
    document.head.appendChild = (element) =>
      element.localName === "style" ? element : Node.prototype.appendChild.call(document.head, element);
    const loaded = (end, what) => () => {
      delete document.head.appendChild;
      end(what());
    };
    script.addEventListener(
      "load",
      loaded(done, () => globalThis.Plotly),
    );
    script.addEventListener(
      "error",
      loaded(failed, () => new Error("plotly.min.js did not load")),
    );
    document.head.append(script);
  });
  return plotly;
}

const unwanted = (one, tail = "") =>
  one[`filtered_at_receiver${tail}`] ?? Math.max(0, (one[`received${tail}`] ?? 0) - (one[`wanted${tail}`] ?? 0));

export class Channels {
  constructor() {
    this.per = "";
    this.choice = select("Figures", (value) => {
      this.per = value;
      this.draw(this.last, this.how);
    });
    this.plot = h("div", {
      class: "plot",
      role: "img",
      "aria-label": "Wanted and unwanted messages per channel; the table below has the figures",
    });
    this.none = note("No channel carries anything. Updates within one node need none.");
    this.table = new Table({
      label: "Channels",
      noun: "channel",
      key: (row) => row.id,
      empty: "",
      columns: [
        { id: "channel", title: "Channel", width: 104, value: (row) => row.id, say: (row) => row.id },
        {
          id: "wanted",
          title: "Wanted",
          width: 104,
          number: true,
          value: (row) => row.wanted,
          say: (row) => this.figure(row.wanted),
        },
        {
          id: "unwanted",
          title: "Unwanted",
          width: 104,
          number: true,
          hint: "came, and nobody there wanted it",
          value: (row) => row.unwanted,
          say: (row) => this.figure(row.unwanted),
        },
        {
          id: "spared",
          title: "Spared",
          width: 104,
          number: true,
          hint: "kept back by the sender, as nobody wanted it",
          value: (row) => row.spared,
          say: (row) => this.figure(row.spared),
        },
      ],
    });
    this.bar = h("div", { class: "tools" }, this.choice);
    this.strategy = note();
    this.element = h("div", { class: "channels" }, this.strategy, this.none, this.plot, this.table.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener(
      "change",
      () => this.last && this.drawPlot(this.rows, true),
    );
  }

  figure(value) {
    return this.per ? rate(value) : count(value);
  }

  draw(channels, strategy) {
    this.last = channels;
    this.how = strategy;
    text(this.strategy, strategy);
    this.choice.offer(
      [
        ["", "since the start"],
        ["_rate", "per second"],
      ],
      this.per,
    );
    const tail = this.per;
    this.rows = Object.entries(channels).map(([id, one]) => ({
      id,
      wanted: one[`wanted${tail}`] ?? 0,
      unwanted: unwanted(one, tail),
      spared: one[`filtered_at_sender${tail}`],
    }));
    const any = this.rows.length > 0;
    for (const part of [this.bar, this.plot, this.table.element]) part.hidden = !any;
    this.none.hidden = any;
    if (!any) return;
    this.table.draw(this.rows);
    this.drawPlot(this.rows);
  }

  async drawPlot(rows, anew = false) {
    const busiest = [...rows]
      .sort((one, other) => other.wanted + other.unwanted - one.wanted - one.unwanted)
      .slice(0, MOST);
    const shown = busiest.sort((one, other) => one.id.localeCompare(other.id, "en", { numeric: true }));
    const mark = JSON.stringify(shown);
    if (mark === this.drawn && !anew) return;
    this.drawn = mark;
    try {
      const library = await load();
      if (this.plot.isConnected)
        await library.react(this.plot, bars(shown), layout(), { displayModeBar: false, responsive: true });
    } catch (problem) {
      // Without plotly the table still says it all.
      this.plot.hidden = true;
      if (!this.told) this.element.append(note(`The bars cannot be drawn: ${problem.message}.`));
      this.told = true;
    }
  }
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function bars(rows) {
  const x = rows.map((row) => `channel ${row.id}`);
  const bar = (name, key, tone, shape) => ({
    type: "bar",
    name,
    x,
    y: rows.map((row) => row[key]),
    hovertemplate: `%{y:,.3~f} ${name}<extra>%{x}</extra>`,
    marker: {
      color: colour(tone),
      line: { color: colour(tone), width: 1 },
      pattern: { shape, fgcolor: colour(tone), bgcolor: colour(`${tone}-soft`), size: 8, solidity: 0.4 },
    },
  });
  return [bar("wanted", "wanted", "accent", ""), bar("unwanted", "unwanted", "warn", "/")];
}

function layout() {
  const grid = {
    gridcolor: colour("line"),
    zerolinecolor: colour("frame"),
    linecolor: colour("frame"),
    automargin: true,
    fixedrange: true,
  };
  return {
    barmode: "stack",
    height: 260,
    margin: { l: 48, r: 8, t: 8, b: 32 },
    bargap: 0.35,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: colour("text") },
    legend: { orientation: "h", y: 1.14, x: 0, traceorder: "normal" },
    hoverlabel: { bgcolor: colour("surface"), bordercolor: colour("frame"), font: { color: colour("text") } },
    xaxis: { ...grid, type: "category" },
    yaxis: { ...grid, rangemode: "tozero", separatethousands: true },
  };
}
