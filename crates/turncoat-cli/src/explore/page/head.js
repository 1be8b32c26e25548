// The head of a lifeline: who it is, and how it is at this place.
import { html } from "./vendor/standalone.module.js";

/** @import { Lifeline, Seat } from "./types.js" */

/** @param {Seat | undefined} seat */
export const viewOf = (seat) =>
  seat?.view === null || seat?.view === undefined ? "" : seat.changingView ? `leaving ${seat.view}` : seat.view;

/** @param {{ lifeline: Lifeline, seat: Seat | undefined, x: number, width: number, focused: boolean, press: () => void }} props */
export function Head({ lifeline: { name, byzantine, client }, seat, x, width, focused, press }) {
  const state = seat?.alive === false ? "✖ down" : byzantine ? "✎ liar" : client ? "client" : viewOf(seat);
  return html`
    <button class=${`head ${byzantine ? "liar" : ""}`} aria-pressed=${focused} onClick=${press}
      title=${[viewOf(seat), ...(seat?.waiting ?? [])].filter(Boolean).join("; ")}
      style=${{ left: `${x - width / 2}px`, width: `${width}px` }}><b>${name}</b><small>${state}</small></button>`;
}
