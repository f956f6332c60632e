//! Two configurations measured in turn.

use super::plan::packing;
use crate::paired::{PairedReport, Ratios, Round, SideReport, Timing};
use crate::report::Verdict;
use bench_report::statistics::Summary;
use bench_report::terminal::facts;
use bench_report::terminal::{numbers, text};
use bench_report::units::{number, plural, scientific, seconds};

/// The sides, the ratios and what they mean.
#[must_use]
pub fn paired(report: &PairedReport) -> String {
    let mut out = format!(
        "{}x{}: {} of A and B in turn\n",
        report.d_in,
        report.d_out,
        plural(
            report.rounds.as_ref().map_or(0, Vec::len) as u64,
            "measured round"
        ),
    );
    if report.partial {
        out.push_str(&format!(
            "INTERRUPTED: {} were asked for\n",
            report.rounds_planned
        ));
    }
    let [a, b] = [&report.a, &report.b].map(side);
    out.push_str(&facts([
        ("A", a),
        ("B", b),
        (
            "threads",
            format!(
                "{} for A, {} for B: each side on its own thread with a pool of its own",
                report.a.spec.threads, report.b.spec.threads
            ),
        ),
    ]));
    let (Some(rounds), Some(evaluation), Some(end_to_end)) =
        (&report.rounds, &report.evaluation, &report.end_to_end)
    else {
        out.push_str("\nNo ratio is reported.\n");
        return out;
    };
    out.push('\n');
    out.push_str(&stages(rounds));
    out.push_str("\nSeconds per vector, A/B\n");
    let mut table = numbers(&["", "median", "quartiles", "min", "max", "B faster in", "p"]);
    for (name, ratios) in [("evaluation", evaluation), ("end to end", end_to_end)] {
        table.add_row([
            name.to_owned(),
            number(ratios.median),
            format!(
                "{} to {}",
                number(ratios.lower_quartile),
                number(ratios.upper_quartile)
            ),
            number(ratios.min),
            number(ratios.max),
            format!("{} of {}", ratios.b_faster, ratios.ratios.len()),
            scientific(ratios.sign_test_p),
        ]);
    }
    out.push_str(&text(&table));
    out.push('\n');
    out.push_str(&facts([
        ("evaluation", verdict(evaluation)),
        ("end to end", verdict(end_to_end)),
        (
            "p",
            "two-sided exact sign test: so lopsided a count if each round were won by either side \
             with probability 1/2; it assumes independent rounds"
                .to_owned(),
        ),
        (
            "interval",
            "of the median, from order statistics; it assumes that the rounds are independent draws \
             from one distribution of any shape"
                .to_owned(),
        ),
    ]));
    out
}

fn side(side: &SideReport) -> String {
    let mut text = format!("\"{}\": batch {}", side.options, side.spec.batch);
    if let Some(description) = &side.description {
        text.push_str(&format!(
            ", {} {} on {} ({}), {}, {}",
            description.library,
            description.version,
            description.device,
            description.kernels,
            packing(&description.plan),
            description.parameters.name
        ));
    }
    if let Some(error) = side.max_abs_error {
        text.push_str(&format!("; max abs error {}", scientific(error)));
    }
    text.push_str(&format!("; {}", side.verdict));
    if let (Verdict::Rejected, Some(reason)) = (side.verdict, &side.reason) {
        text.push_str(&format!(": {reason}"));
    }
    text
}

/// Medians of the whole batch.
fn stages(rounds: &[Round]) -> String {
    let mut table = numbers(&["median of a batch", "A", "B"]);
    let mut row = |name: &str, value: fn(&Timing) -> f64| {
        let median = |values: Vec<f64>| Summary::of(&values).map_or(0.0, |s| s.median_seconds);
        let a = median(rounds.iter().map(|round| value(&round.a)).collect());
        let b = median(rounds.iter().map(|round| value(&round.b)).collect());
        if a > 0.0 || b > 0.0 {
            table.add_row([name.to_owned(), seconds(a), seconds(b)]);
        }
    };
    row("encryption", |timing| timing.encryption);
    row("ahead-of-time evaluation", |timing| timing.ahead);
    row("evaluation", |timing| timing.evaluation);
    row("decryption", |timing| timing.decryption);
    text(&table)
}

fn verdict(ratios: &Ratios) -> String {
    let (factor, word) = if ratios.median >= 1.0 {
        (ratios.median, "faster")
    } else {
        (1.0 / ratios.median, "slower")
    };
    let mut text = format!("B is {}x {word} in the median round", number(factor));
    match ratios.interval {
        Some(interval) => {
            text.push_str(&format!(
                ", {:.1} % interval of A/B {} to {}",
                interval.confidence * 100.0,
                number(interval.low),
                number(interval.high)
            ));
            if interval.low <= 1.0 && interval.high >= 1.0 {
                text.push_str(": NOT distinguishable, 1 is within");
            }
        }
        None => text.push_str("; fewer than six rounds give no 95 % interval"),
    }
    text
}
