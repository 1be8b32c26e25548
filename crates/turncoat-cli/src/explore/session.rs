//! A session: a scenario, and runs of it, each a list of choices.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use turncoat_core::ids::NodeSet;
use turncoat_core::outcome::{End, Violation};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::Scenario;
use turncoat_core::schedule::Action;
use turncoat_core::session::Session as Hand;
use turncoat_core::sim::Moment;
use turncoat_lab::suite::Bug;

use super::Trouble;
use super::replayed::Replayed;
use super::waiting::Waiting;
use crate::numbers::counted;
use crate::registry;

/// The most choices that one command makes.
const MOST: usize = 50_000;

/// The most steps of a run that is opened.
const LONGEST: u64 = 100_000;

/// The most runs of a session.
const RUNS: usize = 64;

/// A scenario, and runs of it.
#[derive(Clone)]
pub(crate) struct Session {
    pub(super) title: String,
    /// What it shows, in a line.
    pub(super) about: String,
    pub(super) entry: &'static Entry,
    pub(super) scenario: Scenario,
    pub(super) runs: Vec<Chosen>,
    /// How often it was changed.
    pub(super) version: u64,
    /// The run that was looked at last, whole.
    pub(super) replayed: Arc<Mutex<Option<Whole>>>,
}

/// A run, by its number, as a whole.
pub(super) type Whole = (usize, Arc<Replayed>);

/// What was chosen in a run.
#[derive(Clone)]
pub(super) struct Chosen {
    pub(super) name: String,
    /// The run that it was forked from, and where.
    pub(super) from: Option<(usize, usize)>,
    pub(super) actions: Vec<Action>,
    /// What it violates first.
    pub(super) violation: Option<String>,
}

/// Where an answer leads.
#[derive(Debug, Serialize)]
pub(super) struct Place {
    pub(super) run: usize,
    pub(super) at: usize,
    pub(super) note: Option<String>,
}

/// When to stop.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Until {
    Decision,
    ViewChange,
    Violation,
    End,
    Steps,
}

impl Session {
    /// The witness of a known bug.
    pub(crate) fn bug(bug: Bug, waiting: &Waiting) -> Result<Self> {
        let session = Self::of(bug.id, &bug.witness, waiting)?;
        Ok(Self { about: bug.facts.title, ..session })
    }

    /// The run of a scenario, from its first choice to its last.
    pub(crate) fn of(title: String, scenario: &Scenario, waiting: &Waiting) -> Result<Self> {
        let entry = registry::protocol(&scenario.protocol.name)?;
        let mut enough = |now: &dyn Moment| now.steps() > LONGEST || waiting.is_over();
        let (outcome, recording) = entry.runner().record_until(scenario, &mut enough)?;
        if waiting.is_over() {
            bail!("nobody is waiting for the answer any more");
        }
        if outcome.end == End::Stopped {
            bail!(
                "the run has more than {LONGEST} steps, which is too long to explore: give it fewer requests, or a lower \
                 `limits.steps`"
            );
        }
        let violation = outcome.violations.first().map(|violation| violation.property.to_string());
        let chosen = Chosen { name: "original".to_owned(), from: None, actions: recording.script, violation };
        Ok(Self::new(title, entry, scenario, chosen))
    }

    fn new(title: String, entry: &'static Entry, scenario: &Scenario, chosen: Chosen) -> Self {
        let (about, scenario) = (entry.about.to_owned(), scenario.clone());
        Self { title, about, entry, scenario, runs: vec![chosen], version: 0, replayed: Arc::default() }
    }

    /// A run in which nothing has been chosen yet.
    pub(crate) fn fresh(title: String, scenario: &Scenario) -> Result<Self> {
        let entry = registry::protocol(&scenario.protocol.name)?;
        entry.runner().validate(scenario)?;
        let chosen = Chosen { name: "by hand".to_owned(), from: None, actions: Vec::new(), violation: None };
        Ok(Self::new(title, entry, scenario, chosen))
    }

    pub(super) fn chosen(&self, run: usize, at: usize) -> Result<&[Action], Trouble> {
        let chosen = self.runs.get(run).ok_or_else(|| Trouble::Missing(format!("there is no run {run}")))?;
        let choices = chosen.actions.len();
        chosen.actions.get(..at).ok_or_else(|| {
            Trouble::Missing(format!(
                "there is no place {at}: run {run} has {}",
                counted(choices as u64, "choice")
            ))
        })
    }

    /// A run up to a place, to go on from there, or, where nobody records, to look at.
    pub(super) fn replay(&self, run: usize, at: usize, record: bool) -> Result<Box<dyn Hand>, Trouble> {
        let mut hand = self.begin(record)?;
        for action in self.chosen(run, at)? {
            hand.apply(action).map_err(|error| Trouble::Refused(format!("`{action}`: {error}")))?;
        }
        Ok(hand)
    }

    /// A run before its first choice.
    pub(super) fn begin(&self, record: bool) -> Result<Box<dyn Hand>, Trouble> {
        self.entry.session(&self.scenario, record).map_err(|error| Trouble::Refused(error.to_string()))
    }

    /// A run as a whole. It is made once, as long as nobody changes it.
    pub(super) fn replayed(&self, run: usize) -> Result<Arc<Replayed>, Trouble> {
        let mut last = self.replayed.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((known, replayed)) if *known == run => Ok(Arc::clone(replayed)),
            _ => {
                let replayed = Arc::new(Replayed::of(self, run)?);
                *last = Some((run, Arc::clone(&replayed)));
                Ok(replayed)
            }
        }
    }

    /// Makes a choice. In the past, another one than before starts a new run.
    pub(super) fn act(&mut self, run: usize, at: usize, line: &str) -> Result<Place, Trouble> {
        let action: Action = line.parse().map_err(Trouble::Bad)?;
        let mut hand = self.replay(run, at, true)?;
        hand.apply(&action).map_err(|error| Trouble::Refused(error.to_string()))?;
        self.extend(run, at, &mut *hand, None)
    }

    /// Lets time pass until something happens.
    pub(super) fn go(
        &mut self,
        run: usize,
        at: usize,
        until: Until,
        steps: usize,
        waiting: &Waiting,
    ) -> Result<Place, Trouble> {
        let mut hand = self.replay(run, at, true)?;
        let seats = hand.standings().len();
        let views = |hand: &dyn Hand| (0..seats).map(|seat| hand.view(seat)).collect::<Vec<_>>();
        let before = (hand.commits(), views(&*hand), hand.violations().len());
        let (mut left, mut note) = (MOST, None);
        let happened = |hand: &dyn Hand| match until {
            Until::Decision => hand.commits() > before.0,
            Until::ViewChange => views(hand) != before.1,
            Until::Violation => hand.violations().len() > before.2,
            Until::End => false,
            Until::Steps => hand.script().len() >= at + steps,
        };
        if matches!(until, Until::End) && !hand.is_calm() {
            hand.apply(&Action::Calm).map_err(|error| Trouble::Refused(error.to_string()))?;
        }
        while !happened(&*hand) {
            if left == 0 || !hand.go_on() {
                let why = match left {
                    0 => format!("nothing of the kind in {MOST} choices"),
                    _ => "nothing more can happen".to_owned(),
                };
                note = (!matches!(until, Until::End)).then(|| format!("stopped: {why}"));
                break;
            }
            if waiting.is_over() {
                return Err(Waiting::trouble());
            }
            left -= 1;
        }
        self.extend(run, at, &mut *hand, note)
    }

    /// A second run with the choices up to a place.
    pub(super) fn fork(&mut self, run: usize, at: usize, name: &str) -> Result<Place, Trouble> {
        let actions = self.chosen(run, at)?.to_vec();
        let mut hand = self.replay(run, at, false)?;
        let violation = first(&mut *hand);
        self.add(Chosen { name: name.to_owned(), from: Some((run, at)), actions, violation })
    }

    /// The same choices, with other liars.
    pub(super) fn with_liars(&self, liars: NodeSet) -> Result<Self, Trouble> {
        let liars: Vec<String> = liars.iter().map(|node| node.to_string()).collect();
        let scenario = self.scenario.with("adversary.byzantine", liars.into());
        let scenario = scenario.map_err(|error| Trouble::Refused(error.to_string()))?;
        let mut session = Self { scenario, replayed: Arc::default(), ..self.clone() };
        for run in 0..session.runs.len() {
            let mut hand = session.replay(run, session.runs[run].actions.len(), false)?;
            session.runs[run].violation = first(&mut *hand);
        }
        Ok(session)
    }

    fn extend(
        &mut self,
        run: usize,
        at: usize,
        hand: &mut dyn Hand,
        note: Option<String>,
    ) -> Result<Place, Trouble> {
        let actions = hand.script().to_vec();
        let before = &self.runs[run].actions;
        let (now, violation) = (actions.len(), first(hand));
        if before.starts_with(&actions) {
            return Ok(Place { run, at: now, note });
        }
        if before.len() == at {
            self.replayed = Arc::default();
            let chosen = &mut self.runs[run];
            (chosen.actions, chosen.violation) = (actions, violation);
            return Ok(Place { run, at: now, note });
        }
        let name = format!("from {at}");
        let place = self.add(Chosen { name, from: Some((run, at)), actions, violation })?;
        Ok(Place { note, ..place })
    }

    fn add(&mut self, chosen: Chosen) -> Result<Place, Trouble> {
        if self.runs.len() >= RUNS {
            return Err(Trouble::Refused(format!("a session has at most {RUNS} runs")));
        }
        let at = chosen.actions.len();
        self.runs.push(chosen);
        Ok(Place { run: self.runs.len() - 1, at, note: None })
    }
}

/// What is violated first, once a run has ended if it has.
fn first(hand: &mut dyn Hand) -> Option<String> {
    let name = |violation: &Violation| violation.property.to_string();
    if hand.is_over() {
        hand.stop().0.violations.first().map(name)
    } else {
        hand.violations().first().map(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Rows;

    const LONG: &str = "schema = 1\nprotocol.name = 'pbft'\nworkload.requests = 10000";

    #[test]
    fn a_run_that_is_too_long_is_refused() {
        let long = Scenario::parse(LONG).expect("a scenario");
        let error = Session::of("long".to_owned(), &long, &Waiting::default()).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("more than 100000 steps"), "{error}");
    }

    /// It ends with its first step.
    #[test]
    fn a_run_that_nobody_waits_for_ends() {
        let (scenario, waiting) = (Scenario::parse(LONG).expect("a scenario"), Waiting::default());
        drop(waiting.client());
        let mut session = Session::fresh("by hand".to_owned(), &scenario).expect("a session");
        let gone = session.go(0, 0, Until::End, 0, &waiting).unwrap_err();
        assert!(matches!(gone, Trouble::Slow(_)), "{gone:?}");
        let short = scenario.with("workload.requests", 1.into()).expect("a scenario");
        assert!(Session::of("short".to_owned(), &short, &waiting).is_err());
        assert!(Session::of("short".to_owned(), &short, &Waiting::default()).is_ok());
    }

    #[test]
    fn witnesses_can_be_made_again_choice_by_choice() {
        let mut made = 0;
        for bug in Rows::embedded().bugs(&[]).expect("the suite") {
            let (id, property) = (bug.id.clone(), bug.facts.property);
            // Runs that go nowhere take long, and are as the others.
            let mut runner = registry::protocol(&bug.witness.protocol.name).expect("a protocol").runner();
            if runner.execute(&bug.witness).expect("it runs").steps > 5000 {
                continue;
            }
            let session =
                Session::bug(bug, &Waiting::default()).unwrap_or_else(|error| panic!("{id}: {error}"));
            let replayed = session.replayed(0).unwrap_or_else(|error| panic!("{id}: {error:?}"));
            let end = session.runs[0].actions.len();
            assert!(replayed.violated(end, property).is_some(), "{id}");
            made += 1;
        }
        assert!(made > 80, "{made} witnesses");
    }
}
