//! The certificate of an exhaustive campaign, for people.

use anyhow::Result;
use turncoat_lab::certificate::{Certificate, Missing};
use turncoat_lab::words::and;

use crate::numbers::{grouped, many};
use crate::out::{self, Tone};
use crate::show::row;

/// What an exhaustive campaign came to: a certificate, or why there is none.
pub(crate) fn print(certificate: &Result<Certificate, Missing>) -> Result<()> {
    match certificate {
        Ok(certificate) => print_all(certificate),
        // The verdict says so already.
        Err(Missing::Violated(_)) => Ok(()),
        Err(missing) => row("certificate", format_args!("none: {missing}")),
    }
}

fn print_all(certificate: &Certificate) -> Result<()> {
    out::toned(Tone::Good, "certificate", format_args!(": {}", sentence(certificate)))?;
    let Certificate { protocol, flags, config, n, f, clients, requests, .. } = certificate;
    let flags =
        if flags.is_empty() { "no bug flags".to_owned() } else { format!("flags {}", flags.join(", ")) };
    let config: String = config.iter().map(|(key, value)| format!(", {key} = {value}")).collect();
    let [clients, requests] =
        [(*clients as u64, "client"), (u64::from(*requests), "request")].map(|(count, one)| many(count, one));
    row("protocol", format_args!("{protocol}, {flags}{config}; n = {n}, f = {f}; {clients}, {requests}"))?;
    row("judged", judged(certificate))?;
    let classes = certificate.classes.iter();
    let faults = classes.clone().map(|class| class.faults as u64).sum();
    let classes: Vec<_> =
        classes.map(|class| format!("{} {}", class.name, grouped(class.faults as u64))).collect();
    row("universe", format_args!("{}: {}", many(faults, "fault"), classes.join(", ")))?;
    row("sha-256", format_args!("{} of what --print-universe prints", certificate.universe))?;
    row("schedules", schedules(certificate))?;
    if !certificate.interchangeable.is_empty() {
        let sets: Vec<_> = certificate.interchangeable.iter().map(|set| and(set.iter())).collect();
        let ran = many_of(certificate.different);
        let which = "of plans that differ only in their names one ran";
        row("assumed", format_args!("{} are interchangeable: {which}, {ran} in all", sets.join("; ")))?;
    }
    Ok(())
}

/// The claim itself.
fn sentence(Certificate { plans, most, schedules, .. }: &Certificate) -> String {
    let schedules = many(schedules.len() as u64, "schedule");
    let faults = many(u64::from(*most), "fault");
    format!("no violation among all {} plans of at most {faults}, under {schedules}", many_of(*plans))
}

/// Which properties were judged in which runs, and what did not count.
fn judged(certificate: &Certificate) -> String {
    let Certificate { safety, termination_judged, runs, limits, outside, undecided, .. } = certificate;
    let mut text = format!("{} in all {}", safety.join(", "), many(*runs, "run"));
    let ended = match (limits.short, limits.views) {
        (Some(short), None) => format!(" (the others ended after {short} events, limits.short)"),
        (None, Some(views)) => format!(" (the others ended after {views} views, limits.views)"),
        (Some(short), Some(views)) => format!(" (the others ended after {short} events or {views} views)"),
        (None, None) => String::new(),
    };
    text += &match termination_judged {
        all if all == runs => "; termination in all".to_owned(),
        0 => format!("; termination in none{}", ended.replace("the others", "all")),
        some => format!("; termination in {}{ended}", grouped(*some)),
    };
    for (property, assumption, runs) in outside {
        text += &format!(
            "; {} violated {property} after breaking `{assumption}`, which does not count",
            many(*runs, "run")
        );
    }
    if *undecided > 0 {
        text += &format!("; in {} nothing was decided", many(*undecided, "run"));
    }
    text
}

fn schedules(Certificate { schedules, network, seed, .. }: &Certificate) -> String {
    let names: Vec<_> = schedules.iter().map(|schedule| schedule.name).collect();
    let network = toml::Table::try_from(network).unwrap_or_default();
    let network: String = ["latency", "gst", "loss"]
        .into_iter()
        .filter_map(|key| network.get(key).map(|value| format!(", {key} {value}")))
        .collect();
    format!("{}{network}; random choices from seed {seed}", names.join(", "))
}

/// A large number for people.
fn many_of(number: u128) -> String {
    u64::try_from(number).map_or_else(|_| number.to_string(), grouped)
}
