//! Each test runs the protocol 10,000 times; in a run one replica may lie, the network may split,
//! and clients are honest. What breaks it is explained, and kept in `turncoat-corpus` to run again.
//! A test may return a scenario to start from: `Scenario::parse(include_str!("a.toml")).unwrap()`.

use demo::Board;
use turncoat::Property;

#[turncoat::test(Board, runs = 10_000)]
fn the_protocol_keeps_its_promises() {}

/// Who passes a request on can change it, if nobody looks at signatures. Without `finds` this test
/// fails, and tells the story.
#[turncoat::test(Board, runs = 10_000, flag = "unsigned", finds = Property::Validity)]
fn the_bug_is_found() {}
