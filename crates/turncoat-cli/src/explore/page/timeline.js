// The bar at the bottom: where in the run we are, and the way to anywhere else.
import { html, useMemo } from "./vendor/standalone.module.js";
import { typed } from "./forms.js";
import { stepOf } from "./model.js";
import { memo } from "./parts.js";

/** @import { Run } from "./types.js" */
/** @import { Commands } from "./commands.js" */

const paces = [1, 2, 5, 10, 20, 50];

/** @param {{ run: Run, at: number, playing: boolean, pace: number, bookmarks: number[], does: Commands }} props */
function Bar({ run, at, playing, pace, bookmarks, does }) {
  const end = run.steps.length;
  return html`
    <footer class="timeline" aria-label="Timeline">
      <div class="group">
        <button onClick=${does.first} title="First step (g g)" aria-label="First step (g g)">|◀</button>
        <button onClick=${does.back} disabled=${at === 0} title="Undo: back by one choice (u or k)" aria-label="Undo: back by one choice (u or k)">‹</button>
        <button class="play" onClick=${does.play} title=${playing ? "Pause (Space)" : "Play (Space)"} aria-label=${playing ? "Pause (Space)" : "Play (Space)"}>${playing ? "❚❚" : "▶"}</button>
        <button onClick=${does.next} disabled=${at === end} title="Redo: forward by one choice (r or j)" aria-label="Redo: forward by one choice (r or j)">›</button>
        <button onClick=${does.last} title="Last step (G)" aria-label="Last step (G)">▶|</button>
      </div>
      <output><b>${stepOf(run, at)}</b> / ${stepOf(run, end)}<small>time ${at ? run.steps[at - 1].time : 0}</small></output>
      <div class="scrub">
        <${Ticks} run=${run} bookmarks=${bookmarks} does=${does} />
        <input type="range" min="0" max=${end} value=${at} aria-label="Step of the run" aria-valuetext=${`step ${stepOf(run, at)} of ${stepOf(run, end)}`}
          onInput=${typed((at) => does.go(Number(at)))} />
      </div>
      <div class="group">
        <button onClick=${does.nextViolation} disabled=${!run.violations.length} title="Next violation (n)" aria-label="Next violation (n)">
          <i class="bad" aria-hidden="true">✖</i> next
        </button>
        <button onClick=${does.bookmark} aria-pressed=${bookmarks.includes(at)} title="Bookmark (b)" aria-label="Bookmark (b)">⚑</button>
        <label>speed
          <select onChange=${typed((pace) => does.set({ pace: Number(pace) }))}>
            ${paces.map((each) => html`<option value=${each} selected=${each === pace}>${each}/s</option>`)}
          </select>
        </label>
      </div>
    </footer>`;
}

export const Timeline = memo(Bar);

const WIDE = 1000;

/** @param {{ run: Run, bookmarks: number[], does: Commands }} props */
function TickMarks({ run, bookmarks, does }) {
  const end = Math.max(1, run.steps.length);
  const paths = useMemo(() => {
    const of = (/** @type {{ at: number }[]} */ all) =>
      [...new Set(all.map(({ at }) => Math.round((at / end) * WIDE)))].map((x) => `M${x} 2v8`).join("");
    return { decision: of(run.marks.filter(({ sign }) => sign === "decision")), violation: of(run.violations) };
  }, [run]);
  return html`
    <svg class="ticks" aria-hidden="true" viewBox=${`0 0 ${WIDE} 12`} preserveAspectRatio="none">
      <path class="decision" d=${paths.decision} /><path class="violation" d=${paths.violation} />
    </svg>
    ${bookmarks.map((at) => html`
      <button class="flag" style=${{ left: `${(at / end) * 100}%` }} onClick=${() => does.go(at)}
        aria-label=${`Go to the bookmark at step ${stepOf(run, at)}`}>⚑</button>`)}`;
}

const Ticks = memo(TickMarks);
