//! Bracha's reliable broadcast (1987): a protocol, a bug, and the fuzzer that finds it.
//!
//! p0 sends a value, and up to f of n >= 3f+1 processes lie, p0 perhaps among them. Still no two correct
//! processes deliver different values, and if one delivers, all do. Run it:
//! `cargo run --release -p turncoat --example bracha`.

use turncoat::prelude::*;

/// What processes say. The derive makes the table of lies from the fields, and rounds from the attributes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
pub(crate) enum Msg {
    /// p0: this is my value.
    #[message(view = View(0), phase = 1)]
    Init { value: Request },
    /// I heard p0 say this.
    #[message(view = View(0), phase = 2)]
    Echo { value: Request },
    /// I know that nobody will be convinced of any other value.
    #[message(view = View(0), phase = 3)]
    Ready { value: Request },
}

flags! {
    /// Two bugs that can be switched on: `flags` in a scenario's `[protocol]` table.
    pub(crate) struct Flags {
        echo_f1: "f+1 ECHOs are enough to send READY",
        deliver_f1: "f+1 READYs are enough to decide",
    }
}

/// A process: what it has heard, and what it has done about it.
#[derive(Default)]
pub(crate) struct Process {
    flags: Flags,
    echoes: Votes<Request>,
    readies: Votes<Request>,
    echoed: bool,
    ready: bool,
    delivered: bool,
}

impl Node<Bracha> for Process {
    fn on_start(&mut self, cx: &mut Context<'_, Bracha>) {
        if cx.me() == SENDER {
            let value = *cx.payload();
            cx.broadcast(Msg::Init { value });
        }
    }

    /// Records what was said, then applies the rules. `from` cannot be forged; everything else may be a lie.
    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Context<'_, Bracha>) {
        match *msg {
            Msg::Init { value } if from == SENDER && !self.echoed => {
                self.echoed = true;
                cx.broadcast(Msg::Echo { value });
            }
            Msg::Init { .. } => {}
            Msg::Echo { value } => drop(self.echoes.add(from, value)),
            Msg::Ready { value } => drop(self.readies.add(from, value)),
        }
        self.advance(cx);
    }
}

impl Process {
    fn advance(&mut self, cx: &mut Context<'_, Bracha>) {
        let f = cx.cluster().f;
        // More than (n+f)/2: any two such sets share a correct process, which echoes one value only.
        let echoes = if self.flags.echo_f1 { f + 1 } else { cx.cluster().quorum() };
        let heard = self.echoes.winner(echoes).or_else(|| self.readies.winner(f + 1));
        if let (Some((&value, _)), false) = (heard, self.ready) {
            self.ready = true;
            cx.broadcast(Msg::Ready { value });
        }
        // 2f+1, of which f+1 are correct and convince everybody else.
        let readies = if self.flags.deliver_f1 { f + 1 } else { 2 * f + 1 };
        if let (Some((value, voters)), false) = (self.readies.winner(readies), self.delivered) {
            self.delivered = true;
            cx.commit(Slot(1), value.digest(), &[*value], Grounds::votes("ready", View(0), voters));
        }
    }
}

pub(crate) const SENDER: NodeId = NodeId::replica(0);
pub(crate) struct Bracha;

impl Protocol for Bracha {
    const NAME: &'static str = "bracha";
    const ABOUT: &'static str = "Bracha's reliable broadcast";
    const FLAGS: &'static [Flag] = Flags::ALL;
    const ONE_SHOT: bool = true; // One value is delivered, and then no more.
    type Msg = Msg;
    type Timer = ();
    type Replica = Process;
    type Client = NoClient;
    type Config = OnlyFlags<Flags>;

    fn replica(_: NodeId, _: &Cluster, config: &Self::Config) -> Process {
        Process { flags: config.flags, ..Process::default() }
    }
    fn client(_: NodeId, _: &Cluster, _: &Self::Config, _: &ClientWork) -> NoClient {
        NoClient
    }
    /// INIT is round 1, ECHO 2, READY 3.
    fn number(key: RoundKey) -> u32 {
        u32::from(key.phase)
    }
}

/// Four processes, no clients. A partition delays messages and loses none: Bracha's channels are reliable.
pub(crate) fn scenario(flags: &[&str]) -> Scenario {
    let protocol = format!("schema = 1\nprotocol = {{ name = 'bracha', flags = {flags:?} }}");
    let text = protocol + "\ncluster = { n = 4, f = 1, clients = 0 }\nnetwork = { loss = 'hold' }";
    Scenario::parse(&text).expect("a scenario")
}

#[expect(clippy::print_stdout, reason = "a program that reports")]
fn main() {
    for flags in [&[][..], &["echo-f1", "deliver-f1"]] {
        // In each run a random process lies in one of the three rounds, and the network is partitioned in one.
        let check = check::<Bracha>().scenario(scenario(flags)).strategy("byzzfuzz").set("r", 3).runs(10_000);
        let summary = check.search().expect("a campaign");
        println!("bracha with {flags:?}: {} runs, violations in {}", summary.runs, summary.violating);
        for finding in summary.first.values() {
            println!("run {}: {}\n{}", finding.index, finding.violation, finding.scenario.to_toml());
        }
    }
}
