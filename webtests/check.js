// What a reader of the report would mind: errors, requests, plots without marks, a page wider than the screen, texts that
// cannot be read.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [file, folder] = process.argv.slice(2);
const url = pathToFileURL(file).href;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const problems = [];

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"],
});

async function look(name, { width, height, colorScheme }, then) {
  // The page forbids code from elsewhere, axe-core included, unless it is told otherwise.
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, bypassCSP: true });
  const page = await context.newPage();
  const mind = (problem) => problems.push(`${name}: ${problem}`);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) mind(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => mind(`error: ${error.message}`));
  page.on("request", (request) => {
    if (request.url() !== url && !request.url().startsWith("data:")) mind(`request: ${request.url()}`);
  });
  await page.goto(url);
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (wider > 0) mind(`the page is ${wider} px wider than the screen`);
  await drawn(page, mind);
  const after = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (after > 0) mind(`with its plots the page is ${after} px wider than the screen`);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, impact, help, nodes } of violations) {
    if (["serious", "critical"].includes(impact)) mind(`axe: ${id}: ${help}: ${nodes.length}, ${nodes[0].html.slice(0, 200)}`);
  }
  await then?.(page);
  await context.close();
}

// Unfolds everything and scrolls to each plot, so that it is drawn.
async function drawn(page, mind) {
  await page.evaluate(() => document.querySelectorAll("details.more").forEach((details) => (details.open = true)));
  const figures = await page.locator("figure.plot").all();
  if (figures.length === 0) mind("there is no plot");
  for (const figure of figures) {
    await figure.scrollIntoViewIfNeeded();
    const marks = figure.locator(".canvas svg").locator("circle, rect, path, text").first();
    try {
      await marks.waitFor({ state: "attached", timeout: 2000 });
    } catch {
      mind(`the plot ${await figure.getAttribute("data-plot")} of table ${await figure.getAttribute("data-table")} has no marks`);
    }
    const out = await figure.evaluate((figure) => {
      const box = figure.querySelector(".canvas").getBoundingClientRect();
      const texts = [...figure.querySelectorAll(".canvas svg text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
      return texts.filter(([, at]) => at.width && (at.left < box.left - 1 || at.right > box.right + 1)).map(([text]) => text);
    });
    if (out.length) mind(`the plot ${await figure.getAttribute("data-plot")} cuts off ${JSON.stringify(out.slice(0, 3))}`);
  }
  await page.evaluate(() => scrollTo(0, 0));
}

// A picture of the top of the page, or of what is below `selector`.
const shot = (name, selector) => async (page) => {
  if (!folder) return;
  if (selector) await page.evaluate((selector) => document.querySelector(selector).scrollIntoView({ behavior: "instant" }), selector);
  await page.waitForTimeout(200);
  await page.screenshot({ path: `${folder}/${name}.png` });
};

await look("light", { width: 1200, height: 1500, colorScheme: "light" }, shot("report-light"));
await look("dark", { width: 1200, height: 1500, colorScheme: "dark" }, shot("report-dark", "figure.plot"));
await look("phone", { width: 360, height: 740, colorScheme: "light" }, shot("report-phone", "figure.plot"));
await look("switched", { width: 900, height: 900, colorScheme: "light" }, async (page) => {
  await page.locator("#theme").click();
  const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  if (background !== "rgb(21, 24, 29)") problems.push(`the switch to dark gives ${background}`);
});
await browser.close();

for (const problem of problems) console.error(problem);
console.log(problems.length ? `${problems.length} problems` : "the report is as it should be");
process.exit(problems.length ? 1 : 0);
