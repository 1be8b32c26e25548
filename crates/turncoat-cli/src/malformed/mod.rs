//! Malformed input by the thousand: whatever a file says, nothing panics, hangs, or takes a gigabyte.
//!
//! Seeds are all files of the suite, of the experiments and of the docs, and plans, shards and configurations made of them.
//! An input is a seed that was changed in some places; its number decides which and how, so that it can be made again.
//! What is accepted runs, with the time limit that a user has who says `--timeout`, and some of it is recorded, explained,
//! shrunk and searched for lassos. `checks/malformed.sh` runs many of them.

mod mutate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, fs, process, thread};

use anyhow::{Context, Result, anyhow, ensure};
use toml::Table;
use turncoat_core::outcome::End;
use turncoat_core::rng::{Purpose, Rng};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::Scenario;
use turncoat_lab::experiment::Experiment;
use turncoat_lab::explain::Explanation;
use turncoat_lab::lasso;
use turncoat_lab::plan::{Folder, Plan, Results, digest_of};
use turncoat_lab::shrink::{Budget, Keep, shrink};
use turncoat_lab::store::Spell;
use turncoat_lab::suite::Bug;

use self::mutate::{Mutator, garbled};
use crate::clock;
use crate::config::Config;
use crate::config_file::File;
use crate::registry;
use crate::setup::{Setup, Start};
use crate::stop::Stop;
use crate::task::Task;

/// How many inputs are made unless `MALFORMED` says so, and from which on, unless `MALFORMED_FROM` does.
const INPUTS: u64 = 400;

/// How long a run may take: what a user says with `--timeout`.
const TIMEOUT: Duration = Duration::from_millis(250);

/// How long all that is done with an input may take, in seconds.
const HANG: u64 = 10;

/// The most memory, in KiB.
const MEMORY: u64 = 1 << 20;

/// A run with more steps is not explained: that takes as long as it takes.
const EXPLAINED: u64 = 3_000;

#[test]
#[expect(clippy::disallowed_methods, reason = "how many inputs there are is no part of any of them")]
fn malformed_input_is_refused_or_runs() {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse().expect("a number"));
    let (inputs, from) = (number("MALFORMED").unwrap_or(INPUTS), number("MALFORMED_FROM").unwrap_or(0));
    let seeds = Seeds::new();
    let watch = Watch::start();
    let mut counts = BTreeMap::<String, u64>::new();
    for index in from..from + inputs {
        let mut rng = Rng::new(index, Purpose::Faults);
        let kind = *rng.pick(&KINDS);
        watch.next(index, kind);
        let answer = match seeds.try_out(kind, &mut rng, &watch) {
            Ok(what) => what.to_owned(),
            Err(_) => "refused".to_owned(),
        };
        *counts.entry(format!("{kind:?}: {answer}")).or_default() += 1;
        watch.weigh();
    }
    for (what, count) in &counts {
        eprintln!("{count:8}  {what}");
    }
    eprintln!("{inputs} inputs from number {from}, at most {} MiB", memory().unwrap_or_default() >> 10);
    assert!(counts.keys().any(|what| what.ends_with("ran")), "a harness that runs nothing shows nothing");
}

/// What an input is. Scenarios are what strangers send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Scenario,
    Script,
    Plan,
    Config,
    Shard,
    Experiment,
}

const KINDS: [Kind; 10] = [
    Kind::Scenario,
    Kind::Scenario,
    Kind::Scenario,
    Kind::Scenario,
    Kind::Script,
    Kind::Script,
    Kind::Plan,
    Kind::Config,
    Kind::Shard,
    Kind::Experiment,
];

/// Files that are right.
struct Seeds {
    scenarios: Vec<Table>,
    scripts: Vec<Table>,
    configs: Vec<Table>,
    experiments: Vec<Table>,
    plan: Plan,
    shard: Vec<u8>,
    folder: tempfile::TempDir,
}

impl Seeds {
    fn new() -> Self {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let table = |text: &String| text.parse::<Table>().expect("a file that is right");
        let files = |folder: &str| texts(&repository.join(folder)).iter().map(table).collect::<Vec<_>>();
        let protocols: Vec<_> = registry::protocols().collect();
        let mut scenarios = [files("suite"), files("docs/scenarios")].concat();
        let base = |entry: &Entry| {
            let start = Start::protocol(entry.name).expect("a protocol");
            Setup::default().prepare(start, Some("none")).expect("it can run").base
        };
        scenarios.extend(protocols.iter().map(|entry| base(entry).to_table()));
        let script = |entry: &Entry| {
            let scenario = base(entry);
            let (_, recording) = entry.runner().record(&scenario).expect("it runs");
            scenario.scripted(recording.script.into_iter().take(60).collect()).to_table()
        };
        let config = |entry: &Entry| {
            let text = format!(
                "schema = 1\n[protocol]\nname = '{}'\n[cluster]\nn = 7\nf = 1\n[strategy]\nname = 'byzzfuzz'\nc = 2\n\
                 [campaign]\nruns = 10\nseed = 1\n[profile.ci.campaign]\nuntil = 'never'\n[profile.ci.strategy]\nd = 1\n",
                entry.name
            );
            table(&text)
        };
        let folder = tempfile::tempdir().expect("a folder");
        let (plan, shard) = plan_and_shard(folder.path());
        Self {
            scripts: protocols.iter().copied().map(script).collect(),
            configs: protocols.iter().copied().map(config).collect(),
            experiments: files("experiments"),
            scenarios,
            plan,
            shard,
            folder,
        }
    }

    /// Makes an input, and does with it what turncoat does with such a file. Says how far it came.
    fn try_out(&self, kind: Kind, rng: &mut Rng, watch: &Watch) -> Result<&'static str> {
        let seeds = match kind {
            Kind::Scenario | Kind::Shard | Kind::Plan => &self.scenarios,
            Kind::Script => &self.scripts,
            Kind::Config => &self.configs,
            Kind::Experiment => &self.experiments,
        };
        let text = Mutator { donors: &self.scenarios }.text(rng.pick(seeds), rng);
        match kind {
            Kind::Scenario | Kind::Script => {
                watch.input(&text);
                if let Ok(bug) = Bug::parse("pbft/it", &text) {
                    let _ = (bug.base(), bug.in_words());
                }
                run(&Scenario::parse(&text)?, rng)
            }
            Kind::Config => {
                watch.input(&text);
                self.configure(&text, rng)
            }
            Kind::Experiment => {
                watch.input(&text);
                let experiment = Experiment::parse(&text).map_err(|error| anyhow!(error))?;
                let cells = experiment.cells().map_err(|error| anyhow!(error))?;
                ensure!(!cells.is_empty(), "nothing to run");
                let cell = rng.pick(&cells);
                draw(&cell.base, &cell.strategy, &cell.params, rng)
            }
            Kind::Plan => self.plan(&text, rng, watch),
            Kind::Shard => self.shard(rng, watch),
        }
    }

    fn configure(&self, text: &str, rng: &mut Rng) -> Result<&'static str> {
        let path = self.file("turncoat.toml", text.as_bytes());
        let file = File::read(&path)?;
        let mut config = Config::default();
        let profile = rng.chance(500).then_some("ci");
        file.layers(profile)?.into_iter().try_for_each(|layer| config.overlay(layer))?;
        config.campaign()?;
        let prepared = Setup::default().prepare(Start::config(&config)?, None)?;
        let mut strategy = prepared.make(&prepared.base).map_err(|error| anyhow!(error))?;
        run(&strategy.next(0, &mut Rng::new(rng.bits(), Purpose::Strategy)), rng)
    }

    /// A plan in which a campaign has another base, other shards, or other letters.
    fn plan(&self, base: &str, rng: &mut Rng, watch: &Watch) -> Result<&'static str> {
        let mut json: serde_json::Value = serde_json::from_str(&self.plan.to_json())?;
        match rng.below(4) {
            0 => json["campaigns"][0]["base"] = base.into(),
            1 => json["shards"][0] = serde_json::json!([rng.below(3), rng.bits(), rng.bits()]),
            2 => json["campaigns"][0]["params"]["c"] = base.into(),
            _ => {}
        }
        let garble =
            rng.chance(400) || json == serde_json::from_str::<serde_json::Value>(&self.plan.to_json())?;
        let mut bytes = json.to_string().into_bytes();
        if garble {
            bytes = garbled(bytes, rng);
        }
        let text = String::from_utf8_lossy(&bytes);
        watch.input(&text);
        let plan = Plan::parse(&text)?;
        let part = *plan.shards.first().context("a shard")?;
        let task = Task::of(&plan.campaigns[part.campaign])?;
        task.describe()?;
        let path = self.file("results/plan.json", text.as_bytes());
        let _ = Folder::open(path.parent().context("a folder")?)?.missing()?;
        // One run of the first shard, as `turncoat shard` would make it.
        let first = task.with(1, &Stop::default(), |campaign| Ok(campaign.scenario_of(part.from)?))?;
        run(&first, rng)
    }

    /// The results of a shard with other bytes; its name is that of its content, or of what it was.
    fn shard(&self, rng: &mut Rng, watch: &Watch) -> Result<&'static str> {
        let bytes = garbled(self.shard.clone(), rng);
        let end = bytes.iter().rposition(|&byte| byte == b'{').unwrap_or(bytes.len());
        watch.input(&String::from_utf8_lossy(&bytes));
        let folder = self.folder.path().join("results");
        let _ = fs::remove_dir_all(&folder);
        self.file("results/plan.json", self.plan.to_json().as_bytes());
        let content = self.file("content", &bytes[..end]);
        let digest = digest_of(&content)?;
        self.file(&format!("results/000000-{digest}.tcs"), &bytes);
        let (missing, refused) = Folder::open(&folder)?.missing()?;
        ensure!(refused.is_empty(), "it is refused");
        Ok(if missing.is_empty() { "taken" } else { "taken in part" })
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        let _ = path.parent().map(fs::create_dir_all);
        fs::write(&path, bytes).expect("a file");
        path
    }
}

/// A plan with one campaign, and what came of its first shard.
fn plan_and_shard(folder: &Path) -> (Plan, Vec<u8>) {
    let task = || -> Result<(Plan, Vec<u8>)> {
        let prepared = Setup::default().prepare(Start::protocol("pbft-java")?, Some("byzzfuzz"))?;
        let task = Task {
            settings: Vec::new(),
            label: crate::task::Label {
                experiment: "fuzz".to_owned(),
                variant: "pbft-java".to_owned(),
                row: "byzzfuzz".to_owned(),
                target: "any".to_owned(),
            },
            searcher: prepared.searcher(&[]),
            entry: prepared.entry,
            base: prepared.base,
            seed: turncoat_core::scenario::Seed(1),
            runs: Some(10),
            until: turncoat_lab::plan::Ends::Never,
            suspects: turncoat_lab::plan::Suspected::Nobody,
        };
        let mut plan = Plan::new("this".to_owned());
        plan.add(task.planned()?, 10, None)?;
        let mut results = Results::new((task.entry.mutations)());
        task.with(1, &Stop::default(), |campaign| {
            let mut keep = |record| {
                results.add(&record);
                true
            };
            Ok(campaign.run_part(0..10, &mut keep, &mut |_| {})?)
        })?;
        let spell = Spell { seconds: 1.0, jobs: 1, ended: 0, command: String::new() };
        let path = results.publish(folder, &plan, 0, false, &spell)?;
        Ok((plan, fs::read(path)?))
    };
    task().expect("a plan")
}

/// Draws a scenario, and runs it.
fn draw(base: &Scenario, name: &str, params: &[(String, String)], rng: &mut Rng) -> Result<&'static str> {
    let entry = registry::protocol(&base.protocol.name)?;
    entry.runner().validate(base)?;
    let mut strategy = turncoat_strategies::make(name, base, params, &(entry.mutations)())?;
    run(&strategy.next(0, &mut Rng::new(rng.bits(), Purpose::Strategy)), rng)
}

/// Runs a scenario as `replay` does, and does with some what other commands do.
fn run(scenario: &Scenario, rng: &mut Rng) -> Result<&'static str> {
    let entry = registry::protocol(&scenario.protocol.name)?;
    let mut over = clock::over(Some(TIMEOUT));
    let outcome = entry.runner().watch(scenario, &mut |_| over())?;
    if outcome.end == End::Stopped {
        return Ok("ran out of time");
    }
    ensure!(Scenario::parse(&scenario.to_toml()).is_ok(), "what was read cannot be read again");
    if outcome.steps <= EXPLAINED && rng.chance(100) {
        let explanation = Explanation::of(entry, scenario)?;
        let texts = [explanation.story(), explanation.chart(), explanation.svg(), explanation.mermaid()];
        assert!(texts.iter().all(|text| !text.is_empty()));
        let _ = explanation.whole().chart();
    }
    if outcome.steps <= EXPLAINED && rng.chance(50) {
        lasso::find(entry, scenario)?;
    }
    if !outcome.violations.is_empty() && outcome.steps <= EXPLAINED && rng.chance(50) {
        let budget = Budget { executions: 40, stop: &false.into() };
        let _ = shrink(entry, scenario, Keep::Any, &[], budget);
    }
    Ok("ran")
}

/// All texts in TOML in a folder.
fn texts(folder: &Path) -> Vec<String> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            all.extend(texts(&path));
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            all.push(fs::read_to_string(&path).expect("a text"));
        }
    }
    all
}

/// Keeps an eye on the input under test, to say which it was.
struct Watch {
    index: Arc<AtomicU64>,
    input: Arc<Mutex<String>>,
}

impl Watch {
    fn start() -> Self {
        let watch = Self { index: Arc::default(), input: Arc::default() };
        let (index, input) = (Arc::clone(&watch.index), Arc::clone(&watch.input));
        // A busy machine is no fault of the input: what counts is the time that this thread has worked.
        let thread =
            fs::read_link("/proc/thread-self").map(|thread| Path::new("/proc").join(thread).join("stat"));
        thread::spawn(move || {
            let (mut last, mut began, mut waited) = (0, 0, 0);
            loop {
                thread::sleep(Duration::from_secs(1));
                let (now, worked) = (index.load(Relaxed), thread.as_ref().ok().and_then(|stat| worked(stat)));
                if now != last {
                    (last, began, waited) = (now, worked.unwrap_or_default(), 0);
                }
                waited += 1;
                // Where the system does not say how long it has worked, and if it waits for something that never comes.
                let hangs = worked.is_some_and(|worked| worked - began > HANG) || waited > 20 * HANG;
                if hangs {
                    eprintln!("input {now} takes more than {HANG} s:\n{}", input.lock().expect("a text"));
                    process::exit(1);
                }
            }
        });
        watch
    }

    fn next(&self, index: u64, kind: Kind) {
        self.index.store(index, Relaxed);
        self.input(&format!("{kind:?}"));
    }

    fn input(&self, text: &str) {
        text.clone_into(&mut self.input.lock().expect("a text"));
    }

    /// Whether so much memory was never taken.
    fn weigh(&self) {
        let (index, input) = (self.index.load(Relaxed), self.input.lock().expect("a text"));
        let most = memory().unwrap_or_default();
        assert!(most < MEMORY, "input {index} took {} MiB:\n{input}", most >> 10);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("input {}:\n{}", self.index.load(Relaxed), self.input.lock().expect("a text"));
        }
    }
}

/// For how many seconds a thread has worked, by its file under `/proc`.
fn worked(stat: &Path) -> Option<u64> {
    const TICKS_PER_SECOND: u64 = 100;
    let stat = fs::read_to_string(stat).ok()?;
    // The name, in brackets, may hold spaces. Two fields, the 14th and the 15th, are time in the program and in the system.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(ticks / TICKS_PER_SECOND)
}

/// The most memory that this process has had, in KiB, where the system says it.
fn memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}
