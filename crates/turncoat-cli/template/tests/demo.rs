//! Each test runs the protocol 10,000 times; in each run one replica lies, and the network splits.
//! What breaks it is explained, and kept in `turncoat-corpus` to be run again.

use demo::Board;
use turncoat::Property;

#[turncoat::test(Board, runs = 10_000)]
fn the_protocol_keeps_its_promises() {}

/// Who passes a request on can change it, if nobody looks at signatures.
#[turncoat::test(Board, runs = 10_000, flag = "unsigned", finds = Property::Validity)]
fn the_bug_is_found() {}
