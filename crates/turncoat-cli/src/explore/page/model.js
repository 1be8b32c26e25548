// What the page works out from a run: what led to what, which rows are shown, and where they are.

/** @import { Arrow, Mark, Run } from "./types.js" */

/**
 * What of a run is shown, and how.
 * @typedef {object} Options
 * @property {"step" | "time"} axis
 * @property {boolean} fold whether equal messages to several that arrive in a row share a row
 * @property {boolean} effect whether messages without effect are left out
 * @property {boolean} notes
 * @property {boolean} level whether arrows are drawn where they arrive, or from where they were sent
 * @property {string[]} kinds left out
 * @property {number[]} nodes left out
 * @property {string | null} view the only one, if any
 * @property {number} zoom
 */

/** @type {Options} */
export const allOfIt = { axis: "step", fold: false, effect: false, notes: false, level: false, kinds: [], nodes: [], view: null, zoom: 1 };

/** @typedef {{ arrow: number | null, step: number | null }} Selection */

/**
 * Of each lifeline the last row that is in something's past, and the first that is in its future.
 * @typedef {{ past: number[], future: number[] }} Cone
 */

/** @param {Run} run @param {Selection} selection @returns {Cone | null} */
export function cone(run, { arrow, step }) {
  if (arrow !== null) {
    const { from, sent, to, end, fate } = run.arrows[arrow];
    return { past: pastOf(run, from, sent), future: futureOf(run, to, fate === "delivered" && end !== null ? end : Infinity) };
  }
  const lifeline = step ? run.steps[step - 1].lifeline : null;
  if (step === null || lifeline === null) return null;
  return { past: pastOf(run, lifeline, step), future: futureOf(run, lifeline, step) };
}

/** @param {Run} run @param {number} lifeline @param {number} row */
function pastOf(run, lifeline, row) {
  const past = run.lifelines.map(() => -1);
  past[lifeline] = row;
  for (let at = Math.min(row, run.steps.length); at > 0; at--) {
    const arrow = arrivalAt(run, at);
    if (arrow && at <= past[arrow.to]) past[arrow.from] = Math.max(past[arrow.from], arrow.sent);
  }
  return past;
}

/** @param {Run} run @param {number} lifeline @param {number} row */
function futureOf(run, lifeline, row) {
  const future = run.lifelines.map(() => Infinity);
  future[lifeline] = row;
  for (let at = Math.max(row, 1); at <= run.steps.length; at++) {
    const arrow = arrivalAt(run, at);
    if (arrow && arrow.sent >= future[arrow.from]) future[arrow.to] = Math.min(future[arrow.to], at);
  }
  return future;
}

/** @param {Run} run @param {number} at @returns {Arrow | null} */
function arrivalAt(run, at) {
  const { arrow } = run.steps[at - 1];
  return arrow !== null && run.arrows[arrow].fate === "delivered" && run.arrows[arrow].end === at ? run.arrows[arrow] : null;
}

/** @param {Cone} cone @param {Arrow} arrow */
export const arrowIn = (cone, arrow) =>
  (arrow.fate === "delivered" && arrow.end !== null && arrow.end <= cone.past[arrow.to]) || arrow.sent >= cone.future[arrow.from];

/** @param {Cone} cone @param {number | null} lifeline @param {number} at */
export const rowIn = (cone, lifeline, at) => lifeline !== null && (at <= cone.past[lifeline] || at >= cone.future[lifeline]);

/** Marks by choice, those of violations with all that is known. @param {Run} run @returns {Map<number, Mark[]>} */
export function marksByRow(run) {
  const rows = new Map();
  const violations = run.violations.map(({ property, at, detail }) => {
    const what = property === "crashed" ? "a correct node crashed" : property === "custom" ? "invariant violated" : `${property} violated`;
    return { lifeline: null, at, sign: "violation", text: `${what}: ${detail}`, value: null };
  });
  for (const mark of [...run.marks.filter(({ sign }) => sign !== "violation"), ...violations]) {
    if (!rows.has(mark.at)) rows.set(mark.at, []);
    rows.get(mark.at).push(mark);
  }
  return rows;
}

/**
 * Where everything is. Distances are in heights of a line.
 * @typedef {object} Layout
 * @property {Float64Array} top by choice; a choice that is not shown is where the last one before it is
 * @property {number[]} rows the choices that are shown, each at the head of those that share its row
 * @property {Map<number, number>} last of a row that is shared, its last choice
 * @property {Map<number, Mark[]>} lines by choice, the marks with a line of their own
 * @property {number[]} waiting messages in flight at the end of the run, each with a row below all others
 * @property {number} left how many more there are
 * @property {number} height
 * @property {(first: number, last: number) => number[]} arrows those that meet the rows between two indices of `rows`
 */

const WAITING_MAX = 60;
/** A message longer in flight at the end of the run than this is drawn where it was sent, and where it waits. */
export const STUB_ROWS = 80;

/** @param {Run} run @param {Map<number, Mark[]>} marks @param {Options} options @returns {Layout} */
export function layout(run, marks, options) {
  const shown = run.arrows.map((arrow) => shows(options, arrow));
  const pace = options.axis === "time" ? usualPace(run) : 0;
  const top = new Float64Array(run.steps.length + 1);
  const place = new Int32Array(run.steps.length + 1);
  const rows = [0];
  top[0] = 0.7;
  const last = new Map();
  const lines = new Map();
  let bottom = 1.7;
  for (let at = 1; at <= run.steps.length; at++) {
    const step = run.steps[at - 1];
    const own = (marks.get(at) ?? []).filter((mark) => hasLine(options, mark));
    const visible = own.length > 0 || (step.arrow !== null ? shown[step.arrow] : !options.nodes.includes(step.lifeline ?? -1));
    const head = rows[rows.length - 1];
    if (!visible || (options.fold && !own.length && !lines.has(head) && sameBroadcast(run, head, at))) {
      if (visible) last.set(head, at);
      top[at] = top[head];
    } else {
      if (pace) bottom += Math.min(8, (step.time - run.steps[head ? head - 1 : 0].time) / pace);
      top[at] = bottom;
      bottom += 1 + own.length;
      if (own.length) lines.set(at, own);
      rows.push(at);
    }
    place[at] = rows.length - 1;
  }
  const underway = run.arrows.flatMap((arrow, i) => (shown[i] && arrow.fate === "underway" ? [i] : []));
  const waiting = underway.slice(0, WAITING_MAX);
  return {
    top, rows, last, lines, waiting,
    left: underway.length - waiting.length,
    height: bottom + (waiting.length ? waiting.length + 2 : 0) + 1,
    arrows: overlaps(run, shown, place),
  };
}

/** @param {Options} options @param {Arrow} arrow */
function shows({ kinds, view, nodes, effect }, arrow) {
  if (arrow.lie) return !nodes.includes(arrow.from) && !nodes.includes(arrow.to);
  if (effect && (arrow.fate === "delivered" ? !arrow.heeded : arrow.fate !== "underway")) return false;
  if (view !== null && arrow.view !== null && arrow.view !== view) return false;
  return !kinds.includes(arrow.kind) && !nodes.includes(arrow.from) && !nodes.includes(arrow.to);
}

/** @param {Options} options @param {Mark} mark */
const hasLine = ({ notes, nodes }, { sign, lifeline }) =>
  !nodes.includes(lifeline ?? -1) && (["decision", "completion", "stop", "violation"].includes(sign) || (notes && sign === "note"));

/** @param {Run} run @param {number} a @param {number} b */
function sameBroadcast(run, a, b) {
  const [one, other] = [a, b].map((at) => (at ? arrivalAt(run, at) : null));
  return one && other && one.from === other.from && one.sent === other.sent && one.label === other.label && !one.lie && !other.lie;
}

/** The middle one of the times between choices. @param {Run} run */
function usualPace(run) {
  const paces = run.steps.slice(1).map((step, i) => step.time - run.steps[i].time).filter((pace) => pace > 0).sort((a, b) => a - b);
  return paces[paces.length >> 1] || 1;
}

const BUCKET = 64;
const BUCKETS_MAX = 40;

/**
 * Finds the arrows between two rows without looking at all of them.
 * @param {Run} run @param {boolean[]} shown @param {Int32Array} place
 */
function overlaps(run, shown, place) {
  /** @type {number[][]} */
  const buckets = Array.from({ length: Math.floor(place[place.length - 1] / BUCKET) + 1 }, () => []);
  /** @type {number[]} */
  const long = [];
  const end = (/** @type {Arrow} */ { sent, end }) => end ?? (run.steps.length - sent < STUB_ROWS ? run.steps.length : sent);
  run.arrows.forEach((arrow, i) => {
    if (!shown[i]) return;
    const [from, to] = [place[arrow.sent], place[end(arrow)]].map((row) => Math.floor(row / BUCKET));
    if (to - from > BUCKETS_MAX) long.push(i);
    else for (let bucket = from; bucket <= to; bucket++) buckets[bucket].push(i);
  });
  return (/** @type {number} */ first, /** @type {number} */ last) => {
    const near = new Set(long);
    for (let bucket = Math.floor(first / BUCKET); bucket <= Math.floor(last / BUCKET); bucket++) {
      for (const arrow of buckets[bucket] ?? []) near.add(arrow);
    }
    return [...near].filter((i) => place[run.arrows[i].sent] <= last && place[end(run.arrows[i])] >= first).sort((a, b) => a - b);
  };
}

/** The index of the first row at or below a height. @param {Layout} layout @param {number} y */
export function rowAt({ rows, top }, y) {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (top[rows[middle]] < y) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The name of a value: A to Z, then A2 and so on. @param {number} value */
export const letter = (value) => String.fromCharCode(65 + (value % 26)) + (value < 26 ? "" : Math.floor(value / 26) + 1);

/** What a lie changed, in short: its fields, or if it became another kind of message what it says now. @param {Arrow} arrow */
export const changed = ({ lie, label }) =>
  lie?.changes.map(({ field, was, is }) => `${field}: ${was}→${is}`).join(", ") || lie?.words || `says ${label}`;

/** The number of the last event up to a choice, which is that of traces and explanations. @param {Run} run @param {number} at */
export const stepOf = (run, at) => (at > 0 ? run.steps[at - 1].number : 0);

/** Whether a choice is an event; lies, and what is done to the network, are none. @param {Run} run @param {number} at */
export const isEvent = (run, at) => at === 0 || stepOf(run, at) > stepOf(run, at - 1);

/** A step in words, with its number and what came of it. @param {Run} run @param {Map<number, Mark[]>} marks @param {number} at */
export function told(run, marks, at) {
  if (at === 0) return "start: nothing has happened yet";
  const of = (/** @type {Mark} */ { lifeline, text }) => `; ${lifeline === null ? "" : `${run.lifelines[lifeline].name} `}${text}`;
  const came = (marks.get(at) ?? []).filter(({ sign }) => ["decision", "completion", "stop", "view", "violation"].includes(sign));
  return `${isEvent(run, at) ? "" : "after "}step ${stepOf(run, at)}: ${run.steps[at - 1].words}${came.map(of).join("")}`;
}
