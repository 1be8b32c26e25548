// The whole run in a strip beside the chart: where lies, decisions and violations are, and what is in sight.
import { html, useMemo } from "./vendor/standalone.module.js";
import { memo } from "./parts.js";

/** @import { Run } from "./types.js" */
/** @import { Layout } from "./model.js" */

const TALL = 1000;

/**
 * Heights are in lines, as in the layout.
 * @param {{ run: Run, plan: Layout, top: number, height: number, jump: (top: number) => void }} props
 */
function Strip({ run, plan, top, height, jump }) {
  const scale = TALL / Math.max(plan.height, height);
  const ticks = useMemo(() => {
    const of = (/** @type {number[]} */ rows) => [...new Set(rows.map((at) => Math.round(plan.top[at] * scale)))];
    return {
      lie: of(run.arrows.filter(({ lie }) => lie).map(({ sent }) => sent)),
      decision: of(run.marks.filter(({ sign }) => sign === "decision").map(({ at }) => at)),
      violation: of(run.violations.map(({ at }) => at)),
    };
  }, [run, plan, scale]);
  const move = (/** @type {PointerEvent} */ event) => {
    if (event.buttons !== 1) return;
    const box = /** @type {Element} */ (event.currentTarget).getBoundingClientRect();
    jump(((event.clientY - box.top) / box.height) * (TALL / scale) - height / 2);
  };
  return html`
    <svg class="overview" aria-hidden="true" viewBox=${`0 0 20 ${TALL}`} preserveAspectRatio="none" onPointerDown=${move} onPointerMove=${move}>
      <rect class="sight" x="0" y=${top * scale} width="20" height=${Math.max(8, height * scale)} />
      <path class="decision" d=${ticks.decision.map((y) => `M6 ${y}h8`).join("")} />
      <path class="lie" d=${ticks.lie.map((y) => `M1 ${y}h10`).join("")} />
      <path class="violation" d=${ticks.violation.map((y) => `M0 ${y}h20`).join("")} />
    </svg>`;
}

export const Overview = memo(Strip);
