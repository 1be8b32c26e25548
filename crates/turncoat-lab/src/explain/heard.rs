//! What each replica heard about a slot, and decided.

use turncoat_core::ids::{SeatName, Slot, View};
use turncoat_core::record::SentCopy;

use super::claim::{Claim, Line};
use super::read::{Decision, Run, kind, received};
use crate::words::and;

/// As many messages as are told of.
const FEW: usize = 12;

/// Messages that say the same, by different senders.
struct Heard<'a> {
    view: Option<View>,
    kind: &'a str,
    values: Vec<&'a str>,
    lie: bool,
    copies: Vec<&'a SentCopy>,
}

impl Run {
    /// The decisions of a replica up to a step: `A in slot 1 (step 19), B in slot 2 (step 43)`.
    pub(super) fn log(&self, seat: SeatName, until: u64) -> Line {
        let decisions = self.decisions();
        let own: Vec<_> = decisions.iter().filter(|d| d.seat == seat && d.step <= until).collect();
        let words = |d: &&Decision| format!("{} {} (step {})", d.value, self.within(d.slot), d.step);
        let claim = |d: &&&Decision| {
            let Decision { seat, slot, id, step, .. } = ***d;
            Claim::Decided { seat, slot, id, step, grounds: None }
        };
        let claims = match own.len() {
            0 => vec![Claim::Undecided(seat, None, until)],
            1..=4 => own.iter().map(|d| claim(&d)).collect(),
            _ => own.last().iter().map(claim).collect(),
        };
        let text = match own.len() {
            0 => "decided nothing".to_owned(),
            1..=4 => format!("decided {}", and(own.iter().map(words))),
            many => format!(
                "decided {many} {}s, {} last",
                self.entry.slot,
                own.last().map(words).unwrap_or_default()
            ),
        };
        Line::new(text, claims)
    }

    /// What a replica heard about a slot up to a step, a line for each view.
    pub(super) fn heard(&self, seat: SeatName, slot: Option<Slot>, until: u64) -> Vec<Line> {
        let mut groups: Vec<Heard<'_>> = Vec::new();
        for copy in self.received(seat, until) {
            let round = copy.round.filter(|_| Self::is_about(copy, slot));
            let (Some(key), false) = (round, copy.src.node.is_client()) else { continue };
            let (view, lie) = (Some(key.view), copy.lie.is_some());
            let values = self.named(copy);
            let same =
                |g: &&mut Heard<'_>| (g.view, g.kind, &g.values, g.lie) == (view, kind(copy), &values, lie);
            match groups.iter_mut().find(same) {
                Some(group) => group.copies.push(copy),
                None => groups.push(Heard { view, kind: kind(copy), values, lie, copies: vec![copy] }),
            }
        }
        let mut views: Vec<Option<View>> = groups.iter().map(|group| group.view).collect();
        views.sort_unstable();
        views.dedup();
        let lines = views.iter().map(|view| {
            let of_view = groups.iter().filter(|group| group.view == *view);
            let shown = of_view.clone().take(FEW).flat_map(|group| &group.copies);
            let claim = |copy: &&SentCopy| Some(Claim::Received(Box::new((*copy).clone()), received(copy)?));
            let claims = shown.filter_map(claim).collect();
            let words = few(of_view.map(|group| self.group(group)));
            let text = match views.len() > 1 {
                true => format!("{}: {}", self.during(view.unwrap_or_default()), words.join("; ")),
                false => words.join("; "),
            };
            Line::new(text, claims)
        });
        lines.collect()
    }

    /// What a replica told others about a slot up to a step.
    pub(super) fn told(&self, seat: SeatName, slot: Option<Slot>, until: u64) -> Option<Line> {
        let mut said: Vec<(View, String, u64)> = Vec::new();
        let mut claims = Vec::new();
        let sent = self.recording.copies.iter().filter(|copy| copy.src == seat && copy.sent <= until);
        for copy in sent.filter(|copy| !copy.dst.node.is_client() && Self::is_about(copy, slot)) {
            let (Some(key), named) = (copy.round, self.named(copy)) else { continue };
            let value = if let [value] = named.as_slice() { format!(" {value}") } else { String::new() };
            let what = format!("{}{value}", kind(copy).to_uppercase());
            if !said.iter().any(|(view, known, _)| (*view, known) == (key.view, &what)) {
                said.push((key.view, what, copy.sent));
                claims.push(Claim::Sent(Box::new(copy.clone())));
            }
        }
        let mut last = None;
        let words = said.iter().map(|(view, what, step)| match last.replace(*view) {
            before if before == Some(*view) || !self.has_views() => format!("{what} ({step})"),
            _ => format!("{} {what} ({step})", self.during(*view)),
        });
        let words = few(words);
        (!words.is_empty()).then(|| Line::new(format!("and it had said: {}", words.join(", ")), claims))
    }

    fn group(&self, group: &Heard<'_>) -> String {
        let Heard { kind, values, lie, copies, .. } = group;
        let values = match values.as_slice() {
            [] => String::new(),
            [value] => format!(" {value}"),
            values => format!(" (about {})", and(values)),
        };
        let lie = if *lie { ", a lie" } else { "" };
        let mut senders: Vec<(SeatName, Vec<u64>)> = Vec::new();
        for copy in copies {
            let step = received(copy).unwrap_or_default();
            match senders.iter_mut().find(|(sender, _)| *sender == copy.src) {
                Some((_, steps)) => steps.push(step),
                None => senders.push((copy.src, vec![step])),
            }
        }
        let senders = senders.iter().map(|(sender, steps)| match steps.as_slice() {
            [first, _, rest @ ..] if !rest.is_empty() => {
                format!("{sender} ({first} and {} more times{lie})", rest.len() + 1)
            }
            steps => format!("{sender} ({}{lie})", and(steps)),
        });
        format!("{}{values} from {}", kind.to_uppercase(), and(senders))
    }
}

/// The first of many words.
fn few(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut words: Vec<String> = words.collect();
    if words.len() > FEW {
        let more = words.len() + 1 - FEW;
        words.truncate(FEW - 1);
        words.push(format!("and {more} more"));
    }
    words
}
