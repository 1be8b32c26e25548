//! What the engine wants of the world, and how it says so.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use bytes::Bytes;
use commonware_consensus::Handoff;
use commonware_consensus::simplex::Plan;
use commonware_consensus::simplex::types::{Activity, Context as Proposing};
use commonware_cryptography::ed25519::PublicKey;
use commonware_utils::channel::oneshot;

use crate::scheme::{Keyed, Statement};
use crate::wire::D;

/// Something that the engine wants, or reports.
pub(crate) enum Effect {
    Send { channel: usize, to: Vec<PublicKey>, bytes: Bytes },
    Block(PublicKey),
    Propose(Proposing<D, PublicKey>, oneshot::Sender<D>),
    Prepare(Proposing<D, PublicKey>, oneshot::Sender<Handoff<D>>),
    Verify(Proposing<D, PublicKey>, D, oneshot::Sender<bool>),
    Certify(D, oneshot::Sender<bool>),
    Broadcast(D, Plan<PublicKey>),
    Report(Activity<Keyed, D>),
    BadSignature,
    BadCertificate,
}

/// What the thread of the engine says to the host, which waits for it.
#[derive(Debug)]
pub(crate) enum Word {
    /// It waits for the tag of a signature.
    Sign(Statement),
    /// Nothing is left to do.
    Quiet,
    /// The engine has ended, which it never should; why.
    Ended(String),
}

/// More effects than any event has.
const EFFECTS: usize = 10_000;
pub(crate) const RESTLESS: &str = "the engine does not come to rest";

/// The host, as the engine sees it.
#[derive(Clone)]
pub(crate) struct Host {
    effects: Arc<Mutex<Vec<Effect>>>,
    words: mpsc::Sender<Word>,
    tags: Arc<Mutex<mpsc::Receiver<u64>>>,
}

impl Host {
    pub(crate) fn new(words: mpsc::Sender<Word>, tags: mpsc::Receiver<u64>) -> Self {
        Self { effects: Arc::default(), words, tags: Arc::new(Mutex::new(tags)) }
    }

    /// Wants something of it, which it does when the engine is quiet.
    ///
    /// # Panics
    /// If that never ends.
    pub(crate) fn tell(&self, effect: Effect) {
        let mut effects = lock(&self.effects);
        assert!(effects.len() < EFFECTS, "{RESTLESS}");
        effects.push(effect);
    }

    /// Says something. Nobody listens if the host has gone, and then nobody says go.
    pub(crate) fn say(&self, word: Word) {
        let _ = self.words.send(word);
    }

    /// Has the host sign, and waits for it.
    ///
    /// # Panics
    /// If the host has gone.
    pub(crate) fn sign(&self, statement: Statement) -> u64 {
        self.say(Word::Sign(statement));
        lock(&self.tags).recv().expect("the host is there")
    }

    /// All that it was told.
    pub(crate) fn take(&self) -> Vec<Effect> {
        std::mem::take(&mut lock(&self.effects))
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Host")
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
