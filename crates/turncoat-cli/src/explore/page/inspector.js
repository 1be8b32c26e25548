// What one looks into: the state of replicas, a message, the story of the run, its choices.
import { html, useEffect, useState } from "./vendor/standalone.module.js";
import { api } from "./api.js";
import { word } from "./drawing.js";
import { isEvent, stepOf } from "./model.js";
import { Filter, LongList, fits, toggled } from "./lists.js";
import { Sentence, Tabs, Value, memo } from "./parts.js";

/** @import { Moment, Run, StateRow, Story } from "./types.js" */
/** @import { Commands } from "./commands.js" */
/** @import { Selection } from "./model.js" */

/**
 * @typedef {{ run: Run, at: number, moment: Moment | null, selected: Selection, tab: string, does: Commands,
 *   fail: (error: Error) => void }} Props
 */

const tabs = { state: "State", message: "Message", story: "Story", choices: "Choices" };

/** @param {Props} props */
function Panel({ run, at, moment, selected, tab, does, fail }) {
  const arrow = selected.arrow ?? run.steps[(selected.step ?? at) - 1]?.arrow ?? null;
  return html`
    <section class="region inspector" aria-label="Inspector">
      <${Tabs} name="inspector" tabs=${tabs} shown=${tab} show=${(/** @type {string} */ tab) => does.set({ tab })}>
        ${tab === "state" && html`<${State} run=${run} moment=${moment} />`}
        ${tab === "message" && html`<${Message} run=${run} arrow=${arrow} does=${does} />`}
        ${tab === "story" && html`<${StoryOf} run=${run} at=${at} fail=${fail} />`}
        ${tab === "choices" && html`
          <${LongList} name="Choices" count=${run.steps.length + 1} at=${at} pick=${does.go}
            draw=${(/** @type {number} */ i) => html`<code><small>${isEvent(run, i) ? stepOf(run, i) : ""}</small> ${i ? run.steps[i - 1].action : "start"}</code>`} />`}
      <//>
    </section>`;
}

export const Inspector = memo(Panel);

const ROWS_MAX = 400;

/** @param {{ run: Run, moment: Moment | null }} props */
function States({ run, moment }) {
  const [filter, setFilter] = useState("");
  const [news, setNews] = useState(true);
  const [pinned, setPinned] = useState(/** @type {string[]} */ ([]));
  const [closed, setClosed] = useState(/** @type {string[]} */ ([]));
  if (!moment) return html`<p class="empty">Loading …</p>`;
  const { columns, rows } = moment.state;
  if (!rows.length) return html`<p class="empty">This protocol does not expose its state.</p>`;
  const found = rows.filter(({ path, values, changed, differs }) =>
    (!news || differs || changed.includes(true)) && fits(filter, `${path} ${values.join(" ")}`));
  const groups = grouped(found.slice(0, ROWS_MAX), pinned);
  const heads = columns.map((i) => run.lifelines[i]);
  const pin = (/** @type {string} */ path) => setPinned(toggled(pinned, path));
  return html`
    <${Filter} name="Filter fields" text=${filter} set=${setFilter}>
      <button aria-pressed=${news} onClick=${() => setNews(!news)}
        title="Only fields that changed in this step or differ between correct replicas">Changes only</button>
    <//>
    <table class="state" style=${{ minWidth: `${8 + 3.6 * columns.length}rem` }}>
      <thead>
        <tr>
          <th scope="col">field</th>
          ${heads.map(({ name, byzantine }) => html`<th scope="col" class=${byzantine ? "liar" : ""}>${byzantine ? "✎ " : ""}${name}</th>`)}
        </tr>
      </thead>
      ${groups.map(([group, rows]) => html`
        <tbody key=${group}>
          ${group && html`
            <tr class="group">
              <th colspan=${columns.length + 1} scope="rowgroup">
                <button aria-expanded=${!closed.includes(group)} onClick=${() => setClosed(toggled(closed, group))}>${group}</button>
              </th>
            </tr>`}
          ${!closed.includes(group) && rows.map((row) => html`
            <${StateLine} key=${row.path} row=${row} group=${group} pinned=${pinned.includes(row.path)} pin=${pin} />`)}
        </tbody>`)}
    </table>
    ${found.length > ROWS_MAX && html`<p class="empty">and ${found.length - ROWS_MAX} more: filter to see them</p>`}
    ${found.length === 0 && html`
      <p class="empty">${news && !filter ? "No changes in this step; all correct replicas agree." : "No field matches the filter."}</p>`}`;
}

/**
 * Rows by the first part of their paths; first those that are pinned, then those without parts.
 * @param {StateRow[]} rows @param {string[]} pinned
 */
function grouped(rows, pinned) {
  /** @type {Map<string, StateRow[]>} */
  const groups = new Map([["pinned", []], ["", []]]);
  for (const row of rows) {
    const group = pinned.includes(row.path) ? "pinned" : row.path.includes(".") ? row.path.split(".")[0] : "";
    groups.set(group, [...(groups.get(group) ?? []), row]);
  }
  return [...groups].filter(([, rows]) => rows.length > 0);
}

/** @param {{ row: StateRow, group: string, pinned: boolean, pin: (path: string) => void }} props */
function StateLine({ row: { path, values, changed, differs }, group, pinned, pin }) {
  const [open, setOpen] = useState(false);
  const name = group && path.startsWith(`${group}.`) ? path.slice(group.length + 1) : path;
  return html`
    <tr class=${`${differs ? "differs" : ""} ${open ? "open" : ""}`}>
      <th scope="row">
        <div class="field">
          <button class="pin" aria-pressed=${pinned} aria-label=${`Pin ${path}`} onClick=${() => pin(path)}>⚲</button>
          ${differs && html`<abbr title="correct replicas differ">≠</abbr>`}
          <button class="path" title=${path} aria-expanded=${open} onClick=${() => setOpen(!open)}><code>${name}</code></button>
        </div>
      </th>
      ${values.map((value, i) => html`
        <td class=${changed[i] ? "changed" : ""} title=${value}>
          ${changed[i] && html`<abbr title="changed by the last choice">•</abbr>`}<code>${value ?? "–"}</code>
        </td>`)}
    </tr>`;
}

const State = memo(States);

/** @param {{ run: Run, arrow: number | null, does: Commands }} props */
function Message({ run, arrow, does }) {
  if (arrow === null) return html`<p class="empty">Select an arrow in the chart, or a message in flight, to read it here.</p>`;
  const { from, to, sent, end, label, text, lie, values, name, held } = run.arrows[arrow];
  const go = (/** @type {number} */ at) => html`<button class="link" onClick=${() => does.go(at)}>step ${stepOf(run, at)}</button>`;
  return html`
    <article class="letterhead">
      <h2>${lie && html`<span class="bad">✎ lie: </span>`}${label}</h2>
      <p>
        from <b>${run.lifelines[from].name}</b>${run.lifelines[from].byzantine ? " (liar)" : ""} to <b>${run.lifelines[to].name}</b>,
        sent after ${sent ? go(sent) : "the start"}, ${word(run.arrows[arrow])}${end !== null && html` in ${go(end)}`}${held && ", held back"}
      </p>
      ${lie && html`
        <table class="lie">
          <caption>${lie.words}</caption>
          <thead><tr><th scope="col">field</th><th scope="col">its code wrote</th><th scope="col">it sent</th></tr></thead>
          <tbody>
            ${lie.changes.map(({ field, was, is }) => html`
              <tr><th scope="row"><code>${field}</code></th><td><del>${was}</del></td><td><ins>${is}</ins></td></tr>`)}
          </tbody>
        </table>`}
      <h3>In full</h3>
      <dl>${fields(text).map(([field, value]) => html`<dt><code>${field}</code></dt><dd><code>${value}</code></dd>`)}</dl>
      ${values.length > 0 && html`
        <h3>Values</h3>
        <ul class="plainlist">
          ${values.map((value) => html`<li><${Value} value=${value} /> <span>${run.values[value].replace(/^\S+ = /, "")}</span></li>`)}
        </ul>`}
      <p class="quiet">In schedules: <code>${name}</code></p>
    </article>`;
}

/**
 * A message's text as fields: its first word is its kind, then come `name=value`; brackets keep what is in them together.
 * @param {string} text
 * @returns {[string, string][]}
 */
function fields(text) {
  const words = [""];
  let depth = 0;
  for (const letter of text) {
    if ("([{".includes(letter)) depth++;
    if (")]}".includes(letter)) depth--;
    if (letter === " " && depth === 0) words.push("");
    else words[words.length - 1] += letter;
  }
  return words.filter(Boolean).map((word, i) => {
    const split = word.search(/=/);
    return split > 0 ? [word.slice(0, split), word.slice(split + 1)] : [i ? "" : "kind", word];
  });
}

/** @param {{ run: Run, at: number, fail: (error: Error) => void }} props */
function StoryOf({ run, at, fail }) {
  const [story, setStory] = useState(/** @type {Story | null} */ (null));
  useEffect(() => {
    let current = true;
    const timer = setTimeout(() => api.story(run.session, run.run, at).then((story) => current && setStory(story), fail), 120);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [run, at]);
  if (!story) return html`<p class="empty">Loading …</p>`;
  return html`
    <article class="story">
      ${story.violated
        ? html`<p class="verdict bad"><i aria-hidden="true">✖</i> ${story.violated}</p>`
        : html`<p class="verdict good"><i aria-hidden="true">✔</i> Nothing is violated up to this step.</p>`}
      ${story.sections.map(({ title, lines }) => html`<h2>${title}</h2>${lines.map((line) => html`<${Sentence} text=${line} />`)}`)}
    </article>`;
}
