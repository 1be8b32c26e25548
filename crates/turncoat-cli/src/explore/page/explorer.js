// The explorer: a run, a place in it, and everything to see and do there.
import { html, useEffect, useMemo, useRef, useState } from "./vendor/standalone.module.js";
import { alone, api, exported } from "./api.js";
import { Chart } from "./chart.js";
import { commands, nothing } from "./commands.js";
import { Dialogs } from "./dialogs.js";
import { Events } from "./events.js";
import { History } from "./history.js";
import { Inspector } from "./inspector.js";
import { listen } from "./keys.js";
import { Logs } from "./logs.js";
import { allOfIt, marksByRow } from "./model.js";
import { Menu, Tabs } from "./parts.js";
import { Timeline } from "./timeline.js";

/** @import { Check, Moment, Run } from "./types.js" */
/** @import { Page } from "./app.js" */
/** @import { Commands, View } from "./commands.js" */

const REST_MS = 120;
const MOMENTS_MAX = 300;

/** @param {{ page: Page, route: string[] }} props where to, as in the address: session, run, place */
export function Explorer({ page, route }) {
  const [session] = route;
  const [view, setView] = useState(/** @type {View | null} */ (null));
  const now = useRef(view);
  const moments = useRef(/** @type {Map<string, Moment>} */ (new Map()));

  const set = (/** @type {Partial<View>} */ change) => {
    if (!now.current) return;
    now.current = { ...now.current, ...change };
    setView(now.current);
  };
  const visit = async (/** @type {number} */ number, /** @type {number} */ at) => {
    const run = await api.run(session, number);
    moments.current = new Map();
    now.current = arrive(now.current, run, at);
    setView(now.current);
  };
  const does = useMemo(
    () => commands(() => /** @type {View} */ (now.current), set, { say: page.say, fail: page.fail, visit }),
    [session],
  );
  useEffect(() => {
    const [number, at] = [route[1], route[2]].map((text) => Number(text) || 0);
    if (now.current?.run.run === number) does.go(at);
    else visit(number, at).catch(page.fail);
  }, [route]);
  useEffect(() => (view ? listen(does) : undefined), [does, view === null]);

  const { run, at, playing, pace, bookmarks, fresh, busy } = view ?? {};
  useEffect(() => {
    if (fresh && !busy) does.resume();
  }, [fresh, busy]);
  useMoment(run, at, moments.current, set, page.fail);
  useEffect(() => {
    if (!run || at === undefined) return;
    const timer = setTimeout(() => page.here(`#/run/${session}/${run.run}/${at}`), REST_MS);
    return () => clearTimeout(timer);
  }, [run, at]);
  useEffect(() => {
    if (run) localStorage.setItem(bookmarksKey(run), JSON.stringify(bookmarks));
  }, [bookmarks]);
  useEffect(() => {
    if (!run || at === undefined || !pace || !playing) return;
    if (at >= run.steps.length) return set({ playing: false });
    const timer = setTimeout(does.next, 1000 / pace);
    return () => clearTimeout(timer);
  }, [run, at, playing, pace]);

  if (!view) return html`<main class="plain"><p>Opening the run … <a href="#/">All sessions</a></p></main>`;
  return html`<${Screen} page=${page} view=${view} does=${does} />`;
}

/** @param {Run} run */
const bookmarksKey = (run) => `turncoat bookmarks ${run.title} ${run.session}`;

/** The view of a run, with what was set before. @param {View | null} before @param {Run} run @param {number} at @returns {View} */
function arrive(before, run, at) {
  return {
    focus: null, options: allOfIt, list: false, tab: "state", side: "play", region: "chart", moment: null, busy: false, pace: 5,
    ...before,
    run,
    fresh: false,
    marks: marksByRow(run),
    at: Math.min(at, run.steps.length),
    selected: nothing,
    dialog: null,
    playing: false,
    bookmarks: JSON.parse(localStorage.getItem(bookmarksKey(run)) ?? "[]"),
  };
}

/**
 * Fetches the moment of a place once the place rests, so that dragging through a run asks for few.
 * @param {Run | undefined} run
 * @param {number | undefined} at
 * @param {Map<string, Moment>} known
 * @param {(change: Partial<View>) => void} set
 * @param {(error: Error) => void} fail
 */
function useMoment(run, at, known, set, fail) {
  const asked = useRef(0);
  useEffect(() => {
    if (!run || at === undefined) return;
    const name = `${run.run} ${at}`;
    const kept = known.get(name);
    if (kept) return set({ moment: kept, fresh: true });
    const stop = new AbortController();
    const wait = Date.now() - asked.current < REST_MS ? REST_MS : 0;
    asked.current = Date.now();
    const timer = setTimeout(
      () =>
        api.moment(run.session, run.run, at, stop.signal).then(
          (moment) => {
            known.set(name, moment);
            if (known.size > MOMENTS_MAX) known.delete(known.keys().next().value ?? "");
            if (!stop.signal.aborted) set({ moment, fresh: true });
          },
          (error) => stop.signal.aborted || fail(error),
        ),
      wait,
    );
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [run, at]);
}

const regions = { chart: "Chart", side: "Events", inspector: "Inspect", logs: "Logs" };

/** @param {{ page: Page, view: View, does: Commands }} props */
function Screen({ page, view, does }) {
  const { run, at, moment, selected, tab, side, region } = view;
  return html`
    <div class="explorer" data-region=${region} aria-busy=${view.busy || !view.fresh}>
      <${Header} page=${page} run=${run} at=${at} moment=${moment} does=${does} />
      <nav class="regions" aria-label="Regions">
        ${Object.entries(regions).map(
          ([name, title]) => html`<button aria-pressed=${name === region} onClick=${() => does.set({ region: name })}>${title}</button>`,
        )}
      </nav>
      <main>
        <section class="region side" aria-label="What can happen">
          <${Tabs} name="side" shown=${side} tabs=${{ play: "Events", runs: `Runs (${run.runs.length})` }}
            show=${(/** @type {string} */ side) => does.set({ side })}>
            ${side === "play"
              ? html`<${Events} run=${run} past=${at < run.steps.length} moment=${moment} selected=${selected.arrow} does=${does} />`
              : html`<${History} run=${run} at=${at} does=${does} />`}
          <//>
        </section>
        <${Chart} run=${run} marks=${view.marks} at=${at} moment=${moment} selected=${selected} focus=${view.focus}
          options=${view.options} list=${view.list} does=${does} />
        <${Inspector} run=${run} at=${at} moment=${moment} selected=${selected} tab=${tab} does=${does} fail=${page.fail} />
        <${Logs} run=${run} moment=${moment} does=${does} />
      </main>
      <${Timeline} run=${run} at=${at} playing=${view.playing} pace=${view.pace} bookmarks=${view.bookmarks} does=${does} />
      <${Dialogs} view=${view} does=${does} fail=${page.fail} />
    </div>`;
}

const files = {
  "scenario.toml": "the scenario, for replay, explain and shrink",
  "schedule.txt": "the choices as text",
  "chart.svg": "the chart as a picture",
  "chart.mmd": "the chart for Mermaid",
  "page.html": "this page as one file, to share",
};

/** @param {{ page: Page, run: Run, at: number, moment: Moment | null, does: Commands }} props */
function Header({ page, run, at, moment, does }) {
  const { n, f, quorum } = run.cluster;
  const budget = moment?.budget;
  const checks = [...(moment?.checks ?? [])].sort((a, b) => Number(b.violated !== null) - Number(a.violated !== null));
  return html`
    <header class="bar">
      ${!alone && html`<a class="home" href="#/" title="All sessions">turncoat</a>`}
      <div class="what">
        <h1>${run.title}</h1>
        <p>
          ${run.title !== run.protocol && html`<span>${run.protocol}, </span>`}${n} replicas, ${f} may be Byzantine, quorum ${quorum}
          ${budget && html`<span class=${budget.over ? "budget over" : "budget"}> · ${spent(budget)}</span>`}
        </p>
      </div>
      <ul class="checks" tabindex="0" aria-label="Properties at this step">${checks.map((check) => html`<${Badge} check=${check} />`)}</ul>
      <div class="tools">
        ${run.readOnly && html`<span class="hint">read only</span>`}
        ${!alone && html`
          <${Menu} title="Export" name="Export">
            <ul class="files">
              ${Object.entries(files).map(([file, words]) => html`
                <li><a href=${exported(run.session, run.run, at, file)} download=${file}>${file}</a> <small>${words}</small></li>`)}
            </ul>
          <//>`}
        <button onClick=${does.help} aria-label="Help: keys and signs">?</button>
        <button onClick=${page.theme} aria-label="Light or dark">◐</button>
      </div>
    </header>`;
}

/** @param {Moment["budget"]} budget */
function spent({ liars, stopped, f, over }) {
  const faulty = new Set([...liars, ...stopped]).size;
  const who = [...liars.map((name) => `${name} lies`), ...stopped.map((name) => `${name} is stopped`)].join(", ");
  return `${faulty} of ${f} faulty${who && `: ${who}`}${over ? " – more than the protocol tolerates" : ""}`;
}

/** What properties are called where they hold. @type {Record<string, string>} */
const titles = { crashed: "no crash", custom: "protocol invariants" };

/** @param {{ check: Check }} props */
function Badge({ check: { property, states, open, violated } }) {
  const [look, sign, word] = violated ? ["bad", "✖", "violated"] : open ? ["open", "○", "open"] : ["good", "✔", "holds"];
  return html`
    <li class=${`badge ${look}`} data-property=${property} title=${violated ?? states}>
      <i aria-hidden="true">${sign}</i> ${titles[property] ?? property} <b>${word}</b>
    </li>`;
}
