//! Batches of runs, handed out to workers and taken back in the order of their indices.
//!
//! Workers finish in any order, but a batch is merged only when all before it are. The first batch that ends
//! the campaign (a violation was enough, a run was impossible) ends it there, and what faster workers did
//! beyond is thrown away. So the result depends on the runs alone. Only as many batches as the window allows
//! are ahead of the merged ones, which bounds the memory however slow one worker is.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::campaign::{CampaignError, Keep, Record};
use crate::summary::Summary;

/// Runs per batch. Large enough that workers hardly ever meet at the lock; small enough that a campaign whose
/// runs are slow still stops soon when it is told to.
const BATCH: u64 = 8;

/// The runs of one batch, by a worker.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) summary: Summary,
    /// The runs themselves, if somebody keeps them.
    pub(crate) records: Vec<Record>,
    pub(crate) end: BatchEnd,
}

/// How a batch ended.
#[derive(Default)]
pub(crate) enum BatchEnd {
    /// With its last run.
    #[default]
    Full,
    /// With the run that ends the campaign.
    Last,
    /// With a run that could not be executed.
    Failed(CampaignError),
}

/// Hands out batches, and merges them in order.
pub(crate) struct InOrder<'a> {
    /// The index of the first run to do.
    first: u64,
    runs: Option<u64>,
    window: u64,
    stop: &'a AtomicBool,
    /// The lowest index known to end the campaign; runs beyond it are in vain.
    last: AtomicU64,
    state: Mutex<State<'a>>,
    room: Condvar,
}

struct State<'a> {
    next: u64,
    merged: u64,
    ahead: BTreeMap<u64, Batch>,
    closed: bool,
    summary: Summary,
    error: Option<CampaignError>,
    keep: Option<&'a mut Keep<'a>>,
    watch: &'a mut (dyn FnMut(&Summary) + Send),
}

impl<'a> InOrder<'a> {
    /// Goes on with run `first`, and adds to `so_far`. `keep` gets the runs in their order; `watch` sees the summary whenever it
    /// has grown.
    pub(crate) fn new(
        first: u64,
        so_far: Summary,
        runs: Option<u64>,
        workers: usize,
        stop: &'a AtomicBool,
        keep: Option<&'a mut Keep<'a>>,
        watch: &'a mut (dyn FnMut(&Summary) + Send),
    ) -> Self {
        let state = State {
            next: 0,
            merged: 0,
            ahead: BTreeMap::new(),
            closed: false,
            summary: so_far,
            error: None,
            keep,
            watch,
        };
        Self {
            first,
            runs,
            window: 8 * workers as u64,
            stop,
            last: AtomicU64::new(u64::MAX),
            state: Mutex::new(state),
            room: Condvar::new(),
        }
    }

    /// The next batch to run, with its indices; nothing when no more is needed.
    ///
    /// A stopped campaign hands out no more, and every batch that was handed out is finished: what is merged
    /// in the end is a complete prefix of all runs.
    pub(crate) fn claim(&self) -> Option<(u64, Range<u64>)> {
        let mut state = self.lock();
        loop {
            let batch = state.next;
            let first = batch.checked_mul(BATCH)?.checked_add(self.first)?;
            let end = first.saturating_add(BATCH).min(self.runs.unwrap_or(u64::MAX));
            if state.closed || self.stop.load(Relaxed) || first >= end || self.in_vain(first) {
                return None;
            }
            if batch < state.merged + self.window {
                state.next += 1;
                return Some((batch, first..end));
            }
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether the campaign ends before run `index`.
    pub(crate) fn in_vain(&self, index: u64) -> bool {
        index > self.last.load(Relaxed)
    }

    /// Run `index` ends the campaign, unless an earlier one does.
    pub(crate) fn ends_with(&self, index: u64) {
        self.last.fetch_min(index, Relaxed);
    }

    /// Takes a batch back, and merges what is complete.
    pub(crate) fn hand_in(&self, batch: u64, done: Batch) {
        let mut guard = self.lock();
        let state = &mut *guard;
        state.ahead.insert(batch, done);
        while !state.closed
            && let Some(batch) = state.ahead.remove(&state.merged)
        {
            state.merged += 1;
            state.summary.append(batch.summary);
            (state.watch)(&state.summary);
            if let Some(keep) = &mut state.keep {
                // Whoever keeps runs and can do so no longer has the reason.
                state.closed = !batch.records.into_iter().all(keep);
            }
            match batch.end {
                BatchEnd::Full => {}
                BatchEnd::Last => state.closed = true,
                BatchEnd::Failed(error) => {
                    state.error = Some(error);
                    state.closed = true;
                }
            }
        }
        self.room.notify_all();
    }

    /// Nobody waits any longer: a worker has panicked, and its batch never comes.
    pub(crate) fn abandon(&self) {
        self.lock().closed = true;
        self.room.notify_all();
    }

    /// What came out, once all workers are done.
    pub(crate) fn finish(self) -> Result<Summary, CampaignError> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.error.map_or(Ok(state.summary), Err)
    }

    fn lock(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
