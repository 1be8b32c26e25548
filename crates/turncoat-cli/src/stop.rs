//! What ends a campaign from outside: its time is up, somebody pressed Ctrl-C, or a scheduler wants its machine back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use std::{io, process};

use anyhow::{Context, Result};
use tokio::runtime::Runtime;
#[cfg(unix)]
use tokio::signal::unix::{self, SignalKind};

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
    /// Raised by the first Ctrl-C, SIGTERM or SIGHUP, so that what is known can still be printed; the second ends the
    /// process.
    pub(crate) fn on_interrupt() -> Result<Self> {
        let stop = Self::default();
        let handled = stop.clone();
        let mut signals = Signals::listen().context("cannot listen to Ctrl-C")?;
        thread::spawn(move || {
            while signals.next() {
                if handled.interrupted.swap(true, Relaxed) {
                    process::exit(Exit::Interrupted as i32);
                }
                handled.flag.store(true, Relaxed);
            }
        });
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

/// The signals that ask a process to end.
#[cfg(unix)]
struct Signals {
    runtime: Runtime,
    all: [Option<unix::Signal>; 3],
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let inside = runtime.enter();
        // Under `nohup` a hangup is no reason to end.
        let hangup = (!ignored(SignalKind::hangup())).then(SignalKind::hangup);
        let listen = |kind: Option<SignalKind>| kind.map(unix::signal).transpose();
        let kinds = [Some(SignalKind::interrupt()), Some(SignalKind::terminate()), hangup];
        let [interrupt, terminate, hangup] = kinds.map(listen);
        let all = [interrupt?, terminate?, hangup?];
        drop(inside);
        Ok(Self { runtime, all })
    }

    /// Waits for the next one; false if none will ever come.
    fn next(&mut self) -> bool {
        let Self { runtime, all: [interrupt, terminate, hangup] } = self;
        runtime.block_on(async {
            tokio::select! {
                Some(()) = received(interrupt) => true,
                Some(()) = received(terminate) => true,
                Some(()) = received(hangup) => true,
                else => false,
            }
        })
    }
}

#[cfg(unix)]
async fn received(signal: &mut Option<unix::Signal>) -> Option<()> {
    signal.as_mut()?.recv().await
}

/// Whether whoever started the process wants a signal to be ignored, as far as the system says so.
#[cfg(unix)]
fn ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask >> (kind.as_raw_value() - 1) & 1 == 1
}

/// Elsewhere Ctrl-C alone.
#[cfg(not(unix))]
struct Signals(Runtime);

#[cfg(not(unix))]
impl Signals {
    fn listen() -> io::Result<Self> {
        tokio::runtime::Builder::new_current_thread().enable_all().build().map(Self)
    }

    fn next(&mut self) -> bool {
        self.0.block_on(tokio::signal::ctrl_c()).is_ok()
    }
}
