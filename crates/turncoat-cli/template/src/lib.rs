//! A notice board on n = 3f+1 replicas. Clients post notices; replicas agree on each one, in no common
//! order, by an echo broadcast (Bracha and Toueg, 1985). There is no leader.
//! Replace it with your protocol: the messages, what a replica does with them, `impl Protocol`.

use std::collections::BTreeMap;

use turncoat::prelude::*;

/// The messages. Each field becomes a lie with a name, such as `echo.ts+1`. View, slot and phase say
/// which round of the protocol a message belongs to, so that faults can be aimed at rounds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
pub enum Msg {
    /// A client asks for something. Replicas pass it on when they first hear of it.
    #[message(view = View(0), slot = Slot(m.ts), phase = 1)]
    Request(Signed<Request>),
    /// A replica vouches for the client's request, and for no other one in this slot.
    #[message(view = View(0), slot = Slot(m.ts), phase = 2)]
    Echo(Request),
    /// A replica tells the client that its request is decided.
    #[message(view = View(0), slot = Slot(m.ts), phase = 3)]
    Reply(Reply),
}

flags! {
    /// Bugs that can be switched on, to see whether the tests find them.
    pub struct Flags {
        unsigned: "requests are accepted whoever signed them",
    }
}

/// What a replica has heard and said about one request.
#[derive(Clone, Debug, Default, Hash, Serialize)]
struct Round {
    echoes: Votes<Request>,
    echoed: Option<Request>,
    done: Option<Reply>,
}

/// The state of a replica. It acts on the world through its `Context` only.
#[derive(Clone, Debug, Default, Hash, Serialize)]
pub struct Replica {
    flags: Flags,
    rounds: BTreeMap<Slot, Round>,
}

impl Node<Board> for Replica {
    /// Records the message, then does what follows from it. Only `from` and signatures can be trusted:
    /// a Byzantine replica may change everything else.
    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Context<'_, Board>) {
        let genuine = |m: &Signed<Request>| m.is_by(m.client) || self.flags.unsigned;
        let request = match msg {
            Msg::Request(m) if m.client.is_client() && genuine(m) => **m,
            Msg::Echo(request) if !from.is_client() => *request,
            _ => return,
        };
        let slot = Slot(request.ts.wrapping_mul(64) | request.client.index() as u32); // By client.
        let round = self.rounds.entry(slot).or_default();
        match msg {
            Msg::Echo(_) => drop(round.echoes.add(from, request)),
            // The first time, and whenever the client asks again because something was lost.
            _ if round.echoed.is_none() || from == request.client => {
                let echoed = *round.echoed.get_or_insert(request);
                cx.to_others(msg.clone());
                cx.broadcast(Msg::Echo(echoed));
                round.done.into_iter().for_each(|reply| cx.send(request.client, Msg::Reply(reply)));
            }
            _ => {}
        }
        // Any two quorums share a correct replica, which echoes only one request.
        let winner = round.echoes.winner(cx.cluster().quorum());
        if let (None, Some((request, voters))) = (round.done, winner) {
            let reply = request.reply(View(0), slot, request.digest().0);
            round.done = Some(reply);
            cx.commit(slot, request.digest(), &[*request], Grounds::votes("echo", View(0), voters));
            cx.send(request.client, Msg::Reply(reply));
        }
    }
    /// The messages it waits for: `explain` reports them when a run is stuck.
    fn vitals(&self, c: &Cluster) -> Vitals {
        let open = self.rounds.iter().filter(|(_, round)| round.done.is_none());
        let echoes = |(slot, round): (&Slot, &Round)| (About::Slot(*slot), round.echoes.seen());
        let waiting = |(about, have)| Waiting { kind: "echo", about, have, need: c.quorum() };
        Vitals { waiting: open.map(echoes).map(waiting).collect(), ..Vitals::default() }
    }
    open_state!(); // The state may be copied, shown and compared: for traces, personas and proofs.
}

/// The protocol: its name, its types, and how to create its nodes.
pub struct Board;

impl Protocol for Board {
    const NAME: &'static str = "demo";
    const ABOUT: &'static str = "a notice board: echo broadcast of clients' requests";
    const FLAGS: &'static [Flag] = Flags::ALL;
    const PHASES: u32 = 3; // Rounds per slot: the highest phase of a message.
    type Msg = Msg;
    type Timer = ClientTimer;
    type Replica = Replica;
    type Client = QuorumClient;
    type Config = OnlyFlags<Flags>;

    fn replica(_: NodeId, _: &Cluster, config: &Self::Config) -> Replica {
        Replica { flags: config.flags, ..Replica::default() }
    }
    fn client(_: NodeId, c: &Cluster, _: &Self::Config, work: &ClientWork) -> QuorumClient {
        // f+1 equal replies are a result: at least one of them is from a correct replica.
        QuorumClient::new(work, ReplyQuorum { ordered: c.weak(), read: c.quorum() })
    }
    fn gap_free(_: &Self::Config) -> bool {
        false // Notices are decided in any order. For a log, which has no gaps, leave this out.
    }
}

/// How the stock client talks to the replicas.
impl Service for Board {
    fn request(request: Signed<Request>) -> Msg {
        Msg::Request(request)
    }
    fn reply(msg: &Msg) -> Option<Reply> {
        if let Msg::Reply(reply) = msg { Some(*reply) } else { None }
    }
}
