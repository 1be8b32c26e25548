// Lists: long ones, filtered ones, and the keys to move in them.
import { html, useLayoutEffect, useRef, useState } from "./vendor/standalone.module.js";
import { typed } from "./forms.js";

/**
 * A long list of which only the rows in sight are in the page. It follows `at`.
 * @param {{ name: string, count: number, at: number, draw: (i: number) => unknown, pick: (i: number) => void }} props
 */
export function LongList({ name, count, at, draw, pick }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const [scroll, setScroll] = useState(0);
  const line = rem() * 1.75;
  const sight = 60;
  useLayoutEffect(() => {
    const { current } = list;
    if (!current) return;
    const y = at * line - current.scrollTop;
    if (y < 0 || y > current.clientHeight - line * 2) current.scrollTop += y - current.clientHeight / 2;
    setScroll(current.scrollTop);
  }, [at, count]);
  const first = Math.max(0, Math.floor(scroll / line) - 5);
  const rows = Array.from({ length: Math.min(sight, count - first) }, (_, i) => first + i);
  return html`
    <div class="long" ref=${list} tabindex="0" role="group" aria-label=${name}
      onScroll=${() => list.current && setScroll(list.current.scrollTop)}>
      <ol style=${{ height: `${count * line}px` }}>
        ${rows.map(
          (i) => html`
            <li key=${i} class=${i === at ? "now" : ""} aria-current=${i === at ? "step" : null}
              aria-setsize=${count} aria-posinset=${i + 1} style=${{ top: `${i * line}px`, height: `${line}px` }}
              onClick=${() => pick(i)}>${draw(i)}</li>`,
        )}
      </ol>
    </div>`;
}

/**
 * The arrow keys move the focus between the elements that fit, as in any list.
 * @param {string} selector @param {boolean} [click]
 */
export const roving = (selector, click) => (/** @type {KeyboardEvent} */ event) => {
  const way = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
  const within = /** @type {HTMLElement} */ (event.currentTarget);
  const all = /** @type {HTMLElement[]} */ ([...within.querySelectorAll(selector)]);
  const now = all.indexOf(/** @type {HTMLElement} */ (event.target));
  if (way === undefined || now < 0) return;
  const next = all[Math.max(0, Math.min(all.length - 1, now + way))];
  event.preventDefault();
  event.stopPropagation();
  next.focus();
  if (click) next.click();
};

/** @param {{ name: string, hint?: string, text: string, set: (text: string) => void, children?: unknown }} props */
export const Filter = ({ name, hint = name, text, set, children }) => html`
  <div class="filter"><input type="search" placeholder=${hint} aria-label=${name} value=${text} onInput=${typed(set)} />${children}</div>`;

/** Whether a text has all words of a filter. @param {string} filter @param {string} text */
export const fits = (filter, text) => filter.toLowerCase().split(/\s+/).every((word) => text.toLowerCase().includes(word));

/** A list with an entry added, or taken out if it is there. @template T @param {T[]} list @param {T} entry */
export const toggled = (list, entry) => (list.includes(entry) ? list.filter((other) => other !== entry) : [...list, entry]);

/** How large text is, in pixels. */
export const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);
