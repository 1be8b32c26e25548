//! A calm scheduler, and a script with the few steps that matter.

use std::sync::Arc;

use turncoat_core::record::What;
use turncoat_core::scenario::{Scenario, SchedulerName, SchedulerSpec, Seed};
use turncoat_core::schedule::Action;

use super::Shrinker;
use super::keys::SEEDS;

impl Shrinker<'_> {
    /// Away from random schedulers and scripts, where the order does not matter.
    pub(super) fn plain_scheduler(&mut self) {
        if !self.plain() {
            self.without_chance(&self.best.clone());
        }
    }

    fn plain(&self) -> bool {
        matches!(self.best.scheduler.name, SchedulerName::Timed | SchedulerName::Fifo)
    }

    /// What a random scheduler chose becomes explicit: faults, where the order does not matter, or a script.
    pub(super) fn script_choices(&mut self) {
        if self.plain() {
            return;
        }
        let (_, script) = self.record();
        let scripted = self.best.scheduler.name == SchedulerName::Script;
        if self.without_chance(&self.as_faults(&script)) || scripted {
            return;
        }
        // The shortest beginning that matters: what is in flight when a script ends is delivered in its usual order.
        let mut length = 0;
        loop {
            let scheduler = SchedulerSpec {
                name: SchedulerName::Script,
                script: script[..length].to_vec(),
                ..SchedulerSpec::default()
            };
            let candidate = Scenario { scheduler: Arc::new(scheduler), ..self.best.clone() };
            if self.attempt(candidate, || format!("a script of {length} steps")) || length == script.len() {
                return;
            }
            length = (length + 1 + length / 50).min(script.len());
        }
    }

    /// Tries a scenario under schedulers that leave little to chance.
    fn without_chance(&mut self, scenario: &Scenario) -> bool {
        let seeds = [scenario.seed].into_iter().chain((0..SEEDS).map(Seed));
        let timed = seeds.map(|seed| (SchedulerName::Timed, seed));
        let fifo = [scenario.seed, Seed(0)].map(|seed| (SchedulerName::Fifo, seed));
        timed.chain(fifo).any(|(name, seed)| {
            let scheduler = Arc::new(SchedulerSpec { name, ..SchedulerSpec::default() });
            let candidate = Scenario { seed, scheduler, ..scenario.clone() };
            self.attempt(candidate, || format!("a scheduler without chance: {name:?}"))
        })
    }

    pub(super) fn shorten_script(&mut self) {
        let len = |scenario: &Scenario| scenario.scheduler.script.len();
        self.cut_list(
            len,
            |scenario, range| drop(Arc::make_mut(&mut scenario.scheduler).script.drain(range)),
            "steps of the script",
        );
        for i in 0..self.best.scheduler.script.len() {
            let mut candidate = self.best.clone();
            let action = &mut Arc::make_mut(&mut candidate.scheduler).script[i];
            if let Action::Mutate(_, name, seed @ 1..) = action {
                *seed = 0;
                let words = format!("the value that {name} draws does not matter");
                self.attempt(candidate, || words);
            }
        }
    }

    /// The scenario without the lines of its script that cannot be carried out.
    pub(super) fn carried_out(&mut self, scenario: &Scenario) -> Option<Scenario> {
        self.executions += 1;
        let (_, recording) = self.runner.record(scenario).ok()?;
        let impossible = recording.events.iter().filter_map(|event| match &event.what {
            What::Note { seat: None, text } => Some(text.strip_prefix('`')?.split_once("` cannot happen")?.0),
            _ => None,
        });
        let mut impossible = impossible.peekable();
        let mut candidate = scenario.clone();
        let script = &mut Arc::make_mut(&mut candidate.scheduler).script;
        let before = script.len();
        script.retain(|action| impossible.next_if(|text| *text == action.to_string()).is_none());
        (script.len() < before).then_some(candidate)
    }
}
