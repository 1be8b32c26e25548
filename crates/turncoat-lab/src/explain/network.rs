//! What the network did, and who stopped.

use turncoat_core::fault::{Effect, Fault};
use turncoat_core::ids::SeatName;
use turncoat_core::record::{Arrival, Falsehood, Loss, What};

use super::blame::{LINES, more};
use super::read::Run;
use super::words::and;

impl Run {
    /// What the network did, and crashes, a line each.
    pub(super) fn network(&self) -> Vec<String> {
        let last = self.last_step();
        let mut lines: Vec<String> = Vec::new();
        for fault in &self.scenario.adversary.faults {
            let round = fault.when.round.map(|span| match span.first() == span.last() {
                true => format!("In round {} the network", span.first()),
                false => format!("In rounds {} to {} the network", span.first(), span.last()),
            });
            let round = round.unwrap_or_else(|| "The network".to_owned());
            match &fault.effect {
                Effect::Partition(blocks) => {
                    let blocks: Vec<String> = blocks.iter().map(and).collect();
                    lines.push(format!("{round} was split: {}.", blocks.join(" | ")));
                }
                Effect::Isolate(nodes) => {
                    lines.push(format!("{round} cut off {} from all others.", and(nodes)));
                }
                _ => {}
            }
        }
        lines.extend(self.mishaps());
        let lost = self.groups(|copy| match copy.arrival {
            Arrival::Lost { step, by } => step <= last && by == Loss::Network,
            _ => false,
        });
        let split = |fault: &Fault| matches!(fault.effect, Effect::Partition(_) | Effect::Isolate(_));
        if self.scenario.adversary.faults.iter().any(split) && lost.len() > LINES / 2 {
            let all: usize = lost.iter().map(Vec::len).sum();
            lines.push(format!("So {all} messages were lost, the first at step {}.", lost[0][0].sent));
        } else {
            lines.extend(lost.iter().take(LINES).map(|group| self.fared(group, "was lost")));
            lines.extend(more(&lost, "messages lost"));
        }
        let garbled = self.groups(|copy| copy.lie == Some(Falsehood::Garbage));
        lines.extend(garbled.iter().take(LINES).map(|group| self.fared(group, "was garbled on its way")));
        let held = self.groups(|copy| copy.held);
        lines.extend(held.iter().take(LINES).map(|group| self.fared(group, "was held back")));
        lines.extend(more(&held, "messages held back"));
        lines
    }

    /// Nodes that stop, go on, or lose their time.
    fn mishaps(&self) -> Vec<String> {
        let mut notes: Vec<(SeatName, &str, u64, usize)> = Vec::new();
        for event in self.recording.events.iter().filter(|event| event.step <= self.last_step()) {
            let What::Note { seat: Some(seat), text } = &event.what else { continue };
            if text != "stops" && !text.starts_with("restarts") && !text.starts_with("its clock") {
                continue;
            }
            match notes.iter_mut().find(|(who, what, ..)| (*who, *what) == (*seat, text.as_str())) {
                Some((.., times)) => *times += 1,
                None => notes.push((*seat, text, event.step, 1)),
            }
        }
        let line = |(seat, text, step, times): &(SeatName, &str, u64, usize)| match times {
            1 => format!("Step {step}: {seat} {text}."),
            _ => format!("Step {step}, and {times} times in all: {seat} {text}."),
        };
        notes.iter().map(line).collect()
    }
}
