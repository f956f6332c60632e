//! The parameter sets, for `params`.

use crate::trial::margin;
use bench_report::terminal::facts;
use bench_report::terminal::{numbers, text};
use ckks_backend::ParameterReport;

/// A table of the sets, then what the table has no room for.
#[must_use]
pub fn parameters(sets: &[ParameterReport]) -> String {
    if sets.is_empty() {
        return "no parameter sets: this build contains no backend that names any\n".to_owned();
    }
    let mut table = numbers(&[
        "set",
        "N",
        "primes of Q",
        "primes of P",
        "log QP",
        "limit",
        "margin",
    ]);
    for set in sets {
        table.add_row([
            set.name.clone(),
            set.ring_degree.to_string(),
            primes(&set.q),
            primes(&set.p),
            format!("{:.2}", set.log_qp),
            set.security_limit.to_string(),
            format!("{:.2}", margin(set)),
        ]);
    }
    let mut out = text(&table);
    for set in sets {
        out.push_str(&format!("\n{}\n", set.name));
        out.push_str(&facts([
            ("security", set.security_note.clone()),
            ("secret", set.secret.clone()),
            ("error", set.error.clone()),
            ("digest", set.digest.clone()),
        ]));
    }
    out
}

fn primes(primes: &[u64]) -> String {
    if primes.is_empty() {
        return "none".to_owned();
    }
    primes
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
