//! Faults as data: a predicate over messages and an effect.
//!
//! In a file a fault is one flat table: some keys say when, exactly one says what.
//!
//! ```toml
//! [[adversary.faults]]
//! round = 1                       # when: the sender's round, a number, [first, last] or { from = first }
//! from = ["p0"]                   # the sender
//! to = ["p2", "p3"]               # the receiver
//! kind = "pre-prepare"            # the kind of message
//! mutate = "pre-prepare.seq+1"    # what
//! ```
//!
//! Only Byzantine nodes lie: `mutate`, `flip`, `originate`, `persona` and `stance` name one, or mean all of them.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::ids::{NodeId, SeatName, Time};
use crate::part::Scope;
use crate::scenario::Seed;

/// When something happens, and what.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Table", into = "Table")]
pub struct Fault {
    /// The messages that it is about. Effects on nodes happen when such a message is sent, or, if nothing
    /// but a time or a step is named, then.
    pub when: When,
    /// What happens to them.
    pub effect: Effect,
}

/// A predicate over messages: all that is named must hold.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct When {
    /// The round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<Span>,
    /// Whose round.
    #[serde(skip_serializing_if = "is_default")]
    pub source: RoundSource,
    /// The sender is one of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<SeatName>,
    /// The receiver is one of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<SeatName>,
    /// The kind is one of these.
    #[serde(skip_serializing_if = "Names::is_empty")]
    pub kind: Names,
    /// Its fields say these numbers, by their names in traces. It is what the sender's code wrote that counts, not a lie.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub field: BTreeMap<String, Span>,
    /// Nodes know or wait for this when it is sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vitals: Vec<WhenVitals>,
    /// It is the sender's nth message of its kind, counted by (view, slot); a retransmission keeps its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<Span>,
    /// The number of events so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Span>,
    /// The time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
    /// In so many of 1000 cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permille: Option<u32>,
    /// Only the first so many times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// One of these holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any: Vec<Self>,
    /// This does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not: Option<Box<Self>>,
}

/// A predicate over what a node knows and waits for ([`Vitals`](crate::node::Vitals)): all that is named must hold.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct WhenVitals {
    /// Which node. Of a node with several instances, one of them.
    #[serde(skip_serializing_if = "is_default")]
    pub of: Whose,
    /// Its view, by its own number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<Span>,
    /// The last slot that it has decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<Span>,
    /// Whether it is between two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changing_view: Option<bool>,
    /// Whether it has prepared a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prepared: Option<bool>,
    /// Whether it is locked on a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked: Option<bool>,
    /// It waits for messages of one of these kinds.
    #[serde(skip_serializing_if = "Names::is_empty")]
    pub waiting: Names,
}

/// Whose vitals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Whose {
    /// The sender's.
    #[default]
    Sender,
    /// The receiver's.
    Receiver,
    /// Those of this node.
    Node(SeatName),
}

impl TryFrom<String> for Whose {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        Ok(match name.as_str() {
            "sender" => Self::Sender,
            "receiver" => Self::Receiver,
            node => Self::Node(
                node.parse().map_err(|_| format!("`{node}` is neither `sender`, `receiver` nor a node"))?,
            ),
        })
    }
}

impl From<Whose> for String {
    fn from(whose: Whose) -> Self {
        match whose {
            Whose::Sender => "sender".to_owned(),
            Whose::Receiver => "receiver".to_owned(),
            Whose::Node(node) => node.to_string(),
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A number, `[first, last]`, or `{ from = first, every = step }`, which has no end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number, [first, last], or { from = first, every = step }")]
pub enum Span {
    /// Just this.
    At(u64),
    /// From the first to the last, both included.
    Between([u64; 2]),
    /// From the first on.
    Every(Every),
}

/// A number, and all that come after it by whole steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Every {
    /// The first one.
    pub from: u64,
    /// The step.
    #[serde(rename = "every", default = "each", skip_serializing_if = "is_each")]
    pub step: NonZeroU64,
}

const fn each() -> NonZeroU64 {
    NonZeroU64::MIN
}

fn is_each(step: &NonZeroU64) -> bool {
    *step == each()
}

impl Span {
    /// The first number.
    pub const fn first(self) -> u64 {
        match self {
            Self::At(x) | Self::Between([x, _]) => x,
            Self::Every(every) => every.from,
        }
    }
    /// The last number. A span that ends at `u32::MAX` or later has no end: views are counted up to that.
    pub const fn last(self) -> u64 {
        match self {
            Self::At(x) | Self::Between([_, x]) => x,
            Self::Every(_) => u64::MAX,
        }
    }
    /// Whether it has no end.
    pub const fn endless(self) -> bool {
        self.last() >= u32::MAX as u64
    }
    /// The step from one number to the next.
    pub const fn step(self) -> u64 {
        match self {
            Self::Every(every) => every.step.get(),
            _ => 1,
        }
    }
    /// Whether `x` is within.
    pub const fn contains(self, x: u64) -> bool {
        self.first() <= x && x <= self.last() && (x - self.first()).is_multiple_of(self.step())
    }
}

/// A name, or a list of names.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "OneOrMany", into = "OneOrMany")]
pub struct Names(pub Vec<String>);

impl Names {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Names {
    fn from(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Names {
    fn from(form: OneOrMany) -> Self {
        match form {
            OneOrMany::One(name) => Self(vec![name]),
            OneOrMany::Many(names) => Self(names),
        }
    }
}

impl From<Names> for OneOrMany {
    fn from(names: Names) -> Self {
        match <[String; 1]>::try_from(names.0) {
            Ok([name]) => Self::One(name),
            Err(names) => Self::Many(names),
        }
    }
}

/// Whose round a predicate means. Rounds count from 1, whatever a protocol calls its first view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoundSource {
    /// The sender's: the highest in which it has sent or received, this message included.
    #[default]
    SenderMax,
    /// The message's own number.
    Named,
    /// The message's slot, by its own number: slots may count from 0. A message about no slot is in no round.
    Slot,
    /// The message's own view: the first view is round 1.
    View,
    /// The view of the sender's highest round: the first view is round 1.
    SenderView,
    /// The highest of all nodes.
    Global,
}

/// What happens to a message or a node.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// The message is lost.
    Drop,
    /// It is kept until its sender leaves the rounds of the fault, at the latest until the calm phase.
    Hold,
    /// It takes so many ticks more; in the calm phase only if the network has a bound, which holds for it too.
    Delay(Time),
    /// It arrives so many times more.
    Duplicate(u32),
    /// Its sender lies.
    Mutate(Mutate),
    /// One bit of its encoding is flipped, drawn by this seed for each copy anew.
    Flip(Seed),
    /// One character of it, written as JSON, is replaced by a letter, a digit, `=` or `"`, drawn in the same way.
    Garble(Seed),
    /// Messages between nodes that share no block are lost or held, as the network says. A node may stand in several
    /// blocks; nodes in no block hear all.
    Partition(Vec<Vec<SeatName>>),
    /// These are cut off from all other replicas.
    Isolate(Vec<SeatName>),
    /// These receivers hear no such message, whoever sends it: it is lost or held, as the network says. Liars may be deaf in
    /// the calm phase too.
    Deaf(Vec<SeatName>),
    /// A node stops.
    Crash(SeatName),
    /// A stopped node goes on.
    Restart(Restart),
    /// A node's clock jumps.
    Jump(Jump),
    /// The next timer of a node fires now; a Byzantine node without one turns against its leader.
    Fire(SeatName),
    /// A Byzantine node sends something on its own account.
    Originate(Originate),
    /// A Byzantine node has a second face.
    Persona(Persona),
    /// A Byzantine node departs from the protocol in everything it does, not in single messages.
    Stance(Stance),
}

impl Effect {
    /// Its key in a file.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Hold => "hold",
            Self::Delay(_) => "delay",
            Self::Duplicate(_) => "duplicate",
            Self::Mutate(_) => "mutate",
            Self::Flip(_) => "flip",
            Self::Garble(_) => "garble",
            Self::Partition(_) => "partition",
            Self::Isolate(_) => "isolate",
            Self::Deaf(_) => "deaf",
            Self::Crash(_) => "crash",
            Self::Restart(_) => "restart",
            Self::Jump(_) => "jump",
            Self::Fire(_) => "fire",
            Self::Originate(_) => "originate",
            Self::Persona(_) => "persona",
            Self::Stance(_) => "stance",
        }
    }
}

/// Which lie: one by name, or one drawn by a seed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected the name of a mutation, or { seed = .., scope = .., only = [..] }")]
pub enum Mutate {
    /// A row of the mutation table.
    Named(String),
    /// A row drawn by (kind, seed): the same lie for all receivers. Omission is one of the choices.
    Drawn(Drawn),
}

/// A lie drawn by a seed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Drawn {
    /// Draws the row and its values.
    pub seed: Seed,
    /// How far it may go.
    #[serde(default)]
    pub scope: Scope,
    /// Only these rows (or fields, or kinds).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
}

/// A stopped node goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Restart {
    /// Who.
    pub node: SeatName,
    /// Whether it still has its state; otherwise it starts anew (amnesia).
    pub state: bool,
}

/// A node's clock jumps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Jump {
    /// Whose.
    pub node: SeatName,
    /// By how many ticks forwards.
    pub by: Time,
}

/// A Byzantine node sends something on its own account, beside a message of its own that matches.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Originate {
    /// Its first earlier message of this kind, once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    /// A message of this kind made up to fit the matching one; `all`: one of each kind that fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mint: Option<String>,
    /// To whom.
    pub to: Vec<SeatName>,
}

/// A second instance of a Byzantine identity (same key, own state), heard by some *instead of* the first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Persona {
    /// The identity.
    pub of: NodeId,
    /// Who hears it instead of the first instance.
    pub to: Vec<NodeId>,
    /// Who hears its messages of view-change kinds; `to` where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_view_change: Option<Vec<NodeId>>,
    /// What it believes otherwise: changes of its input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Edit>,
    /// Outside view changes, `to` hears both instances.
    #[serde(default, skip_serializing_if = "is_default")]
    pub overlap: bool,
    /// Whether it is an instance of its own.
    #[serde(default, skip_serializing_if = "is_default")]
    pub form: Form,
}

/// How a persona is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A second instance, whose input is edited.
    #[default]
    Instance,
    /// The only instance, whose output to `to` is edited; for nodes that cannot run twice.
    Outgoing,
}

/// What a persona believes otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edit {
    /// The first two different requests reach it in the other order.
    OwnOrder,
    /// In this slot it takes another request first.
    Sub {
        /// The slot.
        slot: u32,
        /// Which of the requests submitted in the run, other than the true one; wraps around.
        with: usize,
    },
    /// As `sub`, and in every vote that it hears for the slot.
    World {
        /// The slot.
        slot: u32,
        /// As in `sub`.
        with: usize,
    },
    /// It never hears of this slot.
    Forget(u32),
    /// It never hears of this slot and of later ones.
    Stale(u32),
    /// It says nothing.
    Mute,
}

/// How a Byzantine node behaves for the rest of the run, or in the rounds that the fault names. A second face tells another
/// story by honest code; with a stance the code itself is not the protocol's, or believes what it has made up.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stance {
    /// Who: a Byzantine node with all its instances, or one of them.
    pub of: SeatName,
    /// Bug flags of the protocol with which its code runs, beside those of the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Which of its own lies it takes for what it said: its copy to itself is changed in the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub believes: Option<Believes>,
    /// Messages that it shows later than it should.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps: Option<Keeps>,
}

/// Which of its lies a node believes: those that it tells to each of these to whom it sends the message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected \"all\" or a list of nodes")]
pub enum Believes {
    /// All receivers.
    All(All),
    /// These.
    Told(Vec<NodeId>),
}

/// The word `all`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum All {
    /// `all`
    All,
}

/// Messages that are sent when their sender has got so many views further, at the latest in the calm phase.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Keeps {
    /// Of which kinds.
    pub kind: Names,
    /// How many views later.
    pub views: u32,
}

/// The flat form of a fault in a file.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case", rename = "fault")]
struct Table {
    #[serde(skip_serializing_if = "Option::is_none")]
    round: Option<Span>,
    #[serde(skip_serializing_if = "is_default")]
    source: RoundSource,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    from: Vec<SeatName>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    to: Vec<SeatName>,
    #[serde(skip_serializing_if = "Names::is_empty")]
    kind: Names,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    field: BTreeMap<String, Span>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    vitals: Vec<WhenVitals>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nth: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permille: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    any: Vec<When>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not: Option<Box<When>>,

    #[serde(skip_serializing_if = "is_default")]
    drop: bool,
    #[serde(skip_serializing_if = "is_default")]
    hold: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mutate: Option<Mutate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flip: Option<Seed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    garble: Option<Seed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<Vec<Vec<SeatName>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    isolate: Option<Vec<SeatName>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deaf: Option<Vec<SeatName>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crash: Option<SeatName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    restart: Option<Restart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jump: Option<Jump>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fire: Option<SeatName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    originate: Option<Originate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    persona: Option<Persona>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stance: Option<Stance>,
}

/// The keys that say what happens.
const EFFECTS: &str = "drop, hold, delay, duplicate, mutate, flip, garble, partition, isolate, deaf, crash, restart, \
                       jump, fire, originate, persona, stance";

impl TryFrom<Table> for Fault {
    type Error = String;
    fn try_from(t: Table) -> Result<Self, String> {
        let effects = [
            t.drop.then_some(Effect::Drop),
            t.hold.then_some(Effect::Hold),
            t.delay.map(Effect::Delay),
            t.duplicate.map(Effect::Duplicate),
            t.mutate.map(Effect::Mutate),
            t.flip.map(Effect::Flip),
            t.garble.map(Effect::Garble),
            t.partition.map(Effect::Partition),
            t.isolate.map(Effect::Isolate),
            t.deaf.map(Effect::Deaf),
            t.crash.map(Effect::Crash),
            t.restart.map(Effect::Restart),
            t.jump.map(Effect::Jump),
            t.fire.map(Effect::Fire),
            t.originate.map(Effect::Originate),
            t.persona.map(Effect::Persona),
            t.stance.map(Effect::Stance),
        ];
        let mut effects = effects.into_iter().flatten();
        let (Some(effect), None) = (effects.next(), effects.next()) else {
            return Err(format!("a fault has exactly one effect, one of: {EFFECTS}"));
        };
        let when = When {
            round: t.round,
            source: t.source,
            from: t.from,
            to: t.to,
            kind: t.kind,
            field: t.field,
            vitals: t.vitals,
            nth: t.nth,
            step: t.step,
            time: t.time,
            permille: t.permille,
            times: t.times,
            any: t.any,
            not: t.not,
        };
        Ok(Self { when, effect })
    }
}

impl From<Fault> for Table {
    fn from(Fault { when, effect }: Fault) -> Self {
        let mut table = Self {
            round: when.round,
            source: when.source,
            from: when.from,
            to: when.to,
            kind: when.kind,
            field: when.field,
            vitals: when.vitals,
            nth: when.nth,
            step: when.step,
            time: when.time,
            permille: when.permille,
            times: when.times,
            any: when.any,
            not: when.not,
            ..Self::default()
        };
        match effect {
            Effect::Drop => table.drop = true,
            Effect::Hold => table.hold = true,
            Effect::Delay(x) => table.delay = Some(x),
            Effect::Duplicate(x) => table.duplicate = Some(x),
            Effect::Mutate(x) => table.mutate = Some(x),
            Effect::Flip(x) => table.flip = Some(x),
            Effect::Garble(x) => table.garble = Some(x),
            Effect::Partition(x) => table.partition = Some(x),
            Effect::Isolate(x) => table.isolate = Some(x),
            Effect::Deaf(x) => table.deaf = Some(x),
            Effect::Crash(x) => table.crash = Some(x),
            Effect::Restart(x) => table.restart = Some(x),
            Effect::Jump(x) => table.jump = Some(x),
            Effect::Fire(x) => table.fire = Some(x),
            Effect::Originate(x) => table.originate = Some(x),
            Effect::Persona(x) => table.persona = Some(x),
            Effect::Stance(x) => table.stance = Some(x),
        }
        table
    }
}
