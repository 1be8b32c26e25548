//! FaB, with six acceptors. p0 leads view 1, p1 view 2.

use turncoat_core::outcome::Property;
use turncoat_core::story::Story;
use turncoat_protocols::fab::Fab;

use crate::harms;
use crate::stage::{BACKUPS, ends};

#[path = "../it/fab/stage.rs"]
#[expect(dead_code, reason = "shared with the tests of `it`, which use more of it")]
mod stage;

use stage::{expect_view, story, suspect};

/// r1 is known to all proposers, r2 to p1 alone, which has heard of it first.
fn two(settings: &str) -> Story<Fab> {
    let mut s = story("fab", &format!("cluster = {{ n = 6, clients = 2 }}\n{settings}"));
    s.deliver("c1>p1 request").deliver("c0>* request").hold("c1>* request");
    s
}

/// p3, p4 and p5 hear what all have accepted in view 2.
fn others_learn(s: &mut Story<Fab>) {
    s.deliver_only("*>p3,p4,p5 accepted");
    s.heal();
    ends(s);
}

#[test]
fn one_report_too_many() {
    let about = "If f+t+1 of the reports to a new leader are of one value, it may have been learned, and no other is allowed. \
                 The implementer compares with > instead of >=.\n\
                 All but p1 accept r1 in view 1, and p2 learns it. p1, which leads view 2, hears nothing of r1 from Byzantine \
                 p0 and from itself, and r1 from p2, p3 and p4. These are f+t+1 reports. p1 proposes r2, and the others learn it.";
    harms("fab/one-report-too-many", Property::Agreement, about, || {
        let mut s = two("adversary.byzantine = ['p0']");
        s.drop("p0>p1 propose").deliver("p0>* propose").deliver("*>p2 accepted");
        s.drop("*>p3,p4,p5 accepted").hold("p2>* learned");
        s.expect_log("p2", &["r1"]);
        suspect(&mut s, &BACKUPS);
        s.hold("p0>p1 rep").hold("p5>p1 rep").hold("*>* accepted").deliver_all();
        expect_view(&s, &["p1", "p3", "p4"], 2);
        s.mutate("p0>p1 rep", "rep.accepted=none").deliver("p0>p1 rep");
        s.release("*>* accepted").deliver_only("p1>p0,p2,p3,p4,p5 propose");
        others_learn(&mut s);
        s.scenario()
    });
}

#[test]
fn accepts_twice() {
    let about = "An acceptor accepts one value in each view and instance. The implementer lets a second proposal of the leader \
                 replace the first.\n\
                 Byzantine p0 proposes r1, which p2 learns, and then r2. The other learners have not heard what was accepted \
                 first, and learn r2.";
    harms("fab/accepts-twice", Property::Agreement, about, || {
        let mut s = two("adversary.byzantine = ['p0']");
        s.deliver("p0>* propose").deliver("*>p2 accepted").drop("*>p3,p4,p5 accepted").hold("p2>* learned");
        s.expect_log("p2", &["r1"]);
        s.timeout("p0", "leader")
            .mutate("p0>* propose", "propose.value=earlier")
            .deliver("p0>p1,p3,p4,p5 propose");
        s.mutate("p0>p3,p4,p5 accepted", "accepted.value=earlier");
        others_learn(&mut s);
        s.scenario()
    });
}

#[test]
fn accepted_forgotten() {
    let about = "What an acceptor has accepted stays until its instance is over, so that it can report it to new leaders. The \
                 implementer clears it with the state of the old view.\n\
                 All accept r1 in view 1, and p2 learns it. Nobody reports it to p1, which leads view 2 and proposes r2. \
                 Nobody lies.";
    harms("fab/accepted-forgotten", Property::Agreement, about, || {
        let mut s = two("");
        s.deliver("p0>* propose").deliver("*>p2 accepted").drop("*>p3,p4,p5 accepted").hold("p2>* learned");
        s.expect_log("p2", &["r1"]);
        suspect(&mut s, &BACKUPS);
        s.hold("*>p2 accepted").deliver_all();
        s.heal();
        ends(&mut s);
        s.scenario()
    });
}
