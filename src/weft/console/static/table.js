/* A table of any number of rows: only those in sight are in the page.  Rows keep their elements as long as they are in sight, so that
   a redraw loses neither focus nor selection; every row is equally high, which is what makes it cheap to know which are in sight. */

import { attribute, h, text, whenChanged } from "./dom.js";
import { plural } from "./format.js";

const ROW = 34;
const SPARE = 6;

const isMissing = (value) => value === undefined || value === null || value === "";

export function compare(left, right) {
  if (isMissing(left) || isMissing(right)) return isMissing(left) - isMissing(right);
  if (typeof left === "number" && typeof right === "number") return left - right;
  return String(left).localeCompare(String(right), "en", { numeric: true });
}

/** columns: {id, title, width, number, hint, value(row) to sort by, show(cell, row) or say(row)}; what is said is text.
    Widths are in pixels of a narrow page; where there is more room, all grow alike. */
export class Table {
  constructor({
    label,
    columns,
    key,
    empty,
    sort,
    fixedOrder = false,
    rowClass = () => "",
    noun = "row",
    nouns = `${noun}s`,
  }) {
    Object.assign(this, { columns, key, empty, rowClass, noun, nouns });
    this.sort = sort ?? { id: columns[0].id, down: false };
    this.fixedOrder = fixedOrder;
    this.rows = [];
    this.elements = new Map();
    this.marked = undefined;
    this.above = h("tr", { class: "spacer", "aria-hidden": "true" }, h("td", { colspan: columns.length }));
    this.below = h("tr", { class: "spacer", "aria-hidden": "true" }, h("td", { colspan: columns.length }));
    this.body = h("tbody", {}, this.above, this.below);
    this.head = h(
      "tr",
      {},
      columns.map((column) => this.heading(column)),
    );
    const widths = h(
      "colgroup",
      {},
      columns.map((column) => this.column(column)),
    );
    this.table = h("table", { "aria-label": label }, widths, h("thead", {}, this.head), this.body);
    this.none = h("p", { class: "note empty" });
    this.scroller = h(
      "div",
      { class: "scroller", tabindex: "0", role: "region", "aria-label": label },
      this.table,
      this.none,
    );
    this.scroller.addEventListener("scroll", () => this.drawRows(), { passive: true });
    new ResizeObserver(() => this.drawRows()).observe(this.scroller);
    this.caption = h("p", { class: "caption", "aria-live": "off" });
    this.element = h("div", { class: "table" }, this.scroller, this.caption);
  }

  column(column) {
    const element = h("col", { class: `c-${column.id}` });
    element.style.width = `${column.width}px`;
    return element;
  }

  heading(column) {
    const sorts = !this.fixedOrder && column.value !== undefined;
    const inside = sorts
      ? h("button", { type: "button", class: "plain", onclick: () => this.sortBy(column.id) }, column.title)
      : column.title;
    return h(
      "th",
      { scope: "col", class: `c-${column.id}${column.number ? " number" : ""}`, title: column.hint },
      inside,
    );
  }

  sortBy(id) {
    this.sort = { id, down: this.sort.id === id && !this.sort.down };
    this.draw(this.given);
  }

  draw(rows, { of = rows.length } = {}) {
    this.given = rows;
    this.rows = this.fixedOrder ? rows : this.sorted(rows);
    this.places = new Map(this.rows.map((row, place) => [this.key(row), place]));
    [...this.head.children].forEach((cell, place) => {
      const here = !this.fixedOrder && this.columns[place].id === this.sort.id;
      attribute(cell, "aria-sort", here ? (this.sort.down ? "descending" : "ascending") : undefined);
    });
    this.none.hidden = rows.length > 0;
    whenChanged(this.none, [this.empty, of > 0], () => [of > 0 ? `No ${this.noun} matches the filter.` : this.empty]);
    attribute(this.table, "aria-rowcount", rows.length + 1);
    this.caption.hidden = of < 2 && rows.length === of;
    text(
      this.caption,
      rows.length === of ? plural(of, this.noun, this.nouns) : `${rows.length} of ${plural(of, this.noun, this.nouns)}`,
    );
    this.drawRows();
  }

  sorted(rows) {
    const column = this.columns.find((one) => one.id === this.sort.id);
    const turn = this.sort.down ? -1 : 1;
    const value = column.value;
    return rows
      .map((row) => [value(row), this.key(row), row])
      .sort((left, right) => {
        const apart =
          isMissing(left[0]) || isMissing(right[0]) ? compare(left[0], right[0]) : turn * compare(left[0], right[0]);
        return apart || compare(left[1], right[1]);
      })
      .map(([, , row]) => row);
  }

  drawRows() {
    const height = this.scroller.clientHeight || 600;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - SPARE);
    const end = Math.min(this.rows.length, Math.ceil((this.scroller.scrollTop + height) / ROW) + SPARE);
    const begin = Math.min(first, end);
    this.space(this.above, begin);
    this.space(this.below, this.rows.length - end);
    const before = this.elements;
    this.elements = new Map();
    let cursor = this.above.nextSibling;
    for (let place = begin; place < end; place++) {
      const row = this.rows[place];
      const key = this.key(row);
      const element = before.get(key) ?? this.makeRow();
      before.delete(key);
      this.elements.set(key, element);
      this.fillRow(element, row, key, place);
      if (element === cursor) cursor = cursor.nextSibling;
      else this.body.insertBefore(element, cursor);
    }
    for (const element of before.values()) element.remove();
  }

  space(row, rows) {
    row.hidden = rows === 0;
    row.firstChild.style.height = `${rows * ROW}px`;
  }

  makeRow() {
    return h(
      "tr",
      {},
      this.columns.map((column) => h("td", { class: `c-${column.id}${column.number ? " number" : ""}` })),
    );
  }

  fillRow(element, row, key, place) {
    attribute(element, "aria-rowindex", place + 2);
    attribute(element, "data-key", key);
    const marked = key === this.marked;
    attribute(element, "aria-current", marked ? "true" : undefined);
    const styles = `${this.rowClass(row)}${marked ? " marked" : ""}${place % 2 ? " odd" : ""}`.trim();
    if (element.className !== styles) element.className = styles;
    this.columns.forEach((column, at) => {
      const cell = element.children[at];
      if (column.show) column.show(cell, row);
      else {
        const words = column.say(row);
        text(cell, words);
        attribute(cell, "title", words.length > 14 ? words : undefined);
      }
    });
  }

  /** Marks a row, and scrolls it into sight if it is not. */
  mark(key) {
    const changed = key !== this.marked;
    this.marked = key;
    const place = this.places?.get(key);
    if (place !== undefined && changed) {
      const top = place * ROW;
      const room = this.scroller.clientHeight - 2 * ROW;
      if (top < this.scroller.scrollTop || top > this.scroller.scrollTop + room)
        this.scroller.scrollTop = Math.max(0, top - room / 2);
    }
    this.drawRows();
    return place !== undefined;
  }
}

/** Cells whose content is not just text are built again only when what they show has changed. */
export const cell = (facts, build) => (element, row) => {
  const shown = facts(row);
  whenChanged(element, shown, () => build(row, shown));
};
