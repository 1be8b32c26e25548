// Asks the server, or, in a page that stands alone, the data in the page.

/** @import { Alone, Home, Hunt, Lies, Moment, Open, Place, Run, Story } from "./types.js" */

const data = document.getElementById("turncoat-data");
/** @type {Alone | null} */
export const alone = data && JSON.parse(data.textContent ?? "null");

/**
 * @param {string} method
 * @param {string} address
 * @param {{ body?: unknown, signal?: AbortSignal }} [more]
 */
async function ask(method, address, { body, signal } = {}) {
  const answer = await fetch(`api/${address}`, {
    method,
    signal,
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch((error) => {
    if (signal?.aborted) throw error;
    throw new Error("the server does not answer: is turncoat explore still running?");
  });
  const text = await answer.text();
  if (answer.ok) return text ? JSON.parse(text) : null;
  throw new Error(errorIn(text) ?? `the server answered ${answer.status}`);
}

/** @param {string} text @returns {string | null} */
function errorIn(text) {
  try {
    return JSON.parse(text).error ?? null;
  } catch {
    return null;
  }
}

const place = (/** @type {string} */ session, /** @type {(string | number)[]} */ ...rest) =>
  ["sessions", encodeURIComponent(session), ...rest].join("/");

const server = {
  /** @returns {Promise<Home>} */
  home: () => ask("GET", "home"),
  /** @param {Open} what @returns {Promise<{ session: string }>} */
  open: (what) => ask("POST", "sessions", { body: what }),
  /** @param {string} session */
  close: (session) => ask("DELETE", place(session)),
  /** @param {string} session @param {string[]} byzantine @returns {Promise<Place>} */
  liars: (session, byzantine) => ask("POST", place(session, "liars"), { body: { byzantine } }),
  /** @param {string} session @param {number} run @returns {Promise<Run>} */
  run: (session, run) => ask("GET", place(session, run)),
  /** @param {string} session @param {number} run @param {number} at @param {AbortSignal} [signal] @returns {Promise<Moment>} */
  moment: (session, run, at, signal) => ask("GET", place(session, run, at), { signal }),
  /** @param {string} session @param {number} run @param {number} at @param {string} message @returns {Promise<Lies>} */
  lies: (session, run, at, message) => ask("GET", `${place(session, run, at, "lies")}?message=${encodeURIComponent(message)}`),
  /** @param {string} session @param {number} run @param {number} at @returns {Promise<Story>} */
  story: (session, run, at) => ask("GET", place(session, run, at, "story")),
  /** @param {string} session @param {number} run @param {number} at @param {string} action @returns {Promise<Place>} */
  act: (session, run, at, action) => ask("POST", place(session, run, at, "act"), { body: { action } }),
  /** @param {string} session @param {number} run @param {number} at @param {string} until @param {number} [steps] @returns {Promise<Place>} */
  go: (session, run, at, until, steps) => ask("POST", place(session, run, at, "go"), { body: { until, steps } }),
  /** @param {string} session @param {number} run @param {number} at @param {string} name @returns {Promise<Place>} */
  fork: (session, run, at, name) => ask("POST", place(session, run, at, "fork"), { body: { name } }),
  /** @param {Hunt} hunt @returns {Promise<{ campaign: string }>} */
  hunt: (hunt) => ask("POST", "campaigns", { body: hunt }),
  /** @param {string} campaign */
  stop: (campaign) => ask("POST", `campaigns/${encodeURIComponent(campaign)}/stop`),
};

/** @param {Alone} data @returns {typeof server} */
function page({ run, moments, story }) {
  const refuse = () => Promise.reject(new Error("this page stands alone: there is no server to ask"));
  /** @type {Home} */
  const home = {
    version: "", readOnly: true, first: run.session, protocols: [], strategies: [], bugs: [], files: [], sessions: [], campaigns: [],
  };
  return {
    home: async () => home,
    run: async () => ({ ...run, run: 0, runs: [{ ...run.runs[run.run], from: null }], readOnly: true }),
    moment: async (_session, _run, at) => moments.findLast((moment) => moment.at <= at) ?? moments[0],
    story: async () => story,
    open: refuse, close: refuse, liars: refuse, lies: refuse, act: refuse, go: refuse, fork: refuse, hunt: refuse, stop: refuse,
  };
}

export const api = alone ? page(alone) : server;

/** @param {string} session @param {number} run @param {number} at @param {string} file */
export const exported = (session, run, at, file) => `api/${place(session, run, at, "export", file)}`;
/** @param {string} file */
export const report = (file) => `api/reports/${file.split("/").map(encodeURIComponent).join("/")}`;
/** @param {string} campaign */
export const events = (campaign) => `api/campaigns/${encodeURIComponent(campaign)}/events`;
