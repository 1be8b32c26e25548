//! All scenarios, numbered.
//!
//! A scenario is a walk through layers, one for each choice of a configuration. What may be chosen depends on the
//! state that the walk has reached, and leads to a state of the next layer; the ways to go on from each state are
//! counted once. So a number names a walk and a walk has a number, and nothing is enumerated. Without states the
//! number is just the chosen configurations as digits, the first round's in front.

use std::collections::BTreeMap;
use std::sync::Arc;

use turncoat_core::rng::Rng;

/// Configurations that lead to one state.
#[derive(Clone, Debug)]
pub(crate) enum Pick {
    /// The first so many.
    First(u128),
    /// These, in ascending order.
    These(Arc<[u32]>),
}

impl Pick {
    fn len(&self) -> u128 {
        match self {
            Self::First(count) => *count,
            Self::These(list) => list.len() as u128,
        }
    }

    fn get(&self, index: u128) -> u128 {
        match self {
            Self::First(_) => index,
            Self::These(list) => list[index as usize].into(),
        }
    }

    #[cfg(test)]
    fn position(&self, config: u128) -> Option<u128> {
        match self {
            Self::First(count) => (config < *count).then_some(config),
            Self::These(list) => list.binary_search(&u32::try_from(config).ok()?).ok().map(|i| i as u128),
        }
    }
}

#[derive(Debug)]
struct State {
    /// What may be chosen here, and the state of the next layer to which it leads.
    choices: Vec<(Pick, usize)>,
    /// The ways to go on, if 128 bits can count them.
    ways: Option<u128>,
}

/// All scenarios, numbered.
#[derive(Debug)]
pub(crate) struct Space {
    layers: Vec<Vec<State>>,
    /// Whether a choice is one of the configurations that were not chosen before.
    distinct: bool,
}

impl Space {
    /// Walks of so many choices. `choices` says what a state offers in a layer.
    pub(crate) fn new<K: Ord + Clone>(
        length: usize,
        start: K,
        mut choices: impl FnMut(usize, &K) -> Vec<(Pick, K)>,
    ) -> Self {
        let mut layers: Vec<Vec<State>> = Vec::new();
        let mut states = vec![start];
        for layer in 0..length {
            let mut numbers: BTreeMap<K, usize> = BTreeMap::new();
            let mut next = Vec::new();
            let mut offers = Vec::new();
            for key in &states {
                let mut offer = Vec::new();
                for (pick, key) in choices(layer, key) {
                    let number = *numbers.entry(key).or_insert_with_key(|key| {
                        next.push(key.clone());
                        next.len() - 1
                    });
                    offer.push((pick, number));
                }
                offers.push(State { choices: offer, ways: None });
            }
            layers.push(offers);
            states = next;
        }
        let mut ways_after = vec![Some(1); states.len()];
        for layer in layers.iter_mut().rev() {
            for state in layer.iter_mut() {
                let ways = |(pick, next): &(Pick, usize)| pick.len().checked_mul(ways_after[*next]?);
                state.ways = state.choices.iter().try_fold(0_u128, |sum, it| sum.checked_add(ways(it)?));
            }
            ways_after = layer.iter().map(|state| state.ways).collect();
        }
        Self { layers, distinct: false }
    }

    /// Ordered selections of so many out of `configs` configurations, none of them twice.
    pub(crate) fn distinct(length: usize, configs: u128) -> Self {
        let left = |layer: usize| Pick::First(configs.saturating_sub(layer as u128));
        Self { distinct: true, ..Self::new(length, (), |layer, ()| vec![(left(layer), ())]) }
    }

    /// How many there are, if 128 bits can count them.
    pub(crate) fn count(&self) -> Option<u128> {
        self.ways(0, 0)
    }

    /// Whether walks can be drawn though they cannot be counted: each choice is then independent of the others.
    pub(crate) fn is_free(&self) -> bool {
        self.layers.iter().flatten().all(|state| state.choices.len() == 1)
    }

    fn ways(&self, layer: usize, state: usize) -> Option<u128> {
        self.layers.get(layer).map_or(Some(1), |states| states[state].ways)
    }

    /// The scenario with this number: a configuration for each choice.
    ///
    /// # Panics
    /// If there are not so many.
    pub(crate) fn unrank(&self, mut rank: u128) -> Vec<u128> {
        let mut at = 0;
        let walk = self.layers.iter().enumerate().map(|(layer, states)| {
            for (pick, next) in &states[at].choices {
                let ways = self.ways(layer + 1, *next).expect("what is numbered can be counted");
                match rank.checked_sub(pick.len() * ways) {
                    Some(beyond) => rank = beyond,
                    None => {
                        let index = rank / ways;
                        rank %= ways;
                        at = *next;
                        return pick.get(index);
                    }
                }
            }
            panic!("no scenario has this number")
        });
        let walk = walk.collect();
        self.unused(walk)
    }

    /// The number of a scenario, if it is one of them.
    #[cfg(test)]
    pub(crate) fn rank(&self, configs: &[u128]) -> Option<u128> {
        let (mut rank, mut at) = (0, 0);
        if configs.len() != self.layers.len() {
            return None;
        }
        for (layer, (states, &config)) in self.layers.iter().zip(configs).enumerate() {
            let before = &configs[..if self.distinct { layer } else { 0 }];
            if before.contains(&config) {
                return None;
            }
            let config = config - before.iter().filter(|&&other| other < config).count() as u128;
            let mut found = None;
            for (pick, next) in &states[at].choices {
                let ways = self.ways(layer + 1, *next)?;
                if let Some(index) = pick.position(config) {
                    found = Some((index * ways, *next));
                    break;
                }
                rank += pick.len() * ways;
            }
            let (more, next) = found?;
            (rank, at) = (rank + more, next);
        }
        Some(rank)
    }

    /// One of them, each equally likely.
    ///
    /// # Panics
    /// If they cannot be counted and are not [free](Space::is_free).
    pub(crate) fn draw(&self, rng: &mut Rng) -> Vec<u128> {
        if let Some(count) = self.count() {
            return self.unrank(rng.below_u128(count));
        }
        assert!(self.is_free(), "these scenarios can be drawn only if they can be counted");
        let choose = |states: &Vec<State>| {
            let pick = &states[0].choices[0].0;
            pick.get(rng.below_u128(pick.len()))
        };
        let walk = self.layers.iter().map(choose).collect();
        self.unused(walk)
    }

    /// Where none comes twice, a choice is a position among those not chosen yet.
    fn unused(&self, mut walk: Vec<u128>) -> Vec<u128> {
        let mut used: Vec<u128> = Vec::new();
        for config in walk.iter_mut().filter(|_| self.distinct) {
            for other in &used {
                *config += u128::from(other <= config);
            }
            used.insert(used.partition_point(|other| other < config), *config);
        }
        walk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(length: usize, configs: u128) -> Space {
        Space::new(length, (), |_, ()| vec![(Pick::First(configs), ())])
    }

    #[test]
    fn without_states_a_number_is_its_digits() {
        let space = free(3, 10);
        assert_eq!((space.count(), space.unrank(472)), (Some(1000), vec![4, 7, 2]));
        assert_eq!(
            (space.rank(&[4, 7, 2]), space.rank(&[4, 10, 2]), space.rank(&[4])),
            (Some(472), None, None)
        );
    }

    #[test]
    fn none_comes_twice_where_all_are_distinct() {
        let space = Space::distinct(3, 5);
        let all: Vec<Vec<u128>> = (0..60).map(|rank| space.unrank(rank)).collect();
        assert_eq!((space.count(), &all[0], &all[59]), (Some(60), &vec![0, 1, 2], &vec![4, 3, 2]));
        assert!(all.is_sorted());
        for (walk, rank) in all.iter().zip(0..) {
            assert!(walk[0] != walk[1] && walk[1] != walk[2] && walk[2] != walk[0]);
            assert_eq!(space.rank(walk), Some(rank));
        }
        assert_eq!(space.rank(&[1, 1, 2]), None);
    }

    /// After an odd configuration only odd ones may follow.
    #[test]
    fn what_may_be_chosen_depends_on_what_was_chosen() {
        let [even, odd] = [[0, 2, 4], [1, 3, 5]].map(|list| Pick::These(Arc::from(list)));
        let space = Space::new(3, false, |_, &is_odd| match is_odd {
            true => vec![(odd.clone(), true)],
            false => vec![(even.clone(), false), (odd.clone(), true)],
        });
        assert_eq!(space.count(), Some(27 * 4));
        let all: Vec<Vec<u128>> = (0..27 * 4).map(|rank| space.unrank(rank)).collect();
        for (walk, rank) in all.iter().zip(0..) {
            assert!(walk.is_sorted_by_key(|config| config % 2), "{walk:?}");
            assert_eq!(space.rank(walk), Some(rank));
        }
        assert_eq!(space.rank(&[1, 2, 3]), None);
    }

    #[test]
    fn what_cannot_be_counted_can_be_drawn() {
        let space = free(50, 1000);
        assert_eq!(space.count(), None);
        let walk = space.draw(&mut Rng::stream(0, 0));
        assert!(walk.len() == 50 && walk.iter().all(|&config| config < 1000));
    }
}
