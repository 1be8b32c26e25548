//! What the replicas of basic HotStuff say.

use turncoat_core::prelude::*;

use crate::hotstuff::certs::{Phase, Qc, Vote};
use crate::hotstuff::lies::{child_of_genesis, on_genesis, report_genesis};
use crate::hotstuff::pacemaker::{Tc, Timeout};
use crate::hotstuff::tree::Block;

/// A message. What is counted in a certificate is signed.
#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Message)]
#[message(specials = SPECIALS)]
pub enum Msg {
    /// To the leader of a view: the sender's prepareQC.
    #[message(view = m.view, phase = 1, view_change)]
    NewView(NewView),
    /// The leader proposes a block.
    #[message(view = m.view, phase = 2)]
    Prepare(Arc<Block>),
    /// To the leader: a vote of one of three phases.
    #[message(view = m.view, phase = 3 + 2 * m.phase as u8)]
    Vote(Signed<Vote>),
    /// The leader has a prepareQC.
    #[message(view = m.view, phase = 4)]
    PreCommit(Certified),
    /// The leader has a precommitQC.
    #[message(view = m.view, phase = 6)]
    Commit(Certified),
    /// The leader has a commitQC.
    #[message(view = m.view, phase = 8)]
    Decide(Certified),
    /// The sender is through with a view.
    #[message(view = m.view.next(), phase = 1, view_change)]
    Timeout(Signed<Timeout>),
    /// Enough replicas are.
    #[message(view = m.view.next(), phase = 1, view_change)]
    TimeoutCert(Arc<Tc>),
    /// Asks for a block.
    Fetch(Digest),
    /// The answer.
    Block(Arc<Block>),
}

/// NEW-VIEW(v, prepareQC).
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct NewView {
    pub(super) view: View,
    pub(super) justify: Qc,
}

/// PRE-COMMIT, COMMIT or DECIDE of a view, with the certificate of the phase before.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Certified {
    pub(super) view: View,
    pub(super) qc: Qc,
}

impl Msg {
    /// The leader's answer to a certificate: what it sends with it.
    pub(super) fn with(m: Certified, phases: u8) -> Self {
        match m.qc.phase {
            Phase::Prepare if phases == 3 => Self::PreCommit(m),
            Phase::Prepare | Phase::PreCommit => Self::Commit(m),
            Phase::Commit => Self::Decide(m),
        }
    }
}

const SPECIALS: &[Special<Msg>] = &[
    Special::small("new-view", ".justify=genesis", |msg, _| match msg {
        Msg::NewView(m) => report_genesis(&mut m.justify),
        _ => false,
    }),
    Special::small("prepare", ".justify=genesis+parent", |msg, _| match msg {
        Msg::Prepare(m) => on_genesis(Arc::make_mut(m)),
        _ => false,
    }),
    Special::small("prepare", ".parent=genesis+height", |msg, _| match msg {
        Msg::Prepare(m) => child_of_genesis(Arc::make_mut(m)),
        _ => false,
    }),
    // A certificate with the message of a later phase.
    Special::small("pre-commit", ".as-commit", |msg, _| later(msg, Msg::Commit)),
    Special::small("pre-commit", ".as-decide", |msg, _| later(msg, Msg::Decide)),
    Special::small("commit", ".as-decide", |msg, _| later(msg, Msg::Decide)),
];

fn later(msg: &mut Msg, phase: fn(Certified) -> Msg) -> bool {
    let (Msg::PreCommit(m) | Msg::Commit(m)) = msg else { return false };
    *msg = phase(m.clone());
    true
}
