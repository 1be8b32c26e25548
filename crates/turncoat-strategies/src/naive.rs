//! The naive baseline: messages are lost with one probability and corrupted with another (XRPL thesis).
//!
//! A few faults for the whole run and no idea of rounds or fields: each message between replicas is lost with
//! probability `drop`, each reply to a client with probability `replies`; of each message of the Byzantine replica, or of
//! any replica, one `unit` of the encoding is changed with probability `flip`, on its way: signatures are broken. What
//! does not decode is lost, and so is what an honest sender never sent.
//!
//! The unit is a bit of turncoat's own encoding, or a character of the message as JSON. The latter is what ByzzFuzz's
//! authors do to pbft-java, whose messages are JSON.

use serde::Deserialize;
use turncoat_core::fault::{Effect, Fault, Span, When};
use turncoat_core::ids::{NodeId, SeatName};
use turncoat_core::rng::Rng;
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_core::strategy::Strategy;

use crate::liars::{LIAR, LIARS_F, Liars};
use crate::params::{Param, Params};
use crate::{Info, StrategyError};

pub(crate) const INFO: Info = Info {
    name: "naive",
    about: "messages are lost and bits are flipped with fixed probabilities",
    params: &[
        LIAR,
        LIARS_F,
        Param { name: "drop", default: "100", about: "how many of 1000 messages between replicas are lost" },
        Param { name: "flip", default: "100", about: "how many of 1000 messages have a bit flipped" },
        Param {
            name: "unit",
            default: "bit",
            about: "what is changed in a message: a bit, or a character of it as JSON (as ByzzFuzz's authors do)",
        },
        Param { name: "replies", default: "0", about: "how many of 1000 replies to clients are lost" },
        Param {
            name: "whose",
            default: "byzantine",
            about: "whose messages are corrupted: byzantine or any",
        },
        Param {
            name: "roundless",
            default: "hit",
            about: "whether faults also hit messages without a round, such as forwarded requests: hit or spare",
        },
    ],
    make: |base, params| Ok(Box::new(Naive::new(base, params)?)),
};

/// Whose messages are corrupted.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Whose {
    Byzantine,
    Any,
}

/// What is changed in a corrupted message.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Unit {
    Bit,
    Character,
}

/// What happens to messages without a round.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Roundless {
    Hit,
    Spare,
}

struct Naive {
    liars: Liars,
    replicas: Vec<SeatName>,
    drop: u32,
    flip: u32,
    unit: Unit,
    replies: u32,
    clients: Vec<SeatName>,
    whose: Whose,
    roundless: Roundless,
}

impl Naive {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        let flip = params.number("flip", 0..=1000)?;
        Ok(Self {
            liars: Liars::new(params, base, flip > 0)?,
            replicas: (0..base.cluster.n).map(|i| NodeId::replica(i).into()).collect(),
            drop: params.number("drop", 0..=1000)?,
            flip,
            unit: params.word("unit")?,
            replies: params.number("replies", 0..=1000)?,
            clients: (0..base.cluster.clients).map(|i| NodeId::client(i).into()).collect(),
            whose: params.word("whose")?,
            roundless: params.word("roundless")?,
        })
    }
}

impl Strategy for Naive {
    fn next(&mut self, _index: u64, rng: &mut Rng) -> Scenario {
        let (mut scenario, liars) = self.liars.next(rng);
        let seed = Seed(rng.bits());
        let among = |from: &[SeatName], to: &[SeatName], permille| When {
            from: from.to_vec(),
            to: to.to_vec(),
            permille: Some(permille),
            // Who names rounds means messages that have one.
            round: (self.roundless == Roundless::Spare).then_some(Span::Between([0, u64::from(u32::MAX)])),
            ..When::default()
        };
        let corrupted = match self.whose {
            Whose::Any => self.replicas.clone(),
            Whose::Byzantine => liars.into_iter().map(SeatName::from).collect(),
        };
        let drop = among(&self.replicas, &self.replicas, self.drop);
        let flip = among(&corrupted, &[], self.flip);
        let replies = among(&self.replicas, &self.clients, self.replies);
        let noise = match self.unit {
            Unit::Bit => Effect::Flip(seed),
            Unit::Character => Effect::Garble(seed),
        };
        let faults = [
            (self.drop, drop, Effect::Drop),
            (self.flip, flip, noise),
            (self.replies, replies, Effect::Drop),
        ];
        let wanted = faults.into_iter().filter(|(permille, ..)| *permille > 0);
        scenario.adversary.faults = wanted.map(|(_, when, effect)| Fault { when, effect }).collect();
        scenario
    }
}
