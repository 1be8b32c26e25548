// The first screen: what is open, and what can be opened.
import { html, useState } from "./vendor/standalone.module.js";
import { api, report } from "./api.js";
import { filled, typed } from "./forms.js";
import { Verdict } from "./parts.js";

/** @import { Campaign, FileInfo, Home } from "./types.js" */
/** @import { Page } from "./app.js" */

/** @param {{ page: Page, title: string, children?: unknown }} props */
export const TopBar = ({ page, title, children }) => html`
  <header class="bar">
    <a class="home" href="#/">turncoat</a>
    <div class="what"><h1>${title}</h1></div>
    <nav class="tools">${children}<button onClick=${page.theme} aria-label="Light or dark">◐</button></nav>
  </header>`;

/** @param {{ page: Page, home: Home, refresh: () => void }} props */
export function HomeScreen({ page, home, refresh }) {
  const [over, setOver] = useState(false);
  const take = async (/** @type {File | undefined} */ file) => {
    if (file) await page.open({ text: await file.text(), name: file.name });
  };
  const choose = (/** @type {Event} */ event) => take(/** @type {HTMLInputElement} */ (event.target).files?.[0]);
  const drag = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setOver(event.type === "dragover");
    if (event.type === "drop") take(event.dataTransfer?.files[0]);
  };
  return html`
    <${TopBar} page=${page} title="Explore"><a href="#/bugs">Catalogue of bugs</a><//>
    <main class=${over ? "plain dropping" : "plain"} onDragOver=${drag} onDragLeave=${drag} onDrop=${drag}>
      <p class="lead">Step through a run of a consensus protocol, play the adversary by hand, and see why replicas disagree.</p>
      <div class="cards">
        <div>
          <${Sessions} page=${page} home=${home} refresh=${refresh} />
          <section class="card">
            <h2>Files</h2>
            <${Files} page=${page} files=${home.files} />
            ${!home.readOnly && html`
              <label class="choose button">Choose a scenario …
                <input type="file" accept=".toml" onChange=${choose} />
              </label>
              <p class="hint">Or drop a <code>.toml</code> file anywhere on this page.</p>`}
          </section>
          ${home.bugs.length > 0 && html`<${KnownBugs} page=${page} home=${home} />`}
        </div>
        <div>
          ${!home.readOnly && html`<${StartForm} page=${page} home=${home} />`}
          <section class="card">
            <h2>Campaigns</h2>
            <${Campaigns} campaigns=${home.campaigns} />
            ${!home.readOnly && html`<${HuntForm} page=${page} home=${home} />`}
          </section>
        </div>
      </div>
      <p class="hint">turncoat ${home.version}${home.readOnly ? ", read only" : ""}</p>
    </main>`;
}

/** @param {{ page: Page, home: Home, refresh: () => void }} props */
const Sessions = ({ page, home: { sessions, readOnly }, refresh }) => html`
  <section class="card">
    <h2>Open sessions</h2>
    ${sessions.length === 0 && html`
      <p class="empty">Nothing is open. Start a protocol, or open a known bug from the <a href="#/bugs">catalogue</a>.</p>`}
    <ul class="entries">
      ${sessions.map(({ id, title, protocol, runs, choices, violation }) => html`
        <li>
          <a href=${`#/run/${id}/0/0`}>
            <b>${title}</b> <small>${protocol}, ${choices} ${choices === 1 ? "choice" : "choices"}${runs > 1 ? `, ${runs} runs` : ""}</small>
            <${Verdict} violated=${violation} />
          </a>
          ${!readOnly && html`<button aria-label=${`Close ${title}`} onClick=${() => api.close(id).then(refresh, page.fail)}>✕</button>`}
        </li>`)}
    </ul>
  </section>`;

/** @param {{ page: Page, files: FileInfo[] }} props */
const Files = ({ page, files }) => html`
  ${files.length === 0 && html`
    <p class="empty">
      No scenario and no database in this folder.
      ${" "}<code>turncoat fuzz</code> saves what it finds in <code>turncoat-corpus</code>.
    </p>`}
  <ul class="entries">
    ${files.map(({ name, kind, about }) =>
      kind === "database"
        ? html`
          <li>
            <a href=${report(name)} target="_blank" rel="noopener"><b>${name}</b> <small>${about}; its report opens in a new tab</small></a>
          </li>`
        : html`
          <li><button class="entry" onClick=${() => page.open({ file: name })}><b>${name}</b> <small>${about}</small></button></li>`)}
  </ul>`;

const BUGS_SHOWN = 4;

/** Some of the bugs that were found in real systems or papers, one of a protocol. @param {{ page: Page, home: Home }} props */
function KnownBugs({ page, home: { bugs } }) {
  const found = bugs.filter(({ tier }) => tier === 1);
  const family = (/** @type {{ id: string }} */ { id }) => id.split("/")[0];
  const shown = found.filter((bug, i) => found.findIndex((other) => family(other) === family(bug)) === i).slice(0, BUGS_SHOWN);
  return html`
    <section class="card">
      <h2>Known bugs</h2>
      <ul class="entries">
        ${shown.map(({ id, title }) => html`
          <li><button class="entry" onClick=${() => page.open({ bug: id })}><b>${id}</b> <small>${title}</small></button></li>`)}
      </ul>
      <a href="#/bugs">All ${bugs.length} in the catalogue</a>
    </section>`;
}

/** @param {{ campaigns: Campaign[] }} props */
const Campaigns = ({ campaigns }) => html`
  ${campaigns.length === 0 && html`<p class="empty">None yet. A campaign runs a protocol many times and keeps the runs that violate something.</p>`}
  <ul class="entries">
    ${campaigns.map(({ id, title, runs, of, violating, done }) => html`
      <li>
        <a href=${`#/campaign/${encodeURIComponent(id)}`}>
          <b>${title}</b> <small>${done ? "done" : "running"}, ${runs} of ${of} runs, ${violating} violating</small>
        </a>
      </li>`)}
  </ul>`;

/** @param {Record<string, string>} from @param {string[]} names */
const numbers = (from, names) => Object.fromEntries(names.filter((name) => name in from).map((name) => [name, Number(from[name])]));

/** @param {{ home: Home }} props */
const ProtocolField = ({ home }) => html`
  <label class="wide">Protocol
    <select name="protocol">${home.protocols.map(({ name, about }) => html`<option value=${name}>${name} – ${about}</option>`)}</select>
  </label>`;

/** @param {{ name: string, title: string, hint: string, min?: number }} props */
const NumberField = ({ name, title, hint, min = 1 }) => html`
  <label>${title} <input name=${name} type="number" min=${min} placeholder=${hint} /></label>`;

/** @param {{ page: Page, home: Home }} props */
function StartForm({ page, home }) {
  const start = filled((from) =>
    page.open({
      protocol: from.protocol,
      ...numbers(from, ["n", "f", "clients", "requests"]),
      ...(from.byzantine ? { byzantine: from.byzantine.split(/[\s,]+/) } : {}),
    }),
  );
  return html`
    <section class="card">
      <h2>Start a protocol</h2>
      <form class="fields" onSubmit=${start}>
        <${ProtocolField} home=${home} />
        <${NumberField} name="n" title="Replicas" hint="default" />
        <${NumberField} name="f" title="May be Byzantine" hint="default" min=${0} />
        <${NumberField} name="clients" title="Clients" hint="1" />
        <${NumberField} name="requests" title="Requests" hint="2" />
        <label class="wide">Byzantine <input name="byzantine" placeholder="p0" /></label>
        <button class="primary">Start</button>
      </form>
    </section>`;
}

/** @param {{ page: Page, home: Home }} props */
function HuntForm({ page, home }) {
  const [name, setName] = useState((home.strategies.find(({ name }) => name === "portfolio") ?? home.strategies[0])?.name);
  const strategy = home.strategies.find((each) => each.name === name);
  const start = filled(async (from) => {
    const params = (strategy?.params ?? []).filter(({ name }) => `set.${name}` in from);
    const set = Object.fromEntries(params.map(({ name }) => [name, from[`set.${name}`]]));
    try {
      const { campaign } = await api.hunt({ protocol: from.protocol, strategy: from.strategy, runs: Number(from.runs), set });
      location.hash = `#/campaign/${encodeURIComponent(campaign)}`;
    } catch (error) {
      page.fail(/** @type {Error} */ (error));
    }
  });
  return html`
    <form class="fields" onSubmit=${start}>
      <h3 class="wide">Start a campaign</h3>
      <${ProtocolField} home=${home} />
      <label class="wide">Strategy
        <select name="strategy" onChange=${typed(setName)}>
          ${home.strategies.map(({ name, about }) => html`
            <option value=${name} selected=${name === strategy?.name}>${name} – ${about}</option>`)}
        </select>
      </label>
      ${strategy?.params.map(({ name, about, default: usual }) => html`
        <label title=${about}>${name} <input name=${`set.${name}`} placeholder=${usual} /></label>`)}
      <label>Runs <input name="runs" type="number" min="1" value="1000" required /></label>
      <button class="primary">Hunt</button>
    </form>`;
}
