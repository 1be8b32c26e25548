//! What plans promise: whoever runs the shards, in whatever order and how often, the store is that of one process.

use std::fs;
use std::path::{Path, PathBuf};

use turncoat_core::scenario::Seed;
use turncoat_lab::campaign::{Campaign, Record, Until};
use turncoat_lab::plan::{
    Ends, Folder, MergeError, Merged, Plan, PlanError, Planned, Results, Suspected, merge,
};
use turncoat_lab::store::{Description, Spell, Store};

use crate::campaigns::bench::{Bench, rare_liar};
use crate::campaigns::store::{description, go_on, rows};

const RUNS: u64 = 1003;

fn planned(seed: u64, until: Ends) -> Planned {
    Planned { campaign: description(seed), until, suspects: Suspected::Nobody }
}

/// A plan of campaigns with these seeds, a hundred runs in each shard.
fn plan(program: &str, seeds: &[u64], until: &Ends) -> Plan {
    let mut plan = Plan::new(program.to_owned());
    for &seed in seeds {
        plan.add(planned(seed, until.clone()), RUNS, Some(100)).expect("it can be cut");
    }
    plan
}

/// What the tests of one plan share.
struct Cluster {
    bench: Bench,
    home: tempfile::TempDir,
    folder: PathBuf,
    plan: Plan,
}

impl Cluster {
    fn new(plan: Plan) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("results");
        Folder::create(&folder, plan.clone()).expect("a folder");
        Self { bench: Bench::new(), folder, home, plan }
    }

    fn campaign(&self, shard: usize) -> Campaign<'_> {
        let Planned { campaign, until, .. } = &self.plan.campaigns[self.plan.shards[shard].campaign];
        let until = if *until == Ends::First { Until::First } else { Until::Never };
        Campaign { seed: campaign.seed, until, ..self.bench.campaign(&rare_liar) }
    }

    /// Runs a shard of the plan, and publishes what `see` makes of its runs.
    fn run_seen(&self, shard: usize, see: fn(&mut Record)) -> PathBuf {
        let campaign = self.campaign(shard);
        let (mut results, mut ended) = (Results::new((self.bench.entry.mutations)()), false);
        let mut keep = |mut record: Record| {
            see(&mut record);
            results.add(&record);
            let scenario = record.scenario.as_ref();
            ended = scenario.is_some_and(|it| campaign.ends_with(record.index, it, &record.outcome));
            true
        };
        campaign.run_part(self.plan.shards[shard].runs(), &mut keep, &mut |_| {}).expect("it runs");
        let spell = Spell { seconds: 0.5, jobs: 1, ended: 0, command: format!("turncoat shard {shard}") };
        results.publish(&self.folder, &self.plan, shard, ended, &spell).expect("a file")
    }

    fn run(&self, shard: usize) -> PathBuf {
        self.run_seen(shard, |_| ())
    }

    fn merge(&self, db: &str) -> Result<Merged, MergeError> {
        let folder = Folder::open(&self.folder)?;
        let mut store = Store::open(&self.home.path().join(db))?;
        merge(&folder, &mut store, &mut |_, _| Ok(()))
    }

    fn missing(&self) -> Vec<usize> {
        Folder::open(&self.folder).expect("a folder").missing().expect("it can be read").0
    }

    /// The store of one process that ran the campaigns one after another.
    fn whole(&self) -> PathBuf {
        let path = self.home.path().join("whole.db");
        for planned in &self.plan.campaigns {
            let shard =
                self.plan.shards.iter().position(|part| {
                    self.plan.campaigns[part.campaign].campaign.seed == planned.campaign.seed
                });
            go_on(&path, &self.bench, &self.campaign(shard.expect("a shard")), u64::MAX);
        }
        path
    }

    fn assert_same(&self, db: &str) {
        let (whole, merged) = (self.whole(), self.home.path().join(db));
        for table in ["names", "campaigns", "runs", "violations", "signatures"] {
            assert_eq!(rows(&whole, table), rows(&merged, table), "{table}");
        }
    }
}

#[test]
fn shards_in_any_order_make_the_store_of_one_process() {
    let cluster = Cluster::new(plan("this", &[7, 8], &Ends::Never));
    assert_eq!(cluster.plan.shards.len(), 22);
    // Seven and twenty-two have no common divisor: each shard comes once. It is merged over and over meanwhile.
    for i in 0..22 {
        assert_eq!(cluster.missing().len(), 22 - i);
        cluster.run(i * 7 % 22);
        let merged = cluster.merge("parts.db").expect("a merge");
        assert_eq!(merged.missing.len(), 21 - i);
    }
    cluster.assert_same("parts.db");
    let merged = cluster.merge("parts.db").expect("nothing is left to do");
    assert_eq!((merged.runs, merged.new), (2 * RUNS, 0));
    let merged = cluster.merge("once.db").expect("all at once");
    assert_eq!((merged.runs, merged.new), (2 * RUNS, 22));
    cluster.assert_same("once.db");
    assert_eq!(rows(&cluster.home.path().join("once.db"), "spells").len(), 22);
}

#[test]
fn a_shard_that_is_run_twice_is_one_file() {
    let cluster = Cluster::new(plan("this", &[7], &Ends::Never));
    let once = cluster.run(3);
    let bytes = fs::read(&once).expect("a file");
    assert_eq!((cluster.run(3), fs::read(&once).expect("a file")), (once.clone(), bytes));
    let copy = once.with_file_name(format!("copy of {}", once.file_name().expect("a name").display()));
    fs::copy(&once, copy).expect("a copy");
    (0..cluster.plan.shards.len()).for_each(|shard| drop(cluster.run(shard)));
    assert_eq!(cluster.merge("it.db").expect("a merge").refused.len(), 0);
    cluster.assert_same("it.db");
}

#[test]
fn what_is_not_right_is_refused_by_name_and_its_shard_is_missing() {
    let cluster = Cluster::new(plan("this", &[7], &Ends::Never));
    (0..cluster.plan.shards.len()).for_each(|shard| drop(cluster.run(shard)));
    let good = cluster.run(4);
    let bytes = fs::read(&good).expect("a file");
    let refused = |path: &Path, words: &str| {
        let Merged { refused, missing, runs, .. } = cluster.merge("it.db").expect("a merge of the others");
        assert_eq!(refused.iter().map(|it| it.path.as_path()).collect::<Vec<_>>(), [path], "{words}");
        assert!(refused[0].damage.to_string().contains(words), "{}", refused[0].damage);
        assert_eq!((missing, runs), (cluster.missing(), 400), "up to the first that is missing");
    };
    // Every byte counts, the header's and the last line's too.
    for place in [3, bytes.len() / 2, bytes.len() - 3] {
        let mut other = bytes.clone();
        other[place] = other[place].wrapping_add(64);
        fs::write(&good, other).expect("it is written");
        refused(&good, if place == 3 { "not a shard file" } else { "damaged" });
    }
    for length in [0, 20, bytes.len() / 2, bytes.len() - 20] {
        fs::write(&good, &bytes[..length]).expect("it is written");
        refused(&good, if length < 100 { "not a shard file" } else { "damaged" });
    }
    fs::remove_file(&good).expect("it is there");
    for (other, words) in [
        (plan("this", &[9], &Ends::Never), "another plan"),
        (plan("an older one", &[7], &Ends::Never), "another program"),
    ] {
        let others = Cluster::new(other);
        let theirs = others.run(4);
        let here = cluster.folder.join(theirs.file_name().expect("a name"));
        fs::copy(theirs, &here).expect("a copy");
        refused(&here, words);
        fs::remove_file(here).expect("it is there");
    }
    assert_eq!(cluster.missing(), [4]);
    cluster.run(4);
    assert_eq!(cluster.merge("it.db").expect("a merge").missing, [0; 0]);
    cluster.assert_same("it.db");
}

#[test]
fn two_results_of_a_shard_that_differ_are_named_with_the_first_run() {
    let cluster = Cluster::new(plan("this", &[7], &Ends::Never));
    (0..cluster.plan.shards.len()).for_each(|shard| drop(cluster.run(shard)));
    cluster.run_seen(2, |record| record.outcome.fingerprint ^= u64::from(record.index >= 250));
    let error = cluster.merge("it.db").expect_err("one of them is wrong");
    assert!(
        matches!(error, MergeError::Differ { .. }) && error.to_string().contains("from run 250 on"),
        "{error}"
    );
}

#[test]
fn the_first_violation_is_the_one_of_the_lowest_index_and_nothing_after_it_is_needed() {
    let cluster = Cluster::new(plan("this", &[7], &Ends::First));
    let first = Campaign { until: Until::First, ..cluster.bench.campaign(&rare_liar) }.run(&mut |_| {});
    let shard = (first.expect("it runs").runs as usize - 1) / 100;
    // The last shard finds one as well, and cannot know.
    cluster.run(10);
    assert_eq!(cluster.missing(), (0..10).collect::<Vec<_>>());
    cluster.run(shard);
    assert_eq!(cluster.missing(), (0..shard).collect::<Vec<_>>(), "what comes later is not needed");
    (0..shard).for_each(|shard| drop(cluster.run(shard)));
    assert_eq!(cluster.missing(), [0; 0]);
    cluster.merge("it.db").expect("a merge");
    cluster.assert_same("it.db");
}

#[test]
fn who_learns_is_one_shard() {
    let learning = || Planned {
        campaign: Description { learns: true, seed: Seed(7), ..description(7) },
        until: Ends::Never,
        suspects: Suspected::Nobody,
    };
    let mut plan = Plan::new("this".to_owned());
    plan.add(learning(), RUNS, None).expect("it is not cut");
    plan.add(learning(), RUNS, Some(RUNS)).expect("nor is this");
    assert_eq!(plan.shards.len(), 2);
    let error = plan.add(learning(), RUNS, Some(100)).expect_err("its runs depend on each other");
    assert!(
        matches!(error, PlanError::Learns { .. }) && error.to_string().contains("is one shard"),
        "{error}"
    );
}

#[test]
fn a_plan_has_a_limit() {
    let planned = || Planned { campaign: description(7), until: Ends::Never, suspects: Suspected::Nobody };
    let mut plan = Plan::new("this".to_owned());
    plan.add(planned(), 1_000_000, Some(1)).expect("so many may be");
    for runs in [1, u64::MAX] {
        let error = plan.add(planned(), runs, Some(1)).expect_err("too many").to_string();
        assert!(error.contains("at most 1000000 shards") && error.contains("--shard-runs"), "{error}");
    }
}

#[test]
fn a_folder_belongs_to_one_plan() {
    let cluster = Cluster::new(plan("this", &[7], &Ends::Never));
    let error = Folder::create(&cluster.folder, plan("this", &[8], &Ends::Never)).expect_err("it is taken");
    assert!(error.to_string().contains("another plan"), "{error}");
    assert!(Folder::create(&cluster.folder, cluster.plan.clone()).is_ok());
    let error = Folder::open(cluster.home.path()).expect_err("there is none");
    assert!(error.to_string().contains("has no plan.json"), "{error}");
    assert_eq!(Plan::parse(&cluster.plan.to_json()).as_ref(), Ok(&cluster.plan));
    for text in
        ["", "{}", "{\"schema\":2}", "{\"schema\":1,\"program\":\"\",\"campaigns\":[],\"shards\":[[0,0,1]]}"]
    {
        assert!(Plan::parse(text).is_err(), "{text}");
    }
}
