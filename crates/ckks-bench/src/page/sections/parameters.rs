//! Parameter sets with their security argument.

use crate::page::content::Content;
use bench_report::{Cell, Section, Table};
use ckks_backend::ParameterReport;

pub(super) fn section(content: &Content) -> Section {
    let mut section = Section::new("parameters", "Parameters and security");
    let mut seen: Vec<(&ParameterReport, Option<f64>, Vec<String>)> = Vec::new();
    for measurement in &content.measurements {
        let Some(configuration) = &measurement.configuration else {
            continue;
        };
        let Some(description) = &configuration.description else {
            continue;
        };
        let label = content.series.label(measurement);
        let parameters = &description.parameters;
        match seen.iter_mut().find(|(known, margin, _)| {
            known.digest == parameters.digest
                && known.name == parameters.name
                && known.security_note == parameters.security_note
                && *margin == configuration.security_margin
        }) {
            Some((_, _, users)) if users.contains(&label) => {}
            Some((_, _, users)) => users.push(label),
            None => seen.push((parameters, configuration.security_margin, vec![label])),
        }
    }
    for (parameters, margin, users) in seen {
        let moduli = |primes: &[u64]| match primes {
            [] => Cell::words("none"),
            several => Cell::words(
                several
                    .iter()
                    .map(u64::to_string)
                    .collect::<Vec<_>>()
                    .join(", "),
            ),
        };
        let mut table = Table::facts(format!("{}, used by {}", parameters.name, users.join("; ")));
        let degree = parameters.ring_degree;
        for (name, value) in [
            ("ring degree N", Cell::exact(degree.to_string(), degree)),
            ("ciphertext moduli", moduli(&parameters.q)),
            ("key-switching primes", moduli(&parameters.p)),
            (
                "log2(QP)",
                Cell::exact(format!("{:.2}", parameters.log_qp), parameters.log_qp),
            ),
            (
                "largest log2(QP) of the security table",
                Cell::exact(
                    parameters.security_limit.to_string(),
                    parameters.security_limit,
                ),
            ),
            (
                "margin, bits",
                Cell::of(margin, |bits| format!("{bits:.2}")),
            ),
            (
                "table and row",
                Cell::words(parameters.security_note.clone()),
            ),
            ("secret", Cell::words(parameters.secret.clone())),
            ("error", Cell::words(parameters.error.clone())),
            ("SHA-256 digest", Cell::words(parameters.digest.clone())),
        ] {
            table.fact(name, value);
        }
        section.tables.push(table);
    }
    section
}
