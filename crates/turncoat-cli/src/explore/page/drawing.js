// The strokes of the sequence chart.
import { html } from "./vendor/standalone.module.js";
import { STUB_ROWS, changed, isEvent, letter, stepOf } from "./model.js";

/** @import { Arrow, Mark, Run } from "./types.js" */
/** @import { Layout } from "./model.js" */

/** @typedef {{ x: Record<number, number>, space: number, number: number, time: number, label: number, width: number }} Columns */
/** @typedef {{ run: Run, plan: Layout, columns: Columns, line: number, em: number, at: number, level: boolean }} Place */

/**
 * Where things are from left to right: numbers, times, lifelines, labels.
 * @param {number[]} shown @param {number} width @param {number} em @param {number} digits of the last choice and its time
 * @returns {Columns}
 */
export function column(shown, width, em, digits) {
  const number = em * (1.2 + digits * 0.24);
  const time = number + em * (0.8 + digits * 0.24);
  const gutter = time + em * 0.3;
  const labels = Math.max(em * 11, Math.min(em * 17, width * 0.36));
  const space = Math.max(em * 2.8, Math.min(em * 9, (width - gutter - labels) / Math.max(1, shown.length)));
  const label = gutter + space * shown.length + em * 1.2;
  const x = Object.fromEntries(shown.map((lifeline, i) => [lifeline, gutter + space * (i + 0.5)]));
  return { x, space, number, time, label, width: Math.max(width, label + labels - em) };
}

/** What became of a message. @param {Arrow} arrow */
export const word = ({ fate, heeded, held }) =>
  ({
    delivered: heeded ? "delivered" : "ignored",
    lost: "lost",
    withheld: "withheld",
    down: "receiver is down",
    underway: held ? "held back" : "in flight",
  })[fate];

/** @param {(string | false | null)[]} names */
const looks = (...names) => names.filter(Boolean).join(" ");

/**
 * The number of a choice, what it was, and a bar on which to point.
 * @param {Place & { row: number, dim: boolean, chosen: boolean }} props
 */
export function Row({ run, plan, columns, line, em, at, row, dim, chosen }) {
  const step = row ? run.steps[row - 1] : null;
  const last = plan.last.get(row);
  const lines = 1 + (plan.lines.get(row)?.length ?? 0);
  const y = em * 0.25;
  return html`
    <g class=${looks("row", dim && "dim", row === at && "now", chosen && "chosen")} transform=${`translate(0 ${plan.top[row] * line})`}
      data-step=${row || null} data-arrow=${step?.arrow}>
      <rect class="bar" x="0" y=${line * -0.5} width=${columns.width} height=${line * lines} />
      <text class="number" x=${columns.number} y=${y} text-anchor="end">${isEvent(run, row) ? `${stepOf(run, row)}${last ? `–${stepOf(run, last)}` : ""}` : ""}</text>
      ${line > em * 0.9 && html`
        <text class="time" x=${columns.time} y=${y} text-anchor="end">${step?.time}</text>
        <${RowLabel} run=${run} row=${row} last=${last} x=${columns.label} y=${y} />`}
    </g>`;
}

/** @param {{ run: Run, row: number, last: number | undefined, x: number, y: number }} props */
function RowLabel({ run, row, last, x, y }) {
  if (row === 0) return html`<text class="label quiet" x=${x} y=${y}>start</text>`;
  const { what, words, arrow } = run.steps[row - 1];
  const message = arrow === null ? null : run.arrows[arrow];
  const lies = what === "mutate" || what === "edit";
  if (message?.lie && lies) {
    const [from, to] = [message.from, message.to].map((i) => run.lifelines[i].name);
    return html`<text class="label lie" x=${x} y=${y}>✎ ${from} lies to ${to}: ${changed(message)}</text>`;
  }
  if (what !== "deliver" || !message) return html`<text class="label quiet" x=${x} y=${y}>${words}</text>`;
  const way = `${run.lifelines[message.from].name}→${run.lifelines[message.to].name} `;
  const sign = (message.lie ? "✎ " : "") + (last ? "" : way) + (message.heeded ? "" : "ignored: ");
  return html`
    <text class=${looks("label", message.lie ? "lie" : !message.heeded && "quiet")} x=${x} y=${y}>
      ${sign}${message.label}${last ? ` ×${last - row + 1}` : ""}${message.lie?.changes.length ? ` (${changed(message)})` : ""}
    </text>`;
}

/** A message on its way. @param {Place & { i: number, dim: boolean, chosen: boolean }} props */
export function Stroke({ run, plan, columns, line, em, at, level, i, dim, chosen }) {
  const arrow = run.arrows[i];
  const { from, to, sent, end, fate, lie, heeded, values } = arrow;
  const gone = fate === "lost" || fate === "withheld" || fate === "down";
  const flying = fate === "underway" || (sent <= at && end !== null && end > at);
  const waits = plan.waiting.indexOf(i);
  const stub = fate === "underway" && (waits < 0 || run.steps.length - sent >= STUB_ROWS);
  const yEnd = line * (end !== null ? plan.top[end] : waitingTop(plan) + waits);
  const [x1, y1] = [columns.x[from], level && !stub ? yEnd : plan.top[sent] * line];
  const far = stub ? 0.3 : gone ? 0.62 : 1;
  const x2 = x1 + (columns.x[to] - x1) * far;
  const y2 = stub || (gone && end === sent) ? y1 + line * 0.35 : yEnd;
  const path = from === to ? `M${x1} ${y1}C${x1 + em * 2} ${y1} ${x1 + em * 2} ${y2} ${x2} ${y2}` : `M${x1} ${y1}L${x2} ${y2}`;
  // Only the last part of a message's way is strong: charts of slow networks would be a thicket otherwise.
  const close = Math.min(1, (em * 4) / Math.hypot(x2 - x1, y2 - y1));
  const turn = from === to ? 180 : (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  return html`
    <g class=${looks("arrow", fate, lie && "lie", flying && "flying", !heeded && "ignored", level && "level", dim && "dim", chosen && "chosen")}
      data-arrow=${i} data-step=${end} data-value=${values.length === 1 ? values[0] % 4 : null}>
      <path class="hit" d=${path} />
      <path class="stroke way" d=${path} />
      ${from !== to && html`<path class="stroke" d=${`M${x2 - (x2 - x1) * close} ${y2 - (y2 - y1) * close}L${x2} ${y2}`} />`}
      ${gone
        ? html`<path class="cross" d=${cross(x2, y2, 4)} /><text class="fate" x=${x2 + 7} y=${y2 + em * 0.3}>${fate}</text>`
        : html`<path class="tip" d="M0 0l-9 -4v8z" transform=${`translate(${x2} ${y2}) rotate(${turn})`} />`}
      ${lie && html`
        <${LieTag} x=${(x1 + x2) / 2} y=${(y1 + y2) / 2} room=${Math.abs(x2 - x1)} em=${em} text=${`✎ ${changed(arrow)}`} />`}
    </g>`;
}

/** @param {number} x @param {number} y @param {number} size */
const cross = (x, y, size) => `M${x - size} ${y - size}l${2 * size} ${2 * size}m0 ${-2 * size}l${-2 * size} ${2 * size}`;

/**
 * The tag of a lie, on its arrow; if there is no room for words, the sign alone.
 * @param {{ x: number, y: number, room: number, em: number, text: string }} props
 */
function LieTag({ x, y, room, em, text }) {
  const letters = Math.floor(room / (em * 0.45)) - 4;
  const short = text.length <= letters ? text : letters < 8 ? "✎" : `${text.slice(0, letters - 1)}…`;
  const width = (short.length + 2) * em * 0.45;
  return html`
    <g class="tag">
      <rect x=${x - width / 2} y=${y - em * 0.62} width=${width} height=${em * 1.24} rx=${em * 0.3} />
      <text x=${x} y=${y + em * 0.26} text-anchor="middle">${short}</text>
    </g>`;
}

/** @param {{ y: number, em: number, text: string }} props */
export const HereTag = ({ y, em, text }) => html`
  <g class="tag here">
    <rect x="0" y=${y - em * 0.55} width=${(text.length + 2) * em * 0.46} height=${em * 1.1} rx=${em * 0.3} />
    <text x=${em * 0.4} y=${y + em * 0.28}>${text}</text>
  </g>`;

/** While the network is split, the lifelines of one side are shaded. @param {Place} props */
export const Bands = ({ run, plan, columns, line, em }) =>
  [...run.splits, ...run.partitions].flatMap(({ from, to, side }) => {
    const y = plan.top[from] * line;
    const height = Math.max(line, (to === null ? plan.height - 1 : plan.top[to]) * line - y);
    const names = side.map((i) => run.lifelines[i].name).join(", ");
    // A lifeline's own column says whose it is; what lasts for a moment has no room for words.
    const words = height < 3 * line ? "" : side.length > 1 ? `cut off: ${names}` : "cut off";
    return side.filter((i) => i in columns.x).map((i, nth) => {
      const x = columns.x[i] - columns.space / 2;
      return html`
        <g class="band">
          <rect x=${x} y=${y} width=${columns.space} height=${height} />
          ${nth === 0 && words && html`<text x=${x + 4} y=${y + height - em * 0.4}>${words}</text>`}
          <title>cut off: ${names}</title>
        </g>`;
    });
  });

/** Where the first message waits that is in flight at the end. @param {Layout} plan */
const waitingTop = (plan) => plan.height - plan.waiting.length - 0.5;

/** Below the last choice: what is in flight. @param {Place & { chosen: number | null }} props */
export const Waiting = ({ run, plan, columns, line, em, chosen }) => html`
  <g class="waiting">
    ${plan.waiting.map((i, nth) => html`
      <g class=${looks("row", i === chosen && "chosen")} data-arrow=${i} transform=${`translate(0 ${(waitingTop(plan) + nth) * line})`}>
        <rect class="bar" x="0" y=${line * -0.5} width=${columns.width} height=${line} />
        <text class="time" x=${columns.time} y=${em * 0.25} text-anchor="end">${word(run.arrows[i])}</text>
        <text class="label" x=${columns.label} y=${em * 0.25}>${run.arrows[i].label}</text>
      </g>`)}
    ${plan.left > 0 && html`<text class="label" x=${columns.label} y=${(plan.height - 0.3) * line}>and ${plan.left} more in flight</text>`}
  </g>`;

/** @type {Record<string, string>} */
const glyphs = { fire: "◷", mutate: "✎", edit: "✎", crash: "✖", restart: "↻", suspect: "!" };

/** @param {Run} run @param {Map<number, Mark[]>} marks @param {number} row */
export const hasSigns = (run, marks, row) => marks.has(row) || (row > 0 && run.steps[row - 1].what in glyphs);

/** What happened to somebody in a choice. @param {Place & { marks: Mark[], row: number, dim: boolean }} props */
export function Signs({ marks, row, dim, ...place }) {
  const { run, plan, columns, line, em } = place;
  const y = plan.top[row] * line;
  const { what, lifeline, arrow } = run.steps[row - 1] ?? { what: "", lifeline: null, arrow: null };
  const x = columns.x[lifeline ?? (arrow === null ? -1 : run.arrows[arrow].from)];
  const views = marks.filter((mark) => mark.sign === "view" && (mark.lifeline ?? -1) in columns.x);
  return html`
    <g class=${looks("signs", dim && "dim")}>
      ${x !== undefined && what in glyphs && html`
        <g class=${`glyph ${what}`}>
          <circle cx=${x} cy=${y} r=${em * 0.55} /><text x=${x} y=${y + em * 0.3} text-anchor="middle">${glyphs[what]}</text>
        </g>`}
      ${views.map((mark) => html`<${ViewTick} x=${columns.x[mark.lifeline ?? 0]} y=${y} em=${em} text=${mark.text} />`)}
      ${plan.lines.get(row)?.map((mark, nth) => html`<${Line} ...${place} mark=${mark} y=${y + (nth + 1) * line} />`)}
    </g>`;
}

/** @param {{ x: number, y: number, em: number, text: string }} props */
const ViewTick = ({ x, y, em, text }) => html`
  <g class="view"><path d=${`M${x - em * 0.5} ${y}H${x + em * 0.5}`} /><text x=${x + em * 0.65} y=${y + em * 0.3}>${text}</text></g>`;

/** A mark with a line of its own. @param {Place & { mark: Mark, y: number }} props */
function Line({ run, columns, line, em, mark: { sign, lifeline, text, value }, y }) {
  if (sign === "violation") {
    return html`
      <g class="violation">
        <rect x="2" y=${y - line * 0.5} width=${columns.width - 4} height=${line} rx="4" />
        <text x=${em * 0.8} y=${y + em * 0.28}>✖ ${text}</text>
      </g>`;
  }
  const x = columns.x[lifeline ?? -1];
  const who = lifeline === null ? "" : `${run.lifelines[lifeline].name} `;
  const half = em * 0.72;
  return html`
    <g class=${`line ${sign}`} data-value=${value === null ? null : value % 4}>
      ${x !== undefined && sign === "decision" && html`
        <path class="diamond" d=${`M${x} ${y - half}l${half} ${half}l${-half} ${half}l${-half} ${-half}z`} />
        <text class="letter" x=${x} y=${y + em * 0.27} text-anchor="middle">${value === null ? "" : letter(value)}</text>`}
      ${x !== undefined && sign === "completion" && html`<circle class="done" cx=${x} cy=${y} r=${em * 0.4} />`}
      ${x !== undefined && sign === "stop" && html`<path class="cross" d=${cross(x, y, 5)} />`}
      ${line > em * 0.9 && html`
        <text class="label" x=${columns.label} y=${y + em * 0.25}>${sign === "decision" ? "◆ " : ""}${who}${text}</text>`}
    </g>`;
}
