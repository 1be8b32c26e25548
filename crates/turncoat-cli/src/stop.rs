//! What ends a campaign from outside: its time is up, or somebody pressed Ctrl-C.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::exit::Exit;

/// A flag that workers look at between runs, and why it was raised.
#[derive(Clone, Default)]
pub(crate) struct Stop {
    flag: Arc<AtomicBool>,
    interrupted: Arc<AtomicBool>,
}

impl Stop {
    /// Raised by the first Ctrl-C, so that what is known can still be printed; the second ends the process.
    pub(crate) fn on_interrupt() -> Result<Self> {
        let stop = Self::default();
        let handled = stop.clone();
        ctrlc::set_handler(move || {
            if handled.interrupted.swap(true, Relaxed) {
                process::exit(Exit::Interrupted as i32);
            }
            handled.flag.store(true, Relaxed);
        })
        .context("cannot listen to Ctrl-C")?;
        Ok(stop)
    }

    /// Raised after some time.
    pub(crate) fn after(&self, time: Duration) {
        let flag = Arc::clone(&self.flag);
        thread::spawn(move || {
            thread::sleep(time);
            flag.store(true, Relaxed);
        });
    }

    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    pub(crate) fn interrupted(&self) -> bool {
        self.interrupted.load(Relaxed)
    }
}
