// The sequence chart: a lifeline for each replica and client, a row for each choice. Only rows in sight are in the page.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/standalone.module.js";
import { Bands, HereTag, Row, Signs, Stroke, Waiting, column, hasSigns } from "./drawing.js";
import { Head } from "./head.js";
import { LongList, rem } from "./lists.js";
import { arrowIn, cone, layout, rowAt, rowIn, stepOf, told } from "./model.js";
import { Options } from "./options.js";
import { Overview } from "./overview.js";
import { memo } from "./parts.js";

/** @import { Mark, Moment, Run } from "./types.js" */
/** @import { Commands } from "./commands.js" */
/** @import { Layout, Options as Shown, Selection } from "./model.js" */

/**
 * @typedef {object} Props
 * @property {Run} run
 * @property {Map<number, Mark[]>} marks
 * @property {number} at
 * @property {Moment | null} moment
 * @property {Selection} selected
 * @property {number | null} focus
 * @property {Shown} options
 * @property {boolean} list
 * @property {Commands} does
 */

const NEAR = 10;

export const Chart = memo((/** @type {Props} */ props) => {
  const { run, marks, at, moment, options, list, does } = props;
  const words = (/** @type {number} */ row) => told(run, marks, row);
  const rest = moment?.at ?? at;
  const near = Array.from({ length: 2 * NEAR + 1 }, (_, i) => rest - NEAR + i).filter((row) => row >= 0 && row <= run.steps.length);
  return html`
    <section class="region chart" aria-label="Sequence chart">
      <${Options} run=${run} options=${options} list=${list} does=${does} />
      ${list
        ? html`<${LongList} name="Steps" count=${run.steps.length + 1} at=${at} pick=${does.go} draw=${words} />`
        : html`
          <${Drawing} ...${props} />
          <ol class="unseen" aria-label="Steps around this place">
            ${near.map((row) => html`<li aria-current=${row === rest ? "step" : null}>${words(row)}</li>`)}
          </ol>`}
    </section>`;
});

/** @param {Props} props */
function Drawing({ run, marks, at, moment, selected, focus, options, does }) {
  const scroller = useRef(/** @type {HTMLElement | null} */ (null));
  const [pointed, setPointed] = useState(/** @type {Selection | null} */ (null));
  const plan = useMemo(() => layout(run, marks, options), [run, marks, options]);
  const em = rem();
  const line = em * 1.4 * options.zoom;
  const head = em * 3;
  const total = plan.height * line;
  const goals = { run, plan, line, head, at, picked: pointed ? null : selected };
  const { top, width, height, look } = useSight(scroller, goals);

  const shown = run.lifelines.map((_, i) => i).filter((i) => !options.nodes.includes(i));
  const digits = `${run.steps.length}`.length * (options.fold ? 2 : 1) + `${run.steps.at(-1)?.time ?? 0}`.length;
  const columns = column(shown, width, em, digits);
  const place = { run, plan, columns, line, em, at, level: options.level };

  const highlit = pointed ?? selected;
  const lit = useMemo(() => cone(run, highlit), [run, highlit]);
  const rowDim = (/** @type {number} */ row) => {
    const { lifeline, arrow } = run.steps[row - 1] ?? { lifeline: null, arrow: null };
    return lit !== null && !(arrow !== null && arrow === highlit.arrow) && !rowIn(lit, lifeline, row);
  };
  const arrowDim = (/** @type {number} */ i) => lit !== null && i !== highlit.arrow && !arrowIn(lit, run.arrows[i]);

  const first = Math.max(0, rowAt(plan, top / line) - 1);
  const last = Math.min(plan.rows.length - 1, rowAt(plan, (top + height) / line));
  const rows = plan.rows.slice(first, last + 1);
  const now = (plan.top[at] + 0.8 + (plan.lines.get(at)?.length ?? 0)) * line;
  const bottom = Math.min(top + height, total);
  const press = (/** @type {KeyboardEvent} */ event) => {
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    does.selectNext(way);
  };
  return html`
    <div class="drawing">
      <div class="scroller" ref=${scroller} tabindex="0" role="group" onScroll=${look} onKeyDown=${press}
        aria-label="Chart of the run: up and down select a step, Enter goes there. The steps follow as a list.">
        <div class="sheet" style=${{ height: `${total + head}px`, width: `${columns.width}px` }}>
          <div class="heads">
            ${shown.map((i) => html`
              <${Head} lifeline=${run.lifelines[i]} seat=${moment?.seats[i]} x=${columns.x[i]} width=${columns.space}
                focused=${i === focus} press=${() => does.focus(i)} />`)}
          </div>
          <svg aria-hidden="true" width=${columns.width} height=${Math.max(0, height - head)} ...${pointing(pointed, setPointed, does)}>
            <g transform=${`translate(0 ${-top})`}>
              <${Bands} ...${place} />
              ${shown.map((i) => html`
                <line class=${`lifeline ${run.lifelines[i].byzantine ? "liar" : ""} ${i === focus ? "focused" : ""}`}
                  x1=${columns.x[i]} x2=${columns.x[i]} y1=${top} y2=${bottom} />`)}
              ${rows.map((row) => html`<${Row} ...${place} row=${row} dim=${rowDim(row)} chosen=${row === selected.step} />`)}
              ${last === plan.rows.length - 1 && html`<${Waiting} ...${place} chosen=${selected.arrow} />`}
              ${plan.arrows(first, last).map((i) => html`
                <${Stroke} ...${place} i=${i} dim=${arrowDim(i)} chosen=${i === highlit.arrow} />`)}
              ${rows.filter((row) => hasSigns(run, marks, row)).map((row) => html`
                <${Signs} ...${place} marks=${marks.get(row) ?? []} row=${row} dim=${rowDim(row)} />`)}
              ${at < run.steps.length && html`
                <rect class="future" x="0" y=${now} width=${columns.width} height=${Math.max(0, top + height - now)} />`}
              <line class="here" x1="0" x2=${columns.width} y1=${now} y2=${now} />
              <${HereTag} y=${now} em=${em} text=${at === run.steps.length ? "now" : `at ${stepOf(run, at)}`} />
            </g>
          </svg>
        </div>
      </div>
      <${Overview} run=${run} plan=${plan} top=${top / line} height=${height / line}
        jump=${(/** @type {number} */ y) => scroller.current?.scrollTo({ top: y * line })} />
    </div>`;
}

/**
 * What of the chart is in sight. The place, and what is picked elsewhere, is brought into sight while drawing, not after it:
 * so dragging through a run draws once a frame.
 * @param {{ current: HTMLElement | null }} scroller
 * @param {{ run: Run, plan: Layout, line: number, head: number, at: number, picked: Selection | null }} goals
 */
function useSight(scroller, { run, plan, line, head, at, picked }) {
  const [{ width, height }, setSize] = useState({ width: 800, height: 600, top: 0 });
  const top = useRef(0);
  const before = useRef({ follow: /** @type {unknown[]} */ ([]), picked });
  const look = () => {
    const { scrollTop, clientWidth, clientHeight } = /** @type {HTMLElement} */ (scroller.current);
    if (Math.abs(scrollTop - top.current) < 1 && clientWidth === width && clientHeight === height) return;
    top.current = scrollTop;
    setSize({ width: clientWidth, height: clientHeight, top: scrollTop });
  };
  useEffect(() => {
    const watch = new ResizeObserver(look);
    if (scroller.current) watch.observe(scroller.current);
    return () => watch.disconnect();
  }, [width, height]);

  const follow = [at, plan, line, height];
  const moved = follow.some((each, i) => each !== before.current.follow[i]);
  const chosen = picked && picked !== before.current.picked ? picked.step ?? run.arrows[picked.arrow ?? -1]?.end : null;
  const goal = chosen ?? (moved ? at : null);
  before.current = { follow, picked: picked ?? before.current.picked };
  if (goal !== null) {
    const room = height - head;
    const atEnd = goal === run.steps.length;
    const lines = 2 + (plan.lines.get(goal)?.length ?? 0) + (atEnd ? Math.min(8, plan.waiting.length + 1) : 0);
    const [from, to] = [plan.top[goal] * line, (plan.top[goal] + lines) * line];
    if (from < top.current + 2 * line) top.current = from - room * 0.3;
    else if (to > top.current + room) top.current = to - room * (atEnd ? 1 : 0.7);
    top.current = Math.max(0, Math.min(plan.height * line - room, top.current));
  }
  useLayoutEffect(() => {
    if (scroller.current) scroller.current.scrollTop = top.current;
  }, [goal, ...follow]);
  return { top: top.current, width, height, look };
}

/**
 * Pointing at an arrow or a row lights up what led to it and what came of it; a click selects it; a click on the number of a
 * row, or two anywhere on it, go there.
 * @param {Selection | null} pointed
 * @param {(selection: Selection | null) => void} setPointed
 * @param {Commands} does
 */
function pointing(pointed, setPointed, does) {
  const on = (/** @type {Event} */ event, selector = "[data-arrow], [data-step]") =>
    /** @type {SVGElement | null} */ (/** @type {Element} */ (event.target).closest(selector));
  const under = (/** @type {Event} */ event) => {
    const { arrow, step } = on(event)?.dataset ?? {};
    return arrow || step ? { arrow: arrow ? Number(arrow) : null, step: step ? Number(step) : null } : null;
  };
  return {
    onMouseOver: (/** @type {Event} */ event) => {
      const next = under(event);
      if (next?.arrow !== pointed?.arrow || next?.step !== pointed?.step) setPointed(next);
    },
    onMouseLeave: () => setPointed(null),
    onClick: (/** @type {Event} */ event) => {
      const next = under(event);
      if (next?.step && on(event, ".number")) does.go(next.step);
      else does.select(next ?? { arrow: null, step: null });
    },
    onDblClick: (/** @type {Event} */ event) => {
      const step = under(event)?.step;
      if (step) does.go(step);
    },
  };
}
