//! Who takes part: replicas, clients, and whom each replica trusts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ScenarioError, invalid};
use crate::ids::{NodeId, NodeSet};

/// Who takes part.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClusterSpec {
    /// Replicas.
    pub n: usize,
    /// How many of them may be faulty.
    pub f: usize,
    /// Clients.
    pub clients: usize,
    /// The leader of each view from the first on; the protocol's rule where the table ends.
    pub leaders: Vec<NodeId>,
    /// Whom each replica trusts.
    pub trust: Trust,
    /// Allows more faulty replicas than `f`: a positive control, marked in the outcome.
    pub over_budget: bool,
    /// Clock drift in parts per million, by node.
    pub drift: BTreeMap<NodeId, i32>,
}

impl Default for ClusterSpec {
    fn default() -> Self {
        Self {
            n: 4,
            f: 1,
            clients: 1,
            leaders: Vec::new(),
            trust: Trust::default(),
            over_budget: false,
            drift: BTreeMap::new(),
        }
    }
}

/// Whom each replica trusts, where the protocol has such a notion: a named preset, or one set per replica.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected \"all\", \"bf60\", \"th60\", or one list of nodes per replica")]
pub enum Trust {
    /// `"all"`: everybody trusts everybody. `"bf60"` and `"th60"`: seven replicas with lists of five that overlap by 60 %, as
    /// in ByzzFuzz and in the XRPL thesis.
    Preset(String),
    /// One set per replica.
    Sets(Vec<NodeSet>),
}

impl Trust {
    /// The set of each of `n` replicas.
    ///
    /// # Errors
    /// If there is no such preset, or it is for another number of replicas; if a set names somebody who is none.
    pub fn sets(&self, n: usize) -> Result<Vec<NodeSet>, ScenarioError> {
        let range = |(first, last)| (first..=last).map(NodeId::replica).collect::<NodeSet>();
        let seven = |lists: [(usize, usize); 7], name| match n {
            7 => Ok(lists.map(range).to_vec()),
            _ => {
                Err(invalid(format!("cluster.trust: \"{name}\" is for 7 replicas, not for {n}: add `-n 7`")))
            }
        };
        match self {
            Self::Preset(name) => match name.as_str() {
                "all" => Ok(vec![NodeSet::replicas(n); n]),
                "bf60" => seven([(0, 4), (0, 4), (0, 4), (0, 4), (2, 6), (2, 6), (2, 6)], name),
                "th60" => seven([(0, 4), (0, 4), (0, 4), (1, 5), (2, 6), (2, 6), (2, 6)], name),
                _ => Err(invalid(format!(
                    "cluster.trust: there is no `{name}`: use \"all\", \"bf60\", \"th60\", or give one list of nodes per \
                     replica"
                ))),
            },
            Self::Sets(sets) => {
                let strange = sets.iter().flat_map(|set| set.without(NodeSet::replicas(n)).iter()).next();
                if let Some(node) = strange {
                    return Err(invalid(format!(
                        "cluster.trust: {node} is not a replica: there are {n}, from p0 on"
                    )));
                }
                if sets.len() != n {
                    return Err(invalid(format!("cluster.trust: {} sets for {n} replicas", sets.len())));
                }
                Ok(sets.clone())
            }
        }
    }
}

impl Default for Trust {
    fn default() -> Self {
        Self::Preset("all".to_owned())
    }
}
