//! A notice board on n = 3f+1 replicas: clients pin up notices in no common order. Each is agreed on
//! by an echo broadcast (Bracha and Toueg, 1985) that its client starts; no leader is needed.
//! Replace it by your protocol: the messages, what a replica does with them, `impl Protocol`.

use std::collections::BTreeMap;

use turncoat::prelude::*;

/// What nodes say. Its parts become named lies: `cargo run -- list mutations demo`. View, slot and
/// phase say which round of the protocol a message belongs to; faults happen in rounds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
pub enum Msg {
    /// A client asks; who hears it first passes it on.
    #[message(view = View(0), slot = Slot(m.ts), phase = 1)]
    Request(Signed<Request>),
    /// This is what the client asks for, and I will say nothing else.
    #[message(view = View(0), slot = Slot(m.ts), phase = 2)]
    Echo(Request),
    /// To the client: it is done.
    #[message(view = View(0), slot = Slot(m.ts), phase = 3)]
    Reply(Reply),
}

flags! {
    /// Bugs to switch on, to see whether tests find them: `cargo run -- fuzz demo --with unsigned`.
    pub struct Flags {
        unsigned: "a request is believed whoever has signed it",
    }
}

/// What a replica has heard about one request, and what it has said.
#[derive(Clone, Debug, Default, Hash, Serialize)]
struct Round {
    echoes: Votes<Request>,
    echoed: Option<Request>,
    done: Option<Reply>,
}

/// A replica: all that it remembers. All that it does goes through its `Context`.
#[derive(Clone, Debug, Default, Hash, Serialize)]
pub struct Replica {
    flags: Flags,
    rounds: BTreeMap<Slot, Round>,
}

impl Node<Board> for Replica {
    /// Records what was said, then does what follows. All but `from` and signatures may be a lie.
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
            // Once, and when the client asks again: something was lost.
            _ if round.echoed.is_none() || from == request.client => {
                let echoed = *round.echoed.get_or_insert(request);
                cx.to_others(msg.clone());
                cx.broadcast(Msg::Echo(echoed));
                round.done.into_iter().for_each(|reply| cx.send(request.client, Msg::Reply(reply)));
            }
            _ => {}
        }
        // Any two quorums share a correct replica, and that echoes one request only.
        let winner = round.echoes.winner(cx.cluster().quorum());
        if let (None, Some((request, voters))) = (round.done, winner) {
            let reply = request.reply(View(0), slot, request.digest().0);
            round.done = Some(reply);
            cx.commit(slot, request.digest(), &[*request], Grounds::votes("echo", View(0), voters));
            cx.send(request.client, Msg::Reply(reply));
        }
    }
    /// What it waits for: `explain` tells it of runs that stand still.
    fn vitals(&self, c: &Cluster) -> Vitals {
        let open = self.rounds.iter().filter(|(_, round)| round.done.is_none());
        let echoes = |(slot, round): (&Slot, &Round)| (About::Slot(*slot), round.echoes.seen());
        let waiting = |(about, have)| Waiting { kind: "echo", about, have, need: c.quorum() };
        Vitals { waiting: open.map(echoes).map(waiting).collect(), ..Vitals::default() }
    }
    open_state!(); // It may be copied, shown and compared: for traces, and proofs of no progress.
}

/// The protocol: its names, its types, and how nodes are made.
pub struct Board;

impl Protocol for Board {
    const NAME: &'static str = "demo";
    const ABOUT: &'static str = "a notice board: echo broadcast of what clients ask for";
    const FLAGS: &'static [Flag] = Flags::ALL;
    const PHASES: u32 = 3; // Rounds of a slot: the highest phase of a message.
    type Msg = Msg;
    type Timer = ClientTimer;
    type Replica = Replica;
    type Client = QuorumClient;
    type Config = OnlyFlags<Flags>;

    fn replica(_: NodeId, _: &Cluster, config: &Self::Config) -> Replica {
        Replica { flags: config.flags, ..Replica::default() }
    }
    fn client(_: NodeId, c: &Cluster, _: &Self::Config, work: &ClientWork) -> QuorumClient {
        // So many equal replies make a result; f+1, as one of them is a correct replica's.
        QuorumClient::new(work, ReplyQuorum { ordered: c.weak(), read: c.quorum() })
    }
    fn gap_free(_: &Self::Config) -> bool {
        false // Notices are decided in any order. In a log, slot after slot: leave this out.
    }
}

/// How the stock client talks to it.
impl Service for Board {
    fn request(request: Signed<Request>) -> Msg {
        Msg::Request(request)
    }
    fn reply(msg: &Msg) -> Option<Reply> {
        if let Msg::Reply(reply) = msg { Some(*reply) } else { None }
    }
}
