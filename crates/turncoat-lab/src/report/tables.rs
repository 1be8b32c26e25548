//! Campaigns to rows, rows to tables.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::read::{Campaign, Names, Tally, Target, bad};
use super::trials::{First, TRIALS, Trials};
use super::{
    Report, ReportError, Row, SCHEMA, Share, Table, Versus, Wishes, compare, heat, kinds, power, verdict,
};
use crate::store::Store;

/// The experiment whose runs pick the best of many.
pub(super) const TUNE: &str = "tune";

/// Campaigns that differ by their seed alone.
struct Group {
    name: String,
    campaigns: Vec<Campaign>,
}

/// An experiment on a variant, before it is counted.
struct Plan {
    experiment: String,
    variant: String,
    target: String,
    groups: Vec<Group>,
}

/// A row with the trials behind it: those for work until the first hit, and those for counting.
pub(super) struct Counted {
    pub(super) row: Row,
    pub(super) trials: Trials,
    pub(super) matched: Trials,
    /// Violations by campaign and signature.
    signatures: BTreeMap<(i64, i64), u64>,
}

impl Report {
    /// Reads a store that its campaigns have left. `name` is what the report calls it.
    pub fn read(store: &Store, name: &str, wishes: &Wishes) -> Result<Self, ReportError> {
        let unreadable = |error| store.unreadable(&error);
        let baseline = wishes.baseline.as_deref();
        let mut campaigns = Campaign::all(store.db()).map_err(unreadable)?;
        if let Some(target) = &wishes.target {
            Target::parse(target).map_err(ReportError::NoTarget)?;
            campaigns.iter_mut().for_each(|campaign| campaign.target.clone_from(target));
        }
        let names = Names::read(store.db()).map_err(unreadable)?;
        let plans = plan(&campaigns);
        if let Some(name) = baseline {
            let mut rows: Vec<String> = plans.iter().flat_map(Plan::names).map(str::to_owned).collect();
            if !rows.iter().any(|row| row == name) {
                rows.sort_unstable();
                rows.dedup();
                return Err(ReportError::NoBaseline { name: name.to_owned(), rows });
            }
        }
        let tables = plans.iter().map(|plan| plan.table(store.db(), &names, baseline));
        let tables = tables.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
        Ok(Self {
            schema: SCHEMA.to_owned(),
            store: name.to_owned(),
            wishes: wishes.clone(),
            power: power::table(tables.iter().flat_map(|table| &table.rows)),
            tables,
            campaigns: campaigns.into_iter().map(|campaign| campaign.source).collect(),
        })
    }
}

/// The tables in the order of their first campaigns.
fn plan(campaigns: &[Campaign]) -> Vec<Plan> {
    let mut plans: Vec<Plan> = Vec::new();
    for campaign in campaigns {
        let place = plans.iter().position(|plan| plan.has(campaign)).unwrap_or(plans.len());
        if place == plans.len() {
            plans.push(Plan {
                experiment: campaign.source.experiment.clone(),
                variant: campaign.source.variant.clone(),
                target: campaign.target.clone(),
                groups: Vec::new(),
            });
        }
        plans[place].add(campaign);
    }
    plans
}

impl Plan {
    fn has(&self, campaign: &Campaign) -> bool {
        let Campaign { source, target, .. } = campaign;
        (&self.experiment, &self.variant, &self.target) == (&source.experiment, &source.variant, target)
    }

    fn add(&mut self, campaign: &Campaign) {
        let twin = self.groups.iter_mut().find(|group| group.campaigns[0].is_twin(campaign));
        let Campaign { source, .. } = campaign;
        let name = match twin {
            // Runs that picked the best parameters, and runs of the best that had no part in it.
            Some(_) if self.experiment == TUNE => format!("{} on fresh seeds", source.row),
            Some(group) => return group.campaigns.push(campaign.clone()),
            None => source.row.clone(),
        };
        // The same name for something else, such as other options of `fuzz`.
        let taken = self.groups.iter().any(|group| group.name == name);
        let name = if taken { format!("{name} (campaign {})", source.id) } else { name };
        self.groups.push(Group { name, campaigns: vec![campaign.clone()] });
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().map(|group| group.name.as_str())
    }

    fn table(&self, store: &Connection, names: &Names, wanted: Option<&str>) -> rusqlite::Result<Table> {
        let target = Target::parse(&self.target).map_err(|error| bad(8, error))?;
        let learning = self.groups.iter().filter(|group| group.learns());
        let budget = learning.flat_map(|group| &group.campaigns).map(|campaign| campaign.source.runs).min();
        let rows = self.groups.iter().map(|group| group.count(store, names, &target, budget));
        let mut rows = rows.collect::<Result<Vec<_>, _>>()?;
        let baseline = match wanted {
            Some(name) => rows.iter().position(|counted| counted.row.name == name),
            None => Some(usual_baseline(&rows)),
        };
        if let Some(baseline) = baseline {
            compare::with_baseline(&mut rows, baseline);
        }
        let best = compare::best_two(&rows);
        let mut counts = BTreeMap::new();
        for counted in &rows {
            counts.extend(counted.signatures.iter().map(|(&key, &count)| (key, count)));
        }
        let rows: Vec<Row> = rows.into_iter().map(|counted| counted.row).collect();
        let campaigns: Vec<(i64, &str)> = self.groups.iter().flat_map(Group::ids).collect();
        let mut table = Table {
            experiment: self.experiment.clone(),
            variant: self.variant.clone(),
            target: self.target.clone(),
            baseline: baseline.map(|index| rows[index].name.clone()),
            best,
            verdict: Vec::new(),
            heat: heat::maps(&rows),
            kinds: kinds::read(store, &campaigns, &counts)?,
            rows,
        };
        table.verdict = verdict::sentences(&table);
        Ok(table)
    }
}

impl Campaign {
    /// Whether two campaigns differ by their seed alone.
    fn is_twin(&self, other: &Self) -> bool {
        let of = |c: &Self| (c.source.row.clone(), c.protocol.clone(), c.strategy.clone(), c.learns);
        of(self) == of(other) && self.params == other.params && self.base == other.base
    }

    /// Whether it ended before the runs that were asked for.
    fn is_early(&self) -> bool {
        self.source.wanted.is_some_and(|wanted| self.source.runs < wanted)
    }
}

impl Group {
    fn learns(&self) -> bool {
        self.campaigns[0].learns
    }

    fn ids(&self) -> impl Iterator<Item = (i64, &str)> {
        self.campaigns.iter().map(|campaign| (campaign.source.id, self.name.as_str()))
    }

    /// Counts the runs. `budget` are the runs of the shortest campaign that learns, where there is one.
    fn count(
        &self,
        store: &Connection,
        names: &Names,
        target: &Target,
        budget: Option<u64>,
    ) -> rusqlite::Result<Counted> {
        let learns = self.learns();
        let runs: u64 = self.campaigns.iter().map(|campaign| campaign.source.runs).sum();
        let matched = Trials::new(budget.unwrap_or_default(), learns);
        let trials = if learns { matched.clone() } else { Trials::new(runs / TRIALS, false) };
        let mut tally = Tally::new(trials, matched);
        for campaign in &self.campaigns {
            tally.add(store, names, target, campaign.source.id)?;
        }
        tally.trials.end();
        tally.matched.end();
        let share = if learns { Share::dependent } else { Share::independent };
        let shares = |counts: BTreeMap<String, u64>| {
            counts.into_iter().map(|(name, hits)| (name, share(hits, tally.runs))).collect()
        };
        let success = match learns {
            true => Share::independent(tally.trials.found(), tally.trials.by_run.len() as u64),
            false => Share::independent(tally.hits, tally.runs),
        };
        let first = &self.campaigns[0];
        let mut row = Row {
            name: self.name.clone(),
            protocol: first.protocol.clone(),
            strategy: first.strategy.clone(),
            params: first.params.clone(),
            learns,
            campaigns: self.campaigns.len() as u64,
            runs: tally.runs,
            early: self.campaigns.iter().filter(|campaign| campaign.is_early()).count() as u64,
            hits: tally.hits,
            success,
            properties: shares(tally.properties),
            bugs: shares(tally.bugs),
            published: BTreeMap::new(),
            faults: tally.faults,
            steps: tally.steps,
            seconds: tally.seconds,
            versus: Versus::None,
            first_run: None,
            first_step: None,
            refusal: None,
        };
        let trials = tally.trials;
        match compare::trials_refused(&row, &trials) {
            Some(why) => row.refusal = Some(why),
            None => {
                row.first_run = Some(First::of(&trials.by_run, trials.length()));
                row.first_step = Some(First::of(&trials.by_step, trials.length()));
            }
        }
        Ok(Counted { row, trials, matched: tally.matched, signatures: tally.signatures })
    }
}

/// The row that others are compared with where nobody says which.
fn usual_baseline(rows: &[Counted]) -> usize {
    let first = |is: &dyn Fn(&Row) -> bool| rows.iter().position(|counted| is(&counted.row));
    first(&|row| row.name.starts_with("baseline"))
        .or_else(|| first(&|row| row.strategy == "random"))
        .or_else(|| first(&|row| row.strategy == "naive"))
        .unwrap_or(0)
}
