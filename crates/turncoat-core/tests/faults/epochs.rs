//! Epochs that are counted from 1, and the common coin.

use serde::{Deserialize, Serialize};
use turncoat_core::Message;
use turncoat_core::hash::Digest;
use turncoat_core::ids::{NodeId, Slot, View};
use turncoat_core::message::RoundKey;
use turncoat_core::node::{ClientWork, Cluster, Context, Node, Protocol};

use crate::play::{Toy, play};
use crate::toys::Nobody;

/// The leader of epoch 1 says hello; everybody decides the coin of the epoch, each at a time of its own.
struct Epochs;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
enum Msg {
    #[message(view = *epoch, phase = 1)]
    Hello { epoch: View },
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Config {}

struct Replica;

impl Toy for Epochs {
    const BASE: &'static str = r#"
        schema = 1
        protocol = { name = "epochs" }
        cluster = { clients = 0 }
        workload = { goal = { height = 1 } }
    "#;
}

impl Protocol for Epochs {
    const NAME: &'static str = "epochs";
    const ABOUT: &'static str = "epochs from 1, and a coin for each";
    const FIRST_VIEW: View = View(1);
    type Msg = Msg;
    type Timer = ();
    type Replica = Replica;
    type Client = Nobody;
    type Config = Config;

    fn replica(_: NodeId, _: &Cluster, _: &Config) -> Replica {
        Replica
    }
    fn client(_: NodeId, _: &Cluster, _: &Config, _: &ClientWork) -> Nobody {
        Nobody
    }
}

impl Node<Epochs> for Replica {
    fn on_start(&mut self, cx: &mut Context<'_, Epochs>) {
        if cx.leads(View(1)) {
            // Another coin, asked for by one node alone, changes no other.
            cx.coin(Slot(9), 9);
            cx.broadcast(Msg::Hello { epoch: View(1) });
        }
    }
    fn on_message(&mut self, _: NodeId, Msg::Hello { epoch }: &Msg, cx: &mut Context<'_, Epochs>) {
        let coin = cx.coin(Slot(1), epoch.0);
        let voters = cx.cluster().replicas();
        cx.commit(Slot(1), Digest::of(&coin), &[], voters);
    }
}

#[test]
fn the_coin_is_common_to_all_nodes_and_another_in_other_runs() {
    let coin = |text: &str| {
        let played = play::<Epochs>(text);
        let coins = ["p0", "p1", "p2", "p3"].map(|who| played.decided(who));
        assert!(coins.iter().all(|coin| coin == &coins[0] && coin.len() == 1), "{coins:?}");
        coins[0].clone()
    };
    assert_ne!(coin("seed = 1"), coin("seed = 2"));
    // Whoever asks, and in whatever order: p3 asks for another coin before.
    assert_eq!(coin("seed = 1"), coin("seed = 1\ncluster.leaders = ['p3']\nscheduler.name = 'async'"));
}

#[test]
fn the_first_epoch_is_round_1_and_has_the_first_leader() {
    let key = |view| RoundKey { view: View(view), slot: Slot(0), phase: 1 };
    assert_eq!([1, 2, 3].map(|view| Epochs::number(key(view))), [1, 2, 3]);
    assert_eq!((Epochs::nth_view(View(1)), Epochs::advance(Epochs::origin(), key(1))), (1, 1));
    // A liar's epoch 0 is no round, and the last number there is does not overflow.
    assert_eq!((Epochs::nth_view(View(0)), Epochs::number(key(u32::MAX))), (0, u32::MAX));

    let by = |text: &str| play::<Epochs>(text).heard("p0");
    assert!(by("").iter().all(|line| line.contains(" p1: ")), "by default epoch mod n leads");
    assert!(by("cluster.leaders = ['p2']").iter().all(|line| line.contains(" p2: ")));
    for source in ["sender-max", "named", "view", "sender-view"] {
        let lost = format!("[[adversary.faults]]\nround = 1\nsource = '{source}'\nto = ['p0']\ndrop = true");
        assert_eq!(by(&lost), [""; 0], "{source}");
    }
}
