//! What the replicas of Sync HotStuff say.

use turncoat_core::prelude::*;

use crate::hotstuff::certs::{Qc, Vote};
use crate::hotstuff::lies::{edit, on_genesis, report_genesis};
use crate::hotstuff::tree::Block;

/// A message. What is passed on or counted in a certificate is signed.
#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Message)]
#[message(specials = SPECIALS)]
pub enum Msg {
    /// To the leader of a new view: the highest certificate that the sender knows.
    #[message(view = m.view, phase = 1, view_change)]
    Status(Report),
    /// The leader shows the highest certificate that it has heard of. Passed on by all.
    #[message(view = m.view, phase = 2, view_change)]
    NewView(Arc<Signed<Report>>),
    /// The leader proposes a block. Passed on by all.
    #[message(view = m.view, phase = 3)]
    Propose(Signed<Arc<Block>>),
    /// A vote, to all.
    #[message(view = m.view, phase = 4)]
    Vote(Signed<Vote>),
    /// The leader does not do its work, or contradicts itself.
    #[message(view = m.view, phase = 5, view_change)]
    Blame(Signed<Blame>),
    /// f+1 say so.
    #[message(view = m.view, phase = 5, view_change)]
    BlameCert(Cert<Blame>),
    /// Asks for a block.
    Fetch(Digest),
    /// The answer.
    Block(Arc<Block>),
}

/// STATUS(v, qc) or NEW-VIEW(v, qc).
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Report {
    pub(super) view: View,
    pub(super) qc: Qc,
}

/// BLAME(v).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Blame {
    pub(super) view: View,
}

const SPECIALS: &[Special<Msg>] = &[
    Special::small("status", ".qc=genesis", |msg, _| match msg {
        Msg::Status(m) => report_genesis(&mut m.qc),
        _ => false,
    }),
    Special::small("propose", ".justify=genesis+parent", |msg, liar| match msg {
        Msg::Propose(m) => edit(m, liar, |m| on_genesis(Arc::make_mut(m))),
        _ => false,
    }),
];
