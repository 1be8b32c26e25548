//! Looks for a part of a run that repeats forever.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use turncoat_core::hash::stable_hash;
use turncoat_core::ids::View;
use turncoat_core::outcome::{End, Outcome};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Lasso, Scenario, ScenarioError};
use turncoat_core::sim::Moment;
use turncoat_core::tokens::Token;

use super::NEAR;
use super::check::{Flaw, Proof, prove};
use super::grows::grows;

/// What is known about the termination of a run.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// It terminates: what was asked for is done.
    Terminates,
    /// Nothing is left to happen, and something is undone.
    Deadlock,
    /// A part of it repeats forever.
    Lasso(Lasso, Proof),
    /// What comes after one event up to another repeats forever, but what the protocol asks for to terminate is not given.
    TooWeak(u64, u64, Flaw),
    /// Nobody knows.
    Unresolved {
        /// All reasons why.
        why: Vec<&'static str>,
        /// The fields that keep the state from coming back, if that is the reason.
        grows: Vec<String>,
    },
}

impl Verdict {
    /// Whether it is proved that the run never terminates.
    pub const fn never_terminates(&self) -> bool {
        matches!(self, Self::Lasso(..) | Self::Deadlock)
    }
}

/// After a decision the world is looked at in so many views, and then ever more rarely: some states grow with each view, and those
/// that recur do so with a multiple of their period, too.
const DENSE: u32 = 128;

/// Runs a scenario, and looks at the world whenever the slowest correct replica enters another view.
///
/// # Errors
/// If the scenario cannot run.
pub fn find(entry: &Entry, scenario: &Scenario) -> Result<Verdict, ScenarioError> {
    let mut finder = Finder { why: vec![NO_VIEW], ..Finder::default() };
    let outcome = entry.runner().watch(scenario, &mut |moment| finder.look(moment))?;
    let Some((from, to)) = finder.found else { return Ok(finder.nothing(&outcome)) };
    Ok(match prove(entry, scenario, from, to)? {
        Ok(proof) => Verdict::Lasso(Lasso { from, to, class: proof.class }, proof),
        Err(flaw) => Verdict::TooWeak(from, to, flaw),
    })
}

/// Why nothing is known where no world was looked at.
const NO_VIEW: &str =
    "the slowest correct replica enters no further view, and only then is the state compared";

#[derive(Default)]
struct Finder {
    done: bool,
    view: View,
    commits: u32,
    /// Views since the last decision.
    views: u32,
    /// The worlds since the last decision by their hashes, and the events after which they were. Two that are taken for equal by
    /// mistake are told apart by the proof.
    seen: BTreeMap<u64, u64>,
    found: Option<(u64, u64)>,
    why: Vec<&'static str>,
    /// The worlds of the last views, as many as it takes for the same leader to come again.
    last: VecDeque<(View, Vec<Token>)>,
    period: u32,
}

impl Finder {
    fn look(&mut self, moment: &dyn Moment) -> bool {
        self.done = moment.done();
        let view = moment.views().iter().map(|&(_, view)| view).min().unwrap_or_default();
        if view == self.view || self.done {
            return self.done;
        }
        self.view = view;
        if moment.commits() > self.commits {
            (self.commits, self.views) = (moment.commits(), 0);
            self.seen.clear();
        }
        self.views += 1;
        let rare = (self.views / DENSE).min(6);
        if rare > 0 && !view.0.is_multiple_of(moment.period() << rare) {
            return false;
        }
        match moment.world() {
            Err(reasons) => self.why = reasons,
            Ok(world) => {
                self.why = vec!["no state comes back within the limits"];
                self.period = moment.period();
                let canonical = canonical(&world, self.period);
                let before = self.seen.insert(stable_hash(0x1A50, &canonical), moment.steps());
                self.found = before.map(|before| (before, moment.steps()));
                self.last.push_back((view, world));
                if self.last.len() > self.period as usize + 1 {
                    self.last.pop_front();
                }
            }
        }
        self.found.is_some()
    }

    /// What has changed since the view before that had the same leader.
    fn grows(&self) -> Vec<String> {
        let mut worlds = self.last.iter().rev();
        let Some((view, world)) = worlds.next() else { return Vec::new() };
        let alike = |(earlier, _): &&(View, Vec<Token>)| earlier.0 % self.period == view.0 % self.period;
        worlds.find(alike).map_or_else(Vec::new, |(_, earlier)| grows(earlier, world))
    }

    fn nothing(self, outcome: &Outcome) -> Verdict {
        match outcome.end {
            _ if self.done => Verdict::Terminates,
            End::Quiet => Verdict::Deadlock,
            _ => Verdict::Unresolved { grows: self.grows(), why: self.why },
        }
    }
}

/// The world with names that depend on nothing but the order in which they occur, and with numbers of which only small
/// distances count.
fn canonical(world: &[Token], period: u32) -> Vec<u64> {
    let (mut views, mut slots, mut counts) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for token in world {
        match *token {
            Token::View(view) => drop(views.insert(view)),
            Token::Slot(slot) => drop(slots.insert(slot)),
            Token::Count(count) => drop(counts.insert(count)),
            _ => {}
        }
    }
    let (views, slots, counts) = (closer(&views, period.into()), closer(&slots, 1), closer(&counts, 1));
    let mut names = BTreeMap::from([(0, 0)]);
    let mut out = Vec::with_capacity(2 * world.len());
    for token in world {
        let (sort, value) = match token {
            Token::View(view) => (1, views[view]),
            Token::Slot(slot) => (2, slots[slot]),
            Token::Count(count) => (3, counts[count]),
            Token::Digest(digest) => {
                let next = names.len() as u64;
                (4, *names.entry(*digest).or_insert(next))
            }
            Token::Number(number) => (5, *number),
            Token::Text(words) => (6, stable_hash(0x1A50, words.as_str())),
            Token::Name(name) => (7, stable_hash(0x1A50, *name)),
            // The same wherever the rest is.
            Token::Field(_) => continue,
            Token::Open => (8, 0),
            Token::Close => (9, 0),
        };
        out.extend([sort, value]);
    }
    out
}

/// Numbers with their large distances made small; modulo `period` they stay what they are.
fn closer(numbers: &BTreeSet<u64>, period: u64) -> BTreeMap<u64, u64> {
    let (mut last, mut place) = (0, 0);
    numbers
        .iter()
        .map(|&number| {
            let distance = number - last;
            place += if distance < NEAR { distance } else { NEAR + (distance - NEAR) % period };
            last = number;
            (number, place)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_and_large_distances_are_forgotten() {
        use Token::{Digest, Name, Number, Text, View};
        let of = |view, block, rest: Token| {
            let world = [View(view), Digest(block), Text("p0".to_owned()), Digest(7), View(view + 2), rest];
            canonical(&world, 4)
        };
        assert_eq!(of(40, 1, Number(3)), of(44, 2, Number(3)));
        assert_ne!(of(40, 1, Number(3)), of(41, 1, Number(3)), "another leader");
        assert_ne!(of(40, 1, Number(3)), of(40, 7, Number(3)), "the same block twice");
        assert_ne!(of(40, 1, Number(3)), of(40, 1, Number(4)));
        assert_ne!(of(40, 1, Name("a")), of(40, 1, Name("b")));
    }
}
