//! The fault primitives, one by one: each is given as text, does what its name says, and replays.

mod assumptions;
mod bad_scenarios;
mod composing;
mod crashes;
mod epochs;
mod flips;
mod hold;
mod keeping_time;
mod limits;
mod network;
mod online;
mod opaque;
mod originate;
mod panics;
mod persona;
mod planted;
mod play;
mod predicates;
mod properties;
mod rounds;
mod stance;
mod toys;
mod twins;
