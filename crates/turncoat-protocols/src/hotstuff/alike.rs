//! What the protocols of the family say in the same words.

/// What stands in every `impl Protocol`: their timers, their leaders, no clients, and views of so many rounds.
macro_rules! protocol {
    ($(#[$doc:meta])* number = $rounds:literal) => {
        const FLAGS: &'static [Flag] = Flags::ALL;
        const STREAM: bool = true;
        const SLOT: &'static str = "height";
        type Msg = Msg;
        type Timer = $crate::hotstuff::Timer;
        type Replica = Replica;
        type Client = NoClient;
        type Config = Config;

        /// p0 leads view 1, p1 the next one, and so on.
        fn leader(view: View, cluster: &Cluster) -> NodeId {
            NodeId::replica(view.0.saturating_sub(1) as usize % cluster.n)
        }

        fn origin() -> RoundKey {
            RoundKey { view: View(1), ..RoundKey::default() }
        }

        $(#[$doc])*
        fn number(key: RoundKey) -> u32 {
            key.view.0.saturating_sub(1).saturating_mul($rounds).saturating_add(key.phase.into())
        }

        fn replica(_: NodeId, cluster: &Cluster, config: &Config) -> Replica {
            Replica::new(*config, cluster)
        }

        fn client(_: NodeId, _: &Cluster, _: &Config, _: &ClientWork) -> NoClient {
            NoClient
        }
    };
}
pub(super) use protocol;

/// How a protocol calls the messages by which blocks are fetched.
macro_rules! fetching {
    ($protocol:ident) => {
        impl $crate::hotstuff::shelf::Fetching for $protocol {
            const FETCH: fn(Digest) -> Msg = Msg::Fetch;
            const BLOCK: fn(Arc<$crate::hotstuff::tree::Block>) -> Msg = Msg::Block;
        }
    };
}
pub(super) use fetching;

/// How a protocol calls the messages by which views are left, and those by which blocks are fetched.
macro_rules! paced {
    ($protocol:ident) => {
        $crate::hotstuff::alike::fetching!($protocol);

        impl $crate::hotstuff::pacemaker::Paced for $protocol {
            const TIMEOUT: fn(Signed<$crate::hotstuff::pacemaker::Timeout>) -> Msg = Msg::Timeout;
            const TC: fn(Arc<$crate::hotstuff::pacemaker::Tc>) -> Msg = Msg::TimeoutCert;
        }
    };
}
pub(super) use paced;

/// What stands in the `impl Node` of every [`Member`](super::member::Member): all events go to it.
macro_rules! node {
    () => {
        fn on_start(&mut self, cx: &mut Cx<'_>) {
            self.enter(View(1), true, cx);
            self.settle(cx);
        }

        fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
            self.receive(from, msg, cx);
        }

        fn on_timer(&mut self, timer: $crate::hotstuff::Timer, cx: &mut Cx<'_>) {
            self.fire(timer, cx);
        }

        fn on_restart(&mut self, cx: &mut Cx<'_>) {
            self.restart(cx);
        }

        fn on_suspect(&mut self, cx: &mut Cx<'_>) {
            self.expire(cx);
        }

        open_state!();
    };
}
pub(super) use node;

/// Another configuration, in the middle of a run.
macro_rules! adopt {
    () => {
        fn adopt(&mut self, config: &Config, cluster: &Cluster) -> bool {
            let fresh = Self::new(*config, cluster);
            self.config = fresh.config;
            self.base.adopt(&fresh.base);
            true
        }
    };
}
pub(super) use adopt;
