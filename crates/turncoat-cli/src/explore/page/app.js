// The page: which screen is shown, in light or dark, and what is said to everybody.
import { html, render, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/standalone.module.js";
import { alone, api } from "./api.js";
import { CampaignScreen } from "./campaign.js";
import { Catalogue } from "./catalogue.js";
import { Explorer } from "./explorer.js";
import { HomeScreen } from "./home.js";

/** @import { Home, Open } from "./types.js" */

/**
 * What screens can ask of the page.
 * @typedef {object} Page
 * @property {(words: string) => void} say to those who listen
 * @property {(error: Error | null) => void} fail shows an error, or takes it away
 * @property {(hash: string) => void} here writes down where we are, for a reload, unless somebody has gone elsewhere
 * @property {(what: Open) => Promise<void>} open a session, and shows it
 * @property {() => void} theme
 */

const route = () => location.hash.replace(/^#\//, "").split("/").map(decodeURIComponent);

function App() {
  const [at, setAt] = useState(route);
  const [home, setHome] = useState(/** @type {Home | null} */ (null));
  const [said, say] = useState("");
  const [error, setError] = useState("");
  const fail = (/** @type {Error | null} */ error) => setError(error?.message ?? "");

  // The address that the page shows. The one in `location` may be newer: `hashchange` comes after other events.
  const shown = useRef(location.hash);
  // An effect would run after the page is painted, and miss an address that changes before.
  useLayoutEffect(() => {
    const turn = () => {
      shown.current = location.hash;
      setAt(route());
      setError("");
    };
    addEventListener("hashchange", turn);
    return () => removeEventListener("hashchange", turn);
  }, []);
  const [screen] = at;
  const rest = useMemo(() => at.slice(1), [at]);
  useEffect(() => {
    if (screen === "run") return;
    api.home().then((home) => {
      setHome(home);
      begin(home);
    }, fail);
  }, [screen]);

  /** @type {Page} */
  const page = useMemo(
    () => ({
      say,
      fail,
      here: (hash) => {
        if (location.hash !== shown.current) return;
        history.replaceState(null, "", hash);
        shown.current = hash;
      },
      open: async (what) => {
        try {
          location.hash = `#/run/${(await api.open(what)).session}/0/0`;
        } catch (error) {
          fail(/** @type {Error} */ (error));
        }
      },
      theme: () => {
        const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
        wear(theme);
        localStorage.setItem("turncoat theme", theme);
      },
    }),
    [],
  );
  const refresh = () => api.home().then(setHome, fail);
  /** @type {Record<string, () => unknown>} */
  const screens = {
    run: () => html`<${Explorer} key=${rest[0]} page=${page} route=${rest} />`,
    campaign: () => html`<${CampaignScreen} page=${page} id=${rest[0]} />`,
    bugs: () => home && html`<${Catalogue} page=${page} home=${home} />`,
    home: () => home && html`<${HomeScreen} page=${page} home=${home} refresh=${refresh} />`,
  };
  return html`
    ${(screens[screen] ?? screens.home)()}
    <div class="said" aria-live="polite">${said}</div>
    ${error && html`<div class="error" role="alert"><p>${error}</p><button onClick=${() => setError("")}>Close</button></div>`}`;
}

/** Shows the session that the command line asked for, unless the address names a screen. @param {Home} home */
function begin(home) {
  if (location.hash || !home.first) return;
  const run = alone?.run;
  const at = run ? run.violations[0]?.at ?? run.steps.length : 0;
  location.replace(`#/run/${home.first}/0/${at}`);
}

/** @param {string} theme */
function wear(theme) {
  document.documentElement.dataset.theme = theme;
}

wear(localStorage.getItem("turncoat theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
render(html`<${App} />`, /** @type {Element} */ (document.getElementById("app")));
