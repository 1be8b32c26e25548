//! Campaigns that run beside it all, and what they have found.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use turncoat_core::scenario::Scenario;
use turncoat_lab::campaign::{self, Record, Until};
use turncoat_lab::signature::Traits;
use turncoat_lab::summary::Summary;

use super::Trouble;
use super::workspace::Protocol;
use crate::clock::Stopwatch;
use crate::setup::{Engine, Start};

/// The most campaigns that are kept.
const CAMPAIGNS: usize = 32;

/// What to search, how, and how often.
#[derive(Deserialize)]
pub(super) struct Hunt {
    #[serde(flatten)]
    protocol: Protocol,
    strategy: String,
    runs: u64,
}

/// All campaigns.
#[derive(Default)]
pub(super) struct Hunts(Mutex<BTreeMap<u64, Arc<Hunted>>>);

/// A campaign, and how far it is.
pub(super) struct Hunted {
    stop: AtomicBool,
    state: Mutex<State>,
}

struct State {
    campaign: Campaign,
    scenarios: Vec<Scenario>,
}

/// How far a campaign is.
#[derive(Clone, Serialize)]
pub(super) struct Campaign {
    id: String,
    title: String,
    protocol: String,
    strategy: String,
    runs: u64,
    of: u64,
    violating: u64,
    seconds: f64,
    pub(super) done: bool,
    error: Option<String>,
    findings: Vec<Finding>,
}

#[derive(Clone, Serialize)]
struct Finding {
    finding: usize,
    property: String,
    signature: String,
    words: String,
    runs: u64,
    first: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hunts {
    /// Starts a campaign.
    pub(super) fn start(&self, hunt: &Hunt) -> Result<String, Trouble> {
        let prepared =
            hunt.protocol.setup().prepare(Start::protocol(&hunt.protocol.protocol)?, Some(&hunt.strategy))?;
        let mut all = lock(&self.0);
        if all.len() >= CAMPAIGNS {
            let Some(done) = all.iter().find(|(_, hunted)| hunted.campaign().done).map(|(id, _)| *id) else {
                return Err(Trouble::Refused(format!("{CAMPAIGNS} campaigns are running: stop one")));
            };
            all.remove(&done);
        }
        let number = all.keys().last().map_or(1, |last| last + 1);
        let campaign = Campaign {
            id: number.to_string(),
            title: format!("{} by {}", prepared.entry.name, prepared.strategy),
            protocol: prepared.entry.name.to_owned(),
            strategy: prepared.strategy.to_owned(),
            runs: 0,
            of: hunt.runs,
            violating: 0,
            seconds: 0.0,
            done: false,
            error: None,
            findings: Vec::new(),
        };
        let state = Mutex::new(State { campaign, scenarios: Vec::new() });
        let hunted = Arc::new(Hunted { stop: AtomicBool::new(false), state });
        all.insert(number, Arc::clone(&hunted));
        let runs = hunt.runs;
        thread::spawn(move || {
            let clock = Stopwatch::start();
            let table = (prepared.entry.mutations)();
            let engine = Engine::default();
            let campaign = campaign::Campaign {
                entry: prepared.entry,
                base: &prepared.base,
                make: &|base| prepared.make(base),
                seed: engine.seed(),
                runs: Some(runs),
                jobs: engine.threads(),
                until: Until::Never,
                stop: &hunted.stop,
                suspects: None,
            };
            let mut keep = |record: Record| {
                let Some(scenario) = record.scenario else { return true };
                for violation in record.outcome.inside() {
                    let words = Traits::of(violation, &scenario, &record.outcome).words(&table);
                    lock(&hunted.state).found(record.index, words, violation, &scenario);
                }
                true
            };
            let mut watch = |so_far: &Summary| {
                let campaign = &mut lock(&hunted.state).campaign;
                (campaign.runs, campaign.violating) = (so_far.runs, so_far.violating);
                campaign.seconds = clock.seconds();
            };
            let result = campaign.go_on(Summary::default(), Some(&mut keep), &mut watch);
            let campaign = &mut lock(&hunted.state).campaign;
            match result {
                Ok(summary) => (campaign.runs, campaign.violating) = (summary.runs, summary.violating),
                Err(error) => campaign.error = Some(error.to_string()),
            }
            (campaign.done, campaign.seconds) = (true, clock.seconds());
        });
        Ok(number.to_string())
    }

    /// The campaign with this id.
    pub(super) fn get(&self, id: &str) -> Result<Arc<Hunted>, Trouble> {
        let number: Option<u64> = id.parse().ok();
        let found = number.and_then(|number| lock(&self.0).get(&number).cloned());
        found.ok_or_else(|| Trouble::Missing(format!("there is no campaign {id}")))
    }

    /// All of them, the newest first.
    pub(super) fn all(&self) -> Vec<Campaign> {
        lock(&self.0).values().rev().map(|hunted| hunted.campaign()).collect()
    }

    /// What a campaign has found first of a kind.
    pub(super) fn finding(&self, id: &str, finding: usize) -> Result<(String, Scenario), Trouble> {
        let hunted = self.get(id)?;
        let state = lock(&hunted.state);
        let scenario = state.scenarios.get(finding);
        let scenario = scenario.ok_or_else(|| Trouble::Missing(format!("there is no finding {finding}")))?;
        let words = state.campaign.findings.iter().find(|known| known.finding == finding);
        let title =
            words.map_or_else(String::new, |known| format!("run {}: {}", known.first, known.signature));
        Ok((title, scenario.clone()))
    }
}

impl Hunted {
    /// How far it is.
    pub(super) fn campaign(&self) -> Campaign {
        lock(&self.state).campaign.clone()
    }

    /// Ends it soon.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl State {
    fn found(
        &mut self,
        index: u64,
        signature: String,
        violation: &turncoat_core::outcome::Violation,
        scenario: &Scenario,
    ) {
        let findings = &mut self.campaign.findings;
        if let Some(known) = findings.iter_mut().find(|known| known.signature == signature) {
            known.runs += 1;
        } else {
            findings.push(Finding {
                finding: self.scenarios.len(),
                property: violation.property.to_string(),
                signature,
                words: violation.detail.clone(),
                runs: 1,
                first: index,
            });
            self.scenarios.push(scenario.clone());
        }
        findings.sort_by_key(|finding| (std::cmp::Reverse(finding.runs), finding.first));
    }
}
