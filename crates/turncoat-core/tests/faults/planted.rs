//! A planted bug that only a consistent lie finds: what the primary said to p2 and what it reports at the
//! view change differ in slot 1.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use turncoat_core::Message;
use turncoat_core::client::{Op, Request};
use turncoat_core::flags::{Flag, OnlyFlags};
use turncoat_core::ids::{NodeId, NodeSet, Slot, Time, View};
use turncoat_core::node::{ClientWork, Cluster, Context, Node, Protocol};
use turncoat_core::outcome::Property;
use turncoat_core::runner::execute;
use turncoat_core::sign::Signed;
use turncoat_core::votes::Votes;

use crate::play::{Toy, play, scenario};

struct Planted;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
enum Msg {
    Request(Signed<Request>),
    #[message(view = View(0), slot = *slot, phase = 1)]
    Commit {
        slot: Slot,
        request: Signed<Request>,
    },
    #[message(view = View(1), phase = 1, view_change)]
    Report {
        first: Signed<Request>,
    },
    #[message(view = View(1), slot = Slot(1), phase = 2)]
    Echo {
        first: Signed<Request>,
    },
}

turncoat_core::flags! {
    struct Flags {
        planted: "p2 believes the primary's COMMIT, the others its report, and nobody asks the others",
    }
}
type Config = OnlyFlags<Flags>;

#[derive(Clone, Debug, Hash, Serialize)]
struct Replica {
    config: Config,
    next: Slot,
    first: Option<Signed<Request>>,
    echoes: Votes<Request>,
    done: bool,
}

struct Asker(Vec<Op>);

impl Toy for Planted {
    const BASE: &'static str = r#"
        schema = 1
        protocol = { name = "planted" }
        cluster = { clients = 2 }
        workload = { requests = 2, ops = ["a", "b"], goal = "committed" }
        network = { latency = 10 }
    "#;
}

impl Protocol for Planted {
    const NAME: &'static str = "planted";
    const ABOUT: &'static str = "commits what the primary says";
    const FLAGS: &'static [Flag] = Flags::ALL;
    type Msg = Msg;
    type Timer = ();
    type Replica = Replica;
    type Client = Asker;
    type Config = Config;

    fn replica(_: NodeId, _: &Cluster, config: &Config) -> Replica {
        Replica { config: *config, next: Slot(0), first: None, echoes: Votes::default(), done: false }
    }
    fn client(_: NodeId, _: &Cluster, _: &Config, work: &ClientWork) -> Asker {
        Asker(work.ops.iter().map(|&(op, ..)| op).collect())
    }
}

impl Node<Planted> for Replica {
    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Context<'_, Planted>) {
        let (p0, p2) = (NodeId::replica(0), NodeId::replica(2));
        match msg {
            Msg::Request(request) if cx.me() == p0 => {
                self.next = self.next.next();
                if self.next == Slot(1) {
                    self.first = Some(*request);
                    cx.set_timer((), Time(100));
                }
                cx.broadcast(Msg::Commit { slot: self.next, request: *request });
            }
            Msg::Commit { slot: Slot(1), request }
                if from == p0 && cx.me() == p2 && self.config.flags.planted =>
            {
                self.decide(request, cx);
            }
            Msg::Report { first } if from == p0 => match self.config.flags.planted {
                true if cx.me() == p2 => {}
                true => self.decide(first, cx),
                false => cx.broadcast(Msg::Echo { first: *first }),
            },
            Msg::Echo { first } => {
                self.echoes.add(from, **first);
                if self.echoes.count(first) >= cx.cluster().quorum() {
                    self.decide(first, cx);
                }
            }
            _ => {}
        }
    }
    fn on_timer(&mut self, (): (), cx: &mut Context<'_, Planted>) {
        if let Some(first) = self.first {
            cx.broadcast(Msg::Report { first });
        }
    }
    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl Replica {
    fn decide(&mut self, request: &Signed<Request>, cx: &mut Context<'_, Planted>) {
        if !self.done {
            self.done = true;
            cx.commit(Slot(1), request.digest(), &[**request], NodeSet::EMPTY);
        }
    }
}

impl Node<Planted> for Asker {
    fn on_start(&mut self, cx: &mut Context<'_, Planted>) {
        for &op in &self.0 {
            let request = cx.submit(Request { client: cx.me(), ts: 1, op, read_only: false });
            cx.send(NodeId::replica(0), Msg::Request(request));
        }
    }
    fn on_message(&mut self, _: NodeId, _: &Msg, _: &mut Context<'_, Planted>) {}
}

/// All sets of p1, p2, p3, as bits.
fn names(set: u32) -> String {
    let mut text = String::new();
    for i in (1..=3).filter(|i| set >> i & 1 == 1) {
        write!(text, "'p{i}',").unwrap();
    }
    format!("[{text}]")
}

/// Who hears the second face before, and who at the view change: all 64 ways. The bug shows exactly where p2
/// heard one face and somebody else gets the report of the other; the fixed toy never disagrees.
#[test]
fn the_view_change_set_of_a_face_is_apart_from_its_receivers() {
    let sets = (0..16).step_by(2);
    let mut found = 0;
    for (to, at) in sets.clone().flat_map(|to| sets.clone().map(move |at| (to, at))) {
        let fault = format!(
            "adversary.byzantine = ['p0']\n[[adversary.faults]]\n\
             persona = {{ of = 'p0', to = {}, at-view-change = {}, edits = ['own-order'] }}",
            names(to),
            names(at)
        );
        let in_set = |set: u32, i: u32| set >> i & 1 == 1;
        let differ = [1, 3].iter().any(|&i| in_set(to, 2) != in_set(at, i));
        let planted = play::<Planted>(&format!("protocol.flags = ['planted']\n{fault}"));
        assert_eq!(planted.violates(Property::Agreement), differ, "{fault}");
        assert!(!play::<Planted>(&fault).violates(Property::Agreement), "{fault}");
        found += u32::from(differ);
    }
    assert_eq!(found, 48);
}

/// Where nothing is said about view changes, the same receivers hear the face there.
#[test]
fn the_view_change_set_is_the_receivers_where_left_out() {
    let fault = "adversary.byzantine = ['p0']\n[[adversary.faults]]\n\
                 persona = { of = 'p0', to = ['p1', 'p2', 'p3'], edits = ['own-order'] }";
    assert!(
        !play::<Planted>(&format!("protocol.flags = ['planted']\n{fault}")).violates(Property::Agreement)
    );
}

/// A node of this toy cannot change its flags, but it can have others from the start.
#[test]
fn not_every_node_can_change_its_code() {
    let run = |when: &str| {
        let stance = "stance = { of = 'p0', flags = ['planted'] }";
        let text = format!("adversary.byzantine = ['p0']\n[[adversary.faults]]\n{when}\n{stance}");
        execute::<Planted>(&scenario::<Planted>(&text)).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(run(""), Ok(()));
    let error = run("round = [1, 2]").unwrap_err();
    for words in ["fault 1", "planted cannot change its flags", "leave out `round`", "Node::adopt"] {
        assert!(error.contains(words), "{error}");
    }
}
