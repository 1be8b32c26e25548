//! What of a chart matters: the past of the violation, and nothing said twice.

use std::collections::BTreeSet;

use turncoat_core::outcome::Property;
use turncoat_core::record::{Arrival, Loss, SentCopy};

use super::chart::{Arrow, Chart, Mark, Sign};
use super::read::Run;

/// Rows that a chart of an endless run has at the most.
const ROWS: usize = 60;

/// Leaves out of the chart of a whole run what does not matter.
pub(super) fn focus(run: &Run, chart: Chart) -> Chart {
    let last = run.last_step();
    let total = chart.arrows.iter().filter(|arrow| arrow.sent <= last).count();
    let focused = match &run.violation {
        Some(violation) if violation.property != Property::Termination => past(run, chart),
        _ => first_times(chart),
    };
    let left = total - focused.arrows.len();
    let left_out = (left > 0).then(|| {
        format!("Left out: {left} of the {total} messages sent up to step {last}; --all shows them")
    });
    Chart { left_out, ..focused }
}

/// The causal past of a violation: what those concerned knew, and who told them, about the slot concerned.
fn past(run: &Run, mut chart: Chart) -> Chart {
    let Some(violation) = &run.violation else { return chart };
    let mut known = vec![None; chart.lifelines.len()];
    for (i, lifeline) in chart.lifelines.iter().enumerate() {
        if violation.nodes.is_empty() || violation.nodes.contains(&lifeline.name.node) {
            known[i] = Some(violation.step);
        }
    }
    // Who decided first is asked for what it knew then.
    let decisions = run.decisions();
    let decided = decisions.iter().filter(|d| Some(d.slot) == violation.slot && d.step <= violation.step);
    for decision in decided {
        let place = chart.lifelines.iter().position(|lifeline| lifeline.name == decision.seat);
        if let Some(known) = place.and_then(|place| known[place].as_mut()) {
            *known = (*known).min(decision.step.max(1));
        }
    }
    if let Some(last) = decisions.iter().rev().find(|d| d.step == violation.step) {
        let place = chart.lifelines.iter().position(|lifeline| lifeline.name == last.seat);
        place.into_iter().for_each(|place| known[place] = Some(violation.step));
    }
    let mut order: Vec<usize> = (0..chart.arrows.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(delivered(&chart.arrows[i])));
    for i in order {
        let arrow = &chart.arrows[i];
        if delivered(arrow).is_some_and(|step| known[arrow.to].is_some_and(|known| step <= known)) {
            known[arrow.from] = known[arrow.from].max(Some(arrow.sent));
        }
    }
    let within = |lifeline: usize, step: u64| known[lifeline].is_some_and(|known| step <= known);
    // What comes before a slot matters where it was left out.
    let slot = violation.slot.filter(|_| violation.rule != "order");
    // Neither checkpoints nor replies decide anything.
    let votes = |copy: &SentCopy| copy.slot.is_none() || (copy.round.is_some() && !copy.dst.node.is_client());
    let copies = run.recording.copies.iter();
    let slots: Vec<bool> = copies.map(|copy| Run::is_about(copy, slot) && votes(copy)).collect();
    let mut index = 0;
    chart.arrows.retain(|arrow| {
        let about = slots[index];
        index += 1;
        match arrow.arrival {
            Arrival::Delivered { step, heeded } => {
                within(arrow.to, step) && (arrow.lie.is_some() || (about && heeded))
            }
            Arrival::Lost { step, by } => within(arrow.from, step) && about && by != Loss::Down,
            Arrival::Underway => false,
        }
    });
    // Who enters a view again and again says it once.
    let mut said: Vec<Option<String>> = vec![None; chart.lifelines.len()];
    let mut is_news =
        |mark: &Mark, lifeline: usize| said[lifeline].replace(mark.text.clone()).as_ref() != Some(&mark.text);
    let matters = |mark: &Mark| match (mark.sign, mark.lifeline) {
        (Sign::Violation, _) => true,
        (Sign::Note, Some(lifeline)) => within(lifeline, mark.step) && is_news(mark, lifeline),
        // Calm or not: it is over by then.
        (_, None) => false,
        (_, Some(lifeline)) => within(lifeline, mark.step),
    };
    chart.marks.retain(matters);
    let mut ends = ends(&chart);
    if ends.len() > 3 * ROWS {
        let first = ends.split_off(ends.len() - ROWS)[0];
        chart.arrows.retain(|arrow| arrow.end().is_some_and(|end| end >= first));
        chart.marks.retain(|mark| mark.step >= first);
    }
    chart
}

/// When things happened, in order.
fn ends(chart: &Chart) -> Vec<u64> {
    let mut ends: Vec<u64> = chart.arrows.iter().filter_map(Arrow::end).collect();
    ends.extend(chart.marks.iter().map(|mark| mark.step));
    ends.sort_unstable();
    ends
}

/// What happened for the first time, and no more than fits.
fn first_times(mut chart: Chart) -> Chart {
    let mut seen = BTreeSet::new();
    chart.arrows.retain(|arrow| arrow.lost() != Some(Loss::Down));
    chart.arrows.retain(|arrow| seen.insert((arrow.from, arrow.to, arrow.text.clone())));
    let mut noted = BTreeSet::new();
    let senders: BTreeSet<(usize, u64)> = chart.arrows.iter().map(|arrow| (arrow.from, arrow.sent)).collect();
    chart.marks.retain(|mark| match (mark.sign, mark.lifeline) {
        (Sign::Timer, Some(lifeline)) => senders.contains(&(lifeline, mark.step)),
        _ => noted.insert((mark.lifeline, mark.text.clone())),
    });
    if let Some(&last) = ends(&chart).get(ROWS) {
        chart.arrows.retain(|arrow| arrow.end().is_some_and(|end| end <= last));
        chart.marks.retain(|mark| mark.step <= last || mark.sign == Sign::Violation);
    }
    chart
}

const fn delivered(arrow: &Arrow) -> Option<u64> {
    match arrow.arrival {
        Arrival::Delivered { step, .. } => Some(step),
        _ => None,
    }
}
