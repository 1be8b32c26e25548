//! The stage of the stories: how they start, what they look at, how they end.

use std::sync::Arc;

use serde_json::json;
use toml::{Table, Value};
use turncoat_core::node::Protocol;
use turncoat_core::outcome::{End, Outcome, Property};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::Scenario;
use turncoat_core::story::Story;
use turncoat_lab::suite::{Bug, verify};
use turncoat_protocols::pbft::Pbft;

/// PBFT with four replicas, K = 4, L = 8; `settings` are more keys of the scenario, as TOML.
pub(crate) fn scenario(settings: &str) -> Scenario {
    scenario_of(toml::toml! { name = "pbft" checkpoint = 4 window = 0 }, settings)
}

/// A protocol with four replicas; `settings` are more keys of the scenario, as TOML.
pub(crate) fn scenario_of(protocol: Table, settings: &str) -> Scenario {
    let mut table = Table::from_iter([("schema".to_owned(), Value::Integer(1))]);
    table.insert("protocol".to_owned(), Value::Table(protocol));
    let settings = settings.parse().unwrap_or_else(|error| panic!("{error}"));
    merge(&mut table, settings);
    Scenario::parse(&table.to_string()).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(into)), Value::Table(from)) => merge(into, from),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

/// A story in such a scenario.
pub(crate) fn story(settings: &str) -> Story<Pbft> {
    Story::new(scenario(settings))
}

/// A protocol or variant by its name.
pub(crate) fn entry(name: &str) -> Entry {
    let found = turncoat_protocols::all().into_iter().find(|entry| entry.name == name);
    found.unwrap_or_else(|| panic!("no protocol `{name}`"))
}

/// Runs a scenario of any protocol.
pub(crate) fn run(scenario: &Scenario) -> Outcome {
    entry(&scenario.protocol.name).runner().execute(scenario).unwrap_or_else(|error| panic!("{error}"))
}

/// The story goes on by itself to its end; its script alone, saved and read back, leads to the same end.
pub(crate) fn ends<P: Protocol>(s: &mut Story<P>) -> Outcome {
    let outcome = s.settle();
    let saved = Scenario::parse(&s.scenario().to_toml()).expect("a story can be saved");
    let replayed = run(&saved);
    assert_eq!(replayed.diverged, None, "the script goes wrong at {:?}", replayed.diverged);
    let facts = |o: &Outcome| (o.fingerprint, o.steps, o.time, o.completed, o.violations.clone());
    assert_eq!(facts(&replayed), facts(&outcome), "a replay is the same run");
    outcome
}

/// The story ends well: the calm network is enough for all requests to complete, and nothing is violated.
pub(crate) fn completes<P: Protocol>(s: &mut Story<P>) -> Outcome {
    let outcome = ends(s);
    s.expect_no_violation();
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    assert_eq!(outcome.end, End::Goal);
    outcome
}

/// A story of PBFT with some of its deviations.
pub(crate) fn attack(flags: &[&str], settings: &str) -> Story<Pbft> {
    story(&format!("protocol.flags = {flags:?}\n{settings}"))
}

/// The story ends badly: it violates a property. Without the flags the same schedule violates nothing, and completes.
pub(crate) fn violates<P: Protocol>(s: &mut Story<P>, property: Property) -> Outcome {
    let outcome = ends(s);
    s.expect_violation(property);
    let control = run(&without_flags(&s.scenario()));
    assert!(control.violations.is_empty(), "without the flags: {:?}", control.violations);
    assert_eq!(control.end, End::Goal, "without the flags");
    outcome
}

/// The story is the witness of a bug of the suite: `suite/ID.toml` holds it as a scenario, and what the row says holds.
pub(crate) fn witness<P: Protocol>(s: &mut Story<P>, id: &str) -> Outcome {
    let outcome = ends(s);
    is_witness(s.scenario(), id);
    outcome
}

/// A scenario is the witness of a bug of the suite; see [`witness`].
pub(crate) fn is_witness(mut told: Scenario, id: &str) {
    let path = format!("{}/../../suite/{id}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let row: Table = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
    told.bug = row["bug"].as_table().cloned().map(Arc::new);
    let told = told.to_toml();
    match std::env::var_os("TURNCOAT_BLESS") {
        Some(_) => std::fs::write(&path, &told).expect("the row can be written"),
        None => assert_eq!(text, told, "{path} is not this story; TURNCOAT_BLESS=1 writes it"),
    }
    let find = |name: &str| Ok(entry(name));
    let bug = Bug::parse(id, &told).unwrap_or_else(|error| panic!("{path}: {error}"));
    let wrong = verify(&bug, &find).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(wrong.is_empty(), "{path}: {wrong:?}");
}

/// The same scenario for the correct protocol. Steps that cannot happen there are skipped.
pub(crate) fn without_flags(scenario: &Scenario) -> Scenario {
    scenario.with("protocol.flags", Value::Array(Vec::new())).expect("a scenario")
}

/// Whether the run did this: a name from the protocol's marks.
pub(crate) fn marked(outcome: &Outcome, mark: &str) -> bool {
    marked_by::<Pbft>(outcome, mark)
}

/// As [`marked`], for any protocol.
pub(crate) fn marked_by<P: Protocol>(outcome: &Outcome, mark: &str) -> bool {
    let index = P::MARKS.iter().position(|&name| name == mark);
    outcome.marks >> index.expect("a mark of the protocol") & 1 == 1
}

/// Asserts one field of the state of several replicas.
pub(crate) fn expect(s: &Story<Pbft>, who: &[&str], field: &str, value: impl Into<serde_json::Value>) {
    let value = value.into();
    for who in who {
        let state = s.json(who);
        let found = match field {
            // The papers' h is the low end of the window.
            "h" => state["window"]["low"].clone(),
            "fetching" => state["checkpoints"]["fetching"].clone(),
            "timeout" => state["patience"]["timeout"].clone(),
            "pending" => state["clients"]["pending"].clone(),
            "status" if state["frozen"] == true => json!({ "Changing": state["target"] }),
            "status" => "Normal".into(),
            field => state[field].clone(),
        };
        assert_eq!(found, value, "`{field}` of {who}");
    }
}

/// Asserts that the logs of several replicas hold these operations from slot 1 on.
pub(crate) fn expect_logs<P: Protocol>(s: &Story<P>, who: &[&str], ops: &[impl AsRef<str>]) {
    let ops: Vec<&str> = ops.iter().map(AsRef::as_ref).collect();
    for who in who {
        s.expect_log(who, &ops);
    }
}

/// The status of a replica that has voted for a view and is frozen.
pub(crate) fn changing(view: u32) -> serde_json::Value {
    json!({ "Changing": view })
}

/// Ticks until a timer of a node fires.
pub(crate) fn left<P: Protocol>(s: &Story<P>, who: &str, timer: &str) -> u64 {
    let name = who.parse().expect("a name");
    let seat = s.sim().seats().named(name).expect("a node").iter().next().expect("a seat");
    let (_, at) = s.sim().timers(seat).into_iter().find(|(name, _)| name == timer).expect("an armed timer");
    at.0 - s.sim().time().0
}

/// Whether a client has no request under way.
pub(crate) fn idle(s: &Story<Pbft>, client: &str) -> bool {
    s.json(client)["outstanding"].as_array().is_some_and(Vec::is_empty)
}

pub(crate) const NOTHING: [&str; 0] = [];
pub(crate) const ALL: [&str; 4] = ["p0", "p1", "p2", "p3"];
pub(crate) const BACKUPS: [&str; 3] = ["p1", "p2", "p3"];

/// Tells several lies in one message.
pub(crate) fn tell<P: Protocol>(s: &mut Story<P>, pattern: &str, lies: &[&str]) {
    for lie in lies {
        s.mutate(pattern, lie);
    }
}

/// The faults with which a liar tells these lies in all messages that they fit.
pub(crate) fn always(liar: &str, lies: &[&str]) -> String {
    let fault = |lie: &&str| format!("{{ from = ['{liar}'], mutate = '{lie}' }}");
    lies.iter().map(fault).collect::<Vec<_>>().join(", ")
}

/// The ops of the first requests: `r1`, `r2`, ...
pub(crate) fn ops(count: usize) -> Vec<String> {
    (1..=count).map(|i| format!("r{i}")).collect()
}

/// V of the last NEW-VIEW that a replica has installed: who voted.
pub(crate) fn voters(s: &Story<Pbft>, who: &str) -> Vec<String> {
    let state = s.json(who);
    let votes = state["last_new_view"]["body"]["votes"].as_array().expect("a NEW-VIEW");
    votes.iter().map(|vote| vote["signer"].as_str().expect("a name").to_owned()).collect()
}

/// O of the last NEW-VIEW that a replica has installed: `r1@1`, `null@2`.
pub(crate) fn proposals(s: &Story<Pbft>, who: &str) -> Vec<String> {
    let state = s.json(who);
    let proposals = state["last_new_view"]["body"]["pre_prepares"].as_array().expect("a NEW-VIEW");
    let name = |proposal: &serde_json::Value| {
        let op = proposal["body"]["request"]["body"]["op"].as_str().unwrap_or("null");
        format!("{op}@{}", proposal["body"]["seq"])
    };
    proposals.iter().map(name).collect()
}
