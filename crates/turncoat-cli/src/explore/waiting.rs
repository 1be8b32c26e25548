//! Whether somebody still waits for an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::Trouble;

/// Says whether somebody still waits for an answer. Without a client somebody always does.
#[derive(Default)]
pub(crate) struct Waiting(Arc<AtomicBool>);

/// Whoever waits, until it is dropped.
pub(super) struct Client(Arc<AtomicBool>);

impl Drop for Client {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl Waiting {
    pub(super) fn client(&self) -> Client {
        Client(Arc::clone(&self.0))
    }

    /// Whether nobody waits any more.
    pub(super) fn is_over(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// What nobody will read.
    pub(super) fn trouble() -> Trouble {
        Trouble::Slow("stopped: nobody is waiting for the answer any more".to_owned())
    }
}
