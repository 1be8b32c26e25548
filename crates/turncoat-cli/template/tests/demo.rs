//! Each test runs the protocol 10,000 times. In each run one replica lies, and the network splits.
//! What a test finds it makes small, explains, keeps in `turncoat-corpus/`, and tries first next time.

use demo::Board;
use turncoat::Property;

#[turncoat::test(Board, strategy = "byzzfuzz", runs = 10_000)]
fn the_protocol_keeps_its_promises() {}

#[turncoat::test(Board, flag = "unsigned", runs = 10_000, finds = Property::Validity)]
fn who_passes_a_request_on_can_change_it_if_nobody_looks_at_signatures() {}
