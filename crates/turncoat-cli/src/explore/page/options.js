// What of the run the chart shows.
import { html } from "./vendor/standalone.module.js";
import { typed } from "./forms.js";
import { toggled } from "./lists.js";
import { Menu, memo } from "./parts.js";

/** @import { Run } from "./types.js" */
/** @import { Commands } from "./commands.js" */
/** @import { Options as Shown } from "./model.js" */

/** @param {{ on: boolean, hint: string, flip: () => void, children: unknown }} props */
const Switch = ({ on, hint, flip, children }) => html`<button title=${hint} aria-pressed=${on} onClick=${flip}>${children}</button>`;

/** @param {{ name: string, on: boolean, flip: () => void }} props */
const Tick = ({ name, on, flip }) => html`<label><input type="checkbox" checked=${on} onChange=${flip} /> ${name}</label>`;

/** @param {{ run: Run, options: Shown, list: boolean, does: Commands }} props */
function Bar({ run, options, list, does }) {
  const change = (/** @type {Partial<Shown>} */ part) => does.set({ options: { ...options, ...part } });
  const kinds = [...new Set(run.arrows.map(({ kind }) => kind))].sort();
  const views = [...new Set(run.arrows.flatMap(({ view }) => (view === null ? [] : [view])))];
  const filtered = options.kinds.length + options.nodes.length + (options.view === null ? 0 : 1);
  return html`
    <div class="options">
      <${Switch} on=${list} hint="Steps as a list of sentences" flip=${() => does.set({ list: !list })}>List<//>
      <${Switch} on=${options.axis === "time"} hint="Rows by virtual time instead of step by step"
        flip=${() => change({ axis: options.axis === "time" ? "step" : "time" })}>Time axis<//>
      <${Switch} on=${options.level} hint="Draw arrows where they arrive, without a slope" flip=${() => change({ level: !options.level })}>Level arrows<//>
      <${Switch} on=${options.fold} hint="One row for the copies of a broadcast" flip=${() => change({ fold: !options.fold })}>Fold broadcasts<//>
      <${Switch} on=${options.effect} hint="Hide messages that had no effect" flip=${() => change({ effect: !options.effect })}>Only with effect<//>
      <${Switch} on=${options.notes} hint="Show what nodes note about themselves" flip=${() => change({ notes: !options.notes })}>Notes<//>
      <${Menu} name="Filter the chart" title=${filtered ? `Filter (${filtered})` : "Filter"}>
        <fieldset>
          <legend>Kinds</legend>
          ${kinds.map((kind) => html`
            <${Tick} name=${kind} on=${!options.kinds.includes(kind)} flip=${() => change({ kinds: toggled(options.kinds, kind) })} />`)}
        </fieldset>
        <fieldset>
          <legend>Lifelines</legend>
          ${run.lifelines.map(({ name }, i) => html`
            <${Tick} name=${name} on=${!options.nodes.includes(i)} flip=${() => change({ nodes: toggled(options.nodes, i) })} />`)}
        </fieldset>
        <label>View
          <select onChange=${typed((view) => change({ view: view === "" ? null : view }))}>
            <option value="" selected=${options.view === null}>all</option>
            ${views.map((view) => html`<option value=${view} selected=${view === options.view}>${view}</option>`)}
          </select>
        </label>
      <//>
      <span class="zoom">
        <button aria-label="Smaller rows" onClick=${() => change({ zoom: Math.max(0.4, options.zoom / 1.2) })}>−</button>
        <button aria-label="Larger rows" onClick=${() => change({ zoom: Math.min(2.5, options.zoom * 1.2) })}>+</button>
      </span>
    </div>`;
}

export const Options = memo(Bar);
