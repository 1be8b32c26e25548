//! Runs by hand, as people play them in the explorer: without types, choice by choice.

use turncoat_core::outcome::{Property, Violation};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::Scenario;
use turncoat_core::schedule::{Action, Coordinates};
use turncoat_core::session::Session;

fn pbft(byzantine: &str) -> (Entry, Scenario) {
    let all = turncoat_protocols::all();
    let entry = all.into_iter().find(|entry| entry.name == "pbft-java").expect("it is there");
    let text =
        format!("schema = 1\n[protocol]\nname = \"pbft-java\"\n[adversary]\nbyzantine = [{byzantine}]");
    (entry, Scenario::parse(&text).expect("a scenario"))
}

fn begin(byzantine: &str) -> Box<dyn Session> {
    let (entry, scenario) = pbft(byzantine);
    entry.session(&scenario, true).expect("it runs")
}

/// Makes choices, one to a line.
fn choose(session: &mut dyn Session, lines: &str) {
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        session.apply(&line.parse().expect("a choice")).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

fn refused(session: &mut dyn Session, line: &str) -> String {
    session.apply(&line.parse().expect("a choice")).expect_err(line).to_string()
}

fn said(session: &dyn Session, name: &str) -> Option<String> {
    session.flying().into_iter().find(|flying| flying.name.to_string() == name).map(|flying| flying.text)
}

#[test]
fn figure_2_by_hand_violates_agreement_and_replays_as_a_script() {
    let mut session = begin("\"p0\"");
    choose(
        &mut *session,
        "deliver c0>p0 request #1
         mutate p0>p3 pre-prepare #1 pre-prepare.seq+1",
    );
    let agreement = |violation: &Violation| violation.property == Property::Agreement;
    while !session.violations().iter().any(agreement) {
        assert!(session.go_on(), "nothing more happens");
    }
    let (entry, scenario) = pbft("\"p0\"");
    let outcome = entry.runner().execute(&scenario.scripted(session.script().to_vec())).expect("it runs");
    assert_eq!(outcome.diverged, None);
    assert_eq!(outcome.violation(Property::Agreement), session.violations().iter().find(|v| agreement(v)));
}

#[test]
fn a_field_set_by_hand_says_what_a_named_lie_says() {
    let say = |line: &str| {
        let mut session = begin("\"p0\"");
        choose(&mut *session, &format!("deliver c0>p0 request #1\n{line}"));
        said(&*session, "p0>p3 pre-prepare #1").expect("it is under way")
    };
    let lie = say("mutate p0>p3 pre-prepare #1 pre-prepare.seq+1");
    assert_eq!(say("edit p0>p3 pre-prepare #1 n 2"), lie);
    assert!(!lie.contains("bad signature"), "{lie}");
    assert_ne!(say(""), lie);
}

#[test]
fn fields_are_named_as_lies_name_them() {
    let mut session = begin("\"p0\"");
    choose(&mut *session, "deliver c0>p0 request #1");
    let Ok(Action::Deliver(name)) = "deliver p0>p3 pre-prepare #1".parse() else { panic!() };
    let lies = session.lies(&name).expect("it is under way");
    assert!(lies.fields.iter().any(|(field, value)| (&**field, &**value) == ("n", "1")), "{lies:?}");
    let next = lies.named.iter().find(|lie| lie.name == "pre-prepare.seq+1").expect("it changes something");
    assert_eq!((&*next.changes[0].field, &*next.changes[0].is), ("n", "2"));
    for (field, value) in &lies.fields {
        let mut session = begin("\"p0\"");
        choose(&mut *session, "deliver c0>p0 request #1");
        let edit = Action::Edit(name.clone(), field.clone(), value.clone());
        match session.apply(&edit) {
            Err(error) => assert!(error.to_string().contains("changes nothing"), "{field}: {error}"),
            Ok(()) => assert_eq!(field, "d", "only a digest is shown by its first digits alone"),
        }
    }
}

#[test]
fn what_cannot_be_done_is_refused_and_changes_nothing() {
    let mut session = begin("\"p1\"");
    choose(&mut *session, "deliver c0>p0 request #1");
    let before = (session.script().len(), session.flying());
    let honest = refused(&mut *session, "edit p0>p3 pre-prepare #1 n 2");
    assert_eq!(honest, "p0 is honest: only a Byzantine node lies");
    assert!(refused(&mut *session, "deliver p0>p3 commit #1").contains("no `p0>p3 commit #1` is in flight"));
    assert!(refused(&mut *session, "suspect p0").contains("honest"));
    choose(&mut *session, "deliver p0>p1 pre-prepare #1");
    assert!(refused(&mut *session, "edit p1>p2 prepare #1 zzz 2").contains("no field `zzz`"));
    assert!(refused(&mut *session, "edit p1>p2 prepare #1 n two").contains("two"));
    assert_eq!(session.script().len(), before.0 + 1);
}

#[test]
fn a_split_loses_what_is_sent_across_it_until_it_heals() {
    let mut session = begin("");
    choose(&mut *session, "split p0,p1,c0\ndeliver c0>p0 request #1");
    let to: Vec<String> = session.flying().iter().map(|flying| flying.name.dst.to_string()).collect();
    assert_eq!(to, ["p1"], "the others are on the other side");
    choose(&mut *session, "heal\ndeliver p0>p1 pre-prepare #1");
    assert_eq!(session.flying().len(), 3, "PREPARE to all others");
    choose(&mut *session, "calm");
    assert!(refused(&mut *session, "split p0").contains("calm"));
}

/// What is promised of a calm network is promised to people too.
#[test]
fn in_a_calm_network_nobody_loses_or_delays_what_an_honest_node_sends() {
    let mut session = begin("\"p1\"");
    choose(&mut *session, "deliver c0>p0 request #1\ndeliver p0>p1 pre-prepare #1\ncalm");
    for line in ["drop p0>p2 pre-prepare #1", "delay p0>p2 pre-prepare #1 5000"] {
        assert!(refused(&mut *session, line).contains("the network is calm"), "{line}");
    }
    choose(&mut *session, "delay p1>p2 prepare #1 5000\ndrop p1>p2 prepare #1");
}

#[test]
fn a_late_message_comes_later() {
    let next = |lines: &str| {
        let mut session = begin("");
        choose(&mut *session, &format!("deliver c0>p0 request #1\n{lines}"));
        session.go_on();
        session.script().last().expect("a choice").to_string()
    };
    let first = next("");
    let name = first.strip_prefix("deliver ").expect("a message");
    assert_ne!(next(&format!("delay {name} 5000")), first);
}

#[test]
fn a_recorded_run_can_be_made_by_hand() {
    for entry in turncoat_protocols::all() {
        let scenario = entry.scenario();
        let n = (entry.bound)(&entry.preset, 1).expect("a bound").max(scenario.cluster.n);
        let scenario = scenario.with("cluster.n", (n as i64).into()).expect("a key");
        let (outcome, recording) = entry.runner().record(&scenario).expect("it runs");
        let mut session = entry.session(&scenario, true).expect("it runs");
        for action in &recording.script {
            session.apply(action).unwrap_or_else(|error| panic!("{}: {action}: {error}", entry.name));
        }
        let (again, by_hand) = session.stop();
        assert_eq!((again.steps, again.time, again.commits), (outcome.steps, outcome.time, outcome.commits));
        assert_eq!(by_hand.copies, recording.copies, "{}", entry.name);
    }
}

#[test]
fn messages_have_the_names_that_scripts_use() {
    let (entry, scenario) = pbft("");
    let (_, recording) = entry.runner().record(&scenario).expect("it runs");
    for action in &recording.script {
        let Action::Deliver(Coordinates { src, dst, kind, nth }) = action else { continue };
        let named = |copy: &&turncoat_core::record::SentCopy| {
            (copy.src, copy.dst, copy.kind, copy.nth) == (*src, *dst, kind.as_str(), *nth)
        };
        assert_eq!(recording.copies.iter().filter(named).count(), 1, "{action}");
    }
}
