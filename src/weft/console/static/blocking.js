/* Who waits for whom, and what is the matter: from the facts of a federation to sentences.  Nothing here touches the page.

   A sentence is a list of parts: words, or {federate: name}, {node: name}, which the page makes links of. */

import { logical, plural, seconds } from "./format.js";
import { own } from "./patch.js";

/** Waiting shorter than this is how time advances, not a matter. */
export const PATIENCE = 2;

export const waits = (federate) => Boolean(federate.asks) || (federate.blocked_by?.length ?? 0) > 0;

/** Whom it waits for, who does not wait itself first: that is where the trouble is. */
export const blockersOf = (federate, federates) => {
  const held = (name) => Number(waits(own(federates, name) ?? {}));
  return [...(federate.blocked_by ?? [])].sort((one, other) => held(one) - held(other));
};

const found = new WeakMap();

/** Of the federates of a picture, which never change: a new picture has new ones. */
export function blocking(federates) {
  if (!found.has(federates)) found.set(federates, graphOf(federates));
  return found.get(federates);
}

/** edges: name -> those it waits for; waiters: name -> those that wait for it; culprits: with how many each holds up. */
function graphOf(federates) {
  const edges = new Map();
  for (const [name, federate] of Object.entries(federates))
    if (waits(federate) && federate.blocked_by?.length) edges.set(name, federate.blocked_by);
  const waiters = new Map();
  for (const [name, blockers] of edges)
    for (const blocker of blockers) {
      if (!waiters.has(blocker)) waiters.set(blocker, []);
      waiters.get(blocker).push(name);
    }
  return { edges, waiters, culprits: culpritsOf(edges, waiters) };
}

/** Those who are waited for and wait for nobody; where all wait for one another, those in the circle. Most held up first. */
function culpritsOf(edges, waiters) {
  const ends = [...waiters.keys()].filter((name) => !edges.has(name));
  const held = new Map(ends.map((name) => [name, heldUpBy(name, waiters)]));
  const free = new Set([...held.values()].flatMap((all) => [...all]));
  const circle = [...edges.keys()].filter((name) => !free.has(name) && reaches(name, name, edges));
  for (const name of circle) held.set(name, heldUpBy(name, waiters));
  const found = [...held].map(([name, all]) => ({ name, holds: all.size, circle: circle.includes(name) }));
  return found.sort((left, right) => right.holds - left.holds || (left.name < right.name ? -1 : 1));
}

function heldUpBy(name, waiters) {
  const found = new Set();
  const open = [name];
  while (open.length)
    for (const one of waiters.get(open.pop()) ?? [])
      if (!found.has(one)) {
        found.add(one);
        open.push(one);
      }
  found.delete(name); // in a circle one waits for oneself
  return found;
}

function reaches(from, to, edges) {
  const seen = new Set();
  const open = [...(edges.get(from) ?? [])];
  while (open.length) {
    const one = open.pop();
    if (one === to) return true;
    if (!seen.has(one)) {
      seen.add(one);
      open.push(...(edges.get(one) ?? []));
    }
  }
  return false;
}

/** What is the matter with a federation, most important first: {tone, shape, parts}. */
export function findings(federation, nodes) {
  const federates = federation.federates ?? {};
  const graph = blocking(federates);
  const found = [
    ...nodesDown(nodes),
    ...paused(federation),
    ...underWay(federation, "save", "Save"),
    ...underWay(federation, "restore", "Restore"),
    ...blocked(federates, graph, federation.paused !== undefined),
    ...lost(federates),
    ...points(federation),
    ...slow(federates),
  ];
  return found.length ? found : [allWell(federates)];
}

function nodesDown(nodes) {
  return Object.entries(nodes)
    .filter(([, node]) => node.state === "down")
    .map(([name, node]) => ({
      tone: "bad",
      shape: "bad",
      parts: ["Node ", { node: name }, ` is down${node.why ? `: ${node.why}` : ""}.`],
    }));
}

function paused({ paused: pause }) {
  if (pause === undefined) return [];
  const steps = pause.steps ? ` ${plural(pause.steps, "step is", "steps are")} still allowed.` : "";
  const since = pause.since === undefined ? "" : ` for ${seconds(pause.since)}`;
  const words = `Paused${pause.by ? ` by ${pause.by}` : ""}${since}: nobody is granted anything until somebody resumes.${steps}`;
  return [{ tone: "warn", shape: "pause", parts: [words, " ", { page: "steer" }] }];
}

function underWay(federation, key, word) {
  const one = federation[key];
  if (one === undefined) return [];
  const missing = one.waits_for ?? [];
  const parts = [`${word} “${one.label}” is ${one.state ?? "under way"}`];
  if (missing.length) parts.push(", waits for ", ...listed(missing));
  return [{ tone: "info", shape: "save", parts: [...parts, "."] }];
}

/** a, b and 3 more, as parts. */
function listed(all, most = 3) {
  const parts = [];
  all.slice(0, most).forEach((name, place) => {
    const last = place === all.length - 1;
    parts.push(place === 0 ? "" : last ? " and " : ", ", { federate: name });
  });
  if (all.length > most) parts.push(` and ${all.length - most} more`);
  return parts;
}

const PAUSED = /^paused\b/;

function blocked(federates, graph, isPaused) {
  const long = [...graph.edges.keys()]
    .filter((name) => (federates[name].seconds ?? 0) >= PATIENCE)
    .filter((name) => !(isPaused && federates[name].blocked_by.every((one) => PAUSED.test(one))))
    .sort((left, right) => federates[right].seconds - federates[left].seconds || (left < right ? -1 : 1));
  if (!long.length) return [];
  const parts = waitOf(long[0], federates);
  const others = long.length - 1;
  if (others)
    parts.push(` ${plural(others, "other federate", "other federates")} also ${others === 1 ? "waits" : "wait"}.`);
  const found = [{ tone: "bad", shape: "wait", parts }];
  const circle = graph.culprits.filter((one) => one.circle);
  if (circle.length) found.push(deadlock(circle));
  const culprit = graph.culprits.find((one) => !one.circle && own(federates, one.name));
  if (culprit) found.push({ tone: "info", shape: "info", parts: hint(culprit, federates) });
  return found;
}

function waitOf(name, federates) {
  const federate = federates[name];
  const parts = [
    { federate: name },
    ` waits ${seconds(federate.seconds)} for ${logical(federate.requested)}, blocked by `,
  ];
  blockersOf(federate, federates).slice(0, 3).forEach((blocker, place) => {
    const other = own(federates, blocker);
    parts.push(place ? ", " : "");
    if (!other) parts.push(blocker);
    else parts.push({ federate: blocker }, ` (${standing(other)})`);
  });
  if (federate.blocked_by.length > 3) parts.push(` and ${federate.blocked_by.length - 3} more`);
  parts.push(".");
  return parts;
}

export function standing(federate) {
  const parts = [];
  if (federate.time !== undefined) parts.push(`at ${logical(federate.time)}`);
  if (federate.lookahead !== undefined) parts.push(`lookahead ${logical(federate.lookahead)}`);
  if (waits(federate) && federate.requested !== undefined)
    parts.push(`itself waits for ${logical(federate.requested)}`);
  return parts.join(", ") || "no logical time";
}

/** What to look at: the culprit has what it asked for, so it is its own program that does not go on. */
function hint(culprit, federates) {
  const federate = federates[culprit.name];
  const parts = [{ federate: culprit.name }];
  if (waits(federate)) parts.push(` itself waits for ${logical(federate.requested)}; what for is not known here`);
  else if (federate.state === "lost") parts.push(" is lost: resign it on the page ", { page: "steer" });
  else if (federate.time === undefined) parts.push(" has not told its time");
  else parts.push(` was granted ${logical(federate.time)} and has not asked to advance since`);
  const last = federate.last_callback;
  if (last) parts.push(`; its last callback was ${last.name}, ${seconds(last.ago)} ago`);
  if (federate.backlog_bytes > 0) parts.push("; it does not read what is sent to it");
  const holds = culprit.holds > 1 ? ` It holds up ${plural(culprit.holds, "federate")}.` : "";
  parts.push(`.${holds}`);
  return parts;
}

const deadlock = (circle) => ({
  tone: "bad",
  shape: "warn",
  parts: [
    ...listed(
      circle.map((one) => one.name),
      5,
    ),
    " wait for one another: with more lookahead, or if one asks for less, they go on.",
  ],
});

function lost(federates) {
  const gone = Object.keys(federates).filter((name) => federates[name].state === "lost");
  if (!gone.length) return [];
  return [{ tone: "bad", shape: "bad", parts: [...listed(gone), ` ${gone.length === 1 ? "is" : "are"} lost.`] }];
}

function points(federation) {
  return Object.entries(federation.synchronization ?? {})
    .filter(([, point]) => point.waits_for?.length && point.achieved?.length)
    .map(([label, point]) => ({
      tone: "info",
      shape: "wait",
      parts: [`Synchronization point “${label}” still waits for `, ...listed(point.waits_for), "."],
    }));
}

function slow(federates) {
  const all = Object.keys(federates).filter((name) => federates[name].slow);
  if (!all.length) return [];
  return [
    {
      tone: "warn",
      shape: "warn",
      parts: [
        ...listed(all),
        ` ${all.length === 1 ? "does" : "do"} not read fast enough what is sent to ${all.length === 1 ? "it" : "them"}.`,
      ],
    },
  ];
}

function allWell(federates) {
  const all = Object.values(federates);
  const times = all.map((one) => one.time).filter((time) => typeof time === "number" && Number.isFinite(time));
  if (!all.length) return { tone: "info", shape: "info", parts: ["No federate has joined yet."] };
  const parts = [`${plural(all.length, "federate")}, nobody is held up.`];
  if (times.length) {
    const least = times.reduce((one, other) => Math.min(one, other));
    const most = times.reduce((one, other) => Math.max(one, other));
    parts.push(
      least === most
        ? ` Logical time is ${logical(least)}.`
        : ` Logical time is between ${logical(least)} and ${logical(most)}.`,
    );
  } else parts.push(" None uses logical time.");
  return { tone: "good", shape: "good", parts };
}
