//! Each test runs the protocol 10,000 times. In each run one replica may be Byzantine and the network
//! may split; the default strategy, `portfolio`, decides how. Clients are honest. If a property is
//! violated, the test fails, explains the run and saves it in `turncoat-corpus` to run it first next time.

use demo::Board;
use turncoat::Property;

/// Agreement, integrity, validity and termination hold in all runs. The body may return a `Scenario`
/// that all runs start from; an empty one means the default: 4 replicas, 1 client and 2 requests.
#[turncoat::test(Board, runs = 10_000)]
fn the_protocol_keeps_its_promises() {}

/// If nobody checks signatures, whoever passes a request on can change it. `finds` makes finding that
/// a success; without it the test fails and tells the story.
#[turncoat::test(Board, runs = 10_000, flag = "unsigned", finds = Property::Validity)]
fn the_bug_is_found() {}
