// The runs of a session, as a tree: each but the first was forked from another.
import { html } from "./vendor/standalone.module.js";
import { stepOf } from "./model.js";
import { Verdict, memo } from "./parts.js";

/** @import { Run } from "./types.js" */
/** @import { Commands } from "./commands.js" */

/** @param {{ run: Run, at: number, does: Commands }} props */
function Tree({ run, at, does }) {
  /** @param {number | null} parent @returns {unknown} */
  const below = (parent) => {
    const children = run.runs.flatMap((branch, i) => (branch.from === parent ? [{ ...branch, i }] : []));
    if (!children.length) return null;
    return html`
      <ul class="runs">
        ${children.map(({ i, name, from, at: fork, choices, violation }) => html`
          <li>
            <button aria-current=${i === run.run ? "true" : null} onClick=${() => does.visit(i, i === run.run ? at : choices)}>
              <b>${name}</b> <small>${from === null ? "" : `after ${fork} ${fork === 1 ? "choice" : "choices"}, `}${choices} in all</small>
              <${Verdict} violated=${violation} />
            </button>
            ${below(i)}
          </li>`)}
      </ul>`;
  };
  return html`
    ${!run.readOnly && html`<button onClick=${does.fork}>Fork here, at step ${stepOf(run, at)} …</button>`}
    ${below(null)}
    <p class="hint">Acting at an earlier step starts a branch. All runs are kept while the session is open.</p>`;
}

export const History = memo(Tree);
