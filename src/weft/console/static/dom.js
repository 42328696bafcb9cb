/* Elements.  Whatever comes from outside goes in as text: nothing here, nor anywhere in the console, reads HTML. */

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** h("button", {type: "button", onclick: f}, "text", other) */
export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

export const s = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export function text(element, value) {
  const wanted = String(value);
  if (element.textContent !== wanted) element.textContent = wanted;
  return element;
}

export function attribute(element, name, value) {
  if (value === undefined || value === false) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

export const put = (parent, ...children) => parent.replaceChildren(...children.flat().filter(Boolean));

/** Builds anew only if what is shown has changed, so that focus, selection and scrolling stay. */
export function whenChanged(element, facts, build) {
  const mark = JSON.stringify(facts);
  if (element.shown === mark) return;
  element.shown = mark;
  put(element, build());
}

/** One element per item, in their order; elements of items that stay are kept and updated. */
export function each(parent, items, key, make, update) {
  const before = parent.kept ?? new Map();
  const now = new Map();
  let cursor = parent.firstChild;
  for (const item of items) {
    const name = key(item);
    const element = before.get(name) ?? make(item);
    now.set(name, element);
    before.delete(name);
    update(element, item);
    if (element === cursor) cursor = cursor.nextSibling;
    else parent.insertBefore(element, cursor);
  }
  for (const element of before.values()) element.remove();
  parent.kept = now;
}

const SHAPES = {
  federations: "M4 4.500h4v4H4zM12 4.500h4v4h-4zM8 12h4v4H8zM6 8.500l3 3.500M14 8.500l-3 3.500",
  interest: "M3.500 6.500h8v7h-8zM8.500 3.500h8v7h-8z",
  fabric: "M10 4.500v5M10 9.500L5 14M10 9.500l5 4.500M10 4.500h0M5 15h0M15 15h0",
  channel: "M3 5h6M6 10h9M10 15h7",
  runs: "M5 3.500h7l3.500 3.500v9.500H5zM8 9.500h5M8 12.500h5",
  lake: "M3.500 16.500h13M3.500 3.500v13M6 12.500l3-3.500 3 2 4-6",
  steer: "M6 4v12M13 4v12",
  good: "M4.500 10.500l3.500 3.500 7.500-8",
  bad: "M5.500 5.500l9 9M14.500 5.500l-9 9",
  warn: "M10 3.500l7.500 13h-15zM10 8.500v3.500M10 14.300v.2",
  wait: "M10 5.500V10l3 2M10 3a7 7 0 1 0 .01 0z",
  info: "M10 9v5M10 6.300v.2M10 3a7 7 0 1 0 .01 0z",
  pause: "M7 5v10M13 5v10",
  play: "M7 4.500l8 5.500-8 5.500z",
  step: "M5 4.500l6.500 5.500L5 15.500zM14.500 4.500v11",
  out: "M11.500 4H4.500v12h7M8.500 10h8M13.500 7l3 3-3 3",
  save: "M4 4h10l2 2v10H4zM7 4v4h5V4M7 16v-4h6v4",
  dot: "M10 7.500a2.500 2.500 0 1 0 .01 0z",
  close: "M6 6l8 8M14 6l-8 8",
};

export const icon = (name) =>
  s("svg", { class: `icon i-${name}`, viewBox: "0 0 20 20", "aria-hidden": "true" }, s("path", { d: SHAPES[name] }));

/** A word with an icon, since a colour alone says nothing to many. */
export const chip = (tone, shape, words) => h("span", { class: `chip ${tone}` }, icon(shape), h("span", {}, words));

export const card = (title, attributes, ...children) =>
  h(
    "section",
    { ...attributes, class: `card ${attributes.class ?? ""}`, "aria-label": title },
    h("h2", {}, title),
    ...children,
  );

export const note = (...words) => h("p", { class: "note" }, ...words);

export const field = (label, control) => h("label", { class: "field" }, h("span", {}, label), control);

export function filterBox(label, changed) {
  const box = h("input", {
    type: "search",
    class: "filter",
    placeholder: label,
    "aria-label": label,
    spellcheck: "false",
  });
  box.addEventListener("input", () => changed(box.value.trim().toLowerCase()));
  return box;
}

/** A choice whose options follow what there is; the user's choice stays as long as it is among them. */
export function select(label, changed) {
  const box = h("select", { "aria-label": label });
  box.addEventListener("change", () => changed(box.value));
  box.offer = (options, chosen) => {
    whenChanged(box, options, () => options.map(([value, words]) => h("option", { value }, words)));
    if (box.value !== chosen) box.value = chosen;
  };
  return box;
}
