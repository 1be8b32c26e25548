//! What of a chart matters: the past of the violation, and nothing said twice.

use std::collections::BTreeSet;

use turncoat_core::ids::Slot;
use turncoat_core::outcome::{Property, Violation};
use turncoat_core::record::{Arrival, Loss, SentCopy};

use super::chart::{Arrow, Chart, Mark, Sign};
use super::read::Run;

/// Rows that a chart of an endless run has at the most.
const ROWS: usize = 60;

/// Broadcasts whose losses are shown.
const LOSSES: usize = 4;

/// Leaves out of the chart of a whole run what does not matter.
pub(super) fn focus(run: &Run, chart: Chart) -> Chart {
    let last = run.last_step();
    let total = chart.arrows.iter().filter(|arrow| arrow.sent <= last).count();
    let focused = match &run.violation {
        Some(violation) if violation.property != Property::Termination => past(run, chart),
        _ => first_times(chart),
    };
    let left = total - focused.arrows.len();
    let ends = ends(&focused).into_iter().rfind(|&step| step <= last).unwrap_or_default();
    let cut = match run.violation.is_none() && ends < last {
        true => format!(", and everything after step {ends}"),
        false => String::new(),
    };
    let left_out =
        (left > 0).then(|| format!("Not shown: {left} of the {total} messages sent up to step {last}{cut}"));
    without_idle_clients(Chart { left_out, ..focused })
}

/// Without the columns of clients to whom nothing happens.
fn without_idle_clients(mut chart: Chart) -> Chart {
    for place in (0..chart.lifelines.len()).rev() {
        let idle = !chart.arrows.iter().any(|arrow| arrow.from == place || arrow.to == place)
            && !chart.marks.iter().any(|mark| mark.lifeline == Some(place));
        if !idle || !chart.lifelines[place].name.node.is_client() {
            continue;
        }
        chart.lifelines.remove(place);
        let moved = |lifeline: &mut usize| *lifeline -= usize::from(*lifeline > place);
        for arrow in &mut chart.arrows {
            moved(&mut arrow.from);
            moved(&mut arrow.to);
        }
        chart.marks.iter_mut().filter_map(|mark| mark.lifeline.as_mut()).for_each(moved);
    }
    chart
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
    let slots = slots(run, violation);
    let about = |slot: Option<Slot>| slot.is_none_or(|slot| slots.is_empty() || slots.contains(&slot));
    // Neither checkpoints nor replies decide anything.
    let votes = |copy: &SentCopy| copy.slot.is_none() || (copy.round.is_some() && !copy.dst.node.is_client());
    // What others were told instead of a lie shows that it is one.
    let origin = |copy: &SentCopy| (copy.src, copy.sent, copy.kind);
    let copies = || run.recording.copies.iter();
    let lies: BTreeSet<_> = copies().filter(|copy| copy.lie.is_some()).map(origin).collect();
    let matter = |copy: &SentCopy| (about(copy.slot) || lies.contains(&origin(copy))) && votes(copy);
    let matters: Vec<bool> = copies().map(matter).collect();
    // Where the network is split much is lost, and little of that matters.
    let lost = |copy: &&SentCopy| matches!(copy.arrival, Arrival::Lost { by: Loss::Network, step } if step <= violation.step);
    let many = copies().filter(lost).map(origin).collect::<BTreeSet<_>>().len() > LOSSES;
    let mut index = 0;
    chart.arrows.retain(|arrow| {
        let about = matters[index];
        index += 1;
        match arrow.arrival {
            Arrival::Delivered { step, heeded } => {
                within(arrow.to, step) && (arrow.lie.is_some() || (about && heeded))
            }
            Arrival::Lost { step, by } => {
                within(arrow.from, step) && about && by != Loss::Down && !(many && by == Loss::Network)
            }
            Arrival::Underway => false,
        }
    });
    // Who enters a view again and again says it once.
    let mut said: Vec<Option<String>> = vec![None; chart.lifelines.len()];
    let mut is_news =
        |mark: &Mark, lifeline: usize| said[lifeline].replace(mark.text.clone()).as_ref() != Some(&mark.text);
    let mut decisions = run.decisions().into_iter();
    let matters = |mark: &Mark| match (mark.sign, mark.lifeline) {
        (Sign::Violation, _) => true,
        (Sign::Decision(_), Some(lifeline)) => {
            let slot = decisions.next().map(|decision| decision.slot);
            within(lifeline, mark.step) && about(slot)
        }
        (Sign::Note, Some(lifeline)) => within(lifeline, mark.step) && is_news(mark, lifeline),
        // Calm or not: it is over by then.
        (_, None) => false,
        (_, Some(lifeline)) => within(lifeline, mark.step),
    };
    chart.marks.retain(matters);
    if ends(&chart).len() > 2 * ROWS {
        chart.marks.retain(|mark| mark.lifeline.is_none() || !matches!(mark.sign, Sign::Note | Sign::Timer));
    }
    let mut ends = ends(&chart);
    if ends.len() > 3 * ROWS {
        let first = ends.split_off(ends.len() - ROWS)[0];
        chart.arrows.retain(|arrow| arrow.end().is_some_and(|end| end >= first));
        chart.marks.retain(|mark| mark.step >= first);
    }
    chart
}

/// The slots that a violation is about; none: all.
fn slots(run: &Run, violation: &Violation) -> Vec<Slot> {
    match violation.rule {
        // What comes before a slot matters where it was left out.
        "order" => Vec::new(),
        "duplicate" => {
            let decisions = run.decisions();
            let own = || {
                decisions
                    .iter()
                    .filter(|d| violation.nodes.contains(&d.seat.node) && d.step <= violation.step)
            };
            let last = own().next_back().map(|last| last.id);
            own().filter(|d| Some(d.id) == last).map(|d| d.slot).collect()
        }
        _ => violation.slot.into_iter().collect(),
    }
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
