//! Lies that no correct replica of the HotStuff family believes: broken signatures, too few signers, the wrong leader,
//! blocks and certificates that do not fit together.

use crate::chain;
use crate::chain::{expect_logs, story};
use crate::stage::{ALL, BACKUPS, completes};
use turncoat_core::node::Protocol;
use turncoat_core::story::Story;
use turncoat_protocols::hotstuff::basic::HotStuff;
use turncoat_protocols::hotstuff::chained::Chained;
use turncoat_protocols::hotstuff::fast::FastHotStuff;
use turncoat_protocols::hotstuff::sync::SyncHotStuff;

/// p0 lies, and leads every other view.
const SETTINGS: &str = "cluster.leaders = ['p0', 'p1', 'p0', 'p1', 'p0', 'p1', 'p0']\n\
                        protocol.pacemaker = 'local'\nadversary.byzantine = ['p0']\nworkload.requests = 3";

/// Each of these lies of p0 leaves those who hear it as they were.
fn ignored<P: Protocol>(begin: impl Fn() -> Story<P>, to: &[&str], kind: &str, lies: &[&str]) {
    let pattern = format!("p0>{} {kind}", to.join(","));
    for lie in lies {
        let mut s = begin();
        s.mutate(&pattern, &format!("{kind}{lie}"));
        let before: Vec<u64> = to.iter().map(|who| s.state(who)).collect();
        s.deliver(&pattern);
        let after: Vec<u64> = to.iter().map(|who| s.state(who)).collect();
        assert_eq!(after, before, "{kind}{lie}");
        assert_eq!(s.end().injected.accepted, 0, "{kind}{lie}");
    }
}

/// What a liar can do to a certificate of others: change what they signed, name one who did not sign, leave one out.
const BROKEN: [&str; 2] = [".forge", ".drop-signer"];

fn with<'a>(field: &str, more: &[&'a str]) -> Vec<String> {
    let broken = BROKEN.iter().map(|lie| format!("{field}{lie}"));
    broken.chain(more.iter().map(|lie: &&'a str| (*lie).to_owned())).collect()
}

/// The messages of a view of basic HotStuff and the votes for them, up to this one, which is under way.
fn up_to(s: &mut Story<HotStuff>, leader: &str, others: &str, last: &str) {
    s.deliver(&format!("{others}>{leader} new-view"));
    for kind in ["prepare", "pre-commit", "commit", "decide"] {
        if kind == last {
            return;
        }
        s.deliver(&format!("{leader}>{others} {kind}"));
        if kind != "decide" {
            s.deliver(&format!("{others}>{leader} vote"));
        }
    }
}

#[test]
fn basic_replicas_ignore_what_does_not_fit() {
    let first = |last| {
        let mut s = story("hotstuff", SETTINGS);
        up_to(&mut s, "p0", "p1,p2,p3", last);
        s
    };
    let third = || {
        let mut s = first("");
        up_to(&mut s, "p1", "p0,p2,p3", "");
        up_to(&mut s, "p0", "p1,p2,p3", "prepare");
        s
    };
    let all = |lies: Vec<String>, kind: &str, begin: &dyn Fn() -> Story<HotStuff>, to: &[&str]| {
        let lies: Vec<&str> = lies.iter().map(String::as_str).collect();
        ignored(begin, to, kind, &lies);
    };
    all(with(".justify", &[]), "new-view", &|| first(""), &["p1"]);
    let block = [".parent=earlier", ".parent=genesis+height", ".height+1", ".height-1", ".view+1", ".view-1"];
    all(with(".justify", &block), "prepare", &third, &BACKUPS);
    let phase = [".view+1", ".view-1", ".as-commit", ".as-decide"];
    all(with(".qc", &phase), "pre-commit", &|| first("pre-commit"), &BACKUPS);
    all(with(".qc", &[".view+1", ".view-1", ".as-decide"]), "commit", &|| first("commit"), &BACKUPS);
    all(with(".qc", &[]), "decide", &|| first("decide"), &BACKUPS);
}

#[test]
fn chained_replicas_ignore_what_does_not_fit() {
    // p0 has the certificate of view 2, led by p1, and proposes in view 3.
    let begin = || {
        let mut s: Story<Chained> = story("hotstuff-chained", SETTINGS);
        s.deliver("p0>* proposal").deliver("*>p1 vote").deliver("p1>* proposal").deliver("*>p0 vote");
        s
    };
    for who in BACKUPS {
        assert_eq!(chain::view(begin().sim(), who), 2);
    }
    let lies = [".justify.forge", ".justify.drop-signer", ".parent=earlier", ".height+1", ".height-1"];
    // Whose certificate is good is believed that its view is over, whatever else is wrong.
    for lie in lies {
        let mut s = begin();
        s.mutate("p0>* proposal", &format!("proposal{lie}")).deliver("p0>* proposal");
        assert!(!s.in_flight("p2,p3>p1 vote"), "{lie}");
        expect_logs(s.sim(), &BACKUPS, &[]);
        completes(&mut s);
    }
    ignored(begin, &BACKUPS, "proposal", &lies[..2]);
}

#[test]
fn fast_replicas_ignore_what_does_not_fit() {
    // Nobody hears p1 in view 2. In view 3 p0 shows the reports of three.
    let begin = || {
        let mut s: Story<FastHotStuff> = story("fast-hotstuff", SETTINGS);
        s.deliver("p0>* proposal").deliver("*>p1 vote").drop("p1>* proposal");
        for who in ["p0", "p2", "p3"] {
            s.timeout(who, "view");
        }
        s.deliver("p2,p3>p0 new-view");
        s
    };
    ignored(
        begin,
        &BACKUPS,
        "proposal",
        &[
            ".agg=none",
            ".agg.clear",
            ".agg.drop-first",
            ".agg.drop-last",
            ".agg.last.forge",
            ".block.height+1",
            ".block.height-1",
            ".block.view+1",
            ".block.view-1",
        ],
    );
    assert_eq!(ALL.map(|who| chain::view(begin().sim(), who)), [4, 3, 3, 3]);
}

#[test]
fn sync_replicas_ignore_what_does_not_fit() {
    const OTHERS: [&str; 4] = ["p1", "p2", "p3", "p4"];
    let first = || -> Story<SyncHotStuff> {
        let five = "cluster = { n = 5, f = 2 }\nadversary.byzantine = ['p0']\nworkload.requests = 3";
        story("sync-hotstuff", five)
    };
    // p0 has the certificate of its first block, and proposes the second one.
    let second = || {
        let mut s = first();
        s.deliver("p0>* propose").deliver("p1,p2>p0 vote");
        s
    };
    ignored(first, &OTHERS, "propose", &[".height+1", ".height-1", ".parent=fresh"]);
    ignored(second, &OTHERS, "propose", &[".justify.forge", ".justify.drop-signer"]);
}
