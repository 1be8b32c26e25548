//! What the replicas of Fast-HotStuff say.

use turncoat_core::prelude::*;

use crate::hotstuff::certs::{Qc, Vote};
use crate::hotstuff::lies::{edit, on_genesis, on_top_of, report_genesis};
use crate::hotstuff::pacemaker::{Tc, Timeout};
use crate::hotstuff::tree::Block;

/// A message. What is counted in a certificate is signed.
#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Message)]
#[message(specials = SPECIALS)]
pub enum Msg {
    /// To the leader of a view, after a timeout: the highest certificate that the sender knows.
    #[message(view = m.view, phase = 1, view_change)]
    NewView(Signed<NewView>),
    /// The leader proposes a block.
    #[message(view = m.block.view, phase = 2)]
    Proposal(Signed<Proposal>),
    /// To the next leader.
    #[message(view = m.view, phase = 3)]
    Vote(Signed<Vote>),
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

/// NEW-VIEW(v, highQC). Signed, as an AggQC repeats it.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct NewView {
    pub(super) view: View,
    pub(super) justify: Qc,
}

/// AggQC: reports of 2f+1 replicas for one view.
pub(super) type AggQc = Arc<Vec<Signed<NewView>>>;

/// A block, and after a timeout the proof that it extends what it should. Signed by the leader, as in the paper.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Proposal {
    #[part(follows = on_highest(agg.as_ref(), block, liar))]
    pub(super) block: Arc<Block>,
    pub(super) agg: Option<AggQc>,
}

/// The same block on top of the highest certificate that was reported.
fn on_highest(agg: Option<&AggQc>, block: &Block, liar: &Liar<'_>) -> Option<Arc<Block>> {
    let highest = agg?.iter().map(|report| &report.justify).max_by_key(|qc| qc.view)?;
    Some(on_top_of(highest, block, liar))
}

const SPECIALS: &[Special<Msg>] = &[
    Special::small("new-view", ".justify=genesis", |msg, liar| match msg {
        Msg::NewView(m) => edit(m, liar, |m| report_genesis(&mut m.justify)),
        _ => false,
    }),
    Special::small("proposal", ".justify=genesis+parent", |msg, liar| match msg {
        Msg::Proposal(m) => edit(m, liar, |m| on_genesis(Arc::make_mut(&mut m.block))),
        _ => false,
    }),
];
