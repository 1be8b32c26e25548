//! What the author of a protocol wants to know before fuzzing it. Fuzzing takes all of it for granted, and finds nothing,
//! or finds nonsense, where it does not hold.
//!
//! The questions are asked about runs of a campaign, which meet faults and so take the paths that are seldom taken.

use std::sync::Arc;

use turncoat_core::ids::{NodeId, NodeSet};
use turncoat_core::message::Lie;
use turncoat_core::outcome::{End, Outcome};
use turncoat_core::part::Scope;
use turncoat_core::probe::{Kind, Nonsense, Samples};
use turncoat_core::rng::run_seed;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Adversary, Scenario, ScenarioError, SchedulerName, SchedulerSpec, Seed};

use crate::campaign::{Campaign, CampaignError, SELDOM, first_difference};
use crate::words::count;

/// How much nonsense of each kind a run stands for.
const NONSENSE: u64 = 100;

/// Where runs with faults end that do not end by themselves.
const STEPS: u64 = 3000;

/// How many messages of a kind must have been seen to say that something never changes in it.
const ENOUGH: u64 = 1000;

/// One question, and its answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The question, in one word.
    pub name: &'static str,
    /// What was done to answer it.
    pub done: String,
    /// What is wrong; nothing if all is well.
    pub wrong: Vec<String>,
    /// What to do about it.
    pub advice: &'static str,
    /// What is not wrong, and good to know.
    pub notes: Vec<String>,
}

/// Asks all questions, about so many runs as the campaign has.
///
/// # Errors
/// If a scenario cannot be drawn, or cannot run.
pub fn answers(campaign: &Campaign<'_>) -> Result<Vec<Answer>, CampaignError> {
    let Campaign { entry, base, seed, .. } = *campaign;
    let mut storms = Vec::new();
    for index in 0..campaign.runs.unwrap_or_default() {
        let mut storm = campaign.scenario_of(index)?;
        if storm.limits.steps.is_none() {
            Arc::make_mut(&mut storm.limits).steps = Some(STEPS);
        }
        entry.runner().validate(&storm).map_err(|error| CampaignError::Scenario { index, error })?;
        storms.push(storm);
    }
    let asked = || {
        let mut samples = Samples::default();
        let (determinism, outcomes) = determinism(entry, &storms, &mut samples)?;
        let mut answers = vec![
            determinism,
            messages(entry, &samples),
            states(samples.clone()),
            mutations(entry, &samples),
            progress(entry, base, seed, storms.len() as u64)?,
            nonsense(entry, &storms)?,
        ];
        if !entry.flags.is_empty() {
            answers.push(flags(entry, &storms, &outcomes)?);
        }
        Ok(answers)
    };
    asked().map_err(|error| CampaignError::Scenario { index: 0, error })
}

/// Is a run the same whenever it is executed, after whatever other runs, recorded or not?
fn determinism(
    entry: &Entry,
    storms: &[Scenario],
    samples: &mut Samples,
) -> Result<(Answer, Vec<Outcome>), ScenarioError> {
    let (mut used, mut others) = (entry.runner(), Samples::default());
    let (mut wrong, mut outcomes) = (None, Vec::new());
    for (index, storm) in storms.iter().enumerate() {
        let outcome = used.sample(storm, samples)?;
        let fresh = entry.runner().sample(storm, &mut others)?;
        let (recorded, one) = entry.runner().record(storm)?;
        let (again, two) = entry.runner().record(storm)?;
        let same = [&fresh, &recorded, &again].into_iter().all(|other| *other == outcome);
        let state = samples.states.iter().zip(&others.states).find(|(one, two)| one != two);
        let differs = first_difference(&one.events, &two.events)
            .or_else(|| (!same).then(|| SELDOM.to_owned()))
            .or_else(|| state.map(|((seat, _), _)| format!("ends with another state of {seat}")));
        wrong = wrong.or_else(|| Some(format!("run {index}, executed twice, {}", differs?)));
        outcomes.push(outcome);
    }
    let answer = Answer {
        name: "determinism",
        done: format!("{}, each executed four times", count(storms.len(), "run", "runs")),
        wrong: wrong.into_iter().collect(),
        advice: "look for clocks, random numbers, addresses, hash maps and statics in the protocol's code; use \
                 `cx.now()` and `cx.rng()` instead",
        notes: Vec::new(),
    };
    Ok((answer, outcomes))
}

/// Are messages the same after they were written and read?
fn messages(entry: &Entry, samples: &Samples) -> Answer {
    let seen: u64 = samples.kinds.iter().map(|kind| kind.seen).sum();
    let unseen = entry.kinds.iter().zip(&samples.kinds).filter(|(_, kind)| kind.seen == 0);
    let unseen: Vec<String> = unseen.map(|(name, _)| (*name).to_owned()).collect();
    Answer {
        name: "messages",
        done: format!(
            "{} of {}, written and read back",
            count(seen as usize, "message", "messages"),
            count(entry.kinds.len() - unseen.len(), "kind", "kinds")
        ),
        wrong: samples.kinds.iter().filter_map(|kind| kind.unfaithful.clone()).collect(),
        advice: "derive `Serialize` and `Deserialize` for messages; skip and flatten nothing",
        notes: some("never sent, so not checked here or below (try more runs): ", &unseen, ""),
    }
}

/// Can nodes be shown, hashed and copied?
fn states(samples: Samples) -> Answer {
    Answer {
        name: "states",
        done: format!(
            "{} at the end of each run, hashed, copied and written",
            count(samples.states.len(), "state", "states")
        ),
        wrong: samples.wrong.into_iter().collect(),
        advice: "use `open_state!()` in a node that derives `Clone`, `Hash`, `Debug` and `Serialize`; keys of maps must be \
                 numbers or text",
        notes: samples.unable.into_iter().collect(),
    }
}

/// Can a liar change all that a message has?
fn mutations(entry: &Entry, samples: &Samples) -> Answer {
    let table = (entry.mutations)();
    let (mut wrong, mut idle, mut rows) = (Vec::new(), Vec::new(), 0);
    for (number, Kind { seen, changed, .. }) in samples.kinds.iter().enumerate() {
        let lie = |row: usize| Lie::Mutate(row as u16);
        let field = |row: usize| table.field(number as u8, lie(row));
        let crafted = |row: usize| table.scope(number as u8, lie(row)) == Scope::Crafted;
        let plain = (0..changed.len()).filter(|&row| !crafted(row)).count();
        rows += plain;
        // A crafted lie needs what a run may never show, such as a second value.
        for row in (0..changed.len()).filter(|&row| !changed[row] && !crafted(row)) {
            let changes = |other: usize| changed[other] && field(other) == field(row);
            match *seen < ENOUGH || (0..changed.len()).any(changes) {
                true => idle.push(table.name(number as u8, lie(row))),
                false => wrong.push(format!(
                    "no mutation changed `{}` in {}",
                    field(row),
                    count(*seen as usize, "message", "messages")
                )),
            }
        }
    }
    wrong.dedup();
    wrong.extend(samples.forged.iter().cloned());
    Answer {
        name: "mutations",
        done: format!("{}, each tried until it changed a message", count(rows, "mutation", "mutations")),
        wrong,
        advice: "a liar cannot use a field that is always empty or whose `Part` changes nothing: fill it, or mark it \
                 `#[part(skip)]`",
        notes: some(
            "mutations that changed no message, though others of the same field did, or few were seen: ",
            &idle,
            "",
        ),
    }
}

/// Does every request complete where nothing goes wrong, whatever the order of events?
fn progress(entry: &Entry, base: &Scenario, seed: Seed, runs: u64) -> Result<Answer, ScenarioError> {
    let (mut runner, mut wrong) = (entry.runner(), Vec::new());
    let (each, requests) = (runs.div_ceil(SchedulerName::ALL.len() as u64), base.workload.requests);
    for name in SchedulerName::ALL {
        for index in 0..each {
            let scenario = Scenario {
                seed: Seed(run_seed(seed.0, index)),
                scheduler: SchedulerSpec { name, ..SchedulerSpec::default() }.into(),
                adversary: Adversary::default(),
                ..base.clone()
            };
            let outcome = runner.execute(&scenario)?;
            let stuck = (outcome.end != End::Goal)
                .then(|| format!("{} completed", count(outcome.completed as usize, "request", "requests")));
            if let Some(trouble) = outcome.violations.first().map(ToString::to_string).or(stuck) {
                let name = format!("{name:?}").to_lowercase();
                let run = format!("--scheduler {name} --index {index} --requests {requests}");
                wrong.push(format!("{run}: {trouble}"));
                break;
            }
        }
    }
    let asked = if entry.clients { base.cluster.clients > 0 } else { entry.stream };
    Ok(Answer {
        name: "progress",
        done: format!(
            "{} without faults under each of {} schedulers",
            count(each as usize, "run", "runs"),
            SchedulerName::ALL.len()
        ),
        wrong,
        advice: "the command `run` with these options and `--trace` shows the run. Apply each rule to \
                 everything received so far: a quorum may be complete before it is needed",
        notes: (!asked || requests == 0)
            .then(|| "nobody asks for a decision, so nothing has to complete".to_owned())
            .into_iter()
            .collect(),
    })
}

/// Do correct nodes survive whatever a liar sends?
fn nonsense(entry: &Entry, storms: &[Scenario]) -> Result<Answer, ScenarioError> {
    let (mut runner, mut nonsense) = (entry.runner(), Nonsense::default());
    let all = NONSENSE * storms.len() as u64;
    // A second time for kinds that are seldom sent.
    for (index, storm) in storms.iter().chain(storms).enumerate() {
        if index >= storms.len() && nonsense.told.iter().all(|&told| told == 0 || told >= all) {
            break;
        }
        let mut storm = storm.clone();
        let replicas = NodeSet::replicas(storm.cluster.n);
        if storm.adversary.byzantine.and(replicas).is_empty() && storm.cluster.f > 0 {
            storm.adversary.byzantine.insert(NodeId::replica(index % storm.cluster.n));
        }
        nonsense.wanted = all.min(nonsense.wanted + NONSENSE);
        runner.talk_nonsense(&storm, &mut nonsense)?;
    }
    let told: Vec<_> = entry.kinds.iter().zip(&nonsense.told).filter(|&(_, &told)| told > 0).collect();
    let few: Vec<String> = told
        .iter()
        .filter(|&&(_, &told)| told < all)
        .map(|(kind, told)| format!("{kind} ({told})"))
        .collect();
    Ok(Answer {
        name: "nonsense",
        done: format!(
            "{all} random or damaged messages of {}",
            if told.len() == 1 { "one kind".to_owned() } else { format!("each of {} kinds", told.len()) }
        ),
        wrong: nonsense.crashes.into_iter().flatten().collect(),
        advice: "a message may contain anything but others' signatures: check a number before computing or indexing \
                 with it, and ignore messages that make no sense",
        notes: match told.is_empty() {
            true => vec!["with f = 0 no replica may lie, so no nonsense was sent".to_owned()],
            false => some("fewer of these kinds, which are seldom sent: ", &few, ""),
        },
    })
}

/// Does each deviation make a difference?
fn flags(entry: &Entry, storms: &[Scenario], outcomes: &[Outcome]) -> Result<Answer, ScenarioError> {
    let (mut runner, mut idle) = (entry.runner(), Vec::new());
    for flag in entry.flags {
        let mut on = entry.preset_flags();
        match on.iter().position(|name| *name == flag.name()) {
            Some(index) => drop(on.remove(index)),
            None => on.push(flag.name()),
        }
        let mut differs = false;
        for (storm, outcome) in storms.iter().zip(outcomes) {
            let storm = storm.with("protocol.flags", on.clone().into())?;
            differs = differs || runner.execute(&storm)? != *outcome;
            if differs {
                break;
            }
        }
        idle.extend((!differs).then(|| flag.name()));
    }
    Ok(Answer {
        name: "flags",
        done: format!("{}, each switched on or off alone", count(entry.flags.len(), "bug flag", "bug flags")),
        wrong: Vec::new(),
        advice: "",
        notes: some("flags that changed no run: ", &idle, ""),
    })
}

/// A note about some things, if there are any.
fn some(before: &str, names: &[String], after: &str) -> Vec<String> {
    let list = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.is_empty() { Vec::new() } else { vec![format!("{before}{list}{after}")] }
}
