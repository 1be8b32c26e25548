//! hBFT. p1 leads view 1, p2 view 2.

use turncoat_core::outcome::Property;

use crate::harms;
use crate::stage::ends;

#[path = "../it/hbft/stage.rs"]
#[expect(dead_code, reason = "shared with the tests of `it`, which use more of it")]
mod stage;

use stage::story;

#[test]
fn commits_of_any_value() {
    let about = "COMMITs of all replicas for the value that a replica has accepted commit it. The implementer counts all COMMITs \
                 for the slot, whatever value they are for.\n\
                 Byzantine p1 proposes r1 to p0 and p2, and r2 to p3, and sends its COMMITs accordingly. p0 and p3 each have \
                 four COMMITs and commit different requests.";
    harms("hbft/commits-of-any-value", Property::Agreement, about, || {
        let mut s = story("cluster.clients = 2\nprotocol.checkpoint = 1\nadversary.byzantine = ['p1']");
        s.deliver("c0>p1 request")
            .mutate("p1>p3 prepare", "prepare.request=other+digest")
            .deliver("p1>* prepare");
        s.mutate("p1>p3 commit", "commit.request=other+digest")
            .deliver("p1>p3 commit")
            .deliver("p0>p3 commit");
        s.deliver("p1,p2>p0 commit").deliver("p3>p0 commit").deliver("p2>p3 commit");
        ends(&mut s);
        s.scenario()
    });
}

#[test]
fn last_slot_unreported() {
    let about = "R in a VIEW-CHANGE lists everything accepted above the stable checkpoint. The implementer leaves out the last \
                 slot.\n\
                 p0 has the COMMITs of all for r1 and commits it. The others turn to view 2 and do not mention r1. p2 gives its \
                 number to r2. Nobody lies.";
    harms("hbft/last-slot-unreported", Property::Agreement, about, || {
        let mut s = story("cluster.clients = 2\nprotocol.checkpoint = 100");
        s.deliver("c0>* request").deliver("p1>* prepare").deliver("*>p0 commit").drop("*>* commit");
        s.expect_log("p0", &["r1"]);
        s.hold("c0,c1>* request").hold("*>p0 *").hold("p0>* *");
        for who in ["p1", "p2", "p3"] {
            s.timeout(who, "request-c0-1");
        }
        s.deliver_all();
        s.deliver("c1>p2 request").deliver_all();
        s.heal();
        ends(&mut s);
        s.scenario()
    });
}
