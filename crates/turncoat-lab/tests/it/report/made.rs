//! A store that a test writes itself.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rusqlite::params;
use tempfile::TempDir;
use turncoat_core::scenario::Seed;
use turncoat_lab::report::{Report, Wishes};
use turncoat_lab::store::{Description, Spell, Store};

pub(crate) struct Made(TempDir);

/// What a test says about a campaign.
#[derive(Clone)]
pub(crate) struct Campaign {
    pub(crate) experiment: &'static str,
    pub(crate) row: String,
    pub(crate) strategy: String,
    pub(crate) params: BTreeMap<String, String>,
    pub(crate) learns: bool,
    pub(crate) seed: u64,
    pub(crate) wanted: u64,
}

/// A campaign of 1000 runs or fewer, against one bug.
pub(crate) fn campaign(row: &str, strategy: &str) -> Campaign {
    let (row, strategy) = (row.to_owned(), strategy.to_owned());
    Campaign {
        experiment: "suite",
        row,
        strategy,
        params: BTreeMap::new(),
        learns: false,
        seed: 0x5eed,
        wanted: 0,
    }
}

impl Made {
    pub(crate) fn new() -> Self {
        let made = Self(TempDir::new().expect("a folder"));
        drop(Store::open(&made.path()).expect("a store"));
        made
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("made.db")
    }

    pub(crate) fn open(&self) -> Store {
        Store::open_read(&self.path()).expect("a store")
    }

    pub(crate) fn report(&self, baseline: Option<&str>) -> Report {
        let wishes = Wishes { baseline: baseline.map(str::to_owned), target: None };
        Report::read(&self.open(), "made.db", &wishes).expect("a report")
    }

    /// Writes a campaign whose runs have 90 steps and two faults each; those that `hit` violate agreement at step 40.
    pub(crate) fn add(&self, campaign: &Campaign, runs: u64, hit: impl Fn(u64) -> bool) {
        let mut store = Store::open(&self.path()).expect("a store");
        let place = store.place(&campaign.description()).expect("a place");
        let db = store.db();
        for name in ["goal", "agreement", "split", "figure-2"] {
            db.execute("INSERT OR IGNORE INTO names (name) VALUES (?1)", [name]).expect("a name");
        }
        let id = |name: &str| -> i64 {
            db.query_row("SELECT id FROM names WHERE name = ?1", [name], |row| row.get(0)).expect("a name")
        };
        let (goal, agreement, split, bug) = (id("goal"), id("agreement"), id("split"), id("figure-2"));
        let mut first = None;
        for run in 0..runs {
            let row = params![place.id, run as i64, goal];
            db.execute(
                "INSERT INTO runs VALUES (?1, ?2, ?3, 0, 0, 90, 85, 8, 2, 2, 1, 0, 1, 1, 0, 0, 0, 7)",
                row,
            )
            .expect("a run");
            if hit(run) {
                first.get_or_insert(run);
                let row = params![place.id, run as i64, agreement, split, bug];
                db.execute("INSERT INTO violations VALUES (?1, ?2, 0, ?3, ?4, 40, 1, ?5, NULL)", row)
                    .expect("a violation");
            }
        }
        if let Some(run) = first {
            let row = params![
                place.id,
                run as i64,
                "agreement (split): lies pre-prepare.seq; 1 cut",
                "in slot 2 p2 decided 3b2e, p3 decided </script> 639d",
                "schema = 1\nseed = \"0x7\"\n",
            ];
            db.execute("INSERT INTO signatures VALUES (?1, 1, ?3, ?2, ?4, ?5)", row).expect("a kind");
        }
        let spell = Spell {
            seconds: runs as f64 / 20_000.0,
            jobs: 1,
            ended: 1_760_000_000,
            command: "turncoat suite run --db made.db".to_owned(),
        };
        store.spell(place, runs, &spell).expect("a spell");
    }
}

impl Campaign {
    fn description(&self) -> Description {
        Description {
            experiment: self.experiment.to_owned(),
            variant: "figure-2".to_owned(),
            row: self.row.clone(),
            target: "bug:figure-2".to_owned(),
            protocol: "pbft".to_owned(),
            strategy: self.strategy.clone(),
            params: self.params.clone(),
            base: format!("schema = 1 # {}", self.row),
            seed: Seed(self.seed),
            learns: self.learns,
            wanted: (self.wanted > 0).then_some(self.wanted),
            marks: Vec::new(),
        }
    }
}
