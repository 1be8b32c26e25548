//! The HotStuff family.

use turncoat_core::outcome::Property;
use turncoat_core::scenario::Scenario;
use turncoat_core::story::Story;
use turncoat_protocols::hotstuff::basic::HotStuff;
use turncoat_protocols::hotstuff::chained::Chained;
use turncoat_protocols::hotstuff::fast::FastHotStuff;

use crate::chain::{scenario, story, time_out};
use crate::harms;
use crate::stage::{BACKUPS, ends, tell};

// --- HotStuff -------------------------------------------------------------------------------------------------

#[test]
fn sibling_of_lock() {
    let about = "The rule for safe blocks asks whether the new block extends the lock. The implementer asks it the wrong way \
                 round for the parent: a block whose parent is an ancestor of the lock passes, so a sibling of the lock does.\n\
                 p0 has decided its block, nobody else has, and all are locked on it. Byzantine p1 proposes another child of \
                 the first block in view 2, with the certificate of the first block. p2 and p3 vote for it and decide it.";
    harms("hotstuff/sibling-of-lock", Property::Agreement, about, || {
        let mut s: Story<HotStuff> = story(
            "hotstuff",
            "protocol.pacemaker = 'local'\nworkload.requests = 3\nadversary.byzantine = ['p1']",
        );
        let phases = |s: &mut Story<HotStuff>, leader: &str, others: &str, kinds: &[&str]| {
            for (i, kind) in kinds.iter().enumerate() {
                if i > 0 {
                    s.deliver(&format!("{others}>{leader} vote"));
                }
                s.deliver(&format!("{leader}>{others} {kind}"));
            }
        };
        s.deliver("p1,p2,p3>p0 new-view");
        phases(&mut s, "p0", "p1,p2,p3", &["prepare", "pre-commit", "commit"]);
        s.deliver("p1,p2,p3>p0 vote").drop("p0>* decide");
        time_out(&mut s, &BACKUPS, 1);
        s.deliver("p2,p3>p1 new-view").mutate("p1>* prepare", "prepare.justify=genesis+parent");
        phases(&mut s, "p1", "p0,p2,p3", &["prepare", "pre-commit", "commit", "decide"]);
        ends(&mut s);
        s.scenario()
    });
}

#[test]
fn timer_not_restarted() {
    let about = "A replica that has said TIMEOUT starts its timer again, and says TIMEOUT again until the view ends. The \
                 implementer starts it once.\n\
                 p0, which leads view 1, has crashed. The TIMEOUTs of the others are lost before the network is calm. Nobody \
                 ever says anything again.";
    harms("hotstuff/timer-not-restarted", Property::Termination, about, || {
        let mut s: Story<HotStuff> = story("hotstuff", "workload.requests = 1");
        s.crash("p0").drop("*>p0 new-view");
        time_out(&mut s, &BACKUPS, 1);
        s.drop("*>* timeout");
        ends(&mut s);
        s.scenario()
    });
}

#[test]
fn votes_not_cleared() {
    let about = "What a leader collects belongs to one view. The implementer forgets to clear the votes: when a leader leads \
                 again, each replica has already voted, and its new votes count for nothing.\n\
                 No fault is needed, only enough requests that leaders lead a second time.";
    harms("hotstuff/votes-not-cleared", Property::Termination, about, || {
        scenario("hotstuff", "workload.requests = 6\nlimits.steps = 5000")
    });
}

// --- chained HotStuff -----------------------------------------------------------------------------------------

type Told = Story<Chained>;

fn chained(leaders: &[&str]) -> Told {
    story(
        "hotstuff-chained",
        &format!(
            "protocol.pacemaker = 'local'\ncluster.leaders = {leaders:?}\nworkload.requests = 2\n\
             adversary.byzantine = ['p0']"
        ),
    )
}

/// p2 and p3 have voted for the block of p0 in this view, and p0 says that it has, too. In the three views after it they
/// make a three-chain of it, led by p2, p3 and p2, which decides it at p2.
fn branch(s: &mut Told) {
    s.mutate("p0>p2 vote", "vote.block=earlier").deliver("p0,p3>p2 vote");
    for (leader, others, next) in [("p2", "p0,p3", "p3"), ("p3", "p0,p2", "p2")] {
        s.deliver(&format!("{leader}>{others} proposal"));
        // p0 has another block in the place of its own.
        while s.in_flight("p0>* fetch") {
            s.deliver("p0>* fetch").deliver("*>p0 block");
        }
        s.deliver(&format!("p0,{leader}>{next} vote"));
    }
}

#[test]
fn first_gap_ignored() {
    let about = "A three-chain decides only if its blocks are of consecutive views. The implementer compares the views of the \
                 last two blocks and not those of the first two.\n\
                 Block b of view 1 is certified, and only p1 knows. Block c of view 3, beside it, is certified, and only \
                 Byzantine p0 knows. p1 goes on with b in views 5 and 6: with the certificates of these it decides b, though \
                 there are four views between b and the next block. In view 8 p0 proposes on top of c: its certificate is of a \
                 later view than b, which p2 and p3 are locked on. They follow p0 and decide c.";
    harms("hotstuff-chained/first-gap-ignored", Property::Agreement, about, || {
        let mut s = chained(&["p1", "p1", "p2", "p0", "p1", "p1", "p1", "p0", "p2", "p3", "p2"]);
        // Views 1 and 2.
        s.deliver("p1>* proposal").deliver("p2,p3>p1 vote").drop("p1>* proposal");
        time_out(&mut s, &["p0", "p2", "p3"], 2);
        // View 3.
        s.deliver("p0,p3>p2 new-view").deliver("p2>p0,p3 proposal").drop("p2>p1 proposal");
        time_out(&mut s, &["p2", "p3"], 2);
        // Views 5 and 6.
        time_out(&mut s, &["p1"], 3);
        s.deliver("p2,p3>p1 new-view");
        for _ in 5..=6 {
            s.deliver("p1>p2,p3 proposal").drop("p1>p0 proposal");
            if s.in_flight("p2,p3>p1 vote #2") {
                s.deliver("p2,p3>p1 vote #2");
            }
        }
        time_out(&mut s, &["p2", "p3"], 2);
        // View 4, late; then view 8.
        s.deliver("p2,p3>p0 vote").drop("p0>* proposal");
        time_out(&mut s, &["p0"], 4);
        s.deliver("p2,p3>p0 new-view");
        while s.in_flight("p0>* fetch") {
            s.deliver("p0>* fetch").deliver("*>p0 block");
        }
        tell(
            &mut s,
            "p0>p2,p3 proposal",
            &["proposal.justify=earlier", "proposal.parent=earlier", "proposal.height-1"],
        );
        s.deliver("p2,p3>p1 vote").drop("p1>* proposal");
        s.deliver("p0>p2,p3 proposal");
        branch(&mut s);
        ends(&mut s);
        s.scenario()
    });
}

/// Views 1 to 3: p1 leads, and p2 and p3 vote for its three blocks. The last votes are on their way to p1, which leads view
/// 4 as well. With them it decides the first block.
fn three_views(leaders: &[&str]) -> Told {
    let mut s = chained(leaders);
    for view in 1..=3 {
        s.deliver("p1>* proposal");
        if view < 3 {
            s.deliver(&format!("p2,p3>p1 vote #{view}"));
        }
    }
    s
}

#[test]
fn lock_too_old() {
    let about = "On a proposal that certifies b'', whose certificate is of b', a replica locks on b'. The implementer goes one \
                 step too far back in the chain.\n\
                 p1 leads views 1 to 4 and decides its first block. p2 and p3 have voted for the third and should be locked on \
                 the first. Byzantine p0 leads view 5 and proposes on top of genesis. p2 and p3 vote for that and decide it.";
    harms("hotstuff-chained/lock-too-old", Property::Agreement, about, || {
        let mut s = three_views(&["p1", "p1", "p1", "p1", "p0", "p2", "p3", "p2"]);
        s.deliver("p2,p3>p1 vote").drop("p1>* proposal");
        time_out(&mut s, &["p0", "p2", "p3"], 2);
        s.deliver("p2,p3>p0 new-view").mutate("p0>p2,p3 proposal", "proposal.justify=genesis+parent");
        s.deliver("p0>p2,p3 proposal");
        branch(&mut s);
        ends(&mut s);
        s.scenario()
    });
}

#[test]
fn lock_goes_back() {
    let about = "Locks only rise: the certificate that a proposal calls for replaces the lock if it is of a later view. The \
                 implementer does not compare them.\n\
                 p1 leads views 1 to 4 and decides its first block, on which p2 and p3 are locked. Byzantine p0 leads views 5 \
                 and 6. First it proposes a second child of that block, a safe one, whose grandparent is genesis: the locks go \
                 back there. Then it proposes on top of genesis. p2 and p3 vote for that and decide it.";
    harms("hotstuff-chained/lock-goes-back", Property::Agreement, about, || {
        let mut s = three_views(&["p1", "p1", "p1", "p1", "p0", "p0", "p2", "p3", "p2"]);
        time_out(&mut s, &["p0", "p2", "p3"], 2);
        s.deliver("p2,p3>p0 new-view");
        tell(
            &mut s,
            "p0>p2,p3 proposal",
            &["proposal.justify=earlier", "proposal.parent=earlier", "proposal.height-1"],
        );
        s.deliver("p0>p2,p3 proposal").drop("p2,p3>p0 vote");
        s.deliver("p2,p3>p1 vote").drop("p1>* proposal");
        time_out(&mut s, &["p0", "p2", "p3"], 1);
        s.deliver("p2,p3>p0 new-view").mutate("p0>p2,p3 proposal", "proposal.justify=genesis+parent");
        s.deliver("p0>p2,p3 proposal");
        branch(&mut s);
        ends(&mut s);
        s.scenario()
    });
}

// --- Fast-HotStuff --------------------------------------------------------------------------------------------

const LOCAL: &str = "protocol.pacemaker = 'local'\nworkload.requests = 3";

#[test]
fn missing_agg_accepted() {
    let about = "After a timeout a leader proves with an AggQC that its block extends the highest certificate. The implementer \
                 checks the AggQC if there is one, and forgets that without one only the certificate of the view before will \
                 do.\n\
                 p2 alone has decided p0's block. Byzantine p3 leads view 4, leaves the AggQC out and proposes on top of \
                 genesis. The others vote for it, and p1 decides it.";
    harms("fast-hotstuff/missing-agg-accepted", Property::Agreement, about, || {
        let mut s: Story<FastHotStuff> =
            story("fast-hotstuff", &format!("{LOCAL}\nadversary.byzantine = ['p3']"));
        s.deliver("p0>p1,p2,p3 proposal").deliver("p0,p2,p3>p1 vote");
        s.deliver("p1>p0,p2 proposal").drop("p1>p3 proposal").deliver("p0,p1>p2 vote").drop("p2>* proposal");
        time_out(&mut s, &["p3"], 2);
        time_out(&mut s, &["p0", "p1"], 1);
        s.deliver("p0,p1>p3 new-view");
        tell(&mut s, "p3>* proposal", &["proposal.justify=genesis+parent", "proposal.agg=none"]);
        s.deliver("p3>p0,p1,p2 proposal").deliver("p1,p2,p3>p0 vote");
        s.deliver("p0>p1,p2 proposal").deliver("p0,p2>p1 vote");
        ends(&mut s);
        s.scenario()
    });
}

#[test]
fn proposal_as_link() {
    let about = "Two certified blocks in consecutive views decide the first of them. The implementer counts the proposal that \
                 carries the first certificate as the second block, though nobody has certified it.\n\
                 p1's proposal with the certificate of p0's block reaches p2 alone, which decides that block. Then Byzantine \
                 p1 reports nothing. View 4 begins with the reports of p0, p1 and p3, and decides another block.";
    harms("fast-hotstuff/proposal-as-link", Property::Agreement, about, || {
        let mut s: Story<FastHotStuff> =
            story("fast-hotstuff", &format!("{LOCAL}\nadversary.byzantine = ['p1']"));
        s.deliver("p0>p1,p2,p3 proposal").deliver("p0,p2,p3>p1 vote");
        s.deliver("p1>p2 proposal").drop("p1>p0,p3 proposal").drop("p1>p2 vote");
        time_out(&mut s, &["p0", "p3"], 2);
        time_out(&mut s, &["p1"], 1);
        s.mutate("p1>p3 new-view", "new-view.justify=genesis").deliver("p0,p1>p3 new-view");
        s.deliver("p3>p0,p1 proposal").deliver("p1,p3>p0 vote").deliver("p0>p1,p3 proposal");
        ends(&mut s);
        s.scenario()
    });
}

#[test]
fn reports_not_cleared() {
    let about = "The reports for one view are worth nothing in the next. The implementer does not clear them. A leader that \
                 has once collected reports sends these again when it leads again, and everybody rejects its block.\n\
                 Byzantine p3 is silent. So after each of its views p0 needs reports. One leader after the other is left with \
                 old ones, and nothing more is decided.";
    harms("fast-hotstuff/reports-not-cleared", Property::Termination, about, || {
        scenario(
            "fast-hotstuff",
            "workload.requests = 8\nlimits.steps = 8000\n\
             adversary = { byzantine = ['p3'], faults = [{ from = ['p3'], drop = true }] }",
        )
    });
}

// --- Sync HotStuff --------------------------------------------------------------------------------------------

/// Messages take one tick of a delta of ten, unless somebody delays them.
fn timed(n: usize, f: usize, settings: &str) -> Scenario {
    scenario(
        "sync-hotstuff",
        &format!(
            "protocol.delta = 10\ncluster = {{ n = {n}, f = {f} }}\n\
             network = {{ latency = 1, bound = 10, gst = {{ time = 0 }} }}\n{settings}"
        ),
    )
}

/// Byzantine p0 proposes one block to p1 and another one to p2, and votes for neither.
fn two_proposals(faults: &str) -> Scenario {
    timed(
        3,
        1,
        &format!(
            "workload.requests = 2\n[adversary]\nbyzantine = ['p0']\nfaults = [\
             {{ from = ['p0'], to = ['p2'], kind = 'propose', round = 1, source = 'view', \
             mutate = 'propose.payload.forge' }}, {{ from = ['p0'], kind = 'vote', drop = true }}, \
             {{ kind = 'vote', deaf = ['p0'] }}, {faults}]"
        ),
    )
}

#[test]
fn commit_after_delta() {
    let about = "A block is decided 2 delta after the vote: by then a contradiction has had the time to arrive. The \
                 implementer waits for one delta.\n\
                 Byzantine p0 proposes X to p1 and a little later Y to p2. p1 passes X on, p2 passes Y on, and both messages \
                 take a delta less one tick. p1 decides X before Y arrives. p2 has seen both, the view ends without a \
                 certificate, and view 2 decides another block.";
    harms("sync-hotstuff/commit-after-delta", Property::Agreement, about, || {
        two_proposals(
            "{ from = ['p0'], to = ['p2'], kind = 'propose', round = 1, source = 'view', delay = 8 }, \
             { from = ['p1', 'p2'], kind = 'propose', round = 1, source = 'view', delay = 9 }",
        )
    });
}

#[test]
fn proposal_not_passed_on() {
    let about = "A replica that votes for a proposal passes it on, so that others can see a contradiction. The implementer \
                 forgets it.\n\
                 Byzantine p0 proposes one block to p1 and another one to p2. Neither hears of the other block, and after \
                 2 delta each decides its own.";
    harms("sync-hotstuff/proposal-not-passed-on", Property::Agreement, about, || two_proposals(""));
}

#[test]
fn old_blame_cert() {
    let about = "A certificate of BLAMEs ends the view that it is of. The implementer does not compare the views, so an old \
                 certificate ends the present view.\n\
                 Byzantine p0 is silent in view 1, and is deposed. Whenever a view begins it sends the certificate of view 1 \
                 again. No view lasts.";
    harms("sync-hotstuff/old-blame-cert", Property::Termination, about, || {
        timed(
            3,
            1,
            "workload.requests = 1\nlimits.time = 5000\n[adversary]\nbyzantine = ['p0']\nfaults = [\
             { from = ['p0'], kind = ['propose', 'new-view'], drop = true }, \
             { from = ['p0'], kind = 'status', times = 1000000, \
             originate = { replay = 'blame-cert', to = ['p1', 'p2'] } }]",
        )
    });
}

#[test]
fn lock_not_raised() {
    let about = "On entering a view a replica locks on the highest certificate that it knows. The implementer forgets it, and \
                 the lock stays at genesis.\n\
                 View 1 decides p0's block. Byzantine p1 has heard nothing in that view, nor what others report at the \
                 beginning of view 2. It shows the certificate of genesis, which is no lower than the locks. The others vote \
                 for it, and for another block on top of it.";
    harms("sync-hotstuff/lock-not-raised", Property::Agreement, about, || {
        timed(
            5,
            2,
            "workload.requests = 3\n[adversary]\nbyzantine = ['p0', 'p1']\nfaults = [\
             { from = ['p0'], kind = 'propose', time = [1, 100000], drop = true }, \
             { kind = ['propose', 'vote'], round = 1, source = 'view', deaf = ['p1'] }, \
             { kind = 'status', deaf = ['p1'] }]",
        )
    });
}
