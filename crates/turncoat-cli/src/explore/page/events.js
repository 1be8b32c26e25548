// What can happen next: messages in flight, timers, crashes, splits. Here one plays the adversary.
import { html, useEffect, useRef, useState } from "./vendor/standalone.module.js";
import { viewOf } from "./head.js";
import { Filter, fits, roving, toggled } from "./lists.js";
import { memo } from "./parts.js";

/** @import { Flying, Lifeline, Moment, Run, Seat } from "./types.js" */
/** @import { Commands } from "./commands.js" */

const SHOWN_MAX = 150;

/** @typedef {{ run: Run, past: boolean, moment: Moment | null, selected: number | null, does: Commands }} Props */

/** @param {Props} props */
function Panel({ run, past, moment, selected, does }) {
  const [filter, setFilter] = useState("");
  const keep = useKeptFocus(moment);
  if (!moment) return html`<p class="empty">Loading …</p>`;
  const names = run.lifelines.map(({ name }) => name);
  const found = moment.flying.filter(({ from, to, label, name }) => fits(filter, `${names[from]}>${names[to]} ${label} ${name}`));
  const shown = found.slice(0, SHOWN_MAX);
  const receivers = run.lifelines.map((_, i) => i).filter((i) => shown.some(({ to }) => to === i));
  const first = shown.some(({ arrow }) => arrow === selected) ? selected : shown.find(({ to }) => to === receivers[0])?.arrow;
  return html`
    ${!run.readOnly && html`<${Next} past=${past} moment=${moment} does=${does} />`}
    <${Filter} name="Filter messages" hint="Filter messages ( / )" text=${filter} set=${setFilter}>
      <small>${found.length} in flight</small>
    <//>
    ${moment.flying.length === 0 && html`
      <p class="empty">No message is in flight. ${run.readOnly ? "" : "Fire a timer, or let the run continue."}</p>`}
    <div class="flying" tabindex="-1" onKeyDown=${roving("li")} ...${keep}>
      ${receivers.map((to) => html`
        <h2 id=${`to-${to}`}>to ${names[to]}${moment.seats[to].alive ? "" : ", which is down"}</h2>
        <ul aria-labelledby=${`to-${to}`}>
          ${shown.filter((message) => message.to === to).map((message) => html`
            <${Message} key=${message.name} message=${message} names=${names} time=${moment.time} readOnly=${run.readOnly}
              suggested=${moment.suggested === `deliver ${message.name}`} selected=${message.arrow === selected}
              first=${message.arrow === first} does=${does} />`)}
        </ul>`)}
      ${found.length > shown.length && html`<p class="empty">and ${found.length - shown.length} more: filter to see them</p>`}
    </div>
    <${Timers} run=${run} moment=${moment} does=${does} />
    <${Replicas} run=${run} moment=${moment} does=${does} />
    ${!run.readOnly && html`<${Network} run=${run} at=${moment.at} does=${does} />`}`;
}

export const Events = memo(Panel);

/** A message that had the focus and is gone leaves it to the list. @param {Moment | null} moment */
function useKeptFocus(moment) {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  const within = useRef(false);
  useEffect(() => {
    if (within.current && document.activeElement === document.body) ref.current?.focus({ preventScroll: true });
  }, [moment]);
  return {
    ref,
    onfocusin: () => (within.current = true),
    onfocusout: (/** @type {FocusEvent} */ event) => (within.current = event.relatedTarget === null),
  };
}

/** @param {{ past: boolean, moment: Moment, does: Commands }} props */
function Next({ past, moment, does }) {
  return html`
    <div class="next">
      ${moment.suggested
        ? html`
          <button class="primary" onClick=${() => does.act(moment.suggested ?? "")} title="Enter">
            <small>Suggested next</small> ${moment.suggested}
          </button>`
        : html`<p class="over">${moment.over ?? "Nothing is scheduled."}</p>`}
      <div class="until" role="group" aria-label="Run until">
        <span>Run</span>
        <button onClick=${() => does.until("steps")}>10 steps</button>
        <button onClick=${() => does.until("decision")}>to decision</button>
        <button onClick=${() => does.until("view-change")}>to view change</button>
        <button onClick=${() => does.until("violation")}>to violation</button>
        <button onClick=${() => does.until("end")}>to end</button>
      </div>
      ${past && html`<p class="hint">You are at an earlier step: acting here starts a new branch, and this run is kept.</p>`}
    </div>`;
}

/**
 * @param {{ message: Flying, names: string[], time: number, readOnly: boolean, suggested: boolean, selected: boolean, first: boolean,
 *   does: Commands }} props
 */
function Message({ message, names, time, readOnly, suggested, selected, first, does }) {
  const { name, arrow, from, to, label, arrives, liar } = message;
  const choose = () => selected || does.select({ arrow, step: null });
  const act = (/** @type {string} */ verb) => () => does.act(`${verb} ${name}`);
  return html`
    <li class=${selected ? "message selected" : "message"} data-name=${name} tabindex=${first ? 0 : -1} onFocus=${choose} onClick=${choose}>
      <span class="text" title=${label}><b class=${liar ? "liar" : ""}>${liar ? "✎ " : ""}${names[from]}</b> ${label}</span>
      ${suggested && html`<span class="chip" title="suggested: what the scheduler would deliver now">next</span>`}
      <small>${arrives > time ? `in ${arrives - time}` : "due"}</small>
      ${!readOnly && !selected && html`
        <button class="quick" tabindex="-1" aria-label=${`Deliver ${label} from ${names[from]} to ${names[to]}`}
          onClick=${act("deliver")}>Deliver</button>`}
      ${!readOnly && selected && html`
        <span class="acts">
          <button class="primary" onClick=${act("deliver")}>Deliver</button>
          <button onClick=${act("drop")}>Drop</button>
          <button onClick=${() => does.set({ dialog: { kind: "delay", message } })}>Delay…</button>
          <button onClick=${act("duplicate")}>Duplicate</button>
          <button class="lie" onClick=${() => does.set({ dialog: { kind: "lie", message } })}>✎ Lie…</button>
        </span>`}
    </li>`;
}

/** @param {{ run: Run, moment: Moment, does: Commands }} props */
function Timers({ run, moment, does }) {
  const timers = moment.seats.flatMap(({ timers }, i) => timers.map((timer) => ({ node: run.lifelines[i].name, ...timer })));
  if (!timers.length) return null;
  return html`
    <h2>Timers</h2>
    <ul class="plainlist">
      ${timers.map(({ node, name, at }) => html`
        <li><span><i aria-hidden="true">◷</i> <b>${node}</b> ${name}</span> <small>in ${Math.max(0, at - moment.time)}</small>
          ${!run.readOnly && html`
            <button aria-label=${`Fire ${name} of ${node}`} onClick=${() => does.act(`fire ${node} ${name}`)}>Fire</button>`}</li>`)}
    </ul>`;
}

/** @param {{ run: Run, moment: Moment, does: Commands }} props */
const Replicas = ({ run, moment, does }) => html`
  <h2>Replicas</h2>
  <ul class="plainlist">
    ${run.lifelines.map((lifeline, i) => !lifeline.client && html`
      <${Replica} lifeline=${lifeline} seat=${moment.seats[i]} readOnly=${run.readOnly} does=${does} />`)}
  </ul>`;

/** @param {{ lifeline: Lifeline, seat: Seat, readOnly: boolean, does: Commands }} props */
function Replica({ lifeline: { name, byzantine }, seat, readOnly, does }) {
  const { alive, waiting } = seat;
  const button = (/** @type {string} */ title, /** @type {string} */ action, hint = "") =>
    html`<button title=${hint || null} aria-label=${`${title} ${name}`} onClick=${() => does.act(action)}>${title}</button>`;
  return html`
    <li>
      <span>
        <b class=${byzantine ? "liar" : ""}>${name}</b> ${byzantine ? "✎ liar, " : ""}${alive ? viewOf(seat) : "down"}
        ${waiting.length > 0 && html`<small class="waits">waiting for ${waiting.join("; ")}</small>`}
      </span>
      ${!readOnly && byzantine && alive && button("Suspect", `suspect ${name}`, "it starts a view change")}
      ${!readOnly && alive && button("Crash", `crash ${name}`)}
      ${!readOnly && !alive && [button("Restart", `restart ${name}`), button("Restart blank", `restart ${name} blank`, "without its memory")]}
    </li>`;
}

/** @param {{ run: Run, at: number, does: Commands }} props */
function Network({ run, at, does }) {
  const [side, setSide] = useState(/** @type {string[]} */ ([]));
  const split = run.splits.find(({ from, to }) => from <= at && (to === null || to > at));
  const names = split?.side.map((i) => run.lifelines[i].name).join(", ");
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    does.act(`split ${side.join(",")}`);
  };
  return html`
    <h2>Network</h2>
    <form class="network" onSubmit=${submit}>
      <p>${split ? `${names} ${split.side.length > 1 ? "hear" : "hears"} nobody else.` : "Cut these off from the rest:"}</p>
      <div class="sides">
        ${run.lifelines.map(({ name }) => html`
          <label><input type="checkbox" checked=${side.includes(name)} onChange=${() => setSide(toggled(side, name))} /> ${name}</label>`)}
      </div>
      <button disabled=${!side.length}>Split</button>
      ${split && html`<button type="button" onClick=${() => does.act("heal")}>Heal</button>`}
    </form>`;
}
