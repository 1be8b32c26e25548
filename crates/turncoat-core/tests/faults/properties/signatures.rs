//! A liar's lie inside its own signature is validly signed; inside another's it never is.

use proptest::prelude::*;
use turncoat_core::ids::{NodeId, Seat};
use turncoat_core::sign::{Cert, Signed};
use turncoat_core::sim::Sim;

use super::cases;
use crate::play::scenario;
use crate::toys::relay::{Bundle, Courier, Msg, Note, Relay};

const LIAR: NodeId = NodeId::replica(0);

/// A run in which p0 lies as the fault says; what everybody got, and what everybody signed.
fn run(seed: u64, fault: &str) -> Sim<Relay> {
    let mut sim = Sim::new();
    let text = format!("seed = '{seed:#018x}'\n[[adversary.faults]]\nfrom = ['p0']\n{fault}");
    sim.reset(&scenario::<Relay>(&text)).unwrap();
    sim.run();
    sim
}

/// Judges all signatures in a message by what was really signed.
struct Judge<'a>(&'a Sim<Relay>);

impl Judge<'_> {
    /// Whether an honest node has signed this.
    fn note(&self, note: &Signed<Note>) -> bool {
        let signed = || self.courier(note.signer()).is_some_and(|courier| courier.signed.contains(note));
        !note.valid() || note.signer() == LIAR || signed()
    }
    /// The node in whose name something is signed, if there is one.
    fn courier(&self, node: NodeId) -> Option<&Courier> {
        let seat = self.0.seats().first(node)?;
        self.0.replica(seat)
    }
    fn cert(&self, cert: &Cert<Note>) -> bool {
        let signed = |courier: &Courier| courier.signed.iter().any(|note| **note == **cert);
        cert.voters().iter().all(|voter| voter == LIAR || self.courier(voter).is_some_and(signed))
    }
    fn bundle(&self, bundle: &Signed<Bundle>) -> bool {
        let signed =
            || self.courier(bundle.signer()).is_some_and(|courier| courier.envelope.as_ref() == Some(bundle));
        let genuine = !bundle.valid() || bundle.signer() == LIAR || signed();
        let inside = bundle.notes.iter().chain(&bundle.last);
        // What an honest node has put into its envelope is its own affair; what a liar puts in is judged.
        let honest = bundle.valid() && bundle.signer() != LIAR;
        genuine && (honest || inside.clone().all(|note| self.note(note)) && self.cert(&bundle.cert))
    }
    fn message(&self, msg: &Msg) -> bool {
        match msg {
            Msg::Own(note) | Msg::Passed(note) => self.note(note),
            Msg::Bundle(bundle) | Msg::PassedBundle(bundle) => self.bundle(bundle),
            Msg::Nested(nested) => self.note(&nested.own) && self.bundle(&nested.bundle),
        }
    }
}

/// Whether the envelope of a message that its sender signs itself is good.
fn sealed(msg: &Msg) -> Option<bool> {
    match msg {
        Msg::Own(note) => Some(note.is_by(LIAR)),
        Msg::Bundle(bundle) => Some(bundle.is_by(LIAR)),
        Msg::Nested(nested) => Some(nested.is_by(LIAR)),
        Msg::Passed(_) | Msg::PassedBundle(_) => None,
    }
}

fn judge(sim: &Sim<Relay>, flipped: bool) -> Result<(), TestCaseError> {
    let judge = Judge(sim);
    for (from, msg) in (1..4).flat_map(|seat| &sim.replica(Seat(seat)).unwrap().got) {
        prop_assert!(judge.message(msg), "forged: {:?}", msg);
        if *from == LIAR && !flipped {
            prop_assert!(sealed(msg).unwrap_or(true), "a liar's own signature is bad: {:?}", msg);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(100))]

    /// Each row of the table, with any seed.
    #[test]
    fn no_mutation_forges_another_nodes_signature(seed in any::<u64>(), lie in any::<u64>()) {
        let names: Vec<String> = Sim::<Relay>::new().table().iter().map(|(name, _)| name).collect();
        prop_assert!(names.len() > 50);
        for name in names {
            let fault = format!("mutate = {{ seed = '{lie:#018x}', scope = 'any', only = ['{name}'] }}");
            judge(&run(seed, &fault), false)?;
        }
    }

    /// Two lies in one message do not add up to a forgery.
    #[test]
    fn no_two_mutations_forge_another_nodes_signature(seed in any::<u64>(), lies in any::<[u64; 3]>()) {
        let faults = lies.map(|lie| format!("mutate = {{ seed = '{lie:#018x}', scope = 'any' }}"));
        judge(&run(seed, &faults.join("\n[[adversary.faults]]\n")), false)?;
    }

    /// Nor do lies that fit together, however they are combined.
    #[test]
    fn no_crafted_lies_forge_another_nodes_signature(seed in any::<u64>(), lies in any::<[u64; 4]>()) {
        let faults = lies.map(|lie| format!("mutate = {{ seed = '{lie:#018x}', scope = 'crafted' }}"));
        judge(&run(seed, &faults.join("\n[[adversary.faults]]\n")), false)?;
    }

    /// A flipped bit may change whom a signature claims to be from, and then it is bad, or the liar's.
    #[test]
    fn no_flipped_bit_forges_another_nodes_signature(seed in any::<u64>(), lie in any::<u64>()) {
        judge(&run(seed, &format!("flip = '{lie:#018x}'")), true)?;
    }
}

/// The table has rows to change what is signed, and they do.
#[test]
fn lies_inside_signatures_are_told() {
    let told = |name: &str| {
        let fault = format!("mutate = {{ seed = 3, only = ['{name}'] }}");
        let truth = run(1, "to = ['p1']\ntimes = 0\ndrop = true");
        let lie = run(1, &fault);
        let got = |sim: &Sim<Relay>| format!("{:?}", sim.replica(Seat(2)).unwrap().got);
        got(&truth) != got(&lie)
    };
    for name in [
        "own.no+1",
        "passed.no+1",
        "bundle.notes.first.forge",
        "bundle.cert.forge",
        "nested.bundle.forge",
        // Crafted: with their number, made of votes seen, exchanged for what their signers have said before.
        "bundle.notes.drop-last+no",
        "bundle.cert=gathered",
        "bundle.cert.double",
        "bundle.notes.each=older",
    ] {
        assert!(told(name), "{name}");
    }
}
