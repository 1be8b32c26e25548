//! For each slip the attack that shows that it does harm, told as a story or given as a scenario.
//!
//! Each test selects its slip, plays the attack, and requires that it violates a property; then it plays the same scenario
//! without the slip, which has to reach its goal. `mutants/` of this crate holds the attacks as files, with what is told here
//! as a comment. `TURNCOAT_BLESS=1` writes them.

use std::sync::{Mutex, PoisonError};

use turncoat_core::outcome::{End, Property};
use turncoat_core::scenario::Scenario;
use turncoat_protocols::slips::{ALL, select};

#[path = "../it/chain.rs"]
#[expect(dead_code, reason = "shared with the tests of `it`, which use more of it")]
mod chain;
#[path = "../it/stage.rs"]
#[expect(dead_code, reason = "shared with the tests of `it`, which use more of it")]
mod stage;

mod fab;
mod hbft;
mod hotstuff;
mod pbft;
mod tendermint;
mod xrpl;
mod zyzzyva;

/// A slip is selected for the whole process, so the attacks take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Where the attack on a slip is.
fn path(slip: &str) -> String {
    format!("{}/mutants/{}.toml", env!("CARGO_MANIFEST_DIR"), slip.replace('/', "-"))
}

/// An attack violates a property with the slip and none without it; its file says so. `about` tells what the implementer
/// forgot, and how the attack goes.
fn harms(slip: &str, property: Property, about: &str, attack: impl FnOnce() -> Scenario) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    select(Some(slip)).expect("a slip");
    let scenario = attack();
    let outcome = stage::run(&scenario);
    select(None).expect("none");
    let found = outcome.violation(property);
    assert!(found.is_some_and(|found| found.outside.is_none()), "{slip}: {:?}", outcome.violations);
    let control = stage::run(&scenario);
    assert!(control.violations.is_empty(), "without the slip: {:?}", control.violations);
    assert_eq!(control.end, End::Goal, "without the slip");

    let file =
        format!("# slip: {slip}\n# property: {property}\n#\n{}\n{}", comment(about), scenario.to_toml());
    let path = path(slip);
    match std::env::var_os("TURNCOAT_BLESS") {
        Some(_) => std::fs::write(&path, file).expect("the attack can be written"),
        None => {
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert_eq!(text, file, "{path} is not this attack; TURNCOAT_BLESS=1 writes it");
        }
    }
}

/// Text as the lines of a comment, with an empty one between paragraphs.
fn comment(text: &str) -> String {
    let mut lines = String::new();
    for (i, paragraph) in text.split('\n').enumerate() {
        lines += if i > 0 { "#\n" } else { "" };
        let mut line = String::from("#");
        for word in paragraph.split_whitespace() {
            if line.len() + word.len() > 110 {
                lines += &line;
                lines.push('\n');
                line = String::from("#");
            }
            line.push(' ');
            line += word;
        }
        lines += &line;
        lines.push('\n');
    }
    lines
}

#[test]
fn every_slip_has_an_attack() {
    for slip in ALL {
        assert!(std::fs::exists(path(slip.name)).expect("a folder"), "{}", path(slip.name));
    }
}
