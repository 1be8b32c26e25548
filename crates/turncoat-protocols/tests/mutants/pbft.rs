//! PBFT.

use turncoat_core::outcome::Property;
use turncoat_core::story::Story;
use turncoat_protocols::pbft::Pbft;

use crate::harms;
use crate::stage::{ends, story, tell};

/// Two clients, which send to all: r1 reaches p0 first, r2 the replica `second`. p0 has r1 prepared by p1 and p2, and by p3 if
/// it takes part, and executes it; no other COMMITs arrive.
fn r1_at_p0(second: &str, settings: &str, backups: &str) -> Story<Pbft> {
    let mut s = story(&format!("cluster.clients = 2\nworkload.target = 'all'\n{settings}"));
    s.deliver(&format!("c1>{second} request")).deliver("c0>p0 request").drop("*>p0 request");
    s.deliver(&format!("p0>{backups} pre-prepare"));
    s.deliver(&format!("{backups}>p0,{backups} prepare")).deliver(&format!("{backups}>p0 commit"));
    s.drop("*>p1,p2,p3 commit");
    s.expect_log("p0", &["r1"]);
    s
}

#[test]
fn prepared_cleared() {
    let about = "The certificates of prepared requests outlive the view in which they were made, up to the next checkpoint. \
                 The implementer clears them with everything else of the old view.\n\
                 p0 alone has executed r1, with the COMMITs of all. View 1 takes r1 over, and nobody prepares it there. For \
                 view 2 nobody has a certificate, and p2 gives the first number to r2. Nobody lies.";
    harms("pbft/prepared-cleared", Property::Agreement, about, || {
        let mut s = r1_at_p0("p2", "", "p1,p2,p3");
        s.timeout("p2", "request").timeout("p3", "request");
        s.deliver("p2,p3>p1 view-change").deliver("p1>p2,p3 view-change").deliver("p1>p2,p3 new-view");
        s.drop("*>* prepare");
        s.timeout("p2", "request").timeout("p3", "request");
        s.deliver("p2,p3>p1 view-change").deliver("p1,p3>p2 view-change");
        s.deliver("p2>p1,p3 new-view").deliver_only("p1,p2,p3>p1,p2,p3 pre-prepare,prepare,commit");
        ends(&mut s);
        s.scenario()
    });
}

#[test]
fn new_view_counts_votes() {
    let about = "A NEW-VIEW needs the VIEW-CHANGEs of 2f+1 replicas. The implementer counts the messages and forgets that one \
                 replica may have sent several.\n\
                 p0, p1 and p2 have prepared r1, and p0 has executed it. p3 knows nothing of it. Byzantine p1 leads view 1. \
                 Its NEW-VIEW shows the VIEW-CHANGE of p3 three times and no proposal. Then it gives the first number to r2.";
    harms("pbft/new-view-counts-votes", Property::Agreement, about, || {
        let mut s = r1_at_p0("p1,p3", "adversary.byzantine = ['p1']", "p1,p2");
        s.drop("p0>p3 *").drop("*>p3 prepare");
        s.timeout("p3", "request")
            .suspect("p1")
            .deliver("p1,p3>p2 view-change")
            .deliver("p2,p3>p1 view-change");
        tell(
            &mut s,
            "p1>* new-view",
            &[
                "new-view.votes.drop-first",
                "new-view.votes.drop-first",
                "new-view.votes.repeat-last",
                "new-view.votes.repeat-last",
                "new-view.pre-prepares.clear",
            ],
        );
        s.deliver("p1>* new-view")
            .mutate("p1>* pre-prepare", "pre-prepare.seq-1")
            .deliver("p1>* pre-prepare");
        s.deliver_only("p0,p2,p3>p0,p2,p3 prepare,commit");
        ends(&mut s);
        s.scenario()
    });
}

#[test]
fn no_new_view_timer() {
    let about = "A replica that has voted for a view waits for its NEW-VIEW for a while and then votes for the next view. The \
                 implementer starts no timer for that.\n\
                 p0's proposal is lost, and p2 and p3 turn to view 1. Byzantine p1, which leads that view, is silent. The \
                 others wait for it forever.";
    harms("pbft/no-new-view-timer", Property::Termination, about, || {
        let mut s = story("workload.requests = 1\nadversary.byzantine = ['p1']\nlimits.steps = 5000");
        s.crash("p1").deliver("c0>p0 request").drop("p0>* pre-prepare");
        s.timeout("c0", "client-retry-1").deliver("c0>p2,p3 request");
        s.timeout("p2", "request").timeout("p3", "request").deliver("p2,p3>* view-change");
        ends(&mut s);
        s.scenario()
    });
}

#[test]
fn last_number_dropped() {
    let about = "The proposals of a NEW-VIEW reach up to the highest number that is prepared, that one included. The \
                 implementer stops before it.\n\
                 p0 alone has executed r1, with the COMMITs of all. View 1 begins with the certificates of p1, p2 and p3, \
                 and leaves r1 out. p1 gives its number to r2. Nobody lies.";
    harms("pbft/last-number-dropped", Property::Agreement, about, || {
        let mut s = r1_at_p0("p1", "", "p1,p2,p3");
        s.timeout("p2", "request").timeout("p3", "request").deliver("p2,p3>p1 view-change");
        s.deliver("p1>p2,p3 new-view").deliver_only("p1,p2,p3>p1,p2,p3 pre-prepare,prepare,commit");
        ends(&mut s);
        s.scenario()
    });
}

#[test]
fn stable_with_few() {
    let about = "2f+1 CHECKPOINTs make a checkpoint stable. The implementer takes f+1, which is enough to know that the \
                 history is right, but not to prove it to others.\n\
                 p0 forgets r1 with the CHECKPOINT of Byzantine p3 and its own. Then p3 stops, and p1 and p2 turn to view 1. \
                 p0 joins them, but the proof in its VIEW-CHANGE convinces nobody. Without it they are too few.";
    harms("pbft/stable-with-few", Property::Termination, about, || {
        let mut s = story(
            "protocol.checkpoint = 1\ncluster.clients = 2\nadversary.byzantine = ['p3']\nlimits.steps = 5000",
        );
        s.deliver("c0>p0 request").deliver("p0>* pre-prepare").deliver("*>* prepare").deliver("*>* commit");
        s.deliver("p3>p0 checkpoint").drop("*>p0 checkpoint").crash("p3");
        s.drop("c1>p0 request").timeout("c1", "client-retry-1").drop("c1>p0 request").deliver("c1>* request");
        s.drop("*>p0 request").timeout("p1", "request").timeout("p2", "request");
        ends(&mut s);
        s.scenario()
    });
}
