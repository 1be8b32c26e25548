//! Enumerate: all plans of at most two faults of a finite universe, one after another.
//!
//! A campaign of drawn runs that finds nothing bounds a rate. A campaign that runs everything within bounds can say what it has
//! excluded: no plan of at most two of these faults violates anything under these schedules. So the universe must be small and
//! still hold what matters, and that is lies that last: told in every message of a kind (`lies`, `omissions`) or by a second
//! instance (`faces`), together with a network that is late once (`cuts`) or a timer that is early (`timers`). See [`classes`].
//!
//! Run `i` is plan `i / S` under schedule `i % S`, where `S` is the number of schedules. Plans of fewer faults come first. The number
//! says what the plan is, so a campaign can be cut anywhere.
//!
//! Replicas keep their names unless `led` says that only the leaders of the first views have one; then plans that differ in the
//! names of interchangeable replicas alone are run once ([`symmetry`]).
//!
//! No plan is left out because of what another one came to. A lie about messages that are never sent changes nothing, and it would
//! be sound to skip pairs with it; but which these are is known only after the single faults have run, and a strategy says what
//! scenario `i` is without running anything.

mod classes;
mod plans;
mod symmetry;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use turncoat_core::ids::{NodeId, NodeSet};
use turncoat_core::rng::Rng;
use turncoat_core::scenario::{Adversary, Scenario, SchedulerName, SchedulerSpec};
use turncoat_core::strategy::{FaultClass, Space, Strategy, Universe};

use self::classes::{Bounds, CLASSES, Class};
use self::plans::{Item, Plans};
use crate::cast::{self, CLIENTS, GST, IMPATIENT, REQUESTS, SCOPE};
use crate::liars::LIAR;
use crate::params::{Param, Params};
use crate::{Info, StrategyError};

pub(crate) const INFO: Info = Info {
    name: "enumerate",
    about: "all plans of at most two faults of a finite universe, in order; ends with a certificate",
    params: &[
        Param { about: "a Byzantine replica, such as p3, or any (each in turn)", ..LIAR },
        Param { name: "faults", default: "2", about: "maximum number of faults in a plan: 0, 1 or 2" },
        Param {
            name: "classes",
            default: "lies,omissions,faces,cuts,timers",
            about: "classes of faults, with commas between them",
        },
        SCOPE,
        Param {
            name: "receivers",
            default: "one",
            about: "who may hear a lie: all (everybody), one (everybody or one replica), some (everybody, one replica, or all \
                    but one), or sets (every set of replicas)",
        },
        Param { name: "views", default: "2", about: "cuts and early timers are in the first so many views" },
        Param {
            name: "led",
            default: "all",
            about: "the leaders of the first so many views keep their names, all other replicas are taken as \
                    interchangeable; all: every replica keeps its name",
        },
        Param {
            name: "schedules",
            default: "timed",
            about: "how the next event is chosen; each plan runs under each of them: timed, sync, async, impatient (async \
                    with timers that fire often), fifo, or given (as the scenario says)",
        },
        Param {
            name: "steps",
            default: "400",
            about: "events after which a run ends and is judged for safety alone, with up to 4 replicas; more with more; 0: no \
                    such limit",
        },
        CLIENTS,
        REQUESTS,
        GST,
    ],
    make: |base, params| Ok(Box::new(Enumerate::new(base, params)?)),
};

struct Enumerate {
    base: Scenario,
    classes: Vec<&'static Class>,
    plans: Plans,
    most: u32,
    alike: Vec<NodeSet>,
    schedules: Vec<(&'static str, Arc<SchedulerSpec>)>,
}

/// Who says which event is next.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Schedule {
    Timed,
    Sync,
    Async,
    Impatient,
    Fifo,
    Given,
}

impl Schedule {
    const ALL: [(&'static str, Self); 6] = [
        ("timed", Self::Timed),
        ("sync", Self::Sync),
        ("async", Self::Async),
        ("impatient", Self::Impatient),
        ("fifo", Self::Fifo),
        ("given", Self::Given),
    ];

    fn spec(self, given: &SchedulerSpec) -> SchedulerSpec {
        let named = |name| SchedulerSpec { name, ..given.clone() };
        match self {
            Self::Timed => named(SchedulerName::Timed),
            Self::Sync => named(SchedulerName::Sync),
            Self::Async => named(SchedulerName::Async),
            Self::Impatient => SchedulerSpec { timeout: IMPATIENT, ..named(SchedulerName::Async) },
            Self::Fifo => named(SchedulerName::Fifo),
            Self::Given => given.clone(),
        }
    }
}

impl Enumerate {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        let unfit = |why: String| StrategyError::Unfit { strategy: params.strategy, why };
        let mut base = cast::prepared(base, params)?;
        let n = base.cluster.n;
        let is_replica = |node: &NodeId| !node.is_client() && node.index() < n;
        let liar = params.typed(LIAR.name, |text| match text.parse().ok().filter(is_replica) {
            None if text != LIAR.default => Err(format!("no replica: there are {n}, from p0 on")),
            liar => Ok(liar),
        })?;
        let liars = match (base.cluster.f, base.cluster.over_budget) {
            (0, false) => return Err(StrategyError::NobodyMayLie { strategy: params.strategy }),
            (f, _) => f.max(1),
        };
        let classes = chosen(params, "classes", &CLASSES.each_ref().map(|class| (class.name, class)))?;
        let schedules = chosen(params, "schedules", &Schedule::ALL)?;
        let given = &base.scheduler;
        if given.name != SchedulerName::Timed && schedules.iter().any(|(name, _)| *name != "given") {
            return Err(unfit(
                "`schedules` says how the next event is chosen: leave out --scheduler, or take `schedules=given`".to_owned(),
            ));
        }
        let schedules =
            schedules.into_iter().map(|(name, schedule)| (name, Arc::new(schedule.spec(given)))).collect();
        let bounds = Bounds {
            n,
            liars: liar.map_or_else(|| (0..n).map(NodeId::replica).collect(), |liar| vec![liar]),
            table: params.lies,
            scope: params.word(SCOPE.name)?,
            receivers: params.word("receivers")?,
            views: params.number("views", 0..=100)?.into(),
        };
        if bounds.receivers == classes::Receivers::Sets && n > SETS {
            return Err(unfit(format!(
                "`receivers=sets` is for up to {SETS} replicas: there would be too many sets"
            )));
        }
        let led = params.typed("led", |text| match text {
            "all" => Ok(n),
            number => number.parse().map_err(|_| "not a whole number, nor `all`".to_owned()),
        })?;
        let cells = symmetry::cells(&base, led, liar).map_err(|error| unfit(error.to_string()))?;
        let alike = symmetry::sets(&cells);
        let classes: Vec<_> = classes.into_iter().map(|(_, class)| class).collect();
        let items = items(&classes, &bounds, !alike.is_empty());
        let most = params.number("faults", 0..=2)?;
        let steps = u64::from(params.number("steps", 0..=1_000_000)?);
        if steps > 0 {
            // What a decision costs grows with the square of the number of replicas.
            let pairs = (n * n) as u64;
            Arc::make_mut(&mut base.limits).short.get_or_insert(steps * pairs.max(16) / 16);
        }
        let Adversary { roundless_inherit, crash_on_garbage, .. } = base.adversary;
        base.adversary = Adversary { roundless_inherit, crash_on_garbage, ..Adversary::default() };
        Ok(Self { base, classes, plans: Plans::new(items, most, liars, cells), most, alike, schedules })
    }
}

/// The most replicas of which every set may hear a lie.
const SETS: usize = 8;

/// The words of a list, each once, with what they mean.
fn chosen<T: Copy>(
    params: &Params<'_>,
    name: &str,
    known: &[(&'static str, T)],
) -> Result<Vec<(&'static str, T)>, StrategyError> {
    params.typed(name, |text| {
        let words: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        let unknown = words.iter().find(|word| known.iter().all(|(name, _)| name != *word));
        match unknown {
            _ if words.is_empty() => Err("name at least one".to_owned()),
            Some(word) => {
                let names: Vec<_> = known.iter().map(|&(name, _)| name).collect();
                Err(format!("there is no `{word}`, but {}", names.join(", ")))
            }
            // In an order of their own, whatever the order of the words.
            None => Ok(known.iter().filter(|(name, _)| words.contains(name)).copied().collect()),
        }
    })
}

/// The faults of the classes.
fn items(classes: &[&'static Class], bounds: &Bounds<'_>, symmetric: bool) -> Vec<Item> {
    let mut shapes = BTreeMap::new();
    let mut items = Vec::new();
    for (class, Class { list, .. }) in classes.iter().enumerate() {
        for listed in list(bounds) {
            let (mut shape, mut labels) = (items.len() as u32, Vec::new());
            if symmetric {
                let (own, nameless) = symmetry::labelled(&listed.fault, bounds.n);
                let next = shapes.len() as u32;
                shape = *shapes.entry((class, format!("{nameless:?}"))).or_insert(next);
                labels = own;
            }
            items.push(Item { class, liar: listed.liar, fault: listed.fault, shape, labels });
        }
    }
    items.sort_by_key(|item| (item.class, item.shape));
    items
}

impl Strategy for Enumerate {
    fn next(&mut self, index: u64, _rng: &mut Rng) -> Scenario {
        let schedules = self.schedules.len() as u64;
        let mut scenario = self.base.clone();
        scenario.scheduler = self.schedules[(index % schedules) as usize].1.clone();
        // After the last plan comes the first again.
        let number = u128::from(index / schedules) % self.plans.different();
        for Item { liar, fault, .. } in self.plans.get(number) {
            scenario.adversary.byzantine =
                liar.iter().copied().chain(scenario.adversary.byzantine.iter()).collect();
            scenario.adversary.faults.push(fault.clone());
        }
        scenario
    }

    fn space(&self) -> Option<Space> {
        let scenarios = self.plans.different().checked_mul(self.schedules.len() as u128);
        Some(Space { scenarios, in_order: true })
    }

    fn universe(&self) -> Option<Universe> {
        let faults = |place| {
            let own = self.plans.items().iter().filter(move |item| item.class == place);
            own.map(|item| item.fault.clone()).collect()
        };
        let classes = self.classes.iter().enumerate();
        let classes = classes.map(|(place, class)| FaultClass {
            name: class.name,
            about: class.about,
            faults: faults(place),
        });
        let schedules = self.schedules.iter().map(|(name, spec)| (*name, SchedulerSpec::clone(spec)));
        Some(Universe {
            classes: classes.collect(),
            most: self.most,
            plans: self.plans.all(),
            different: self.plans.different(),
            alike: self.alike.clone(),
            schedules: schedules.collect(),
        })
    }
}
