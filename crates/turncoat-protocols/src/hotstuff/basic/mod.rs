//! HotStuff (Yin et al., PODC '19), the basic protocol: n = 3f+1, three phases and a decision in each view.
//!
//! **A view.** Replicas report the last certificate of a prepared block, their prepareQC, to the leader (NEW-VIEW). With
//! 2f+1 reports it extends the block of the highest one (PREPARE). A replica votes for the block if it is *safe*:
//! it extends the block that the replica is locked on, or its certificate is of a later view than the lock. 2f+1 votes
//! are a prepareQC, which the leader sends back (PRE-COMMIT); replicas vote again. These votes are a precommitQC
//! (COMMIT): a replica that gets it is *locked* on the block, and votes once more. These are the commitQC: the block is decided, with
//! all its ancestors (DECIDE), and everybody goes to the next view. A timer ends the view at any time.
//!
//! **Two phases** (`phases = 2`). The prepareQC is the lock at once, and there is no PRE-COMMIT. That is safe, but a
//! leader that hears of 2f+1 replicas may miss the highest lock, and one liar with good timing can stall everybody
//! forever ("Liveness checking of the HotStuff protocol family", PRDC '23). Two remedies: the third phase, or
//! a leader that waits until all correct replicas have reported (`wait`). Without the second half of the rule for safe
//! blocks (`sticky`) not even the liar has to go on: the replicas stay locked on conflicting blocks.
//!
//! Three of the deviations below break nothing: `safe-node-any`, `justify-view-unchecked` and `accept-late-qc`. Within a view
//! only one block can be certified, its children extend it, and a certificate is as good late as in time.

use turncoat_core::prelude::*;

use super::lies::uncalled;
use super::pacemaker::Pace;
use super::{alike, paced};

mod messages;
mod replica;

pub use messages::Msg;
pub use replica::Replica;

/// The protocol.
#[derive(Debug)]
pub struct HotStuff;

super::flags::family_flags! {
    /// Deviations from HotStuff. Each is read where the rule is that it breaks.
    pub struct Flags {
        double_vote: "a replica may vote several times in one phase",
        qc_type_unchecked: "a certificate from another phase is accepted",
        qc_view_unchecked: "a certificate from another view is accepted",
        no_safe_node: "every block counts as safe",
        safe_node_any: "a block also counts as safe if its certificate is from the same view as the lock",
        sticky: "a block is safe only if it extends the lock",
        no_lock_update: "replicas never lock",
        decide_any_qc: "a certificate from any phase decides",
        accept_late_qc: "certificates from earlier views still update prepareQC and the lock",
        tc_quorum_low: "f TIMEOUTs are enough to leave a view",
    }
}

turncoat_core::config! {
    /// Parameters; times are in ticks.
    pub struct Config {
        /// The bound on message delays that timeouts count on.
        pub delta: Time = Time(20),
        /// How many times the time for a view may double; at first it is ten deltas.
        pub doublings: u32 = 6,
        /// How replicas leave a view in which nothing happens.
        pub pacemaker: Pace = Pace::Tc,
        /// Phases before a decision, 3 or 2.
        pub phases: u8 = 3,
        /// Whether the leader waits two deltas before it chooses among the certificates reported.
        pub wait: bool = false,
        /// The bug flags that are on.
        pub flags: Flags = Flags::default(),
    }
}

impl Protocol for HotStuff {
    const NAME: &'static str = "hotstuff";
    const ABOUT: &'static str = "HotStuff, the basic protocol: three phases, a decision in each view";
    const MARKS: &'static [&'static str] = &["timeout", "fetch", "refuse", "unlock"];

    alike::protocol! {
        /// Eight rounds to a view: NEW-VIEW, PREPARE, and so on to DECIDE.
        number = 8
    }

    fn assumes(_: &Config) -> Assumptions {
        Assumptions::FAIR_LOSSY
    }

    fn validate(config: &Config) -> Result<(), String> {
        paced(config.delta, config.doublings)?;
        ensure(matches!(config.phases, 2 | 3), "`phases` is 2 or 3")
    }

    /// A proposal beside an own NEW-VIEW: the honest code of a replica that does not lead sends none.
    fn mint(kind: u8, like: &Msg, signer: Signer) -> Option<Msg> {
        let Msg::NewView(m) = like else { return None };
        (Msg::KINDS[usize::from(kind)] == "prepare").then(|| Msg::Prepare(uncalled(m.view, signer)))
    }
}

alike::paced!(HotStuff);

/// The protocol and its named variants.
pub fn entries() -> Vec<Entry> {
    let two_phase = Config { phases: 2, ..Config::default() };
    let sticky = Config { flags: Flags { sticky: true, ..Flags::default() }, ..two_phase };
    let fixed = Config { wait: true, ..two_phase };
    let variant = Entry::variant::<HotStuff>;
    vec![
        Entry::of::<HotStuff>(),
        variant("hotstuff-two-phase", "HotStuff with two phases: one liar can stall it forever", &two_phase),
        variant(
            "hotstuff-two-phase-sticky",
            "HotStuff with two phases and no way out of a lock: it gets stuck",
            &sticky,
        ),
        variant(
            "hotstuff-two-phase-fixed",
            "HotStuff with two phases and leaders that give all replicas time to report",
            &fixed,
        ),
    ]
}
