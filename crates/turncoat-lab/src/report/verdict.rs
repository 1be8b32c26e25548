//! What a table comes to, in sentences that need no statistics to be read.

use super::print::number::{count, p_value, percent};
use super::tables::TUNE;
use super::{BestTwo, Row, Table, Versus};

/// The usual chance of a false alarm.
const ALPHA: f64 = 0.05;

/// The sentences of a table.
pub(super) fn sentences(table: &Table) -> Vec<String> {
    let mut sentences = Vec::new();
    if table.rows.iter().all(|row| row.hits == 0) {
        sentences.push(nothing(table));
    } else {
        sentences.extend(best(table).map(|sentence| with_alternative(sentence, table)));
        sentences.extend(others(table));
        sentences.extend(control(table));
    }
    if let (TUNE, Some(first)) = (table.experiment.as_str(), sentences.first_mut()) {
        first.push_str(
            " Caution: these runs picked the best of many parameters, so its rate here is too high; the rate to quote is the one on \
             fresh seeds.",
        );
    }
    let early: u64 = table.rows.iter().map(|row| row.early).sum();
    if early > 0 {
        let campaigns: u64 = table.rows.iter().map(|row| row.campaigns).sum();
        sentences.push(format!(
            "Caution: {early} of {campaigns} campaigns ended before all runs were done. If a find ended them, the rate is \
             too high; `--until never` does all runs."
        ));
    }
    let mut refusals: Vec<String> = table
        .rows
        .iter()
        .filter(|row| row.versus == Versus::None || row.learns)
        .filter_map(|row| row.refusal.clone())
        .collect();
    refusals.dedup();
    sentences.extend(refusals.into_iter().map(|why| format!("Not compared: {why}.")));
    sentences
}

/// What was looked for, and where.
fn thing(table: &Table) -> String {
    let place = quoted(&table.variant);
    match table.target.split_once(':') {
        Some(("bug", id)) if id == table.variant => id.to_owned(),
        Some(("bug", id)) => format!("{id} in {place}"),
        Some((property, rule)) => format!("a violation of {property} ({rule}) in {place}"),
        None if table.target == "any" => format!("a violation in {place}"),
        None => format!("a violation of {} in {place}", table.target),
    }
}

/// Names with commas are quoted, since a sentence has commas of its own.
fn quoted(name: &str) -> String {
    if name.contains([',', ':']) { format!("\u{201c}{name}\u{201d}") } else { name.to_owned() }
}

fn nothing(table: &Table) -> String {
    let rows: Vec<&Row> = table.rows.iter().collect();
    let (least, most) = (rows.iter().map(|row| row.runs).min(), rows.iter().map(|row| row.runs).max());
    let (least, most) = (least.unwrap_or_default(), most.unwrap_or_default());
    let who = match rows.len() {
        1 => format!("{} did not find {}", quoted(&rows[0].name), thing(table)),
        n => format!("None of {n} rows found {}", thing(table)),
    };
    if rows.iter().any(|row| row.learns) {
        return format!("{who}, in {} to {} runs each.", count(least), count(most));
    }
    let bound = |row: &&Row| percent::bound(row.success);
    match (rows.len(), least == most) {
        (1, _) => format!("{who} in {} runs: {}.", count(most), bound(&rows[0])),
        (_, true) => format!("{who} in {} runs each: {} for each of them.", count(most), bound(&rows[0])),
        (_, false) => format!("{who} in {} to {} runs each.", count(least), count(most)),
    }
}

/// The best row beside the baseline.
fn best(table: &Table) -> Option<String> {
    let baseline = table.rows.iter().find(|row| row.versus == Versus::Baseline);
    let rate = |row: &&Row| row.success.hits as f64 / row.success.of.max(1) as f64;
    let others = table.rows.iter().filter(|row| row.versus != Versus::Baseline && row.strategy != "none");
    let best = others.max_by(|a, b| rate(a).total_cmp(&rate(b)));
    let thing = thing(table);
    let (best, baseline) = match (best, baseline) {
        (Some(best), Some(baseline)) => (best, baseline),
        (Some(only), None) | (None, Some(only)) => {
            return Some(format!("{} finds {thing} {}.", quoted(&only.name), often(only)));
        }
        (None, None) => return None,
    };
    let (best_name, baseline_name) = (quoted(&best.name), quoted(&baseline.name));
    let Versus::Rates { odds_ratio, holm, of, trial, .. } = best.versus else {
        return Some(format!("{best_name} finds {thing} {}.", often(best)));
    };
    let [first, second] = match trial {
        Some(runs) => {
            of.map(|share| format!("in {} of {} trials of {} runs", share.hits, share.of, count(runs)))
        }
        None => [often(best), often(baseline)],
    };
    let chance = match holm <= ALPHA {
        true => "the difference is significant",
        false => "the difference may be chance",
    };
    let test = format!("{chance}, p {} (Fisher, Holm-corrected)", p_value::related(holm));
    Some(if odds_ratio.value > 1.0 {
        format!("{best_name} finds {thing} {first}, {baseline_name} {second}; {test}.")
    } else if best.hits == 0 {
        format!("{baseline_name} finds {thing} {second}, and no other row does; {test}.")
    } else {
        format!(
            "{baseline_name} finds {thing} {second}; of the others {best_name} is the best, {first}; {test}."
        )
    })
}

/// The sentence about the best row, with the best alternative to it where that is not the baseline.
fn with_alternative(sentence: String, table: &Table) -> String {
    let named = |name: &str| table.rows.iter().find(|row| row.name == name);
    let Some(BestTwo { second, p, best }) = &table.best else { return sentence };
    let pair = named(second).zip(named(best)).filter(|(second, _)| second.hits > 0);
    let Some((second, _)) =
        pair.filter(|(second, best)| second.versus != Versus::Baseline && best.versus != Versus::Baseline)
    else {
        return sentence;
    };
    let differs = match p {
        Some(p) if *p <= ALPHA => format!("they differ, p {} (Fisher)", p_value::related(*p)),
        Some(p) => format!("no difference between the two is shown, p {} (Fisher)", p_value::related(*p)),
        None => "the two cannot be compared".to_owned(),
    };
    let sentence = sentence.trim_end_matches('.');
    format!("{sentence}. The best alternative is {}, {}: {differs}.", quoted(&second.name), often(second))
}

/// How often, in words.
fn often(row: &Row) -> String {
    match &row.first_run {
        Some(first) if row.learns => {
            format!("in {} of {} campaigns of {} runs", first.found, first.trials, count(first.length))
        }
        _ if row.learns => format!("in {} of {} runs", count(row.hits), count(row.runs)),
        _ => percent::sentence(row.success),
    }
}

/// How the other rows compare, where there are many.
fn others(table: &Table) -> Option<String> {
    let compared: Vec<(f64, f64)> = table
        .rows
        .iter()
        .filter_map(|row| match row.versus {
            Versus::Rates { odds_ratio, holm, .. } => Some((odds_ratio.value, holm)),
            Versus::None | Versus::Baseline => None,
        })
        .collect();
    if compared.len() < 3 {
        return None;
    }
    let sure = |better: fn(f64) -> bool| {
        compared.iter().filter(|(ratio, holm)| *holm <= ALPHA && better(*ratio)).count()
    };
    let (more, less) = (sure(|ratio| ratio > 1.0), sure(|ratio| ratio < 1.0));
    let unsure = compared.len() - more - less;
    let parts = [(more, "more often"), (less, "less often"), (unsure, "with no difference shown")];
    let parts = parts.iter().filter(|(rows, _)| *rows > 0).map(|(rows, how)| format!("{rows} {how}"));
    Some(format!(
        "Of the other {} rows, compared with {}: {}.",
        compared.len(),
        quoted(table.baseline.as_deref().unwrap_or_default()),
        parts.collect::<Vec<_>>().join(", ")
    ))
}

/// What is found where nothing is injected.
fn control(table: &Table) -> Option<String> {
    let row = table.rows.iter().find(|row| row.strategy == "none" && row.hits > 0)?;
    Some(format!(
        "Without any fault ({}), {} of {} runs show it: that share needs no adversary.",
        quoted(&row.name),
        count(row.hits),
        count(row.runs)
    ))
}
