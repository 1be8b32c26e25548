//! Who sits where: the instances of all identities in one simulation.

use crate::fault::{Effect, Form};
use crate::ids::{NodeId, NodeSet, Seat, SeatName, SeatSet};
use crate::scenario::{Scenario, ScenarioError, invalid};

/// The seats of a simulation: replicas first, then clients, then further instances of Byzantine identities.
#[derive(Clone, Debug, Default)]
pub struct Seats {
    n: usize,
    nodes: Vec<NodeId>,
    instances: Vec<Option<u8>>,
    /// Where the further instances start.
    single: usize,
    twins: NodeSet,
    replicas: SeatSet,
}

impl Seats {
    /// Seats everybody whom the scenario names. Personas follow twins, in the order of the faults.
    pub(crate) fn fill(&mut self, scenario: &Scenario) {
        let cluster = &scenario.cluster;
        self.n = cluster.n;
        self.nodes.clear();
        self.nodes.extend((0..cluster.n).map(NodeId::replica));
        self.nodes.extend((0..cluster.clients).map(NodeId::client));
        self.single = self.nodes.len();
        self.twins = scenario.adversary.twins;
        self.instances.clear();
        self.instances.resize(self.single, None);
        for node in scenario.adversary.twins.iter() {
            self.add(node);
        }
        for fault in &scenario.adversary.faults {
            if let Effect::Persona(persona) = &fault.effect
                && persona.form == Form::Instance
            {
                self.add(persona.of);
            }
        }
        self.replicas = SeatSet::default();
        for seat in self.all() {
            if !self.node(seat).is_client() {
                self.replicas.insert(seat);
            }
        }
    }

    fn add(&mut self, node: NodeId) {
        let Some(first) = self.first(node) else { return };
        self.instances[first.index()] = Some(0);
        let instance = self.nodes.iter().filter(|&&other| other == node).count();
        self.nodes.push(node);
        self.instances.push(Some(instance as u8));
    }

    /// How many seats.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = Seat> + use<> {
        (0..self.len()).map(|index| Seat(index as u8))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The identity in a seat.
    pub fn node(&self, seat: Seat) -> NodeId {
        self.nodes[seat.index()]
    }

    /// The identities, by seat.
    pub(crate) fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// The name of a seat: `p0` where the identity has one instance, `p0.b` where it has more.
    pub fn name(&self, seat: Seat) -> SeatName {
        SeatName { node: self.node(seat), instance: self.instances[seat.index()] }
    }

    /// The first instance of an identity.
    pub fn first(&self, node: NodeId) -> Option<Seat> {
        let index = if node.is_client() { self.n + node.index() } else { node.index() };
        let end = if node.is_client() { self.single } else { self.n };
        (index < end).then_some(Seat(index as u8))
    }

    /// The further instances, of all identities.
    pub(crate) fn further(&self) -> impl Iterator<Item = (NodeId, Seat)> {
        (self.single..self.nodes.len()).map(|i| (self.nodes[i], Seat(i as u8)))
    }

    /// All instances of an identity.
    pub fn of(&self, node: NodeId) -> impl Iterator<Item = Seat> {
        self.first(node).into_iter().chain(self.further().filter(move |&(n, _)| n == node).map(|(_, s)| s))
    }

    /// Whether an identity runs as twins, which hear each other; the instances of a persona do not.
    pub(crate) const fn twinned(&self, node: NodeId) -> bool {
        self.twins.contains(node)
    }

    /// The seats of the replicas, all instances.
    pub const fn replicas(&self) -> SeatSet {
        self.replicas
    }

    /// The seats that a name means.
    pub fn named(&self, name: SeatName) -> Result<SeatSet, ScenarioError> {
        let mut set = SeatSet::default();
        for (i, seat) in self.of(name.node).enumerate() {
            if name.instance.is_none_or(|instance| usize::from(instance) == i) {
                set.insert(seat);
            }
        }
        if set.is_empty() {
            let clients = match self.single - self.n {
                0 => "no clients".to_owned(),
                clients => format!("clients c0..c{}", clients - 1),
            };
            return Err(invalid(format!("there is no {name}: replicas are p0..p{}, {clients}", self.n - 1)));
        }
        Ok(set)
    }
}
