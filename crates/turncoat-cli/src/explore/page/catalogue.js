// All known bugs, by protocol, each with a witness to open.
import { html, useState } from "./vendor/standalone.module.js";
import { TopBar } from "./home.js";
import { Filter, fits } from "./lists.js";

/** @import { BugInfo, Home } from "./types.js" */
/** @import { Page } from "./app.js" */

/** @param {{ page: Page, home: Home }} props */
export function Catalogue({ page, home }) {
  const [filter, setFilter] = useState("");
  const found = home.bugs.filter((bug) => fits(filter, Object.values(bug).join(" ")));
  const family = (/** @type {BugInfo} */ { id }) => id.split("/")[0];
  const families = [...new Set(found.map(family))];
  return html`
    <${TopBar} page=${page} title="Catalogue of bugs"><a href="#/">Home</a><//>
    <main class="plain">
      <${Filter} name="Filter bugs" hint="Filter: agreement, hotstuff, 2021 …" text=${filter} set=${setFilter}>
        <small>${found.length} of ${home.bugs.length}</small>
      <//>
      ${home.bugs.length === 0 && html`<p class="empty">This program includes no known bugs.</p>`}
      ${home.bugs.length > 0 && found.length === 0 && html`<p class="empty">No bug matches the filter.</p>`}
      ${families.map((name) => html`
        <section key=${name}>
          <h2>${name}</h2>
          <ul class="bugs">
            ${found.filter((bug) => family(bug) === name).map((bug) => html`<${Bug} key=${bug.id} page=${page} bug=${bug} />`)}
          </ul>
        </section>`)}
    </main>`;
}

/** @type {Record<number, string>} */
const tiers = { 1: "published with the tools that found it", 2: "a real bug found elsewhere", 3: "seeded" };

/** @param {{ page: Page, bug: BugInfo }} props */
const Bug = ({ page, bug: { id, title, property, tier, source, note, n, flags } }) => html`
  <li>
    <h3>${title}</h3>
    <p><span class="chip bad">${property}</span> <span class="chip" title=${tiers[tier]}>tier ${tier}</span> ${n} replicas · <code>${id}</code></p>
    <p>${source}</p>
    ${note && html`<p class="quiet">${note}</p>`}
    ${flags.length > 0 && html`<p class="quiet">Flags: ${flags.map((flag, i) => html`${i > 0 && ", "}<code>${flag}</code>`)}</p>`}
    <button onClick=${() => page.open({ bug: id })} aria-label=${`Open its witness: ${id}`}>Open its witness</button>
  </li>`;
