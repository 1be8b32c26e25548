//! A chart as a picture: one file, which brings its own style for light and dark surroundings.
//!
//! Everything that happened has a line of its own, with its words at the right. An arrow starts where its message was
//! sent and ends where it was received, so a late one is steep. Colours are those of values.

use std::collections::BTreeMap;

use super::chart::{Arrow, Chart, Item, Mark, Sign};
use super::pen::{Svg, escaped};
use crate::words::wrapped;

/// Where titles start, and lifelines.
const MARGIN: u32 = 32;
const LEFT: u32 = 58;
const LANE: u32 = 92;
const LINE: u32 = 21;
/// A place where messages were sent, and nothing else is shown.
const TICK: u32 = 11;
const WORDS: u32 = 480;
/// Characters of the words at the right, and of the title.
const COLUMNS: usize = 54;
/// As many colours as there are for values.
const COLOURS: usize = 6;

/// The chart as SVG.
pub(super) fn print(chart: &Chart) -> String {
    let layout = Layout::new(chart);
    let (width, height) = (layout.width(), layout.height);
    let mut svg = Svg::default();
    svg.add(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-labelledby="chart-title chart-desc">"#
    ));
    svg.add(format_args!(r#"<title id="chart-title">{}</title>"#, escaped(&chart.title)));
    svg.add(format_args!(r#"<desc id="chart-desc">{}</desc>"#, escaped(&description(chart))));
    svg.add(format_args!("<style>\n{}</style>", include_str!("chart.css")));
    svg.rect("paper", (0, 0), (width, height), 8);
    layout.head(&mut svg);
    layout.lifelines(&mut svg);
    for line in &layout.lines {
        if let Item::Arrow(arrow) = line.item {
            layout.arrow(&mut svg, arrow, line.y);
        }
    }
    let mut shown = None;
    for Line { step, y, item } in &layout.lines {
        if shown.replace(step) != Some(step) {
            svg.text("step", LEFT - 10, y + 4, step);
        }
        match item {
            Item::Arrow(arrow) => layout.words(&mut svg, arrow, *y),
            Item::Mark(mark) => layout.mark(&mut svg, mark, *y),
        }
    }
    if let Some(left_out) = &chart.left_out {
        svg.text("small", MARGIN, height - 16, left_out);
    }
    svg.add("</svg>");
    svg.0
}

/// What somebody who does not see the picture wants to know first.
fn description(chart: &Chart) -> String {
    let names: Vec<String> = chart.lifelines.iter().map(|lifeline| lifeline.name.to_string()).collect();
    let liars = chart.lifelines.iter().filter(|lifeline| lifeline.byzantine);
    let liars: Vec<String> = liars.map(|lifeline| lifeline.name.to_string()).collect();
    let liars = if liars.is_empty() { "nobody".to_owned() } else { liars.join(", ") };
    let lies = chart.arrows.iter().filter(|arrow| arrow.lie.is_some()).count();
    format!(
        "Sequence chart of {} messages among {}. Byzantine: {liars}; lies: {lies}. {}",
        chart.arrows.len(),
        names.join(", "),
        chart.legend().iter().map(|(_, value)| *value).collect::<Vec<_>>().join("; ")
    )
}

/// Something that happened, and where it stands.
struct Line<'a> {
    step: u64,
    y: u32,
    item: Item<'a>,
}

/// Where everything stands.
struct Layout<'a> {
    chart: &'a Chart,
    title: Vec<String>,
    top: u32,
    height: u32,
    lines: Vec<Line<'a>>,
    /// Where the first thing of an event stands, or the tick of one that is not shown.
    steps: BTreeMap<u64, u32>,
}

impl<'a> Layout<'a> {
    fn new(chart: &'a Chart) -> Self {
        let title = wrapped(&chart.title, 86);
        let top = 40 + 22 * title.len() as u32 + 18 * chart.legend().len() as u32 + 62;
        let items = chart.items();
        let shown: Vec<u64> = items.iter().map(|&(step, _)| step).collect();
        let mut ticks: Vec<u64> =
            chart.arrows.iter().filter(|arrow| arrow.end().is_some()).map(|a| a.sent).collect();
        ticks.retain(|step| shown.binary_search(step).is_err());
        ticks.sort_unstable();
        ticks.dedup();
        let mut ticks = ticks.into_iter().peekable();
        let (mut y, mut lines, mut steps) = (top + 14, Vec::new(), BTreeMap::new());
        for (step, item) in items {
            while let Some(tick) = ticks.next_if(|&tick| tick < step) {
                steps.insert(tick, y);
                y += TICK;
            }
            steps.entry(step).or_insert(y);
            lines.push(Line { step, y, item });
            y += LINE + 15 * (words(item).len() as u32 - 1);
        }
        let height = y + if chart.left_out.is_some() { 44 } else { 22 };
        Self { chart, title, top, height, lines, steps }
    }

    fn width(&self) -> u32 {
        self.right() + WORDS
    }

    /// Where the words start.
    fn right(&self) -> u32 {
        LEFT + LANE * self.chart.lifelines.len() as u32
    }

    const fn x(lifeline: usize) -> u32 {
        LEFT + LANE * lifeline as u32 + LANE / 2
    }

    fn head(&self, svg: &mut Svg) {
        let mut y = 38;
        for line in &self.title {
            svg.text("title", MARGIN, y, line);
            y += 22;
        }
        for (i, value) in self.chart.legend() {
            let (name, meaning) = value.split_once(" = ").unwrap_or(("", value));
            svg.rect(&format!("value {}", colour(Some(i))), (MARGIN, y - 11), (16, 14), 4);
            svg.text("letter", MARGIN + 8, y, name);
            svg.text("small", MARGIN + 22, y, meaning);
            y += 18;
        }
    }

    fn lifelines(&self, svg: &mut Svg) {
        let (top, end) = (self.top, self.height - if self.chart.left_out.is_some() { 36 } else { 14 });
        for (i, lifeline) in self.chart.lifelines.iter().enumerate() {
            let x = Self::x(i);
            let client = lifeline.name.node.is_client();
            let kind = match (lifeline.byzantine, client) {
                (true, _) => "liar",
                (false, true) => "client",
                (false, false) => "replica",
            };
            svg.line(&format!("life {kind}"), (x, top), (x, end));
            svg.rect(&format!("box {kind}"), (x - 30, top - 34), (60, 30), if client { 15 } else { 7 });
            svg.text(&format!("name {kind}"), x, top - 14, lifeline.name);
            if lifeline.byzantine {
                svg.text("role", x, top - 40, "Byzantine");
            }
        }
    }

    fn arrow(&self, svg: &mut Svg, arrow: &Arrow, end: u32) {
        let at_once = arrow.end() == Some(arrow.sent);
        let start = self.steps.get(&arrow.sent).copied().filter(|_| !at_once).unwrap_or(end);
        let (from, to) = (Self::x(arrow.from), Self::x(arrow.to));
        let lost = arrow.lost().is_some();
        // Heads stop short of the lifeline, lost ones further away.
        let gap = if lost { 22 } else { 3 };
        let to = if to > from { to - gap } else { to + gap };
        let colour = colour(sole(arrow));
        svg.add(format_args!("<g><title>{}</title>", escaped(&arrow.text)));
        if arrow.lie.is_some() {
            let (x, y) = ((from + to) / 2, (start + end) / 2);
            svg.line("glow", (from, start), (to, end));
            svg.rect("tag", (x - 13, y - 18), (26, 14), 7);
            svg.text("tagged", x, y - 7, "lie");
        }
        let class = match (lost, arrow.ignored()) {
            (true, _) => "lost",
            (_, true) => "ignored",
            _ => "sent",
        };
        svg.line(&format!("{class} {colour}"), (from, start), (to, end));
        if lost {
            svg.path("cross", (to - 4, end - 4), "l8 8m0 -8l-8 8");
        } else {
            let (down, along) = (f64::from(end) - f64::from(start), f64::from(to) - f64::from(from));
            let angle = down.atan2(along).to_degrees();
            svg.add(format_args!(
                r#"<path class="tip {colour}" d="M0 0L-9 -4L-9 4Z" transform="translate({to} {end}) rotate({angle:.1})"/>"#
            ));
        }
        svg.add("</g>");
    }

    fn words(&self, svg: &mut Svg, arrow: &Arrow, y: u32) {
        let x = self.right() + 12;
        let name = |lifeline: usize| self.chart.lifelines[lifeline].name;
        svg.line("guide", (Self::x(arrow.to) + 6, y), (x - 6, y));
        svg.text("faint", x, y + 4, format_args!("{} \u{2192} {}", name(arrow.from), name(arrow.to)));
        self.lines(svg, words(Item::Arrow(arrow)), y);
    }

    fn mark(&self, svg: &mut Svg, mark: &Mark, y: u32) {
        let right = self.right() + 12;
        if mark.sign == Sign::Violation {
            svg.rect("band", (LEFT, y - 11), (self.width() - LEFT - 12, 22), 5);
            svg.text("verdict", right + 70, y + 5, mark.text.to_uppercase());
            return;
        }
        if let Some(lifeline) = mark.lifeline {
            let x = Self::x(lifeline);
            svg.line("guide", (x + 12, y), (right - 6, y));
            self.sign(svg, mark.sign, x, y);
            svg.text("faint", right, y + 4, self.chart.lifelines[lifeline].name);
        }
        self.lines(svg, words(Item::Mark(mark)), y);
    }

    fn sign(&self, svg: &mut Svg, sign: Sign, x: u32, y: u32) {
        match sign {
            Sign::Decision(value) => {
                let name = value.and_then(|value| self.chart.values.get(value));
                let name = name.and_then(|text| text.split(" = ").next()).filter(|name| name.len() == 1);
                svg.rect(&format!("value {}", colour(value)), (x - 10, y - 9), (20, 18), 5);
                svg.text("letter", x, y + 5, name.unwrap_or(if value.is_some() { "" } else { "-" }));
            }
            Sign::Timer => {
                svg.circle("clock", (x, y), 7);
                svg.path("hand", (x, y - 5), "v5h4");
            }
            Sign::Completion => {
                svg.circle("done", (x, y), 8);
                svg.path("tick", (x - 4, y), "l3 4l5 -7");
            }
            Sign::Stop => svg.path("cross", (x - 6, y - 6), "l12 12m0 -12l-12 12"),
            Sign::Note | Sign::Violation => svg.path("note", (x, y - 6), "l6 6l-6 6l-6 -6z"),
        }
    }

    /// Words, after the column for names.
    fn lines(&self, svg: &mut Svg, lines: Vec<(&str, String)>, y: u32) {
        for (i, (class, line)) in lines.into_iter().enumerate() {
            svg.text(class, self.right() + 82, y + 4 + 15 * i as u32, line);
        }
    }
}

/// The only value that a message names.
fn sole(arrow: &Arrow) -> Option<usize> {
    <[usize; 1]>::try_from(arrow.values.as_slice()).ok().map(|[value]| value)
}

/// The words of a line, with their style.
fn words(item: Item<'_>) -> Vec<(&'static str, String)> {
    match item {
        Item::Mark(mark) => wrapped(&mark.text, COLUMNS).into_iter().map(|line| ("said", line)).collect(),
        Item::Arrow(arrow) => {
            let class = if arrow.lost().is_some() || arrow.ignored() { "faint" } else { "said" };
            let label = wrapped(&format!("{}{}", arrow.label, arrow.fate()), COLUMNS)
                .into_iter()
                .map(|line| (class, line));
            let lie = arrow.lie.iter().flat_map(|lie| wrapped(&format!("lie: {lie}"), COLUMNS));
            label.chain(lie.map(|line| ("lie", line))).collect()
        }
    }
}

/// The class of a value's colour.
fn colour(value: Option<usize>) -> String {
    value.map_or_else(|| "v".to_owned(), |value| format!("v{}", value % COLOURS))
}
