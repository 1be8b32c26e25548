//! One line for each row of each table, with all its numbers, not rounded.

use std::collections::BTreeSet;
use std::fmt::{Display, Write};

use super::super::{Faults, First, Report, Row, Share, Table, Versus};

/// The report as CSV (RFC 4180). An empty field: there is no such number.
pub fn csv(report: &Report) -> String {
    let rows = || report.tables.iter().flat_map(|table| &table.rows);
    let properties: BTreeSet<&str> =
        rows().flat_map(|row| row.properties.keys()).map(String::as_str).collect();
    let bugs: BTreeSet<&str> = rows().flat_map(|row| row.bugs.keys()).map(String::as_str).collect();
    let mut text = String::new();
    for (index, (table, row)) in
        report.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row))).enumerate()
    {
        let fields = fields(table, row, &properties, &bugs);
        if index == 0 {
            line(&mut text, fields.iter().map(|(name, _)| name.as_str()));
        }
        line(&mut text, fields.iter().map(|(_, value)| value.as_str()));
    }
    text
}

/// The fields of a line, each with its name; the same names for all rows.
fn fields(
    table: &Table,
    row: &Row,
    properties: &BTreeSet<&str>,
    bugs: &BTreeSet<&str>,
) -> Vec<(String, String)> {
    let params: Vec<String> = row.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut fields = Fields(Vec::new());
    fields.add("experiment", &table.experiment);
    fields.add("variant", &table.variant);
    fields.add("row", &row.name);
    fields.add("target", &table.target);
    fields.add("protocol", &row.protocol);
    fields.add("strategy", &row.strategy);
    fields.add("params", params.join(" "));
    fields.add("learns", row.learns);
    fields.add("campaigns", row.campaigns);
    fields.add("runs", row.runs);
    fields.add("hits", row.hits);
    fields.add("successes", row.success.hits);
    fields.add("observations", row.success.of);
    fields.maybe("rate", rate(row.success));
    fields.maybe("rate_low", row.success.interval.map(|interval| interval.low));
    fields.maybe("rate_high", row.success.interval.map(|interval| interval.high));
    let with = match row.versus {
        Versus::Rates { odds_ratio, difference, p, holm, trial, .. } => {
            Some((odds_ratio, difference, p, holm, trial))
        }
        Versus::None | Versus::Baseline => None,
    };
    fields.maybe("baseline", table.baseline.as_ref());
    fields.maybe("odds_ratio", with.map(|with| with.0.value));
    fields.maybe("odds_ratio_low", with.map(|with| with.0.interval.low));
    fields.maybe("odds_ratio_high", with.map(|with| with.0.interval.high));
    fields.maybe("difference", with.map(|with| with.1.value));
    fields.maybe("difference_low", with.map(|with| with.1.interval.low));
    fields.maybe("difference_high", with.map(|with| with.1.interval.high));
    fields.maybe("fisher_p", with.map(|with| with.2));
    fields.maybe("fisher_holm", with.map(|with| with.3));
    fields.maybe("fisher_trial_runs", with.and_then(|with| with.4));
    fields.first("first_run", row.first_run.as_ref());
    fields.first("first_step", row.first_step.as_ref());
    for &property in properties {
        fields.add(&format!("runs_{property}"), row.properties.get(property).map_or(0, |share| share.hits));
    }
    for &bug in bugs {
        fields.add(&format!("runs_bug_{bug}"), row.bugs.get(bug).map_or(0, |share| share.hits));
    }
    for (label, runs) in Faults::labels().iter().zip(&row.faults.histogram) {
        fields.add(&format!("faults_{label}"), runs);
    }
    fields.add("dropped", row.faults.dropped);
    fields.add("held", row.faults.held);
    fields.add("mutated", row.faults.mutated);
    fields.add("accepted", row.faults.accepted);
    fields.add("steps", row.steps);
    fields.add("seconds", row.seconds);
    fields.maybe("refusal", row.refusal.as_ref());
    fields.0
}

struct Fields(Vec<(String, String)>);

impl Fields {
    fn add(&mut self, name: &str, value: impl Display) {
        self.0.push((name.to_owned(), format!("{value}")));
    }

    fn maybe(&mut self, name: &str, value: Option<impl Display>) {
        self.add(name, value.map(|value| value.to_string()).unwrap_or_default());
    }

    fn first(&mut self, name: &str, first: Option<&First>) {
        let mut maybe = |what: &str, value: Option<String>| self.maybe(&format!("{name}_{what}"), value);
        maybe("trials", first.map(|first| first.trials.to_string()));
        maybe("length", first.map(|first| first.length.to_string()));
        maybe("found", first.map(|first| first.found.to_string()));
        maybe("median", first.and_then(|first| first.median.time).map(|time| time.to_string()));
        maybe("median_low", first.and_then(|first| first.median.low).map(|time| time.to_string()));
        maybe("median_high", first.and_then(|first| first.median.high).map(|time| time.to_string()));
        maybe("log_rank_p", first.and_then(|first| first.log_rank).map(|p| p.to_string()));
        maybe("log_rank_holm", first.and_then(|first| first.holm).map(|p| p.to_string()));
        maybe("a12", first.and_then(|first| first.a12).map(|a12| a12.to_string()));
    }
}

fn rate(share: Share) -> Option<f64> {
    (share.of > 0).then(|| share.hits as f64 / share.of as f64)
}

fn line<'a>(text: &mut String, fields: impl Iterator<Item = &'a str>) {
    let fields: Vec<String> = fields.map(field).collect();
    let _ = write!(text, "{}\r\n", fields.join(","));
}

/// A field in quotes where it needs them. A text that a spreadsheet would take for a formula gets an apostrophe before it.
fn field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    let text = if formula { &format!("'{text}") } else { text };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_formula_and_a_number_stays_a_number() {
        let mut text = String::new();
        line(&mut text, ["=HYPERLINK(0)", "@SUM(1)", "-x", "-0.5", "+1e-3", "a=b"].into_iter());
        assert_eq!(text, "'=HYPERLINK(0),'@SUM(1),'-x,-0.5,+1e-3,a=b\r\n");
    }

    #[test]
    fn fields_with_commas_and_quotes_are_quoted() {
        let mut text = String::new();
        line(&mut text, ["plain", "a, b", "say \"no\"", "two\nlines", ""].into_iter());
        assert_eq!(text, "plain,\"a, b\",\"say \"\"no\"\"\",\"two\nlines\",\r\n");
    }
}
