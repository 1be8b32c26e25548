//! The runtime that the engine sees: commonware's deterministic one, but for the clock, which is turncoat's.

#![expect(clippy::disallowed_types, reason = "the engine's interface; no clock is behind it")]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as Poller, Poll, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use commonware_runtime::telemetry::metrics::{Metric, Registered};
use commonware_runtime::{
    BlobVersion, Clock, Error, Handle, Metrics, Name, Spawner, Storage, Supervisor, deterministic, signal,
};
use rand_core::{TryCryptoRng, TryRng};

/// The time, and who wants to be woken when. A tick is a millisecond.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alarms(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    now: u64,
    /// By how much this clock goes ahead of the host's.
    ahead: u64,
    /// By time, and by the order in which they were set.
    alarms: BTreeMap<(u64, u64), Waker>,
    count: u64,
}

impl Alarms {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time of the first alarm.
    pub(crate) fn first(&self) -> Option<u64> {
        self.table().alarms.keys().next().map(|&(due, _)| due)
    }

    /// The timer for this time fires. If it is early, the clock goes ahead.
    pub(crate) fn ring(&self, due: u64, host: u64) {
        let mut table = self.table();
        table.ahead += due.saturating_sub(host + table.ahead);
        drop(table);
        self.advance(host);
    }

    /// It is so late by the clock of the host; wakes those whose time has come.
    pub(crate) fn advance(&self, host: u64) {
        let mut table = self.table();
        table.now = table.now.max(host + table.ahead);
        let later = (table.now + 1, 0);
        let rest = table.alarms.split_off(&later);
        std::mem::replace(&mut table.alarms, rest).into_values().for_each(Waker::wake);
    }

    pub(crate) fn now(&self) -> u64 {
        self.table().now
    }

    fn time(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.now())
    }
}

/// Later than any run lasts: the engine has such deadlines where it waits for something else.
const NEVER: u64 = 1 << 50;

/// Waits for a time.
struct Sleep {
    alarms: Alarms,
    /// None: a time that never comes.
    due: Option<u64>,
    /// Its place among the alarms of that time.
    place: Option<u64>,
}

impl Sleep {
    fn until(alarms: &Alarms, deadline: SystemTime) -> Self {
        let after = deadline.duration_since(UNIX_EPOCH).unwrap_or_default();
        let due = u64::try_from(after.as_nanos().div_ceil(1_000_000)).ok().filter(|&due| due < NEVER);
        Self { alarms: alarms.clone(), due, place: None }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, poller: &mut Poller<'_>) -> Poll<()> {
        let Some(due) = self.due else { return Poll::Pending };
        let alarms = self.alarms.clone();
        let mut table = alarms.table();
        if table.now >= due {
            return Poll::Ready(());
        }
        let place = self.place.unwrap_or(table.count);
        table.count = table.count.max(place + 1);
        table.alarms.insert((due, place), poller.waker().clone());
        self.place = Some(place);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let (Some(due), Some(place)) = (self.due, self.place) {
            self.alarms.table().alarms.remove(&(due, place));
        }
    }
}

/// The context of the engine's tasks.
pub(crate) struct Ctx {
    pub(crate) inner: deterministic::Context,
    pub(crate) alarms: Alarms,
}

impl Clock for Ctx {
    fn current(&self) -> SystemTime {
        self.alarms.time()
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send + 'static + use<> {
        let deadline = self.current().checked_add(duration);
        Sleep::until(&self.alarms, deadline.expect("a time that a clock can show"))
    }

    fn sleep_until(&self, deadline: SystemTime) -> impl Future<Output = ()> + Send + 'static + use<> {
        Sleep::until(&self.alarms, deadline)
    }
}

impl governor::clock::Clock for Ctx {
    type Instant = SystemTime;

    fn now(&self) -> SystemTime {
        self.current()
    }
}

impl governor::clock::ReasonablyRealtime for Ctx {}

impl Supervisor for Ctx {
    fn name(&self) -> Name {
        self.inner.name()
    }

    fn child(&self, label: &'static str) -> Self {
        Self { inner: self.inner.child(label), alarms: self.alarms.clone() }
    }

    fn with_attribute(self, key: &'static str, value: impl std::fmt::Display) -> Self {
        Self { inner: self.inner.with_attribute(key, value), ..self }
    }
}

impl Spawner for Ctx {
    fn shared(self, blocking: bool) -> Self {
        Self { inner: self.inner.shared(blocking), ..self }
    }

    fn dedicated(self) -> Self {
        Self { inner: self.inner.dedicated(), ..self }
    }

    fn spawn<F, Fut, T>(self, f: F) -> Handle<T>
    where
        F: FnOnce(Self) -> Fut + Send + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let alarms = self.alarms;
        self.inner.spawn(move |inner| f(Self { inner, alarms }))
    }

    async fn stop(self, value: i32, timeout: Option<Duration>) -> Result<(), Error> {
        self.inner.stop(value, timeout).await
    }

    fn stopped(&self) -> signal::Signal {
        self.inner.stopped()
    }
}

impl Metrics for Ctx {
    fn register<N: Into<String>, H: Into<String>, M: Metric>(
        &self,
        name: N,
        help: H,
        metric: M,
    ) -> Registered<M> {
        self.inner.register(name, help, metric)
    }

    fn encode(&self) -> String {
        self.inner.encode()
    }
}

impl Storage for Ctx {
    type Blob = <deterministic::Context as Storage>::Blob;

    async fn open_versioned(
        &self,
        partition: &str,
        name: &[u8],
        versions: RangeInclusive<BlobVersion>,
    ) -> Result<(Self::Blob, u64, BlobVersion), Error> {
        self.inner.open_versioned(partition, name, versions).await
    }

    async fn remove(&self, partition: &str, name: Option<&[u8]>) -> Result<(), Error> {
        self.inner.remove(partition, name).await
    }

    async fn scan(&self, partition: &str) -> Result<Vec<Vec<u8>>, Error> {
        self.inner.scan(partition).await
    }
}

impl TryRng for Ctx {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.inner.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.inner.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.inner.try_fill_bytes(bytes)
    }
}

impl TryCryptoRng for Ctx {}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[test]
    fn a_timer_that_fires_early_is_a_clock_that_goes_ahead() {
        let alarms = Alarms::default();
        let mut sleep = Sleep::until(&alarms, UNIX_EPOCH + Duration::from_micros(99_500));
        assert_eq!(((&mut sleep).now_or_never(), alarms.first()), (None, Some(100)));
        alarms.ring(100, 40);
        assert_eq!(((&mut sleep).now_or_never(), alarms.now()), (Some(()), 100));
        alarms.advance(50);
        assert_eq!((alarms.now(), alarms.first()), (110, None));
        // A timer that is due changes nothing but the time.
        alarms.ring(111, 60);
        assert_eq!(alarms.now(), 120);
    }

    #[test]
    fn who_no_longer_waits_has_no_alarm() {
        let alarms = Alarms::default();
        let mut sleep = Sleep::until(&alarms, UNIX_EPOCH + Duration::from_secs(1));
        assert_eq!(((&mut sleep).now_or_never(), alarms.first()), (None, Some(1000)));
        drop(sleep);
        assert_eq!(alarms.first(), None);
    }
}
