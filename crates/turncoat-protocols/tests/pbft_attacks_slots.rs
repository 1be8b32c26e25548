//! Attacks on single numbers: digests, votes, proposals. Each needs the deviations that it names, and the correct protocol
//! survives the same schedule.

mod stage;

use stage::{attack, witness};

/// S3, Figure 2 of the ByzzFuzz paper. p0 proposes r1 as number 1 to p1 and p2, and as number 2 to p3. Then it is honest
/// and proposes r2 as number 2. p3 votes for r2, and executes what it keeps there: r1.
#[test]
fn a_slot_keeps_the_first_request_and_counts_the_votes_for_the_second() {
    let settings = "workload.requests = 2\nadversary.byzantine = ['p0']";
    let mut s = attack(&["slot-ignores-digest", "exec-out-of-order"], settings);
    s.deliver("c0>p0 request").mutate("p0>p3 pre-prepare", "pre-prepare.seq+1").deliver_all();
    s.expect_log("p1", &["r1", "r2"]).expect_log("p2", &["r1", "r2"]);
    assert_eq!(s.log("p3"), [(2, "r1".to_owned())]);
    witness(&mut s, "pbft-java/figure-2");
}
