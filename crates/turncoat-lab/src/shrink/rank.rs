//! Which of two scenarios is smaller.
//!
//! First whatever is left to chance, then the number of faults and steps that one has to read, then how many take part,
//! then how many links the faults touch, then the length of the file. So a fault gets a receiver more than it loses a
//! line, and a request less counts more than a line more.

use std::cmp::Ordering;

use turncoat_core::fault::{Effect, Fault, Mutate};
use turncoat_core::ids::SeatName;
use turncoat_core::scenario::{Scenario, SchedulerName};

/// What is counted, the most important first. The text is compared last, and only if it must be: writing it costs as
/// much as a short run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Rank {
    chance: usize,
    steps: usize,
    requests: u32,
    clients: usize,
    replicas: usize,
    liars: usize,
    links: usize,
    /// Faults that name a step or a time, which small changes of a run shift.
    moments: usize,
    /// Faults with values that a seed draws, or with messages of any kind made up.
    open: usize,
}

impl Rank {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let faults = &scenario.adversary.faults;
        let random = matches!(scenario.scheduler.name, SchedulerName::Sync | SchedulerName::Async);
        let moment = |fault: &&Fault| fault.when.step.is_some() || fault.when.time.is_some();
        let open = |fault: &&Fault| match &fault.effect {
            Effect::Flip(_) | Effect::Garble(_) | Effect::Mutate(Mutate::Drawn(_)) => true,
            Effect::Originate(originate) => originate.mint.as_deref() == Some("all"),
            _ => false,
        };
        Self {
            chance: usize::from(random) + faults.iter().filter(|fault| drawn(fault)).count(),
            steps: faults.len() + scenario.scheduler.script.len(),
            requests: scenario.workload.requests,
            clients: scenario.cluster.clients,
            replicas: scenario.cluster.n,
            liars: scenario.adversary.byzantine.len() + scenario.adversary.twins.len(),
            links: faults.iter().map(|fault| links(scenario, fault)).sum(),
            moments: faults.iter().filter(moment).count(),
            open: faults.iter().filter(open).count(),
        }
    }

    /// Whether two plain faults would be less.
    pub(super) const fn many(&self) -> bool {
        self.chance > 0 || self.steps > 2
    }

    /// Whether a scenario of this rank is smaller than another.
    pub(super) fn below(&self, scenario: &Scenario, other: &Self, than: &Scenario) -> bool {
        match self.cmp(other) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => written(scenario) < written(than),
        }
    }
}

/// Whether a fault leaves something to chance.
pub(super) fn drawn(fault: &Fault) -> bool {
    // Of a single row the seed draws the value alone.
    let lie = matches!(&fault.effect, Effect::Mutate(Mutate::Drawn(drawn)) if drawn.only.len() != 1);
    lie || fault.when.permille.is_some_and(|permille| permille < 1000)
}

/// How many links a fault may touch.
fn links(scenario: &Scenario, fault: &Fault) -> usize {
    let all = scenario.cluster.n + scenario.cluster.clients;
    let among = |list: &[SeatName], all: usize| if list.is_empty() { all } else { list.len() };
    let to = among(&fault.when.to, all);
    match &fault.effect {
        Effect::Mutate(_) => among(&fault.when.from, scenario.adversary.byzantine.len()) * to,
        Effect::Originate(originate) => {
            among(&fault.when.from, scenario.adversary.byzantine.len()) * to * originate.to.len()
        }
        Effect::Persona(face) => face.to.len() + face.at_view_change.as_ref().unwrap_or(&face.to).len(),
        Effect::Drop
        | Effect::Hold
        | Effect::Delay(_)
        | Effect::Duplicate(_)
        | Effect::Flip(_)
        | Effect::Garble(_) => among(&fault.when.from, all) * to,
        Effect::Partition(blocks) => {
            let nodes: usize = blocks.iter().map(Vec::len).sum();
            blocks.iter().map(|block| block.len() * (nodes - block.len())).sum()
        }
        Effect::Isolate(inside) => 2 * inside.len() * scenario.cluster.n.saturating_sub(inside.len()),
        Effect::Deaf(deaf) => deaf.len() * all,
        Effect::Crash(_) | Effect::Restart(_) | Effect::Jump(_) | Effect::Fire(_) | Effect::Stance(_) => 0,
    }
}

/// Lines, length, seed.
fn written(scenario: &Scenario) -> (usize, usize, u64) {
    let text = scenario.to_toml();
    (count(&text), text.len(), scenario.seed.0)
}

/// The lines of a scenario's file that say something, without what it is expected to show.
pub(super) fn lines(scenario: &Scenario) -> usize {
    count(&Scenario { expect: None, bug: None, ..scenario.clone() }.to_toml())
}

fn count(text: &str) -> usize {
    text.lines().filter(|line| !line.trim().is_empty()).count()
}
