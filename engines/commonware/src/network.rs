//! The network that the engine sees: what it sends goes to the host, and what the host hands over comes in.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use commonware_actor::{Feedback, Unreliable};
use commonware_cryptography::ed25519::PublicKey;
use commonware_p2p::{
    BlockedSubscription, Blocker, CheckedSender, LimitedSender, Message, Receiver, Recipients,
};
use commonware_runtime::{IoBuf, IoBufs};
use commonware_utils::NZUsize;
use commonware_utils::channel::mpsc::UnboundedReceiver;
use commonware_utils::channel::ring;
use commonware_utils::ordered::Set;

use crate::host::{Effect, Host};

/// More messages than are ever there at once.
const CAPACITY: NonZeroUsize = NZUsize!(1024);

/// The sending end of a channel. Nothing is ever too much for it.
#[derive(Clone, Debug)]
pub(crate) struct Out {
    pub(crate) channel: usize,
    pub(crate) others: Vec<PublicKey>,
    pub(crate) host: Host,
}

impl LimitedSender for Out {
    type PublicKey = PublicKey;
    type Checked<'a> = Letter;

    #[expect(clippy::disallowed_types, reason = "the engine's interface")]
    fn check(&mut self, recipients: Recipients<PublicKey>) -> Result<Letter, std::time::SystemTime> {
        let to = match recipients {
            Recipients::All => self.others.clone(),
            Recipients::Some(peers) => peers,
            Recipients::One(peer) => vec![peer],
        };
        Ok(Letter { channel: self.channel, to, host: self.host.clone() })
    }
}

/// A message that knows where it goes.
pub(crate) struct Letter {
    channel: usize,
    to: Vec<PublicKey>,
    host: Host,
}

impl CheckedSender for Letter {
    type PublicKey = PublicKey;

    fn recipients(&self) -> Vec<PublicKey> {
        self.to.clone()
    }

    fn send(self, message: impl Into<IoBufs> + Send, _: bool) -> Unreliable<Feedback> {
        let bytes = message.into().coalesce().into();
        self.host.tell(Effect::Send { channel: self.channel, to: self.to, bytes });
        Unreliable::Outcome(Feedback::Ok)
    }
}

/// The receiving end.
#[derive(Debug)]
pub(crate) struct In(pub(crate) UnboundedReceiver<Message<PublicKey>>);

/// The validator has gone.
#[derive(Debug)]
pub(crate) struct Gone;

impl std::fmt::Display for Gone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the network is gone")
    }
}

impl std::error::Error for Gone {}

impl Receiver for In {
    type Error = Gone;
    type PublicKey = PublicKey;

    async fn recv(&mut self) -> Result<(PublicKey, IoBuf), Gone> {
        self.0.recv().await.ok_or(Gone)
    }

    fn capacity(&self) -> NonZeroUsize {
        CAPACITY
    }
}

/// Those who were cut off, and who wants to know of them.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub(crate) host: Host,
    /// Whether anybody is cut off at all.
    pub(crate) shuts: bool,
    pub(crate) state: Arc<Mutex<Shut>>,
}

#[derive(Debug, Default)]
pub(crate) struct Shut {
    peers: Set<PublicKey>,
    listeners: Vec<ring::Sender<Set<PublicKey>>>,
}

impl Blocker for Gate {
    type PublicKey = PublicKey;

    fn block(&mut self, peer: PublicKey) -> Feedback {
        if self.shuts {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.peers = Set::from_iter_dedup(state.peers.iter().cloned().chain([peer.clone()]));
            state.listeners.iter().for_each(|listener| {
                listener.send_lossy(state.peers.clone());
            });
        }
        self.host.tell(Effect::Block(peer));
        Feedback::Ok
    }

    fn blocked(&mut self) -> BlockedSubscription<PublicKey> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (listener, subscription) = ring::channel(NZUsize!(1));
        listener.send_lossy(state.peers.clone());
        state.listeners.push(listener);
        subscription
    }
}
