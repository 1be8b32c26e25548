//! A chart as a picture: one file, which brings its own style for light and dark surroundings.
//!
//! Everything that happened has a line of its own, with its words at the right. An arrow starts where its message was
//! sent and ends where it was received, so a late one is steep. Colours are those of values.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use turncoat_core::record::Loss;

use super::chart::{Arrow, Chart, Item, Mark, Sign};
use super::words::wrapped;

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
    let mut svg = Svg(String::new());
    svg.line(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-labelledby="chart-title chart-desc">"#
    ));
    svg.line(format_args!(r#"<title id="chart-title">{}</title>"#, escaped(&chart.title)));
    svg.line(format_args!(r#"<desc id="chart-desc">{}</desc>"#, escaped(&description(chart))));
    svg.line(format_args!("<style>\n{}</style>", include_str!("chart.css")));
    svg.line(r#"<rect class="paper" width="100%" height="100%" rx="8"/>"#);
    layout.head(&mut svg);
    layout.lifelines(&mut svg);
    for line in &layout.lines {
        if let Item::Arrow(arrow) = line.item {
            layout.arrow(&mut svg, arrow, line.y);
        }
    }
    let mut shown = None;
    for line in &layout.lines {
        if shown != Some(line.step) {
            let (x, y) = (LEFT - 10, line.y + 4);
            svg.line(format_args!(r#"<text class="step" x="{x}" y="{y}">{}</text>"#, line.step));
            shown = Some(line.step);
        }
        match line.item {
            Item::Arrow(arrow) => layout.words(&mut svg, arrow, line.y),
            Item::Mark(mark) => layout.mark(&mut svg, mark, line.y),
        }
    }
    if let Some(left_out) = &chart.left_out {
        let y = height - 16;
        svg.line(format_args!(
            r#"<text class="small" x="{}" y="{y}">{}</text>"#,
            LEFT - 26,
            escaped(left_out)
        ));
    }
    svg.line("</svg>");
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

struct Svg(String);

impl Svg {
    fn line(&mut self, text: impl Display) {
        let _ = writeln!(self.0, "{text}");
    }
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
            svg.line(format_args!(
                r#"<text class="title" x="{}" y="{y}">{}</text>"#,
                LEFT - 26,
                escaped(line)
            ));
            y += 22;
        }
        for (i, value) in self.chart.legend() {
            let (name, meaning) = value.split_once(" = ").unwrap_or(("", value));
            svg.line(format_args!(
                r#"<rect class="value {}" x="{}" y="{}" width="16" height="14" rx="4"/><text class="letter" x="{}" y="{}">{}</text><text class="small" x="{}" y="{y}">{}</text>"#,
                colour(Some(i)),
                LEFT - 26,
                y - 11,
                LEFT - 18,
                y,
                escaped(name),
                LEFT - 4,
                escaped(meaning)
            ));
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
            let round = if client { 15 } else { 7 };
            svg.line(format_args!(r#"<line class="life {kind}" x1="{x}" y1="{top}" x2="{x}" y2="{end}"/>"#));
            svg.line(format_args!(
                r#"<rect class="box {kind}" x="{}" y="{}" width="60" height="30" rx="{round}"/><text class="name {kind}" x="{x}" y="{}">{}</text>"#,
                x - 30,
                top - 34,
                top - 14,
                lifeline.name
            ));
            if lifeline.byzantine {
                svg.line(format_args!(r#"<text class="role" x="{x}" y="{}">Byzantine</text>"#, top - 40));
            }
        }
    }

    fn arrow(&self, svg: &mut Svg, arrow: &Arrow, end: u32) {
        let start = if arrow.end() == Some(arrow.sent) {
            end
        } else {
            self.steps.get(&arrow.sent).copied().unwrap_or(end)
        };
        let (from, to) = (Self::x(arrow.from), Self::x(arrow.to));
        let lost = arrow.lost().is_some();
        // Heads stop short of the lifeline, lost ones further away.
        let gap = if lost { 22 } else { 3 };
        let to = if to > from { to - gap } else { to + gap };
        let colour = colour(sole(arrow));
        svg.line(format_args!("<g><title>{}</title>", escaped(&arrow.text)));
        if arrow.lie.is_some() {
            svg.line(format_args!(r#"<line class="glow" x1="{from}" y1="{start}" x2="{to}" y2="{end}"/>"#));
            let (x, y) = ((from + to) / 2, (start + end) / 2);
            svg.line(format_args!(
                r#"<rect class="tag" x="{}" y="{}" width="26" height="14" rx="7"/><text class="tagged" x="{x}" y="{}">lie</text>"#,
                x - 13,
                y - 18,
                y - 7
            ));
        }
        let class = match (lost, arrow.ignored()) {
            (true, _) => "lost",
            (_, true) => "ignored",
            _ => "sent",
        };
        svg.line(format_args!(
            r#"<line class="{class} {colour}" x1="{from}" y1="{start}" x2="{to}" y2="{end}"/>"#
        ));
        if lost {
            svg.line(format_args!(r#"<path class="cross" d="M{} {}l8 8m0 -8l-8 8"/></g>"#, to - 4, end - 4));
        } else {
            let angle =
                f64::from(end as i32 - start as i32).atan2(f64::from(to as i32 - from as i32)).to_degrees();
            svg.line(format_args!(
                r#"<path class="tip {colour}" d="M0 0L-9 -4L-9 4Z" transform="translate({to} {end}) rotate({angle:.1})"/></g>"#
            ));
        }
    }

    fn words(&self, svg: &mut Svg, arrow: &Arrow, y: u32) {
        let x = self.right() + 12;
        svg.line(format_args!(
            r#"<line class="guide" x1="{}" y1="{y}" x2="{}" y2="{y}"/>"#,
            Self::x(arrow.to) + 6,
            x - 6
        ));
        let name = |lifeline: usize| self.chart.lifelines[lifeline].name;
        svg.line(format_args!(
            r#"<text class="faint" x="{x}" y="{}">{} &#8594; {}</text>"#,
            y + 4,
            name(arrow.from),
            name(arrow.to)
        ));
        self.lines(svg, words(Item::Arrow(arrow)), y);
    }

    fn mark(&self, svg: &mut Svg, mark: &Mark, y: u32) {
        let right = self.right() + 12;
        if mark.sign == Sign::Violation {
            let width = self.width() - LEFT - 12;
            svg.line(format_args!(
                r#"<rect class="band" x="{}" y="{}" width="{width}" height="22" rx="5"/>"#,
                LEFT,
                y - 11
            ));
            let text = mark.text.to_uppercase();
            svg.line(format_args!(
                r#"<text class="verdict" x="{}" y="{}">{}</text>"#,
                right + 70,
                y + 5,
                escaped(&text)
            ));
            return;
        }
        if let Some(lifeline) = mark.lifeline {
            let x = Self::x(lifeline);
            svg.line(format_args!(
                r#"<line class="guide" x1="{}" y1="{y}" x2="{}" y2="{y}"/>"#,
                x + 12,
                right - 6
            ));
            let sign = match mark.sign {
                Sign::Decision(value) => {
                    let name = value
                        .and_then(|value| self.chart.values.get(value))
                        .and_then(|text| text.split(" = ").next());
                    let name =
                        name.filter(|name| name.len() == 1).unwrap_or(if value.is_some() { "" } else { "-" });
                    format!(
                        r#"<rect class="value {}" x="{}" y="{}" width="20" height="18" rx="5"/><text class="letter" x="{x}" y="{}">{name}</text>"#,
                        colour(value),
                        x - 10,
                        y - 9,
                        y + 5
                    )
                }
                Sign::Timer => format!(
                    r#"<circle class="clock" cx="{x}" cy="{y}" r="7"/><path class="hand" d="M{x} {}v5h4"/>"#,
                    y - 5
                ),
                Sign::Completion => format!(
                    r#"<circle class="done" cx="{x}" cy="{y}" r="8"/><path class="tick" d="M{} {y}l3 4l5 -7"/>"#,
                    x - 4
                ),
                Sign::Stop => format!(r#"<path class="cross" d="M{} {}l12 12m0 -12l-12 12"/>"#, x - 6, y - 6),
                Sign::Note | Sign::Violation => {
                    format!(r#"<path class="note" d="M{x} {}l6 6l-6 6l-6 -6z"/>"#, y - 6)
                }
            };
            svg.line(sign);
        }
        if let Some(lifeline) = mark.lifeline {
            let name = self.chart.lifelines[lifeline].name;
            svg.line(format_args!(r#"<text class="faint" x="{right}" y="{}">{name}</text>"#, y + 4));
        }
        self.lines(svg, words(Item::Mark(mark)), y);
    }

    /// Words, after the column for names.
    fn lines(&self, svg: &mut Svg, lines: Vec<(&str, String)>, y: u32) {
        let x = self.right() + 82;
        for (i, (class, line)) in lines.into_iter().enumerate() {
            let y = y + 4 + 15 * i as u32;
            svg.line(format_args!(r#"<text class="{class}" x="{x}" y="{y}">{}</text>"#, escaped(&line)));
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
            let fate = match arrow.lost() {
                Some(Loss::Network) => " (lost)",
                Some(Loss::Withheld) => " (withheld)",
                Some(Loss::Down) => " (lost: its receiver is down)",
                None if arrow.held => " (held back)",
                None if arrow.ignored() => " (ignored)",
                None => "",
            };
            let class = if arrow.lost().is_some() || arrow.ignored() { "faint" } else { "said" };
            let label =
                wrapped(&format!("{}{fate}", arrow.label), COLUMNS).into_iter().map(|line| (class, line));
            let lie = arrow.lie.iter().flat_map(|lie| wrapped(&format!("lie: {lie}"), COLUMNS));
            label.chain(lie.map(|line| ("lie", line))).collect()
        }
    }
}

/// The class of a value's colour.
fn colour(value: Option<usize>) -> String {
    value.map_or_else(|| "v".to_owned(), |value| format!("v{}", value % COLOURS))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace(|c: char| c.is_control(), " ")
}
