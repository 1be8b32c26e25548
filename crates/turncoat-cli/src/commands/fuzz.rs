//! `turncoat fuzz`: a campaign, until something is found or the budget is used up.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::ArgGroup;
use turncoat_core::outcome::Property;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::Goal;
use turncoat_core::strategy::Space;
use turncoat_lab::campaign::Campaign;
use turncoat_lab::certificate::{self, Certificate};
use turncoat_lab::corpus::{self, Filed};
use turncoat_lab::plan::{Ends, Suspected};
use turncoat_lab::shrink::Shrunk;
use turncoat_lab::summary::{Finding, Summary};
use turncoat_lab::suspects::{NO_FLAG, is_known};

use crate::campaign::{Hunt, Keys, When};
use crate::campaign_store::CampaignStore;
use crate::cases::Cases;
use crate::clock::Stopwatch;
use crate::commands::corpus::Folder;
use crate::commands::shrink::{self, Automatic, Report};
use crate::config::{Config, Given, Source};
use crate::exit::{self, Exit};
use crate::expect::{self, Wanted};
use crate::out::Tone;
use crate::output::Output;
use crate::progress::Progress;
use crate::rows::Rows;
use crate::setup::{Setup, Start};
use crate::show::Detail;
use crate::stop::Stop;
use crate::tally::{Known, Tally};
use crate::task::{Label, Task};
use crate::{again, files, out, registry};

const NOTES: &str = "\
The result depends on the options and the seed, never on the number of threads. The default seed is fixed, so your first \
campaign is reproducible. The first violation of each property is saved under turncoat-corpus/; `turncoat explain` says \
what went wrong.

With --bug, the protocol, its flags, the cluster and the workload are those of the known bug, and so are strategy, scheduler \
and parameters, unless options say otherwise.

Environment variables (TURNCOAT_PROTOCOL, TURNCOAT_STRATEGY, TURNCOAT_RUNS, ...) and a file turncoat.toml supply what the \
options leave out; --print-config shows the result.

In CI, --message-format github annotates findings, --junit FILE writes a JUnit report, and --expect is for known bugs.

Example: turncoat fuzz pbft --strategy byzzfuzz --set c=2 --for 1m --until never
         turncoat fuzz --bug pbft-java/figure-2";

/// Run thousands of scenarios and save those that break the protocol
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,

    /// Succeed if there is a violation and fail if there is none: violation, or violation=PROPERTY
    #[arg(long, value_name = "WHAT", value_parser = expect::parse)]
    expect: Option<Wanted>,

    #[command(flatten)]
    automatic: Automatic,

    #[command(flatten)]
    corpus: Folder,

    #[command(flatten)]
    detail: Detail,

    #[command(flatten)]
    output: Output,

    /// Continue a campaign that --db has already
    #[arg(long, help_heading = "Store")]
    resume: bool,
}

/// Who searches for what, for how long.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("subject").args(["protocol", "bug"]))]
#[group(skip)]
pub(crate) struct Subject {
    /// A name from `turncoat list protocols`
    #[arg(value_name = "PROTO")]
    protocol: Option<String>,

    /// A known bug to search for, from `turncoat list bugs`
    #[arg(long, value_name = "ID")]
    bug: Option<String>,

    #[command(flatten)]
    setup: Setup,

    /// How scenarios are generated: a name from `turncoat list strategies` [default: portfolio]
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,

    #[command(flatten)]
    pub(crate) campaign: Keys,

    /// Store the known bug behind each violation in --db; it takes a dozen more runs for each
    #[arg(long, help_heading = "Store")]
    identify: bool,

    /// Print the faults whose plans an exhaustive strategy runs (--strategy enumerate), and run nothing
    #[arg(long, help_heading = "Configuration")]
    print_universe: bool,

    #[command(flatten)]
    source: Source,
}

impl Subject {
    /// The campaign, and its other keys; nothing if the configuration or the universe was to be printed, and is. With a wanted property or a
    /// bug, violations of other properties do not end the campaign.
    pub(crate) fn task(&self, wanted: Option<Property>) -> Result<Option<(Task, Keys)>> {
        let bug = self.bug.as_ref().map(|id| Rows::embedded().bug(id)).transpose()?;
        let given = Given {
            protocol: self.protocol.as_deref(),
            strategy: self.strategy.as_deref(),
            campaign: &self.campaign,
            bug: self.bug.as_deref(),
        };
        let config = Config::load(&self.source, &given)?;
        let start = bug.as_ref().map_or_else(|| Start::config(&config), Start::bug)?;
        let mut prepared = self.setup.prepare(start, config.text("strategy.name"))?;
        if self.source.print_config {
            config.print(&given, &self.setup, &prepared)?;
            return Ok(None);
        }
        let universe = prepared.universe()?;
        if self.print_universe {
            let Some(universe) = &universe else {
                bail!(
                    "`--print-universe` is for strategies that run every plan of a universe: --strategy enumerate"
                );
            };
            out::drawn(certificate::text_of(universe).trim_end())?;
            return Ok(None);
        }
        prepared.warn();
        let keys = config.campaign()?.or_default(universe.is_some());
        let (mut more, mut wanted) = (Vec::new(), wanted);
        if let Some(hunt) = keys.hunt {
            hunt.prepare(&mut prepared.base);
            more = hunt.params(registry::strategy(prepared.strategy)?.params);
            wanted = wanted.or((hunt == Hunt::Liveness).then_some(Property::Termination));
        }
        let searcher = prepared.searcher(&more);
        let target = bug.as_ref().map(|bug| bug.facts.property).or(wanted);
        let task = Task {
            label: Label {
                experiment: "fuzz".to_owned(),
                variant: prepared.entry.name.to_owned(),
                row: searcher.label(),
                target: target.map_or_else(|| "any".to_owned(), |property| property.to_string()),
            },
            settings: self.setup.settings(&config),
            entry: prepared.entry,
            base: prepared.base,
            searcher,
            seed: keys.engine.seed(),
            runs: keys.runs,
            until: match (keys.until.unwrap_or_default(), bug, wanted) {
                (When::Never, ..) => Ends::Never,
                (_, Some(bug), _) => Ends::Bug(bug.id),
                (_, None, Some(property)) => Ends::Property(property),
                (When::First, None, None) => Ends::First,
                (When::Safety, None, None) => Ends::Safety,
            },
            suspects: if self.identify { Suspected::All } else { Suspected::Nobody },
        };
        Ok(Some((task, keys)))
    }
}

pub(crate) fn fuzz(args: &Args) -> Result<Exit> {
    let wanted = args.expect.and_then(|Wanted(property)| property);
    let Some((task, keys)) = args.subject.task(wanted)? else { return Ok(Exit::Clean) };
    args.output.check()?;
    if args.subject.identify && keys.db.is_none() {
        bail!("`--identify` stores known bugs in a database: give it with `--db FILE`");
    }
    let mut store = CampaignStore::open(keys.db.as_deref(), args.resume)?;
    let stop = Stop::on_interrupt()?;
    let exit = task.with(keys.engine.threads(), &stop, |campaign| {
        run(args, &task, campaign, keys.time, &mut store, &stop)
    })?;
    store.advise(&stop);
    Ok(exit)
}

fn run(
    args: &Args,
    task: &Task,
    campaign: &Campaign<'_>,
    time: Option<Duration>,
    store: &mut CampaignStore,
    stop: &Stop,
) -> Result<Exit> {
    let (entry, strategy) = (&task.entry, task.searcher.strategy);
    let clock = Stopwatch::start();
    if let Some(time) = time {
        stop.after(time);
    }
    let space = campaign.space()?;
    let runs = campaign.runs.into_iter().chain(space.and_then(Space::runs)).min();
    let mut progress = Progress::new(clock, runs).within(time);
    let mut found_at = BTreeMap::new();
    let summary = store.run(campaign, || task.describe(), None, &mut |so_far| {
        for &property in so_far.first.keys() {
            found_at.entry(property).or_insert_with(|| clock.seconds());
        }
        progress.show(so_far);
    });
    let seconds = clock.seconds();
    progress.clear();
    if let Err(error) = &summary
        && exit::of(error) == Exit::Diverged
    {
        args.output.report(&Cases::broken(entry.name, strategy, error, seconds))?;
    }
    let summary = summary?;
    // A strategy may have schedulers of its own, and show them all within its first runs.
    let drawn = (0..100).map_while(|index| campaign.scenario_of(index).ok());
    let schedulers: BTreeSet<_> = drawn.map(|scenario| scenario.scheduler.name).collect();
    let schedulers: Vec<_> = schedulers.into_iter().map(registry::name_of).collect();
    let known = known_bugs(task, &summary)?;
    let (files, shrunk) = save(task, &summary, &args.corpus.path, args.automatic.budget(), stop);
    let certificate = match campaign.universe()? {
        Some(universe) => {
            let first = campaign.scenario_of(0)?;
            Some(Certificate::new(entry, &universe, &first, campaign.seed, &summary))
        }
        None => None,
    };
    let tally = Tally {
        entry,
        strategy,
        scheduler: schedulers.join("+"),
        seed: campaign.seed,
        jobs: campaign.jobs,
        seconds,
        interrupted: stop.interrupted(),
        known,
        safety_only: task.base.workload.goal == Goal::None,
        files,
        shrunk,
        unrepeatable: unrepeatable(entry, &summary),
        learns: task.describe()?.learns,
        summary,
        space,
        certificate,
        found_at,
    };
    if args.output.json() {
        tally.json()?;
    } else {
        tally.print(args.detail)?;
    }
    let cases = tally.cases(args.expect);
    let reported = args.output.report(&cases);
    let exit = conclude(&tally, args, cases.exit());
    reported.map(|()| exit)
}

/// The bugs of the suite that such a protocol has, and what the first violations are put down to.
fn known_bugs(task: &Task, summary: &Summary) -> Result<Known> {
    let bugs = Rows::embedded().of_protocol(task.entry, &task.base)?;
    let bugs: Vec<Arc<str>> = bugs.into_iter().map(|bug| bug.id.into()).collect();
    let suspects = Rows::embedded().suspects(task.entry, &task.base)?;
    let (mut shown, mut needed) = (BTreeMap::new(), BTreeMap::new());
    let mut runner = task.entry.runner();
    for (&property, Finding { scenario, violation, .. }) in &summary.first {
        let outcome = runner.execute(scenario)?;
        let names = suspects.name(scenario, &outcome, &mut *runner)?;
        let place = outcome.violations.iter().position(|found| found == violation);
        match place.and_then(|place| names.get(place)) {
            Some(name) if is_known(name) => drop(shown.insert(property, Arc::clone(name))),
            Some(name) if **name != *NO_FLAG => drop(needed.insert(property, Arc::clone(name))),
            _ => {}
        }
    }
    Ok(Known { bugs, shown, needed })
}

/// Saves the first violation of each property, shrunk if there is time for it. What cannot be saved was found
/// nevertheless.
fn save(
    Task { entry, settings, .. }: &Task,
    summary: &Summary,
    folder: &Path,
    budget: Option<Duration>,
    stop: &Stop,
) -> (BTreeMap<Property, Filed>, BTreeMap<Property, Report>) {
    let (mut files, mut reports) = (BTreeMap::new(), BTreeMap::new());
    for (&property, finding) in summary.first_outside.iter().chain(&summary.first) {
        let Finding { scenario, violation, fingerprint, index, .. } = finding;
        let budget = budget.filter(|_| !stop.interrupted());
        let shrunk = budget.and_then(|time| {
            shrink::found(entry, scenario, violation, *fingerprint, settings, &stop.next_within(time))
        });
        let saved = match &shrunk {
            Some((Shrunk { scenario: small, .. }, _)) => {
                let origin = format!("shrunk from run {index} of a campaign, with seed {}", scenario.seed);
                corpus::save(folder, entry, small, &[origin])
            }
            None => {
                let scenario = files::expecting(scenario, Some(violation), *fingerprint);
                corpus::save(folder, entry, &scenario, &[])
            }
        };
        match saved {
            Ok(filed) => {
                files.insert(property, filed);
                reports.extend(shrunk.map(|(_, report)| (property, report)));
            }
            Err(error) => {
                out::complain(Tone::Warning, "warning", format_args!("{property} is not saved: {error}"));
            }
        }
    }
    (files, reports)
}

/// The runs with a first violation that are other runs when they are run again.
fn unrepeatable(entry: &Entry, summary: &Summary) -> Vec<u64> {
    let mut runner = entry.runner();
    let mut repeats = |finding: &Finding| {
        let again = runner.execute(&finding.scenario);
        again.is_ok_and(|outcome| outcome.fingerprint == finding.fingerprint)
    };
    let runs: BTreeSet<u64> =
        summary.first.values().filter(|finding| !repeats(finding)).map(|finding| finding.index).collect();
    runs.into_iter().collect()
}

/// Says what to do next, and how it ended. The last line is the command that replays the violation, if there is one.
fn conclude(tally: &Tally<'_>, args: &Args, exit: Exit) -> Exit {
    let expect = args.expect;
    for run in &tally.unrepeatable {
        out::log(format_args!("diverged: run {run} was different when it was run again"));
    }
    if let Some(unmet) = expect.and_then(|expect| expect::unmet(expect, &tally.counted(Some(expect)))) {
        out::log(unmet);
    }
    let found = |property: &Property| tally.summary.first.contains_key(property);
    let wanted = expect.and_then(|Wanted(property)| property.filter(found));
    let worst = Property::WORST_FIRST.into_iter().find(found);
    let again = wanted.or(worst).map(|property| tally.commands(property)).unwrap_or_default();
    if !again.is_empty() {
        out::log("next: see why it broke, step through it in a browser, run it again");
        again.iter().for_each(out::log);
    } else if let (Some(bug), false) = (tally.known.bugs.first(), args.output.json()) {
        let (program, name) = (again::program(), tally.entry.name);
        out::log("next: see all known bugs, search for one of them");
        out::log(format_args!("{program} list bugs {name}"));
        out::log(format_args!("{program} fuzz --bug {bug}"));
    }
    match (tally.interrupted, tally.summary.runs) {
        (true, _) => Exit::Interrupted,
        (false, 0) => {
            out::log("nothing ran");
            Exit::NothingRan
        }
        // Whatever else the runs came to, they tested nothing.
        (false, runs) if tally.summary.undecided == runs && exit == Exit::Clean => Exit::NothingRan,
        (false, _) => exit,
    }
}

#[cfg(test)]
mod tests {
    use turncoat_core::outcome::Violation;
    use turncoat_core::scenario::Scenario;

    use super::*;

    #[test]
    fn a_run_that_is_another_one_the_second_time_is_named() {
        let entry = registry::protocol("pbft").unwrap();
        let scenario = Scenario::new("pbft");
        let fingerprint = entry.runner().execute(&scenario).unwrap().fingerprint;
        let summary = |fingerprint| {
            let property = Property::Agreement;
            let violation = Violation {
                property,
                rule: "",
                nodes: Default::default(),
                slot: None,
                step: 1,
                detail: String::new(),
                outside: None,
            };
            let finding =
                Finding { index: 7, violation, scenario: scenario.clone(), fingerprint, parent: None };
            Summary { first: [(property, finding)].into(), ..Summary::default() }
        };
        assert_eq!(unrepeatable(entry, &summary(fingerprint)), [0; 0]);
        assert_eq!(unrepeatable(entry, &summary(fingerprint ^ 1)), [7]);
    }
}
