// A campaign while it runs, and what it has found.
import { html, useEffect, useState } from "./vendor/standalone.module.js";
import { api, events } from "./api.js";
import { TopBar } from "./home.js";

/** @import { Campaign, Finding } from "./types.js" */
/** @import { Page } from "./app.js" */

/** @param {{ page: Page, id: string }} props */
export function CampaignScreen({ page, id }) {
  const [campaign, setCampaign] = useState(/** @type {Campaign | null} */ (null));
  useEffect(() => {
    let done = false;
    const source = new EventSource(events(id));
    source.onmessage = ({ data }) => {
      /** @type {Campaign} */
      const news = JSON.parse(data);
      setCampaign(news);
      done = news.done;
      if (done) source.close();
    };
    source.onerror = () => {
      if (done || source.readyState !== EventSource.CLOSED) return;
      page.fail(new Error(`no updates from campaign ${id}: the server that ran it may have stopped`));
    };
    return () => source.close();
  }, [id]);
  return html`
    <${TopBar} page=${page} title=${campaign?.title ?? "Campaign"}><a href="#/">Home</a><//>
    <main class="plain">
      ${campaign ? html`<${News} page=${page} campaign=${campaign} />` : html`<p class="empty">Waiting for the campaign …</p>`}
    </main>`;
}

/** @param {{ page: Page, campaign: Campaign }} props */
function News({ page, campaign: { id, protocol, strategy, runs, of, violating, seconds, done, error, findings } }) {
  const counters = {
    runs: `${runs.toLocaleString("en")} of ${of.toLocaleString("en")}`,
    "runs/s": seconds ? Math.round(runs / seconds).toLocaleString("en") : "–",
    violating: violating.toLocaleString("en"),
    seconds: seconds.toFixed(1),
  };
  return html`
    <p class="lead">${strategy} on ${protocol}: ${error ? "failed" : done ? "done" : "running"}</p>
    ${error && html`<p class="notice">${error}</p>`}
    <progress max=${of} value=${runs} aria-label="Runs so far"></progress>
    <dl class="counters">${Object.entries(counters).map(([name, count]) => html`<div><dt>${name}</dt><dd>${count}</dd></div>`)}</dl>
    ${!done && html`<button onClick=${() => api.stop(id).catch(page.fail)}>Stop</button>`}
    <h2>Findings</h2>
    ${findings.length === 0 && html`
      <p class="empty">${done ? "No violations. To search further, try another strategy or more runs." : "No violations so far."}</p>`}
    <ul class="bugs">
      ${findings.map((finding) => html`<${Found} key=${finding.finding} page=${page} campaign=${id} finding=${finding} />`)}
    </ul>`;
}

/** @param {{ page: Page, campaign: string, finding: Finding }} props */
const Found = ({ page, campaign, finding: { finding, property, signature, words, runs, first } }) => html`
  <li>
    <h3>${words}</h3>
    <p><span class="chip bad">${property}</span> in ${runs} ${runs === 1 ? "run" : "runs"}, first in run ${first}</p>
    <p class="quiet"><code>${signature}</code></p>
    <button onClick=${() => page.open({ campaign, finding })} aria-label=${`Open in the explorer: ${words}`}>Open in the explorer</button>
  </li>`;
