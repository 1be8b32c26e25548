//! Each test runs the protocol up to 10,000 times, with lying replicas and a misbehaving network.

use mine::Decree;
use turncoat::Property;

#[turncoat::test(Decree, runs = 10_000)]
fn the_protocol_keeps_its_promises() {}

#[turncoat::test(Decree, runs = 10_000, flag = "forget-prepared", finds = Property::Agreement)]
fn the_bug_is_found() {}
