//! A chart for the terminal: a column for everybody, a row for each message or mark.
//!
//! The copies of a broadcast share a row where that changes nobody's order of events.

use std::fmt::Write;

use super::chart::{Arrow, Chart, Item, Mark, Sign};
use crate::words::{packed, wrapped};

/// Columns for the numbers of steps.
const STEPS: usize = 8;

/// The fewest columns for labels.
const LABEL: usize = 20;

enum Row<'a> {
    Message { arrow: &'a Arrow, to: Vec<usize>, last: u64 },
    Mark(&'a Mark),
}

impl Row<'_> {
    fn touches(&self, lifeline: usize) -> bool {
        match self {
            Row::Message { arrow, to, .. } => arrow.from == lifeline || to.contains(&lifeline),
            Row::Mark(mark) => mark.lifeline.is_none_or(|place| place == lifeline),
        }
    }
}

/// The chart as text of this width.
pub(super) fn print(chart: &Chart, width: usize) -> String {
    let mut text = String::new();
    let names: Vec<String> = chart
        .lifelines
        .iter()
        .map(|lifeline| {
            let star = if lifeline.byzantine { "*" } else { "" };
            format!("{}{star}", lifeline.name)
        })
        .collect();
    match Canvas::new(chart, width) {
        Some(canvas) => {
            text.push_str(&canvas.header(&names));
            rows(chart).iter().for_each(|row| text.push_str(&canvas.row(row)));
        }
        None => rows(chart).iter().for_each(|row| text.push_str(&listed(row, chart, &names, width))),
    }
    text.push('\n');
    packed(key(chart), "   ", width).into_iter().for_each(|line| text.extend([line.as_str(), "\n"]));
    for (_, value) in chart.legend() {
        let _ = writeln!(text, "{value}");
    }
    if let Some(left_out) = &chart.left_out {
        let _ = writeln!(text, "{left_out}");
    }
    text
}

/// What the signs mean, as far as there are any.
fn key(chart: &Chart) -> Vec<&'static str> {
    let marks = |wanted: fn(Sign) -> bool| chart.marks.iter().any(|mark| wanted(mark.sign));
    let decision = |sign: Sign| matches!(sign, Sign::Decision(_));
    let counted = chart.marks.iter().any(|mark| decision(mark.sign) && mark.text.ends_with('}'));
    let words = [
        ("o--> message, when it arrives", true),
        ("+ passes by", chart.arrows.iter().any(|arrow| arrow.from.abs_diff(arrow.to) > 1)),
        ("o==> lie", chart.arrows.iter().any(|arrow| arrow.lie.is_some())),
        ("o..x lost or withheld", chart.arrows.iter().any(|arrow| arrow.lost().is_some())),
        ("(ignored) without effect", chart.arrows.iter().any(Arrow::ignored)),
        ("* Byzantine", chart.lifelines.iter().any(|lifeline| lifeline.byzantine)),
        ("# decides", marks(decision) && !counted),
        ("# decides {voters}", counted),
        ("T timer", marks(|sign| sign == Sign::Timer)),
        ("$ result", marks(|sign| sign == Sign::Completion)),
        ("X stops", marks(|sign| sign == Sign::Stop)),
        ("@ note", chart.marks.iter().any(|mark| mark.sign == Sign::Note && mark.lifeline.is_some())),
    ];
    words.into_iter().filter(|(_, shown)| *shown).map(|(word, _)| word).collect()
}

/// The rows, in order.
fn rows(chart: &Chart) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (step, item) in chart.items() {
        match item {
            Item::Mark(mark) => rows.push(Row::Mark(mark)),
            Item::Arrow(arrow) => match broadcast(&mut rows, arrow) {
                Some((to, last)) => {
                    to.push(arrow.to);
                    *last = step;
                }
                None => rows.push(Row::Message { arrow, to: vec![arrow.to], last: step }),
            },
        }
    }
    rows
}

/// The row of another copy, if the receiver of this one has done nothing since.
fn broadcast<'r>(rows: &'r mut [Row<'_>], copy: &Arrow) -> Option<(&'r mut Vec<usize>, &'r mut u64)> {
    let same = |row: &Row<'_>| match row {
        Row::Message { arrow, to, .. } => {
            let alike = |a: &Arrow| (a.from, a.sent, a.label.clone(), a.lie.clone(), a.lost(), a.held);
            alike(arrow) == alike(copy) && !to.contains(&copy.to)
        }
        Row::Mark(_) => false,
    };
    let found = rows.iter().rposition(same)?;
    if rows[found + 1..].iter().any(|row| row.touches(copy.to)) {
        return None;
    }
    match &mut rows[found] {
        Row::Message { to, last, .. } => Some((to, last)),
        Row::Mark(_) => None,
    }
}

/// A row in words, where there are too many columns to draw.
fn listed(row: &Row<'_>, chart: &Chart, names: &[String], width: usize) -> String {
    let (first, what) = match row {
        Row::Message { arrow, to, last } => {
            let line = match (arrow.lost(), &arrow.lie) {
                (Some(_), _) => "..x",
                (None, Some(_)) => "==>",
                (None, None) => "-->",
            };
            let (first, who) = (arrow.end().unwrap_or_default(), everybody(to, chart, names));
            let steps = if first == *last { first.to_string() } else { format!("{first}-{last}") };
            (steps, format!("{} {line} {who}: {}", names[arrow.from], labels(arrow).join("; ")))
        }
        Row::Mark(mark) => {
            let text = match mark.sign {
                Sign::Violation => format!("<< {}", mark.text.to_uppercase()),
                sign => format!("{} {}", letter(sign), mark.text),
            };
            let name = mark.lifeline.map(|lifeline| format!("{} ", names[lifeline])).unwrap_or_default();
            (mark.step.to_string(), format!("{name}{text}"))
        }
    };
    let margin = first.len().max(STEPS - 1) + 2;
    // A set of many nodes is one long word: it may be broken after its commas.
    let broken = |word: &str| if word.len() > width / 2 { word.replace(',', ", ") } else { word.to_owned() };
    let what: Vec<String> = what.split(' ').map(broken).collect();
    let mut lines = wrapped(&what.join(" "), width - margin).into_iter();
    let mut text = format!("{first:>7}  {}\n", lines.next().unwrap_or_default());
    lines.for_each(|line| text.extend([&" ".repeat(margin), line.as_str(), "\n"]));
    text
}

/// Some lifelines by their names: `c0, p1..p18`.
fn everybody(some: &[usize], chart: &Chart, names: &[String]) -> String {
    let mut some = some.to_vec();
    some.sort_unstable();
    let alike = |a: usize, b: usize| {
        let (one, next) = (&chart.lifelines[a], &chart.lifelines[b]);
        b == a + 1
            && one.byzantine == next.byzantine
            && one.name.node.is_client() == next.name.node.is_client()
    };
    let groups = some.chunk_by(|&a, &b| alike(a, b)).map(|group| match group {
        [first, _, .., last] => format!("{}..{}", names[*first], names[*last]),
        few => few.iter().map(|&one| names[one].as_str()).collect::<Vec<_>>().join(", "),
    });
    groups.collect::<Vec<_>>().join(", ")
}

/// The sign of a mark.
const fn letter(sign: Sign) -> char {
    match sign {
        Sign::Timer => 'T',
        Sign::Decision(_) => '#',
        Sign::Completion => '$',
        Sign::Stop => 'X',
        Sign::Note | Sign::Violation => '@',
    }
}

/// Where things stand in a line.
struct Canvas {
    width: usize,
    lanes: usize,
    lane: usize,
}

impl Canvas {
    /// Nothing, if there is no room for labels beside so many lanes.
    fn new(chart: &Chart, width: usize) -> Option<Self> {
        let lanes = chart.lifelines.len().max(1);
        let canvas = Self { width, lanes, lane: ((width - STEPS - 40) / lanes).clamp(5, 8) };
        (canvas.label() + LABEL <= width).then_some(canvas)
    }

    const fn center(&self, lifeline: usize) -> usize {
        STEPS + lifeline * self.lane + 2
    }

    const fn label(&self) -> usize {
        STEPS + self.lanes * self.lane
    }

    fn header(&self, names: &[String]) -> String {
        let mut line = vec![' '; self.label()];
        for (i, name) in names.iter().enumerate() {
            let start = self.center(i).saturating_sub(name.len() / 2);
            name.chars().zip(&mut line[start..]).for_each(|(c, place)| *place = c);
        }
        ended(line)
    }

    fn empty(&self) -> Vec<char> {
        let mut line = vec![' '; self.label()];
        (0..self.lanes).for_each(|i| line[self.center(i)] = '|');
        line
    }

    fn row(&self, row: &Row<'_>) -> String {
        let mut line = self.empty();
        let (steps, labels) = match row {
            Row::Message { arrow, to, last } => {
                self.arrow(&mut line, arrow, to);
                let first = arrow.end().unwrap_or_default();
                let steps = if first == *last { first.to_string() } else { format!("{first}-{last}") };
                (steps, labels(arrow))
            }
            Row::Mark(mark) => {
                if let Some(lifeline) = mark.lifeline {
                    line[self.center(lifeline)] = letter(mark.sign);
                }
                if mark.sign == Sign::Violation {
                    line[STEPS..].iter_mut().filter(|c| **c == ' ').for_each(|c| *c = '~');
                    return self.finish(
                        line,
                        &mark.step.to_string(),
                        &[format!("<< {}", mark.text.to_uppercase())],
                    );
                }
                (mark.step.to_string(), vec![mark.text.clone()])
            }
        };
        self.finish(line, &steps, &labels)
    }

    fn arrow(&self, line: &mut [char], arrow: &Arrow, to: &[usize]) {
        let stroke = match (arrow.lost(), &arrow.lie) {
            (Some(_), _) => '.',
            (None, Some(_)) => '=',
            (None, None) => '-',
        };
        let from = self.center(arrow.from);
        for &to in to {
            let to = self.center(to);
            for c in &mut line[from.min(to) + 1..from.max(to)] {
                match c {
                    ' ' => *c = stroke,
                    '|' => *c = '+',
                    _ => {}
                }
            }
        }
        for &to in to {
            let head = match arrow.lost() {
                Some(_) => 'x',
                None if to < arrow.from => '<',
                None => '>',
            };
            line[self.center(to)] = head;
        }
        line[from] = 'o';
    }

    /// A line with its labels, those that do not fit below.
    fn finish(&self, line: Vec<char>, steps: &str, labels: &[String]) -> String {
        let width = self.width - self.label();
        let mut lines = labels.iter().flat_map(|label| wrapped(label, width));
        let mut first = line;
        let start = (STEPS - 1).saturating_sub(steps.len());
        steps.chars().zip(&mut first[start..]).for_each(|(c, place)| *place = c);
        first.extend(lines.next().unwrap_or_default().chars());
        let mut text = ended(first);
        for label in lines {
            let mut line = self.empty();
            line.extend(label.chars());
            text.push_str(&ended(line));
        }
        text
    }
}

/// What a row says.
fn labels(arrow: &Arrow) -> Vec<String> {
    let lie = arrow.lie.iter().map(|lie| format!("LIE: {lie}"));
    [format!("{}{}", arrow.label, arrow.fate())].into_iter().chain(lie).collect()
}

fn ended(line: Vec<char>) -> String {
    let line: String = line.into_iter().collect();
    format!("{}\n", line.trim_end())
}
