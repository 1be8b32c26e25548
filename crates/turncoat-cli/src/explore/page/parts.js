// Small parts that several screens have.
import { Component, html, useEffect, useRef } from "./vendor/standalone.module.js";
import { roving } from "./lists.js";
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
    <div class="tabs" role="tablist" aria-label=${Object.values(tabs).join(", ")} onKeyDown=${roving('[role="tab"]', true)}>
      ${Object.entries(tabs).map(
        ([tab, title]) => html`
          <button role="tab" id=${`tab-${tab}`} aria-selected=${tab === shown} aria-controls=${`panel-${name}`}
            tabindex=${tab === shown ? 0 : -1} onClick=${() => show(tab)}>${title}</button>`,
      )}
    </div>
    <div class="panel" role="tabpanel" id=${`panel-${name}`} aria-labelledby=${`tab-${shown}`} tabindex="0">${children}</div>`;
}

/**
 * A button with something to choose from below it.
 * @param {{ title: unknown, name: string, children: unknown }} props
 */
export function Menu({ title, name, children }) {
  const at = useRef(/** @type {HTMLDetailsElement | null} */ (null));
  useEffect(() => {
    const close = (/** @type {Event} */ event) => {
      const outside = !at.current?.contains(/** @type {Node} */ (event.target));
      if (at.current && (event instanceof KeyboardEvent ? event.key === "Escape" : outside)) at.current.open = false;
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
