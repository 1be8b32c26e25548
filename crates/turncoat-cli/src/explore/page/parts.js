// Small parts that several screens have.
import { Component, html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/standalone.module.js";
import { letter } from "./model.js";

/** @import { VNode } from "./vendor/standalone.module.js" */

/**
 * A component that is drawn again only when its properties change.
 * @template P
 * @param {(props: P) => VNode | null} draw
 */
export const memo = (draw) =>
  class extends Component {
    /** @param {Record<string, unknown>} next */
    shouldComponentUpdate(next) {
      const now = /** @type {Record<string, unknown>} */ (this.props);
      return Object.keys({ ...now, ...next }).some((key) => now[key] !== next[key]);
    }
    render() {
      return html`<${draw} ...${this.props} />`;
    }
  };

/** A value by its letter and colour. @param {{ value: number | null, name?: string }} props */
export const Value = ({ value, name }) =>
  html`<span class="value" data-value=${value === null ? "" : value % 4}>${name ?? (value === null ? "?" : letter(value))}</span>`;

/** A sentence of a story; those that begin with a dash are entries of a list. @param {{ text: string }} props */
export const Sentence = ({ text }) => html`<p class=${text.startsWith("- ") ? "item" : ""}>${text.replace(/^- /, "")}</p>`;

/** @param {{ violated: string | null }} props */
export const Verdict = ({ violated }) =>
  violated
    ? html`<span class="verdict bad"><i aria-hidden="true">✖</i> ${violated}</span>`
    : html`<span class="verdict good"><i aria-hidden="true">✔</i> nothing violated</span>`;

/**
 * Tabs, of which one is shown.
 * @param {{ name: string, tabs: Record<string, string>, shown: string, show: (tab: string) => void, children: unknown }} props
 */
export function Tabs({ name, tabs, shown, show, children }) {
  return html`
    <div class="tabs" role="tablist" aria-label=${name} onKeyDown=${roving('[role="tab"]', true)}>
      ${Object.entries(tabs).map(
        ([tab, title]) => html`
          <button role="tab" id=${`tab-${tab}`} aria-selected=${tab === shown} aria-controls=${`panel-${name}`}
            tabindex=${tab === shown ? 0 : -1} onClick=${() => show(tab)}>${title}</button>`,
      )}
    </div>
    <div class="panel" role="tabpanel" id=${`panel-${name}`} aria-labelledby=${`tab-${shown}`} tabindex="0">${children}</div>`;
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

/**
 * A button with something to choose from below it.
 * @param {{ title: unknown, name: string, children: unknown }} props
 */
export function Menu({ title, name, children }) {
  const at = useRef(/** @type {HTMLDetailsElement | null} */ (null));
  useEffect(() => {
    const close = (/** @type {Event} */ event) => {
      const escaped = event instanceof KeyboardEvent ? event.key === "Escape" : !at.current?.contains(/** @type {Node} */ (event.target));
      if (escaped && at.current) at.current.open = false;
    };
    addEventListener("click", close);
    addEventListener("keydown", close);
    return () => {
      removeEventListener("click", close);
      removeEventListener("keydown", close);
    };
  }, []);
  return html`
    <details class="menu" ref=${at}>
      <summary class="button" aria-label=${name}>${title}</summary>
      <div class="drop">${children}</div>
    </details>`;
}

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

/** Hands on what was typed or chosen. @param {(value: string) => void} take */
export const typed = (take) => (/** @type {Event} */ event) => take(/** @type {HTMLInputElement} */ (event.target).value);

/**
 * Hands on the fields of a form by name, without those left empty.
 * @param {(fields: Record<string, string>) => void} take
 */
export const filled = (take) => (/** @type {Event} */ event) => {
  event.preventDefault();
  const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
  take(Object.fromEntries([...form].map(([name, value]) => [name, String(value).trim()]).filter(([, value]) => value)));
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
