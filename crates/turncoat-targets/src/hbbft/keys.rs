//! Keys, and the randomness that the engine asks for.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use hbbft::NetworkInfo;
use hbbft::crypto::SecretKey;
use rand::{Rng as _, RngCore};
use turncoat_core::prelude::*;
use turncoat_core::rng::Rng;

/// What each replica knows of the others, and its own keys.
type Known = BTreeMap<NodeId, Arc<NetworkInfo<NodeId>>>;

/// Making keys takes time, and they are the same in all runs: one table for each number of replicas and of validators.
static TABLES: OnceLock<Mutex<BTreeMap<(usize, usize), Known>>> = OnceLock::new();

/// What replica `me` of `n` knows, where the first few of them are validators; nothing if it is none of them.
pub(super) fn of(me: NodeId, n: usize, validators: usize) -> Option<Arc<NetworkInfo<NodeId>>> {
    let tables = TABLES.get_or_init(Mutex::default);
    // Whoever panicked here has left the table as it was.
    let mut tables = tables.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let known = tables.entry((n, validators)).or_insert_with(|| generate(n, validators));
    known.get(&me).cloned()
}

fn generate(n: usize, validators: usize) -> Known {
    let mut rng = Rng::stream(0x4B15, validators as u64);
    let mut dice = Dice(&mut rng);
    let (all, voting) = (NodeSet::replicas(n), NodeSet::replicas(validators));
    let infos = NetworkInfo::generate_map(voting.iter(), &mut dice).expect("a polynomial of this degree");
    let one = infos.values().next().expect("there are validators").clone();
    let mut observer = |me| {
        let secret: SecretKey = dice.r#gen();
        let (set, keys) = (one.public_key_set().clone(), one.public_key_map().clone());
        (me, NetworkInfo::new(me, None, set, secret, keys))
    };
    let observers: Vec<_> = all.without(voting).iter().map(&mut observer).collect();
    infos.into_iter().chain(observers).map(|(me, info)| (me, Arc::new(info))).collect()
}

/// Turncoat's randomness, as the engine wants it.
pub(super) struct Dice<'a>(pub(super) &'a mut Rng);

impl RngCore for Dice<'_> {
    fn next_u32(&mut self) -> u32 {
        self.0.bits() as u32
    }

    fn next_u64(&mut self) -> u64 {
        self.0.bits()
    }

    fn fill_bytes(&mut self, place: &mut [u8]) {
        for chunk in place.chunks_mut(8) {
            chunk.copy_from_slice(&self.0.bits().to_le_bytes()[..chunk.len()]);
        }
    }

    fn try_fill_bytes(&mut self, place: &mut [u8]) -> Result<(), rand::Error> {
        self.fill_bytes(place);
        Ok(())
    }
}
