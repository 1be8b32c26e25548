//! How small counterexamples get: shrinks what fuzzing finds, and prints the distribution.
//!
//! `cargo run --release -p turncoat --example shrink [SCALE] [--each] [--only=NAME]`. `SCALE` divides the number of runs;
//! `--each` prints every shrunk scenario; `--only` leaves out protocols whose name does not contain this.
//! `checks/shrink.sh` is the usual way in.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use turncoat::core::runner::Entry;
use turncoat::core::scenario::{Expect, SchedulerName, SchedulerSpec};
use turncoat::lab::campaign::{Campaign, Record, Until};
use turncoat::lab::shrink::{Budget, EXECUTIONS, Keep, Shrunk, Stopped, shrink};
use turncoat::lab::summary::Summary;
use turncoat::{Scenario, Seed, Violation, strategies};

#[path = "bracha.rs"]
#[expect(dead_code, reason = "its `main`")]
mod bracha;

/// Runs for each protocol, strategy and scheduler. A protocol with few violations gets ten times as many, and again.
const RUNS: [u64; 3] = [300, 3000, 30_000];

/// Fewer violations of a protocol are few.
const FEW: usize = 6;

/// So many violations of a rule are shrunk for each protocol, strategy and scheduler.
const OF_A_RULE: usize = 6;

/// What to fuzz: a name, a protocol, and the fixed part of its scenarios.
struct Subject {
    name: String,
    entry: Entry,
    base: Scenario,
}

/// A violation that was found.
struct Found {
    strategy: &'static str,
    scheduler: SchedulerName,
    scenario: Scenario,
    violation: Violation,
}

/// A violation that was shrunk.
struct Case {
    subject: String,
    strategy: &'static str,
    scheduler: SchedulerName,
    before: Violation,
    shrunk: Shrunk,
    seconds: f64,
    /// It shows the same rule, replays, and is as it is when it is shrunk again.
    same: bool,
    replays: bool,
    fixpoint: bool,
}

fn subjects() -> Vec<Subject> {
    let all = turncoat_protocols::all();
    let entry = |name: &str| all.iter().find(|entry| entry.name == name).expect("a protocol").clone();
    let pbft = entry("pbft");
    let java =
        Subject { name: "pbft-java".to_owned(), entry: entry("pbft-java"), base: Scenario::new("pbft-java") };
    let flagged = |flag: &turncoat::core::flags::Flag| {
        let name = flag.name();
        let flags = toml::Value::Array(vec![name.as_str().into()]);
        let base = Scenario::new("pbft").with("protocol.flags", flags).expect("a flag");
        Subject { name: format!("pbft {name}"), entry: pbft.clone(), base }
    };
    let bracha = Subject {
        name: "bracha".to_owned(),
        entry: Entry::of::<bracha::Bracha>(),
        base: bracha::scenario(&["echo-f1", "deliver-f1"]),
    };
    [java, bracha].into_iter().chain(pbft.flags.iter().map(flagged)).collect()
}

/// The first violations of each rule.
fn find(subject: &Subject, strategy: &'static str, scheduler: SchedulerName, runs: u64) -> Vec<Found> {
    let spec = Arc::new(SchedulerSpec { name: scheduler, ..SchedulerSpec::default() });
    let base = Scenario { scheduler: spec, ..subject.base.clone() };
    // Bracha has three rounds.
    let rounds = subject.name == "bracha" && strategy == "byzzfuzz";
    let params: Vec<_> = rounds.then(|| ("r".to_owned(), "3".to_owned())).into_iter().collect();
    let campaign = Campaign {
        entry: &subject.entry,
        base: &base,
        make: &|base| Ok(strategies::make(strategy, base, &params, &(subject.entry.mutations)())?),
        // Random plays async in both cases: another seed, lest it play the same runs.
        seed: Seed(0x5eed + base.scheduler.name as u64),
        runs: Some(runs),
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        until: Until::Never,
        stop: &AtomicBool::new(false),
        suspects: None,
    };
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    let mut found = Vec::new();
    let mut keep = |record: Record| {
        for violation in &record.outcome.violations {
            let count = counts.entry((violation.property, violation.rule)).or_default();
            *count += 1;
            if *count <= OF_A_RULE {
                let (scenario, violation) =
                    (record.scenario.clone().expect("it violates something"), violation.clone());
                found.push(Found { strategy, scheduler, scenario, violation });
            }
        }
        true
    };
    campaign.go_on(Summary::default(), Some(&mut keep), &mut |_| {}).expect("a campaign");
    found
}

/// Seconds for which this thread has run, whatever else the machine does; Linux counts them.
fn cpu() -> f64 {
    let read = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos: Option<u64> = read.split(' ').next().and_then(|first| first.parse().ok());
    nanos.expect("a Linux that counts a thread's time") as f64 / 1e9
}

fn case(subject: &Subject, runs: u64, found: Found) -> Option<Case> {
    let Found { strategy, scheduler, scenario, violation: before } = found;
    let stop = AtomicBool::new(false);
    let budget = Budget { executions: EXECUTIONS, stop: &stop };
    let expect =
        Expect { property: Some(before.property.name().to_owned()), fingerprint: Seed(0), lasso: None };
    let scenario = Scenario { expect: Some(expect), ..scenario };
    // Of two rules of one property the first is kept.
    let first = subject.entry.runner().execute(&scenario).ok()?.violation(before.property)?.clone();
    if first.rule != before.rule {
        return None;
    }
    let clock = cpu();
    let shrunk = shrink(&subject.entry, &scenario, Keep::Same, &[], budget).expect("it violates something");
    let seconds = cpu() - clock;
    let text = Scenario::parse(&shrunk.scenario.to_toml()).expect("a scenario");
    let outcome = subject.entry.runner().execute(&text).expect("it runs");
    let again = shrink(&subject.entry, &text, Keep::Same, &[], budget).expect("it violates something");
    Some(Case {
        subject: format!("{}, {runs} runs", subject.name),
        strategy,
        scheduler,
        same: outcome.violations.iter().any(|v| (v.property, v.rule) == (before.property, before.rule)),
        replays: outcome.fingerprint == shrunk.fingerprint && outcome.diverged.is_none(),
        fixpoint: shrunk.stopped == Stopped::Fixpoint && again.scenario == shrunk.scenario,
        before,
        shrunk,
        seconds,
    })
}

#[expect(clippy::print_stdout, reason = "a program that reports")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let scale: u64 = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(1);
    let each = arguments.iter().any(|argument| argument == "--each");
    let only = arguments.iter().find_map(|argument| argument.strip_prefix("--only="));
    let (mut cases, mut silent): (Vec<Case>, Vec<String>) = (Vec::new(), Vec::new());
    for subject in subjects() {
        if only.is_some_and(|only| !subject.name.contains(only)) {
            continue;
        }
        let before = cases.len();
        let (runs, found) = search(&subject, scale);
        for found in found {
            let Some(case) = case(&subject, runs, found) else { continue };
            if each {
                tell(&case);
            }
            cases.push(case);
        }
        if cases.len() == before {
            silent.push(subject.name);
        }
    }
    report(&cases);
    let silent = if silent.is_empty() { "none".to_owned() } else { silent.join(", ") };
    println!("\nWithout a violation in {} runs each: {silent}.", RUNS[2] / scale);

    let median = |value: fn(&Case) -> f64| {
        let mut values: Vec<f64> = cases.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    let good = cases.iter().all(|case| case.same && case.replays && case.fixpoint && case.seconds < 10.0)
        && median(|case| case.shrunk.after.faults as f64) <= 2.0
        && median(|case| f64::from(case.shrunk.after.requests)) <= 2.0
        && median(|case| case.shrunk.after.lines as f64) <= 15.0
        && median(|case| case.seconds) < 2.0
        && (cases.len() >= 300 || scale > 1 || only.is_some());
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What every strategy finds under both schedulers, and in how many runs of each.
fn search(subject: &Subject, scale: u64) -> (u64, Vec<Found>) {
    let mut result = (0, Vec::new());
    for runs in RUNS.map(|runs| (runs / scale).max(1)) {
        let mut found = Vec::new();
        for strategy in ["random", "naive", "byzzfuzz"] {
            for scheduler in [SchedulerName::Async, SchedulerName::Timed] {
                found.extend(find(subject, strategy, scheduler, runs));
            }
        }
        result = (runs, found);
        if result.1.len() >= FEW {
            break;
        }
    }
    result
}

#[expect(clippy::print_stdout, reason = "a program that reports")]
fn tell(case: &Case) {
    let Case { subject, strategy, scheduler, before, shrunk, seconds, .. } = case;
    let good = case.same && case.replays && case.fixpoint;
    println!(
        "{subject}, {strategy}, {scheduler:?}, {} {}: {:?}, {} executions, {seconds:.2} s{}\n{}",
        before.property,
        before.rule,
        shrunk.after,
        shrunk.executions,
        if good { "" } else { ", FAILED" },
        shrunk.scenario.to_toml(),
    );
}

#[expect(clippy::print_stdout, reason = "a program that reports")]
fn report(cases: &[Case]) {
    let groups = |name: fn(&Case) -> String| {
        let mut groups: BTreeMap<String, Vec<&Case>> = BTreeMap::new();
        cases.iter().for_each(|case| groups.entry(name(case)).or_default().push(case));
        groups
    };
    println!(
        "| | violations | faults | steps of a script | requests | lines | events | seconds | same, replays, fixpoint |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    row("all", &cases.iter().collect::<Vec<_>>());
    for (name, group) in groups(|case| format!("{}, {:?}", case.strategy, case.scheduler).to_lowercase()) {
        row(&name, &group);
    }
    for (name, group) in groups(|case| case.before.property.to_string()) {
        row(&name, &group);
    }
    for (name, group) in groups(|case| case.subject.clone()) {
        row(&name, &group);
    }
}

/// Median, nine of ten, and most.
#[expect(clippy::print_stdout, reason = "a program that reports")]
fn row(name: &str, cases: &[&Case]) {
    let spread = |value: fn(&Case) -> f64, digits: usize| {
        let mut values: Vec<f64> = cases.iter().map(|case| value(case)).collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
        format!("{:.digits$} / {:.digits$} / {:.digits$}", at(0.5), at(0.9), at(1.0))
    };
    let count = |is: fn(&Case) -> bool| cases.iter().filter(|case| is(case)).count();
    if cases.is_empty() {
        return;
    }
    println!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {}, {}, {} |",
        cases.len(),
        spread(|case| case.shrunk.after.faults as f64, 0),
        spread(|case| case.shrunk.after.actions as f64, 0),
        spread(|case| f64::from(case.shrunk.after.requests), 0),
        spread(|case| case.shrunk.after.lines as f64, 0),
        spread(|case| case.shrunk.after.events as f64, 0),
        spread(|case| case.seconds, 2),
        count(|case| case.same),
        count(|case| case.replays),
        count(|case| case.fixpoint),
    );
}
