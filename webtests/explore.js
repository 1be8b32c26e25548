// What a person does with `turncoat explore`, in a browser and with the real program.
//
//   TURNCOAT=… CHROMIUM=… node explore.js [FOLDER]
//
// With a folder, pictures of all screens go there.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const { TURNCOAT: turncoat, CHROMIUM: executablePath } = process.env;
const patience = Number(process.env.PATIENCE ?? 1);
const [shots] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "turncoat-explore-"));
const nowhere = join(folder, "nowhere");
mkdirSync(nowhere);
const wide = { width: 1440, height: 900 };
const narrow = { width: 390, height: 844 };
const problems = [];
const servers = [];
process.on("exit", () => {
  for (const server of servers) server.kill();
  rmSync(folder, { recursive: true });
});

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"] });

/** Starts the program, and waits until it says where it listens. */
function serve(...args) {
  const server = spawn(turncoat, ["explore", ...args, "--no-open"], { cwd: nowhere });
  servers.push(server);
  return new Promise((resolve, reject) => {
    let said = "";
    const listen = (data) => {
      said += data;
      const address = said.match(/http:\/\/[^\s/]+\/\S*/);
      if (address) resolve(address[0]);
    };
    server.stdout.on("data", listen);
    server.stderr.on("data", listen);
    server.on("exit", (code, signal) => {
      const end = `explore ${args.join(" ")} ended with ${code ?? signal}: ${said}`;
      problems.push(end);
      reject(new Error(end));
    });
  });
}

/** A story: what somebody does, in a page in which nothing may go wrong meanwhile. */
async function story(name, address, act, { size = wide, colorScheme = "light", refused = false } = {}) {
  const started = Date.now();
  const context = await browser.newContext({ viewport: size, colorScheme, acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(8000 * patience);
  const mind = (problem) => problems.push(`${name}: ${problem}`);
  page.on("console", (message) => {
    // A refusal by the server is in the console too; the story that provokes it says so.
    if (["error", "warning"].includes(message.type()) && !refused) mind(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => mind(`error: ${error.message}`));
  page.on("request", (request) => {
    const there = new URL(request.url());
    if (there.protocol !== "data:" && there.host !== new URL(address).host) mind(`request to ${request.url()}`);
  });
  try {
    await page.goto(address);
    await act(page, mind);
  } catch (error) {
    mind(error.message.split("\n").slice(0, 6).join(" "));
    await shot(page, `failed-${name.replaceAll(" ", "-")}`).catch(() => {});
  }
  await context.close();
  console.log(`${((Date.now() - started) / 1000).toFixed(1)} s  ${name}`);
}

const expect = (truth, words) => {
  if (!truth) throw new Error(words);
};
const badge = (page, property, state) => page.locator(`.badge[data-property="${property}"]`, { hasText: state }).waitFor();
const place = async (page) => Number(await page.locator(".scrub input").inputValue());
const until = (page, test, arg) => page.waitForFunction(test, arg);
const settled = (page) => page.locator('.explorer[aria-busy="false"]').waitFor();
const atPlace = async (page, at) => {
  await until(page, (at) => document.querySelector(".scrub input")?.value === String(at), at);
  await settled(page);
};
const message = (page, name) => page.locator(`.message[data-name="${name}"]`);
const button = (page, name) => page.getByRole("button", { name, exact: true });

/** What axe-core finds serious, but for what is faded on purpose; `only` is one rule. */
async function sound(page, mind, screen, only) {
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (wider > 0) mind(`${screen} is ${wider} px wider than the screen`);
  await page.evaluate(axe);
  const { violations } = await page.evaluate((only) => window.axe.run({ exclude: [[".dim"]] }, { resultTypes: ["violations"], ...(only && { runOnly: only }) }), only);
  for (const { id, impact, help, nodes } of violations) {
    if (["serious", "critical"].includes(impact)) mind(`${screen}: axe: ${id}: ${help}: ${nodes.length}, ${nodes[0].html.slice(0, 200)}`);
  }
}

async function shot(page, name) {
  if (!shots) return;
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(shots, `${name}.png`) });
}

const witness = await serve("pbft-java/figure-2");
const blank = await serve("pbft-java");
const empty = await serve();

await story("a witness leads to its violation", witness, async (page) => {
  await settled(page);
  await badge(page, "agreement", "holds");
  expect((await place(page)) === 0, "it does not begin at the start");
  await page.keyboard.press("n");
  await badge(page, "agreement", "violated");
  await page.locator(".drawing .violation", { hasText: "slot 2" }).first().waitFor();
  await page.locator(".logs .first", { hasText: "≠" }).waitFor();
  await page.locator(".why p").first().waitFor();
  await page.locator(".lied", { hasText: "p0 to p3" }).waitFor();
  expect(await page.locator(".head.liar", { hasText: "p0" }).count(), "p0 is not marked as a liar");
  const at = await place(page);
  await page.reload();
  await badge(page, "agreement", "violated");
  expect((await place(page)) === at, "a reload loses the place");
});

/** Delivers the request and lies in the proposal to p3; leaves the session after the lie. */
async function lieToP3(page, choose) {
  await settled(page);
  await message(page, "c0>p0 request #1").click();
  await button(page, "Deliver").click();
  const proposal = message(page, "p0>p3 pre-prepare #1");
  await proposal.click();
  await page.keyboard.press("m");
  const dialog = page.locator("dialog");
  await dialog.locator(".lies").waitFor();
  const confess = dialog.getByRole("button", { name: "Make p0 a liar" });
  if (await confess.count()) {
    await confess.click();
    await page.locator(".head.liar", { hasText: "p0" }).waitFor();
    await page.keyboard.press("G");
    await settled(page);
    await proposal.click();
    await page.keyboard.press("m");
  }
  await choose(dialog);
  await page.locator(".lied", { hasText: "p0 to p3" }).waitFor();
}

let exported;
await story("the attack of Figure 2 is played by hand", blank, async (page, mind) => {
  await lieToP3(page, (dialog) => dialog.locator('[data-lie="pre-prepare.seq+1"]').click());
  await page.locator(".drawing .arrow.lie .tag", { hasText: "✎" }).waitFor();
  await badge(page, "agreement", "holds");
  await message(page, "p0>p3 pre-prepare #1").click();
  await button(page, "Deliver").click();
  // Integrity is violated on the way: p3 decides the second slot before the first.
  await button(page, "to violation").click();
  await badge(page, "integrity", "violated");
  await button(page, "to violation").click();
  await badge(page, "agreement", "violated");
  await shot(page, "attack-by-hand");
  await sound(page, mind, "the explorer after the attack");

  await page.locator("summary", { hasText: "Export" }).click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "scenario.toml" }).click()]);
  exported = join(folder, "exported.toml");
  await download.saveAs(exported);
  const [alone] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "page.html" }).click()]);
  await alone.saveAs(join(folder, "alone.html"));
  await page.locator(".why p").first().waitFor();
});

await story("what was exported replays with the same verdict", blank, async () => {
  let said = "";
  try {
    execFileSync(turncoat, ["replay", exported], { cwd: folder, stdio: "pipe" });
  } catch (error) {
    expect(error.status === 1, `replay ended with ${error.status}: ${error.stderr}`);
    said = String(error.stdout);
  }
  expect(/agreement violated/.test(said), `replay of the exported scenario says: ${said}`);
});

await story("undo, acting in the past, and forks", await serve("pbft"), async (page) => {
  await settled(page);
  await page.keyboard.press("G");
  const end = await place(page);
  await button(page, "10 steps").click();
  await atPlace(page, end + 10);
  await page.keyboard.press("u");
  await page.keyboard.press("u");
  await atPlace(page, end + 8);
  await page.keyboard.press("r");
  await atPlace(page, end + 9);
  const runs = await page.locator("#tab-runs").textContent();
  await page.locator(".message").first().focus();
  await page.keyboard.press("d");
  await until(page, () => document.activeElement?.matches(".flying"));
  await until(page, (runs) => document.querySelector("#tab-runs")?.textContent !== runs, runs);
  await atPlace(page, end + 10);
  await page.keyboard.press("f");
  await page.locator("dialog input[name=name]").fill("what if");
  await page.locator("dialog").getByRole("button", { name: "Fork" }).click();
  await page.locator("#tab-runs").click();
  await page.locator(".runs [aria-current]", { hasText: "what if" }).waitFor();
});

await story("a field is set by hand", await serve("pbft-java"), async (page) => {
  await lieToP3(page, async (dialog) => {
    await dialog.locator("select[name=field]").selectOption("n");
    await dialog.locator("input[name=value]").fill("7");
    await dialog.getByRole("button", { name: "Set" }).click();
  });
  await page.locator(".lied button").first().click();
  await page.locator("table.lie ins", { hasText: "7" }).waitFor();
});

await story("the keyboard is enough", witness, async (page) => {
  await settled(page);
  await page.keyboard.press("g");
  await page.keyboard.press("g");
  await atPlace(page, 0);
  await page.keyboard.press("j");
  await atPlace(page, 1);
  await until(page, () => document.querySelector(".said")?.textContent?.startsWith("step 1: "));
  await page.keyboard.press("k");
  await atPlace(page, 0);
  await page.keyboard.press("5");
  await page.locator('.head[aria-pressed="true"]', { hasText: "p3" }).waitFor();
  await page.keyboard.press("J");
  const there = await place(page);
  expect(there > 1, `the first step of p3 is said to be ${there}`);
  await page.keyboard.press("b");
  await page.locator(".flag").waitFor();
  await page.keyboard.press("/");
  await until(page, () => document.activeElement?.matches("input[type=search]"));
  await page.keyboard.type("p1");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.locator("dialog[open]", { hasText: "Keys and signs" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("Space");
  await atPlace(page, there + 2);
  await page.keyboard.press("Space");
  // From the list of messages: the arrow keys move, and the one with the focus is selected.
  await page.locator('.message[tabindex="0"]').focus();
  await page.keyboard.press("ArrowDown");
  await until(page, () => document.activeElement?.matches(".message.selected"));
  await page.keyboard.press("Escape");
  await page.locator(".scroller").focus();
  await page.keyboard.press("ArrowUp");
  await page.locator(".row.chosen").first().waitFor();
  await until(page, () => document.querySelectorAll(".drawing .dim").length > 0);
});

await story("what the server refuses is said in words", witness, async (page) => {
  await page.evaluate(() => (location.hash = "#/run/nobody/0/0"));
  const alert = page.getByRole("alert");
  await alert.waitFor();
  expect(/session|nobody/.test(await alert.textContent()), `it says ${await alert.textContent()}`);
}, { refused: true });

await story("nothing there yet", `${empty}#/`, async (page, mind) => {
  await page.getByText("Nothing is open").waitFor();
  await page.getByText("No scenario and no database").waitFor();
  await page.getByText("None yet").waitFor();
  await sound(page, mind, "the empty home");
  await shot(page, "home-empty");
  await page.locator(".plain input[type=file]").setInputFiles(exported);
  await settled(page);
  await page.keyboard.press("n");
  await badge(page, "integrity", "violated");
  await page.evaluate(() => (location.hash = "#/"));
  await page.locator(".entries a", { hasText: "choice" }).waitFor();
});

await story("a campaign finds something, which opens", `${empty}#/`, async (page, mind) => {
  const form = page.locator("form.fields", { hasText: "Start a campaign" });
  await form.locator("select[name=protocol]").selectOption("pbft-java");
  await form.locator("select[name=strategy]").selectOption("byzzfuzz");
  await form.locator("input[name=runs]").fill("300");
  await form.getByRole("button", { name: "Hunt" }).click();
  await page.getByText(": done").waitFor();
  await sound(page, mind, "the campaign");
  await button(page.locator(".bugs li").first(), /Open/).click();
  await page.locator(".badge").first().waitFor();
  await page.keyboard.press("n");
  await page.locator(".badge.bad").first().waitFor();
});

await story("a file that is dropped onto the page opens", `${empty}#/`, async (page) => {
  await page.locator(".card").first().waitFor();
  const file = await page.evaluateHandle((text) => {
    const dropped = new DataTransfer();
    dropped.items.add(new File([text], "dropped.toml"));
    return dropped;
  }, readFileSync(exported, "utf8"));
  await page.dispatchEvent(".card", "drop", { dataTransfer: file });
  await settled(page);
  await page.locator("h1", { hasText: "dropped.toml" }).waitFor();
});

execFileSync(turncoat, ["fuzz", "pbft", "--runs", "50", "--db", "runs.db"], { cwd: nowhere, stdio: "ignore" });
await story("a database opens its report", `${empty}#/`, async (page) => {
  const link = page.locator("a", { hasText: "runs.db" });
  await page.goto(new URL(await link.getAttribute("href"), empty).href);
  await page.locator("h1").waitFor();
  await page.locator("body", { hasText: "runs.db" }).waitFor();
});

await story("the catalogue opens any bug", `${empty}#/bugs`, async (page, mind) => {
  await page.locator(".bugs li").first().waitFor();
  const all = await page.locator(".bugs li").count();
  await page.locator("input[type=search]").fill("figure-2");
  await until(page, (all) => document.querySelectorAll(".bugs li").length < all, all);
  await sound(page, mind, "the catalogue");
  await page.getByRole("button", { name: "Open its witness: pbft-java/figure-2", exact: true }).click();
  await settled(page);
  await page.locator("h1", { hasText: "figure-2" }).waitFor();
});

await story("partitions of a scenario are shaded", await serve("hotstuff-chained/no-consecutive-views"), async (page) => {
  await settled(page);
  await page.locator(".band", { hasText: "cut off: p3" }).first().waitFor({ state: "attached" });
  await page.locator(".band", { hasText: "cut off: p0.b" }).first().waitFor({ state: "attached" });
});

await story("twenty thousand steps", await serve("pbft/read-only-liveness"), async (page) => {
  await settled(page);
  const opening = [];
  const frames = [];
  // The best of three: a machine that is busy with something else is not the page's fault.
  for (let i = 0; i < 3; i++) {
    const started = Date.now();
    await page.reload();
    await page.locator(".drawing .row").first().waitFor();
    opening.push(Date.now() - started);
    await settled(page);
    frames.push(await page.locator(".scrub input").evaluate(drag));
  }
  const [opened, slow] = [opening, frames].map((times) => Math.min(...times));
  console.log(`       opens in ${opened} ms; while it is dragged one frame in twenty takes more than ${slow.toFixed(0)} ms`);
  expect(opened < 1500 * patience, `it opens in ${opened} ms`);
  expect(slow < 50 * patience, `one frame in twenty takes ${slow} ms`);
  const steps = await page.locator(".scrub input").evaluate((input) => Number(input.max));
  expect(steps > 20000, `there are ${steps} steps only`);
  const drawn = await page.locator(".drawing .row").count();
  expect(drawn > 5 && drawn < 200, `${drawn} rows are in the page`);
  await badge(page, "termination", "violated");
});

/** Drags the place through the whole run, and says how long one frame in twenty takes at least. It runs in the page. */
async function drag(input) {
  const end = Number(input.max);
  const times = [];
  let before = await new Promise(requestAnimationFrame);
  for (let i = 1; i <= 100; i++) {
    input.value = String(Math.round((end * i) / 100));
    input.dispatchEvent(new Event("input", { bubbles: true }));
    const now = await new Promise(requestAnimationFrame);
    times.push(now - before);
    before = now;
  }
  return times.sort((a, b) => a - b)[95];
}

await story("read only", await serve("pbft-java/figure-2", "--read-only"), async (page, mind) => {
  await settled(page);
  await page.keyboard.press("j");
  await atPlace(page, 1);
  expect((await page.getByRole("button", { name: /^(Deliver|Fire|Crash|Split)/ }).count()) === 0, "there are buttons to act with");
  await sound(page, mind, "the explorer to read only");
});

await story("a page that stands alone", pathToFileURL(join(folder, "alone.html")).href, async (page, mind) => {
  await badge(page, "integrity", "violated");
  await page.keyboard.press("n");
  await badge(page, "agreement", "violated");
  await page.locator(".drawing .violation", { hasText: "agreement" }).waitFor();
  expect((await page.getByRole("button", { name: /^Deliver/ }).count()) === 0, "there are buttons to act with");
  await sound(page, mind, "the page that stands alone");
});

const hunt = { protocol: "pbft-java", strategy: "byzzfuzz", runs: 300 };
await fetch(`${witness}api/campaigns`, {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(hunt),
});
for (const [size, viewport] of Object.entries({ wide, narrow })) {
  for (const colorScheme of ["light", "dark"]) {
    await story(`all screens, ${size} and ${colorScheme}`, witness, async (page, mind) => {
      const look = async (name) => {
        await sound(page, mind, name, colorScheme === "dark" && "color-contrast");
        await shot(page, `${name}-${size}-${colorScheme}`);
      };
      await settled(page);
      await page.keyboard.press("n");
      await badge(page, "agreement", "violated");
      await look("explorer");
      if (size === "narrow") {
        for (const region of ["Events", "Inspect", "Logs"]) {
          await button(page.locator(".regions"), region).click();
          await look(`explorer-${region.toLowerCase()}`);
        }
      } else {
        await page.locator(".lied button").first().click();
        await page.locator("table.lie").waitFor();
        await look("explorer-message");
        await page.getByRole("tab", { name: "Story" }).click();
        await page.locator(".story h2").first().waitFor();
        await button(page, "List").click();
        await page.locator(".long li.now").waitFor();
        await look("explorer-story");
        await page.keyboard.press("?");
        await page.locator("dialog[open]").waitFor();
        await look("help");
        await page.keyboard.press("Escape");
      }
      await page.evaluate(() => (location.hash = "#/"));
      await page.locator(".card").first().waitFor();
      await look("home");
      await page.evaluate(() => (location.hash = "#/bugs"));
      await page.locator(".bugs li").first().waitFor();
      await look("catalogue");
      await page.evaluate(() => (location.hash = "#/campaign/1"));
      await page.getByText(": done").waitFor();
      await look("campaign");
    }, { size: viewport, colorScheme });
  }
}

await browser.close();
for (const problem of problems) console.error(problem);
console.log(problems.length ? `${problems.length} problems` : "the explorer is as it should be");
process.exit(problems.length ? 1 : 0);
