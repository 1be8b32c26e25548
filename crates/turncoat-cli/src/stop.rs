//! What ends a campaign from outside: its time is up, or somebody pressed Ctrl-C.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::exit::Exit;

/// How long a Ctrl-C may go unnoticed.
const MOMENT: Duration = Duration::from_millis(20);

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

    /// One more flag, for something that comes after: raised after some time, or by the same Ctrl-C.
    pub(crate) fn next_within(&self, time: Duration) -> Self {
        let next = Self { flag: Arc::default(), interrupted: Arc::clone(&self.interrupted) };
        let watched = next.clone();
        thread::spawn(move || {
            let mut left = time;
            while !left.is_zero() && !watched.interrupted() && Arc::strong_count(&watched.flag) > 1 {
                let moment = left.min(MOMENT);
                thread::sleep(moment);
                left -= moment;
            }
            watched.flag.store(true, Relaxed);
        });
        next
    }

    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    pub(crate) fn interrupted(&self) -> bool {
        self.interrupted.load(Relaxed)
    }
}
