//! Zyzzyva. p0 leads view 1, p1 view 2.

use turncoat_core::outcome::Property;
use turncoat_core::story::Story;
use turncoat_protocols::zyzzyva::Zyzzyva;

use crate::harms;
use crate::stage::ends;

#[path = "../it/zyzzyva/stage.rs"]
#[expect(dead_code, reason = "shared with the tests of `it`, which use more of it")]
mod stage;

use stage::{change_view, idle, story};

/// c0 asks for `a`, c1 for `b`; p0, which leads view 1, lies.
const TWO: &str = "cluster.clients = 2\nadversary.byzantine = ['p0']\nworkload.ops = ['a', 'b']";

/// c1 asks all for b, and nobody orders it. p1 and p2 turn to view 2.
fn turn(s: &mut Story<Zyzzyva>) {
    s.timeout("c1", "client-retry-1").drop("c1>p0 request").deliver("c1>* request").drop("*>p0 confirm-req");
    s.timeout("p1", "confirm-c1").timeout("p2", "confirm-c1").deliver("p1,p2>* ihtp");
}

/// View 2 begins, and c1 completes b.
fn complete_b(s: &mut Story<Zyzzyva>) {
    change_view(s);
    s.deliver_only("*>c1 spec-response");
    ends(s);
}

/// p0 orders a for all, and c0 completes it with four answers.
fn a_completes() -> Story<Zyzzyva> {
    let mut s = story(TWO);
    s.deliver("c0>p0 request").drop("c1>p0 request").deliver("p0>* order-req").deliver("*>c0 spec-response");
    assert!(idle(&s, "c0"));
    s
}

#[test]
fn few_local_commits() {
    let about = "A client that holds a certificate has completed once 2f+1 replicas have kept it. The implementer waits for f+1.\n\
                 Byzantine p0 orders a for p1 and p2, and b for p3. c0 shows its certificate for a to p0 and p2, and both answer. \
                 View 2 begins with the votes of p0, which says that it has b, p1, which has no certificate, and p3. It takes \
                 b over, and c1 completes it in the place of a.";
    harms("zyzzyva/few-local-commits", Property::ClientAgreement, about, || {
        let mut s = story(TWO);
        s.deliver("c0>p0 request").drop("c1>p0 request");
        s.mutate("p0>p3 order-req", "order-req.request=other+history");
        s.deliver("p0>* order-req").deliver("p0,p1,p2>c0 spec-response").deliver("p3>c1 spec-response");
        s.timeout("c0", "client-retry-1").deliver("c0>p0,p2 commit").drop("c0>p1,p3 commit");
        s.deliver("p0,p2>c0 local-commit");
        turn(&mut s);
        s.mutate("p0>p1 view-change", "view-change.orders.first=other+history");
        s.drop("p2>p1 view-change").deliver("p0,p3>p1 view-change").deliver("*>p0,p2,p3 view-change");
        complete_b(&mut s);
        s.scenario()
    });
}

#[test]
fn speculation_unreported() {
    let about = "A VIEW-CHANGE reports the whole log. The implementer reports it only up to the last certificate and forgets \
                 that a client may have completed with 3f+1 answers and no certificate.\n\
                 c0 has completed a in this way. p0 then ignores c1, and view 2 begins without a. Nobody lies: p0 has crashed.";
    harms("zyzzyva/speculation-unreported", Property::ClientAgreement, about, || {
        let mut s = a_completes();
        s.crash("p0");
        turn(&mut s);
        complete_b(&mut s);
        s.scenario()
    });
}

#[test]
fn reports_of_a_quorum() {
    let about = "A NEW-VIEW takes over an order that f+1 votes report: of the 2f+1 votes, f may be lies and f of replicas that \
                 have not got it. The implementer asks for 2f+1 reports.\n\
                 c0 has completed a with the answers of all. View 2 begins with the votes of p1 and p3, which report a, and \
                 of Byzantine p0, which reports b. The first slot is left empty.";
    harms("zyzzyva/reports-of-a-quorum", Property::ClientAgreement, about, || {
        let mut s = a_completes();
        turn(&mut s);
        s.mutate("p0>p1 view-change", "view-change.orders.first=other+history");
        s.drop("p2>p1 view-change").deliver("p0,p3>p1 view-change").deliver("*>p0,p2,p3 view-change");
        complete_b(&mut s);
        s.scenario()
    });
}
