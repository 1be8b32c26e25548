//! Erasure: protocols by name, runs without types.

use std::sync::Arc;

use crate::assume::{Assumption, Assumptions, Channels};
use crate::client::asks;
use crate::flags::Flag;
use crate::ids::{NodeId, Time, View};
use crate::message::{Message, MutationTable};
use crate::node::{Cluster, Protocol, leader};
use crate::online::OnlineAdversary;
use crate::outcome::Outcome;
use crate::part::{Letter, Part};
use crate::probe::{Nonsense, Samples};
use crate::record::Recording;
use crate::scenario::{Gst, Loss, SCHEMA, Scenario, ScenarioError, invalid};
use crate::session::Session;
use crate::sim::{Moment, Sample, Sim};

/// Executes scenarios of one protocol, reusing its buffers. One per worker.
pub trait Runner {
    /// The one way to run: a scenario goes in, an outcome comes out.
    fn execute(&mut self, scenario: &Scenario) -> Result<Outcome, ScenarioError>;
    /// Runs a scenario as an adversary chooses, in place of its scheduler. Says which scenario, a script of these choices, shows the
    /// same run, and what came out.
    ///
    /// # Errors
    /// If the scenario cannot run, or the adversary makes an impossible choice.
    fn execute_online(
        &mut self,
        scenario: &Scenario,
        adversary: Box<dyn OnlineAdversary>,
    ) -> Result<(Scenario, Outcome), ScenarioError>;
    /// The same run, with all that happened.
    fn record(&mut self, scenario: &Scenario) -> Result<(Outcome, Recording), ScenarioError> {
        self.record_until(scenario, &mut |_| false)
    }
    /// The same run, shown after each event, which stops when that is enough, with all that happened up to then.
    fn record_until(
        &mut self,
        scenario: &Scenario,
        enough: &mut dyn FnMut(&dyn Moment) -> bool,
    ) -> Result<(Outcome, Recording), ScenarioError>;
    /// The same run, with a sample of the correct replicas at the end of each round.
    fn execute_sampled(&mut self, scenario: &Scenario) -> Result<(Outcome, Vec<Sample>), ScenarioError>;
    /// The same run, shown after each event, which stops when that is enough.
    fn watch(
        &mut self,
        scenario: &Scenario,
        enough: &mut dyn FnMut(&dyn Moment) -> bool,
    ) -> Result<Outcome, ScenarioError>;
    /// Whether the scenario could run.
    fn validate(&mut self, scenario: &Scenario) -> Result<(), ScenarioError>;
    /// The same run, and what its messages and nodes are like.
    fn sample(&mut self, scenario: &Scenario, samples: &mut Samples) -> Result<Outcome, ScenarioError>;
    /// The run as it would be if a liar of it talked nonsense all the time.
    fn talk_nonsense(&mut self, scenario: &Scenario, nonsense: &mut Nonsense) -> Result<(), ScenarioError>;
}

impl<P: Protocol> Runner for Sim<P> {
    fn execute(&mut self, scenario: &Scenario) -> Result<Outcome, ScenarioError> {
        self.reset(scenario)?;
        Ok(self.run())
    }
    fn execute_online(
        &mut self,
        scenario: &Scenario,
        adversary: Box<dyn OnlineAdversary>,
    ) -> Result<(Scenario, Outcome), ScenarioError> {
        self.run_online(scenario, adversary)
    }
    fn record_until(
        &mut self,
        scenario: &Scenario,
        enough: &mut dyn FnMut(&dyn Moment) -> bool,
    ) -> Result<(Outcome, Recording), ScenarioError> {
        self.reset_recording(scenario)?;
        let mut long = false;
        let outcome = self.run_watched(&mut |moment| {
            long = moment.steps() > Recording::STEPS;
            long || enough(moment)
        });
        if long {
            let most = Recording::STEPS;
            return Err(invalid(format!(
                "the run has more than {most} steps, too many to record: give it fewer requests, or a lower `limits.steps`"
            )));
        }
        Ok((outcome, self.recording()))
    }
    fn execute_sampled(&mut self, scenario: &Scenario) -> Result<(Outcome, Vec<Sample>), ScenarioError> {
        self.reset(scenario)?;
        Ok(self.run_sampled())
    }
    fn watch(
        &mut self,
        scenario: &Scenario,
        enough: &mut dyn FnMut(&dyn Moment) -> bool,
    ) -> Result<Outcome, ScenarioError> {
        self.reset(scenario)?;
        Ok(self.run_watched(enough))
    }
    fn validate(&mut self, scenario: &Scenario) -> Result<(), ScenarioError> {
        self.reset(scenario)
    }
    fn sample(&mut self, scenario: &Scenario, samples: &mut Samples) -> Result<Outcome, ScenarioError> {
        self.reset_keeping(scenario)?;
        let outcome = self.run();
        self.look_at_messages(samples);
        self.look_at_nodes(samples);
        Ok(outcome)
    }
    fn talk_nonsense(&mut self, scenario: &Scenario, nonsense: &mut Nonsense) -> Result<(), ScenarioError> {
        self.reset_keeping(scenario)?;
        self.run_with_nonsense(scenario.seed.0, nonsense);
        Ok(())
    }
}

/// A run in somebody's hands, if it can begin.
pub type Begun = Result<Box<dyn Session>, ScenarioError>;

/// A protocol, or a named variant of one, as the command line knows it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// The protocol that it is a variant of, or its own name.
    pub protocol: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// The keys of its configuration that differ from the protocol's defaults.
    pub preset: toml::Table,
    /// All keys of its configuration with their values.
    pub config: toml::Table,
    /// The deviations that can be switched on.
    pub flags: &'static [Flag],
    /// What runs are counted for.
    pub marks: &'static [&'static str],
    /// The kinds of its messages.
    pub kinds: &'static [&'static str],
    /// The mutation table of its messages.
    pub mutations: fn() -> MutationTable,
    /// What the labels in its messages mean.
    pub letters: fn() -> Vec<Letter>,
    /// How many rounds a slot takes; none: a view is a round.
    pub phases: u32,
    /// How many votes decide.
    pub quorum: fn(&Cluster) -> usize,
    /// The leader of a view.
    pub leader: fn(View, &Cluster) -> NodeId,
    /// What a place in the log is called.
    pub slot: &'static str,
    /// What a view is called.
    pub view_name: fn(View) -> String,
    /// What a run of it looks like where nobody says otherwise; see [`Protocol::SETTING`].
    pub setting: &'static str,
    /// Fewest replicas for `f` faulty ones, under a configuration.
    pub bound: fn(&toml::Table, usize) -> Option<usize>,
    /// What it assumes, under a configuration.
    pub assumes: fn(&toml::Table) -> Option<Assumptions>,
    /// Whether its replicas decide once and no more.
    pub one_shot: bool,
    /// Whether its replicas propose requests of their own, and clients have no part.
    pub stream: bool,
    /// Whether it has clients.
    pub clients: bool,
    make: fn(toml::Table) -> Box<dyn Runner>,
    session: fn(toml::Table, &Scenario, bool) -> Begun,
}

impl Entry {
    /// The protocol itself.
    pub fn of<P: Protocol>() -> Self {
        Self::preset::<P>(P::NAME, P::ABOUT, toml::Table::new())
    }

    /// A variant: the protocol with other values for some keys of its configuration.
    ///
    /// # Panics
    /// If the protocol has no such keys: presets are part of the program.
    pub fn preset<P: Protocol>(name: &'static str, about: &'static str, preset: toml::Table) -> Self {
        let config = read_config::<P>(&preset).expect("a preset has keys that the protocol knows");
        Self {
            name,
            protocol: P::NAME,
            about,
            config: toml::Table::try_from(config).expect("a configuration is a table"),
            preset,
            flags: P::FLAGS,
            marks: P::MARKS,
            kinds: P::Msg::KINDS,
            mutations: || MutationTable::of::<P::Msg>().with_flags(P::FLAGS),
            letters: || {
                let mut letters = Vec::new();
                P::Msg::letters(&mut letters);
                letters
            },
            phases: P::PHASES,
            quorum: P::quorum,
            slot: P::SLOT,
            view_name: P::view_name,
            setting: P::SETTING,
            leader: leader::<P>,
            bound: |table, f| read_config::<P>(table).ok().map(|config| P::bound(&config, f)),
            assumes: |table| read_config::<P>(table).ok().map(|config| P::assumes(&config)),
            one_shot: P::ONE_SHOT,
            stream: P::STREAM,
            clients: asks::<P>(),
            make: |preset| Box::new(Sim::<P>::with_preset(preset)),
            session: |preset, scenario, record| {
                let mut sim = Sim::<P>::with_preset(preset);
                if record {
                    sim.reset_recording(scenario)?;
                } else {
                    sim.reset(scenario)?;
                }
                Ok(Box::new(sim))
            },
        }
    }

    /// A variant, by its configuration.
    ///
    /// # Panics
    /// As [`Entry::preset`] does.
    pub fn variant<P: Protocol>(name: &'static str, about: &'static str, config: &P::Config) -> Self {
        let table = |config| toml::Table::try_from(config).expect("a configuration is a table");
        let (defaults, mut preset) = (table(&P::Config::default()), table(config));
        preset.retain(|key, value| defaults.get(key) != Some(value));
        Self::preset::<P>(name, about, preset)
    }

    /// The names of the flags that the preset switches on.
    pub fn preset_flags(&self) -> Vec<String> {
        let flags = self.preset.get("flags").and_then(toml::Value::as_array).into_iter().flatten();
        flags.filter_map(|flag| flag.as_str().map(str::to_owned)).collect()
    }

    /// A scenario of it, as it is where nobody says otherwise: within what the protocol assumes.
    ///
    /// # Panics
    /// If the protocol's [`Protocol::SETTING`] is not right, which [`Entry::check_setting`] tells.
    pub fn scenario(&self) -> Scenario {
        self.read_setting().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Whether the protocol's [`Protocol::SETTING`] is right.
    ///
    /// # Errors
    /// If it is not the text of a scenario, or such a scenario cannot run.
    pub fn check_setting(&self) -> Result<(), ScenarioError> {
        let mut scenario = self.read_setting()?;
        // Of the size that the command would take, too.
        let cluster = Arc::make_mut(&mut scenario.cluster);
        cluster.n = cluster.n.max((self.bound)(&self.preset, cluster.f).unwrap_or_default());
        self.runner().validate(&scenario).map_err(|error| self.bad_setting(&error))
    }

    /// The setting of the protocol, in a network as the protocol assumes it.
    fn read_setting(&self) -> Result<Scenario, ScenarioError> {
        let malformed = |error: toml::de::Error| ScenarioError::toml(&error);
        let parsed = toml::from_str(self.setting).map_err(malformed).and_then(|mut keys: toml::Table| {
            keys.insert("schema".to_owned(), i64::from(SCHEMA).into());
            let protocol = keys.entry("protocol").or_insert_with(|| toml::Table::new().into());
            if let Some(protocol) = protocol.as_table_mut() {
                protocol.insert("name".to_owned(), self.name.into());
            }
            Scenario::parse(&keys.to_string())
        });
        let mut scenario = parsed.map_err(|error| self.bad_setting(&error))?;
        let network = Arc::make_mut(&mut scenario.network);
        match self.assumptions(&Scenario::new(self.name)).channels {
            Channels::FairLossy => {}
            Channels::Reliable => network.loss = Loss::Hold,
            Channels::Synchronous(_) => {
                (network.gst, network.loss) = (Some(Gst::Time(Time(0))), Loss::Hold);
            }
        }
        Ok(scenario)
    }

    fn bad_setting(&self, error: &ScenarioError) -> ScenarioError {
        ScenarioError::Invalid(format!("SETTING of the protocol `{}`: {error}", self.protocol))
    }

    /// What the protocol assumes with the keys that a scenario has for it.
    pub fn assumptions(&self, scenario: &Scenario) -> Assumptions {
        let mut config = self.preset.clone();
        config.extend(scenario.protocol.config.clone());
        (self.assumes)(&config).unwrap_or_default()
    }

    /// The scenario in a world that the protocol does not assume.
    ///
    /// # Errors
    /// If the protocol assumes no such thing, or other keys of the scenario say so.
    pub fn beyond(&self, mut scenario: Scenario, assumption: Assumption) -> Result<Scenario, ScenarioError> {
        let assumed = self.assumptions(&scenario);
        let name = self.name;
        let why = match (assumption, assumed.channels) {
            (Assumption::Channels, Channels::Reliable) => {
                Arc::make_mut(&mut scenario.network).loss = Loss::Drop;
                return Ok(scenario);
            }
            (Assumption::Synchrony, Channels::Synchronous(_)) => {
                let network = Arc::make_mut(&mut scenario.network);
                (network.gst, network.bound, network.loss) = (None, None, Loss::Drop);
                return Ok(scenario);
            }
            (Assumption::Requests, _) if assumed.one_request => {
                let workload = Arc::make_mut(&mut scenario.workload);
                // Twice as often as a request is sent again.
                workload.every.get_or_insert(Time((workload.timeout.0 / 2).max(1)));
                return Ok(scenario);
            }
            (Assumption::Channels, Channels::FairLossy) => {
                format!(
                    "{name} assumes that messages may be lost until the network stabilises, and strategies lose them"
                )
            }
            (Assumption::Channels, Channels::Synchronous(_)) => {
                format!("{name} assumes that messages arrive in time: leave `synchrony`")
            }
            (Assumption::Synchrony, _) => format!("{name} does not assume that messages arrive in time"),
            (Assumption::Requests, _) => format!("{name} allows clients several requests at a time"),
            (Assumption::Budget, _) => "use --over-budget, with more liars than f".to_owned(),
            (Assumption::Clients, _) => "name a client in `adversary.byzantine` of a scenario".to_owned(),
            (Assumption::Trust, _) => {
                "give lists in `cluster.trust`, as in `--set cluster.trust=bf60`".to_owned()
            }
        };
        Err(ScenarioError::Invalid(format!("beyond `{assumption}`: {why}")))
    }

    /// A run of a scenario in somebody's hands, before its first event. What the adversary's faults do to messages, they
    /// do; what its scheduler would choose is up to that somebody. Where nobody records, it goes faster.
    ///
    /// # Errors
    /// If the scenario cannot run.
    pub fn session(&self, scenario: &Scenario, record: bool) -> Begun {
        (self.session)(self.preset.clone(), &scenario.scripted(Vec::new()), record)
    }

    /// A runner for this protocol.
    pub fn runner(&self) -> Box<dyn Runner> {
        (self.make)(self.preset.clone())
    }
}

fn read_config<P: Protocol>(table: &toml::Table) -> Result<P::Config, toml::de::Error> {
    toml::Value::Table(table.clone()).try_into()
}

/// Runs a scenario of protocol `P`.
pub fn execute<P: Protocol>(scenario: &Scenario) -> Result<Outcome, ScenarioError> {
    Sim::<P>::new().execute(scenario)
}
