"use strict";
// Draws the plots of the page from the data in it. Colours are CSS variables, so that light and dark need no redrawing.
(() => {
  const report = JSON.parse(document.getElementById("data").textContent);
  const WIDE = 620;
  const grouped = (n) => n.toLocaleString("en");
  const percent = (share) => `${+(100 * share).toPrecision(2)} %`;
  const rate = (share) => (share.of ? share.hits / share.of : NaN);
  const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  // 0.001, 10, 10⁻⁵
  const power = (n) => {
    if (n >= 0.001 && n < 100000) return grouped(n);
    return `10${String(Math.round(Math.log10(n))).replace(/./g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit] ?? "⁻")}`;
  };
  // The powers of ten between two numbers, as many as there is room for; 2 and 5 times them where they are few.
  const powers = (low, high, most) => {
    const all = d3.range(Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9) + 1);
    if (all.length <= 2) return [-1, 0, 1].flatMap((more) => [1, 2, 5].map((n) => n * 10 ** ((all[0] ?? 0) + more))).filter((n) => n >= low && n <= high);
    const every = Math.ceil(all.length / most);
    return all.filter((n) => n % every === 0).map((n) => 10 ** n);
  };
  const element = (name, properties, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  // Rows go down the page. Where there is room their names are to the left, else above.
  function down(names, width) {
    const wide = width >= WIDE;
    const longest = Math.max(...names.map((name) => name.length));
    return {
      marginLeft: wide ? Math.min(300, 12 + 6.3 * longest) : 20,
      marginRight: 20,
      y: { domain: names, label: null, axis: null, type: "band", padding: 0.1 },
      size: wide ? 25 : 38,
      dy: wide ? 0 : 8,
      names: Plot.text(names, {
        y: (name) => name, text: (name) => short(name, wide ? 46 : Math.floor(width / 7)), frameAnchor: "left",
        textAnchor: wide ? "end" : "start", dx: wide ? -10 : -20, dy: wide ? 0 : -9, fontSize: 12, fill: "var(--ink)", stroke: "var(--panel)", strokeWidth: 4,
      }),
    };
  }

  const style = { fontSize: "12px", fontFamily: "inherit" };

  function forest(table, width) {
    const rows = table.rows.filter((row) => row.versus.rates).map((row) => {
      const { odds_ratio: { value, interval }, holm, p } = row.versus.rates;
      const sure = holm <= 0.05;
      const colour = sure ? (value > 1 ? "var(--more)" : "var(--less)") : "var(--grey)";
      return { name: row.name, value, low: interval.low, high: interval.high, sure, colour, p };
    });
    const side = down(rows.map((row) => row.name), width);
    const low = Math.min(0.5, ...rows.map((row) => row.low)), high = Math.max(2, ...rows.map((row) => row.high));
    const [from, to] = [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))];
    const ticks = powers(from, to, width / 75);
    return Plot.plot({
      ...side, width, height: rows.length * side.size + 52, marginTop: 8, marginBottom: 40, style,
      x: { type: "log", domain: [from, to], label: "odds ratio", ticks, tickFormat: power },
      marks: [
        Plot.gridX({ stroke: "var(--line)", strokeOpacity: 1, ticks }),
        Plot.ruleX([1], { stroke: "var(--ink)" }),
        side.names,
        Plot.link(rows, { x1: "low", x2: "high", y: "name", stroke: "colour", strokeWidth: 2, dy: side.dy }),
        Plot.dot(rows, {
          x: "value", y: "name", r: 4.5, stroke: "colour", strokeWidth: 2, dy: side.dy,
          fill: (row) => (row.sure ? row.colour : "var(--panel)"),
          title: (row) => `${row.name}\nodds ratio ${row.value.toPrecision(3)} (${row.low.toPrecision(2)} to ${row.high.toPrecision(2)})`, tip: true,
        }),
      ],
    });
  }

  // The rows that are drawn in colour at first: the baseline and the quickest.
  function chosen(table) {
    const found = table.rows.filter((row) => row.first_run);
    const best = found.filter((row) => row.name !== table.baseline).sort((a, b) => rate(b.success) - rate(a.success));
    const names = [...found.filter((row) => row.name === table.baseline), ...best.slice(0, 3)].map((row) => row.name);
    return names;
  }

  const dashes = ["4 3", null, null, "7 3", null, "2 2"];

  function survival(table, width, figure) {
    const state = (figure.state ??= { unit: "runs", names: chosen(table), colours: new Map() });
    const rows = table.rows.filter((row) => row.first_run);
    for (const name of state.names) {
      if (state.colours.has(name)) continue;
      const free = name === table.baseline ? [0] : [1, 2, 3, 4, 5].filter((n) => ![...state.colours.values()].includes(n));
      state.colours.set(name, free[0] ?? 5);
    }
    choices(figure, table, rows, state);
    const of = (row) => (state.unit === "runs" ? row.first_run : row.first_step);
    const times = rows.flatMap((row) => of(row).curve.map((point) => point.time));
    const start = state.unit === "runs" ? 0.7 : Math.max(1, d3.min(times) * 0.8), end = d3.max(times);
    const lines = rows.map((row) => {
      const last = of(row).curve.at(-1);
      const points = [{ time: start, survival: 1, low: 1, high: 1, censored: 0 }, ...of(row).curve];
      const n = state.colours.get(row.name);
      const on = state.names.includes(row.name);
      return { row, points, on, last, colour: on ? `var(--s${n})` : "var(--none)", dash: on ? dashes[n] : null };
    }).sort((a, b) => a.on - b.on);
    const on = lines.filter((line) => line.on).sort((a, b) => state.names.indexOf(a.row.name) - state.names.indexOf(b.row.name));
    const wide = width >= WIDE;
    const side = down(on.map((line) => line.row.name), width);
    const marginLeft = wide ? Math.min(side.marginLeft + 20, 200) : 44;
    const x = { type: "log", domain: [start, Math.max(end, start * 10)], label: state.unit };
    const ticks = powers(start, end, width / 75);
    // Where little is found, the curves are near the top: show that part alone.
    const least = d3.min(on, (line) => d3.min(line.points, (point) => point.low)) ?? 0;
    const floor = least > 0.5 ? Math.floor(20 * least - 0.5) / 20 : 0;
    const curves = Plot.plot({
      width, height: wide ? 340 : 280, marginLeft, marginRight: 20, marginTop: 26, marginBottom: 38, style,
      x: { ...x, ticks, tickFormat: power }, y: { domain: [floor, 1], clamp: true, label: "found nothing yet", tickFormat: "%", ticks: 5 },
      marks: [
        Plot.gridY({ stroke: "var(--line)", strokeOpacity: 1, ticks: 5 }),
        ...on.map((line) => Plot.areaY(line.points, { x: "time", y1: "low", y2: "high", curve: "step-after", fill: line.colour, fillOpacity: 0.09 })),
        ...lines.map((line) => Plot.lineY(line.points, { x: "time", y: "survival", curve: "step-after", stroke: line.colour, strokeWidth: line.on ? 2.25 : 1, strokeDasharray: line.dash })),
        ...on.map((line) => Plot.text(line.points.filter((point) => point.censored), { x: "time", y: "survival", text: () => "|", fill: line.colour, fontSize: 12, fontWeight: 700 })),
      ],
    });
    const at = (line, time) => (line.row && of(line.row).curve.find((point) => point.time >= time)?.at_risk) ?? 0;
    const risk = on.flatMap((line) => ticks.map((time) => ({ name: line.row.name, time, n: at(line, time), colour: line.colour })));
    const numbers = Plot.plot({
      width, height: on.length * (wide ? 20 : 34) + 26, marginLeft, marginRight: 20, marginTop: 22, marginBottom: 4, style,
      x: { ...x, axis: null }, y: { ...side.y },
      marks: [
        Plot.text(["trials not yet ended"], { frameAnchor: "top-left", dx: wide ? -marginLeft + 4 : -40, dy: -20, fill: "var(--muted)" }),
        Plot.text(on, {
          y: (line) => line.row.name, text: (line) => short(line.row.name, wide ? 26 : Math.floor(width / 7)), fill: "colour",
          frameAnchor: "left", textAnchor: wide ? "end" : "start", dx: wide ? -24 : -40, dy: wide ? 0 : -8, fontSize: 12,
        }),
        Plot.text(risk, { x: "time", y: "name", text: (cell) => grouped(cell.n), fill: "var(--ink)", dy: wide ? 0 : 7 }),
      ],
    });
    return element("div", {}, curves, numbers);
  }

  // Buttons above the curves: runs or steps, and which rows are in colour.
  function choices(figure, table, rows, state) {
    const box = figure.querySelector(".choices");
    const button = (text, pressed, change, more = {}) => {
      const made = element("button", { type: "button", textContent: text, ...more });
      made.setAttribute("aria-pressed", pressed);
      made.addEventListener("click", () => {
        change();
        draw(figure);
        [...box.children].find((other) => other.textContent === text)?.focus();
      });
      return made;
    };
    const unit = button(`in ${state.unit === "runs" ? "steps" : "runs"}`, false, () => (state.unit = state.unit === "runs" ? "steps" : "runs"), { className: "unit" });
    unit.removeAttribute("aria-pressed");
    box.replaceChildren(unit, ...rows.map((row) => {
      const on = state.names.includes(row.name);
      const made = button(row.name, on, () => {
        state.names = on ? state.names.filter((name) => name !== row.name) : [...state.names, row.name];
        if (on) state.colours.delete(row.name);
      });
      if (on) made.style.setProperty("--c", `var(--s${state.colours.get(row.name)})`);
      return made;
    }));
  }

  function heat(table, width) {
    const most = d3.max(table.heat.flatMap((map) => map.cells.map((cell) => rate(cell.success)))) || 1;
    const maps = table.heat.map((map) => {
      const values = (key) => [...new Set(map.cells.map((cell) => cell[key]))].sort(d3.ascending);
      const [xs, ys] = [values("x"), values("y").reverse()];
      const size = Math.min(96, (width - 60) / xs.length);
      const plot = Plot.plot({
        width: 44 + size * xs.length, height: 44 + Math.min(64, size) * ys.length, marginLeft: 40, marginRight: 4, marginTop: 4, marginBottom: 40, style,
        x: { domain: xs, label: map.x, tickSize: 0, type: "band" }, y: { domain: ys, label: map.y, tickSize: 0, type: "band" },
        color: { type: "linear", scheme: "blues", domain: [0, most] },
        marks: [
          Plot.cell(map.cells, { x: "x", y: "y", fill: (cell) => rate(cell.success), inset: 1, rx: 3, title: (cell) => `${cell.row}\n${cell.success.hits} of ${grouped(cell.success.of)}` }),
          Plot.text(map.cells, { x: "x", y: "y", text: (cell) => (cell.success.hits ? percent(rate(cell.success)) : `≤ ${percent(cell.success.interval?.high ?? 1)}`), fill: (cell) => (rate(cell.success) > 0.55 * most ? "#fff" : "#14202e"), fontSize: 12 }),
        ],
      });
      const name = map.facet ? `${map.strategy}, ${map.facet}` : map.strategy;
      return element("figure", {}, element("figcaption", { textContent: name }), plot);
    });
    return element("div", { className: "maps" }, ...maps);
  }

  const BINS = ["0", "1", "2", "3–5", "6–10", "11–30", "31–100", "more"];

  function faults(table, width) {
    const bars = table.rows.flatMap((row) => {
      let sum = 0;
      return row.faults.histogram.map((runs, bin) => {
        const from = sum / row.runs;
        sum += runs;
        return { name: row.name, bin, from, to: sum / row.runs, runs, of: row.runs };
      });
    }).filter((bar) => bar.runs);
    const side = down(table.rows.map((row) => row.name), width);
    const plot = Plot.plot({
      ...side, width, height: table.rows.length * side.size + 44, marginTop: 4, marginBottom: 38, style,
      x: { domain: [0, 1], label: "share of runs", tickFormat: "%", ticks: width >= WIDE ? 10 : 5 },
      marks: [
        side.names,
        Plot.barX(bars, {
          x1: "from", x2: "to", y: "name", fill: (bar) => `var(--f${bar.bin})`, insetTop: width >= WIDE ? 3 : 20, insetBottom: 3, insetLeft: 0.5, insetRight: 0.5,
          title: (bar) => `${bar.name}\n${BINS[bar.bin]} faults: ${grouped(bar.runs)} of ${grouped(bar.of)} runs`, tip: true,
        }),
      ],
    });
    const swatches = BINS.map((label, bin) => {
      const made = element("span", { textContent: label });
      made.style.setProperty("--c", `var(--f${bin})`);
      return made;
    });
    const legend = element("div", { className: "swatches" }, "faults in a run:", ...swatches);
    return element("div", {}, legend, plot);
  }

  const plots = { forest, survival, heat, faults };

  function draw(figure) {
    const canvas = figure.querySelector(".canvas");
    const space = getComputedStyle(canvas);
    const width = Math.floor(canvas.clientWidth - parseFloat(space.paddingLeft) - parseFloat(space.paddingRight));
    if (width <= 0) return;
    figure.width = width;
    canvas.replaceChildren(plots[figure.dataset.plot](report.tables[figure.dataset.table], width, figure));
    // The plot has one name, that of its canvas; what is in it has none.
    canvas.querySelectorAll("[aria-label]").forEach((mark) => mark.removeAttribute("aria-label"));
  }

  // Plots are drawn when they come near the screen, and again when their width changes.
  const figures = [...document.querySelectorAll("figure.plot")];
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting && !target.width) draw(target);
  }, { rootMargin: "400px" });
  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const figure = target.closest("figure.plot");
      const canvas = getComputedStyle(target);
      const width = Math.floor(target.clientWidth - parseFloat(canvas.paddingLeft) - parseFloat(canvas.paddingRight));
      if (figure.width && width > 0 && width !== figure.width) requestAnimationFrame(() => draw(figure));
    }
  });
  for (const figure of figures) {
    near.observe(figure);
    resized.observe(figure.querySelector(".canvas"));
  }
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details.more").forEach((details) => (details.open = true));
    figures.forEach(draw);
  });

  // A click on the head of a column sorts its table by it: numbers from the largest, texts from A; another click turns it round.
  const value = (cell) => {
    const text = cell.textContent.replace(/,(?=\d{3})/g, "");
    if (text.startsWith("at most")) return 0;
    const number = text.match(/^[<+ ]*(-?\d+(?:\.\d+)?)(?=$|[ /])/);
    return number ? Number(number[1]) : text;
  };
  const order = (a, b) => (typeof a === typeof b ? d3.ascending(a, b) : typeof a === "number" ? 1 : -1);
  for (const table of document.querySelectorAll(".scroll:not(.matrix) table")) {
    const [body] = table.tBodies;
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.textContent || body.rows.length < 3) return;
      const button = element("button", { type: "button", className: "sort", textContent: head.textContent });
      button.addEventListener("click", () => {
        const at = (row) => value(row.cells[column]);
        const usual = typeof at(body.rows[0]) === "number" ? "descending" : "ascending";
        const way = { ascending: "descending", descending: "ascending" }[head.getAttribute("aria-sort")] ?? usual;
        const sign = way === "ascending" ? 1 : -1;
        body.append(...[...body.rows].sort((a, b) => sign * order(at(a), at(b))));
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", way);
      });
      head.replaceChildren(button);
    });
  }

  const theme = document.getElementById("theme");
  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => (theme.textContent = dark() ? "Light" : "Dark");
  theme.hidden = false;
  label();
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    label();
  });

  for (const box of document.querySelectorAll(".copy")) {
    const button = element("button", { type: "button", textContent: "Copy" });
    button.addEventListener("click", async () => {
      const pre = box.querySelector("pre");
      try {
        await navigator.clipboard.writeText(pre.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(pre);
        button.textContent = "Selected";
      }
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    box.append(button);
  }
})();
