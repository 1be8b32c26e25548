// Which key does what. The help sheet is made from the same table.

/** @import { Commands } from "./commands.js" */

/** @type {{ keys: string, words: string, run: (commands: Commands, key: string) => void }[]} */
export const keys = [
  { keys: "j", words: "next step", run: (c) => c.next() },
  { keys: "k", words: "previous step", run: (c) => c.back() },
  { keys: "J", words: "next step of the focused replica", run: (c) => c.nextThere() },
  { keys: "K", words: "previous step of the focused replica", run: (c) => c.backThere() },
  { keys: "1 2 3 4 5 6 7 8 9", words: "focus a lifeline, counted from the left; again to unfocus", run: (c, key) => c.focus(Number(key) - 1) },
  { keys: "g g", words: "first step", run: (c) => c.first() },
  { keys: "G", words: "last step", run: (c) => c.last() },
  { keys: "n", words: "next violation", run: (c) => c.nextViolation() },
  { keys: "Space", words: "play and pause", run: (c) => c.play() },
  { keys: "Enter", words: "deliver the selected or the suggested message", run: (c) => c.deliver() },
  { keys: "d", words: "drop it", run: (c) => c.drop() },
  { keys: "m", words: "change it: a lie", run: (c) => c.lie() },
  { keys: "t", words: "fire the next timer, of the focused replica if there is one", run: (c) => c.fire() },
  { keys: "u", words: "undo: back by one choice", run: (c) => c.back() },
  { keys: "r", words: "redo: forward by one choice", run: (c) => c.next() },
  { keys: "f", words: "fork the run here", run: (c) => c.fork() },
  { keys: "b", words: "set or remove a bookmark", run: (c) => c.bookmark() },
  { keys: "/", words: "go to the filter", run: () => filter() },
  { keys: "Escape", words: "clear the selection", run: (c) => c.clear() },
  { keys: "?", words: "this sheet", run: (c) => c.help() },
];

const byKey = new Map(keys.flatMap((entry) => (entry.keys === "g g" ? [] : entry.keys.split(" ").map((key) => [key, entry.run]))));

function filter() {
  const boxes = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll("input[type=search]")]);
  boxes.find((box) => box.offsetParent !== null)?.focus();
}

/** @param {Commands} commands @returns {() => void} what stops it */
export function listen(commands) {
  let before = "";
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const on = /** @type {HTMLElement} */ (event.target);
    const key = event.key === " " ? "Space" : event.key;
    // Enter and Space belong to what has the focus if that does something with them.
    const typing = on.matches("input:not([type=range]):not([type=checkbox]), textarea, select");
    if (typing ? key !== "Escape" : on.matches("button, a, summary, input") && ["Enter", "Space"].includes(key)) return;
    const run = key === "g" && before === "g" ? (/** @type {Commands} */ c) => c.first() : byKey.get(key);
    before = key === "g" && before !== "g" ? "g" : "";
    if (!run) return;
    event.preventDefault();
    if (typing) on.blur();
    else run(commands, key);
  };
  addEventListener("keydown", press);
  return () => removeEventListener("keydown", press);
}
