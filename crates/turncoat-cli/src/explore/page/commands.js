// What a person can do in the explorer, by button or by key.
import { api } from "./api.js";
import { told } from "./model.js";

/** @import { Flying, Mark, Moment, Place, Run } from "./types.js" */
/** @import { Options, Selection } from "./model.js" */

/** @typedef {{ kind: "lie" | "delay", message: Flying } | { kind: "fork" | "help" }} Dialog */

/**
 * All that the explorer shows.
 * @typedef {object} View
 * @property {Run} run
 * @property {Map<number, Mark[]>} marks by choice
 * @property {number} at
 * @property {Moment | null} moment of `at` if `fresh`; while it is on its way, that of another place
 * @property {boolean} fresh
 * @property {Selection} selected
 * @property {number | null} focus a lifeline
 * @property {Options} options
 * @property {boolean} list whether steps are shown as a list
 * @property {string} tab of the inspector
 * @property {string} side of the left side
 * @property {string} region on a narrow screen the one that is shown
 * @property {Dialog | null} dialog
 * @property {boolean} playing
 * @property {number} pace of playing, in steps a second
 * @property {number[]} bookmarks
 * @property {boolean} busy
 */

/** @type {Selection} */
export const nothing = { arrow: null, step: null };

/**
 * @param {() => View} view
 * @param {(change: Partial<View>) => void} set
 * @param {{ say: (words: string) => void, fail: (error: Error | null) => void, visit: (run: number, at: number) => Promise<void> }} page
 */
export function commands(view, set, { say, fail, visit }) {
  /** @param {number} at */
  const go = (at) => {
    const { run, marks, selected, moment } = view();
    const place = Math.max(0, Math.min(run.steps.length, at));
    const keep = selected.arrow !== null && moment?.flying.some(({ arrow }) => arrow === selected.arrow);
    if (place !== view().at) set({ at: place, fresh: false, selected: keep ? selected : nothing });
    say(told(run, marks, place));
  };

  /** Asks the server to go on with the run, and goes where it leads. @param {Promise<Place>} asked */
  const follow = async (asked) => {
    set({ busy: true });
    try {
      const place = await asked;
      const from = view().run.run;
      await visit(place.run, place.at);
      fail(null);
      const { run, marks } = view();
      const forked = place.run === from ? "" : `now in run ${run.runs[place.run].name}; `;
      say(`${forked}${told(run, marks, place.at)}${place.note ? `; ${place.note}` : ""}`);
    } catch (error) {
      fail(/** @type {Error} */ (error));
    } finally {
      set({ busy: false });
    }
  };

  const here = () => {
    const { run, at } = view();
    return /** @type {const} */ ([run.session, run.run, at]);
  };
  /** @type {(() => void) | null} */
  let waiting = null;
  /** Does something now, or as soon as the answer to what was done before is there. @param {() => void} command */
  const whenReady = (command) => {
    const { run, busy, fresh } = view();
    if (run.readOnly) return;
    if (busy || !fresh) waiting = command;
    else command();
  };
  /** @param {string} action */
  const act = (action) => whenReady(() => follow(api.act(...here(), action)));
  const flying = () => view().moment?.flying ?? [];
  /** The message that keys act upon: the selected one, or the one that is delivered next. */
  const chosen = () => {
    const { selected, moment } = view();
    const suggested = moment?.suggested?.match(/^deliver (.*)$/)?.[1];
    return (selected.arrow === null ? null : flying().find(({ arrow }) => arrow === selected.arrow))
      ?? flying().find(({ name }) => name === suggested);
  };
  /** @param {number} way */
  const along = (way) => {
    const { run, at, focus } = view();
    for (let next = at + way; next > 0 && next <= run.steps.length; next += way) {
      if (focus === null || run.steps[next - 1].lifeline === focus) return go(next);
    }
  };

  return {
    go(/** @type {number} */ at) {
      waiting = null;
      go(at);
    },
    act,
    set,
    /** Does what had to wait. */
    resume() {
      const command = waiting;
      waiting = null;
      command?.();
    },
    /** @param {Selection} selected */
    select: (selected) => set({ selected, ...(selected.arrow !== null && view().tab !== "message" ? { tab: "message" } : {}) }),
    /** Moves the selection among the steps. @param {number} way */
    selectNext(way) {
      const { run, marks, at, selected } = view();
      const from = selected.step ?? (selected.arrow === null ? at : run.arrows[selected.arrow].end ?? at);
      const step = Math.max(1, Math.min(run.steps.length, from + way));
      if (!run.steps.length) return;
      set({ selected: { arrow: run.steps[step - 1].arrow, step } });
      say(told(run, marks, step));
    },
    next: () => go(view().at + 1),
    back: () => go(view().at - 1),
    nextThere: () => along(1),
    backThere: () => along(-1),
    first: () => go(0),
    last: () => go(view().run.steps.length),
    nextViolation() {
      const { run, at } = view();
      const next = run.violations.find((violation) => violation.at > at) ?? run.violations[0];
      if (next) go(next.at);
      else say("nothing is violated in this run");
    },
    /** @param {"decision" | "view-change" | "violation" | "end" | "steps"} until */
    until: (until) => whenReady(() => follow(api.go(...here(), until, until === "steps" ? 10 : undefined))),
    deliver() {
      const { selected } = view();
      const message = selected.arrow === null ? null : flying().find(({ arrow }) => arrow === selected.arrow);
      if (message) return act(`deliver ${message.name}`);
      if (selected.step !== null) return go(selected.step);
      whenReady(() => {
        const { moment } = view();
        if (moment?.suggested) act(moment.suggested);
        else say(moment?.over ?? "there is nothing to deliver");
      });
    },
    drop() {
      const message = chosen();
      if (message) act(`drop ${message.name}`);
      else say("select a message in flight first");
    },
    lie: () =>
      whenReady(() => {
        const message = chosen();
        if (message) set({ dialog: { kind: "lie", message } });
        else say("select a message in flight first");
      }),
    fire() {
      const { run, moment, focus } = view();
      const armed = (moment?.seats ?? []).flatMap(({ timers }, i) => timers.map((timer) => ({ ...timer, i })));
      const [next] = armed.filter(({ i }) => focus === null || focus === i).sort((a, b) => a.at - b.at);
      if (next) act(`fire ${run.lifelines[next.i].name} ${next.name}`);
      else say("no timer is armed");
    },
    fork: () => whenReady(() => set({ dialog: { kind: "fork" } })),
    /** @param {string} name */
    forkAs: (name) => follow(api.fork(...here(), name)),
    /** @param {string[]} byzantine */
    liars: (byzantine) => follow(api.liars(view().run.session, byzantine)),
    /** @param {number} run @param {number} at */
    visit: (run, at) => follow(Promise.resolve({ run, at, note: null })),
    /** @param {number} lifeline */
    focus(lifeline) {
      const { run, focus } = view();
      if (lifeline >= run.lifelines.length) return;
      set({ focus: focus === lifeline ? null : lifeline });
      say(focus === lifeline ? "no replica is focused" : `${run.lifelines[lifeline].name} is focused`);
    },
    bookmark() {
      const { at, bookmarks } = view();
      const kept = bookmarks.includes(at);
      set({ bookmarks: kept ? bookmarks.filter((mark) => mark !== at) : [...bookmarks, at].sort((a, b) => a - b) });
      say(kept ? `bookmark at ${at} removed` : `bookmark at ${at} set`);
    },
    play: () => set({ playing: !view().playing }),
    clear: () => set({ selected: nothing, focus: null }),
    help: () => set({ dialog: { kind: "help" } }),
  };
}

/** @typedef {ReturnType<typeof commands>} Commands */
