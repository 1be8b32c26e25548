// What was decided, replica beside replica; who lied; and why two decided differently.
import { html } from "./vendor/standalone.module.js";
import { changed, stepOf } from "./model.js";
import { Sentence, Value, memo } from "./parts.js";

/** @import { Decision, Moment, Run } from "./types.js" */
/** @import { Commands } from "./commands.js" */

const SLOTS_MAX = 40;
const LIES_MAX = 20;
const VALUES_MAX = 4;

/** @param {{ run: Run, moment: Moment | null, does: Commands }} props */
function Columns({ run, moment, does }) {
  const slots = moment?.logs.slots ?? [];
  const arithmetic = moment?.logs.arithmetic ?? [];
  return html`
    <section class="region logs" aria-label="Decisions">
      <div class="facts">
        ${slots.length === 0 && html`
          <p class="empty">No replica has decided anything yet. Decisions appear here, ${run.slot} by ${run.slot}.</p>`}
        ${moment && slots.length > 0 && html`<${Slots} run=${run} logs=${moment.logs} does=${does} />`}
        ${slots.length > 0 && run.values.length <= VALUES_MAX && html`<p class="hint">${run.values.join("; ")}</p>`}
        ${moment && html`<${LiesSoFar} run=${run} at=${moment.at} does=${does} />`}
      </div>
      ${arithmetic.length > 0 && html`
        <div class="why" tabindex="0" role="group" aria-labelledby="why">
          <h2 id="why">Why they disagree</h2>
          ${arithmetic.map((text) => html`<${Sentence} text=${text} />`)}
        </div>`}
    </section>`;
}

export const Logs = memo(Columns);

/** @param {{ run: Run, logs: Moment["logs"], does: Commands }} props */
function Slots({ run, logs: { columns, slots }, does }) {
  const first = slots.findIndex((slot) => slot.conflict);
  const from = first < 0 ? Math.max(0, slots.length - SLOTS_MAX) : Math.max(0, first - SLOTS_MAX / 2);
  const head = (/** @type {number} */ i) => {
    const { name, byzantine } = run.lifelines[i];
    return html`<th scope="col" class=${byzantine ? "liar" : ""}>${byzantine ? `✎ ${name}` : name}</th>`;
  };
  return html`
    <div class="decisions" tabindex="0" role="group" aria-label=${`Decisions by ${run.slot}`}>
      <table>
        <thead><tr><th scope="col">${run.slot}</th>${columns.map(head)}</tr></thead>
        <tbody>
          ${slots.slice(from, from + SLOTS_MAX).map(({ slot, cells, conflict }, nth) => html`
            <tr class=${`${conflict ? "conflict" : ""} ${from + nth === first ? "first" : ""}`}>
              <th scope="row">${slot}${conflict && html` <span class="bad">≠</span>`}</th>
              ${cells.map((cell) => html`
                <td>${cell ? html`<${Cell} run=${run} cell=${cell} hue=${hue(cells, cell)} does=${does} />` : html`<span class="none">–</span>`}</td>`)}
            </tr>`)}
        </tbody>
      </table>
    </div>`;
}

/**
 * The colour of a decision: that of its value, or, where it is none that a client asked for, one for each that differs.
 * @param {(Decision | null)[]} cells @param {Decision} cell
 */
function hue(cells, cell) {
  const names = [...new Set(cells.map((each) => each?.name))].filter((name) => name !== undefined);
  return cell.value ?? (names.length > 1 ? names.indexOf(cell.name) : null);
}

/** @param {{ run: Run, cell: Decision, hue: number | null, does: Commands }} props */
const Cell = ({ run, cell: { name, requests, voters, at }, hue, does }) => html`
  <button class="cell" title=${`${requests.join(", ")}; decided at step ${stepOf(run, at)}; go there`} onClick=${() => does.go(at)}>
    <${Value} value=${hue} name=${name} /> <small>${voters.length > 0 ? `by ${voters.join(" ")}` : `step ${stepOf(run, at)}`}</small>
  </button>`;

/** @param {{ run: Run, at: number, does: Commands }} props */
function LiesSoFar({ run, at, does }) {
  const lies = run.arrows.flatMap((arrow, i) => (arrow.lie && arrow.sent <= at ? [{ ...arrow, i }] : []));
  if (!lies.length) return null;
  return html`
    <div class="lied" tabindex="0" role="group" aria-labelledby="lied">
      <h2 id="lied">Who lied</h2>
      <ul>
        ${lies.slice(0, LIES_MAX).map((arrow) => html`
          <li><button class="cell" onClick=${() => does.select({ arrow: arrow.i, step: null })}>
            <b class="liar">✎ ${run.lifelines[arrow.from].name}</b> to <b>${run.lifelines[arrow.to].name}</b>: ${arrow.label} (${changed(arrow)})
          </button></li>`)}
        ${lies.length > LIES_MAX && html`<li>and ${lies.length - LIES_MAX} more</li>`}
      </ul>
    </div>`;
}
