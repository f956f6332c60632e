//! A sweep in words: one line per point, and the tables at its end.

use crate::report::{Configuration, Stage};
use crate::sweep::record::{Point, PointOutcome, PointRecord};
use bench_report::terminal::{numbers, text};
use bench_report::units::{number, plural, scientific, seconds};
use std::collections::BTreeMap;

/// The lines of the points as they finish.
#[derive(Debug)]
pub struct Lines {
    /// Whether a line has to name the library and the device.
    several_backends: bool,
}

impl Lines {
    /// For these points.
    #[must_use]
    pub fn new(points: &[Point]) -> Lines {
        let backend = |point: &Point| (point.library.clone(), point.device.clone());
        Lines {
            several_backends: points.windows(2).any(|p| backend(&p[0]) != backend(&p[1])),
        }
    }

    /// The names of the columns. `vectors/s` counts encryption, evaluation and decryption.
    #[must_use]
    pub fn header(&self) -> String {
        columns(
            "shape",
            "batch",
            "plan",
            "threads",
            "evaluation",
            "vectors/s",
            "max error",
            "verdict",
        )
    }

    /// The line of a point.
    #[must_use]
    pub fn line(&self, record: &PointRecord) -> String {
        let point = &record.point;
        let configuration = record.configuration();
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let mut verdict = verdict(record);
        if self.several_backends {
            verdict = format!("{verdict} ({}/{})", point.library, point.device);
        }
        columns(
            &format!("{}x{}", point.d_in, point.d_out),
            &point.batch.to_string(),
            &point.plan,
            &point.threads.to_string(),
            &or_dash(configuration.and_then(evaluation).map(seconds)),
            &or_dash(end_to_end(record).map(number)),
            &or_dash(
                configuration
                    .and_then(|c| c.errors?.max_abs)
                    .map(scientific),
            ),
            &verdict,
        )
    }
}

#[expect(clippy::too_many_arguments, reason = "one for each column")]
fn columns(
    shape: &str,
    batch: &str,
    plan: &str,
    threads: &str,
    evaluation: &str,
    rate: &str,
    error: &str,
    verdict: &str,
) -> String {
    format!(
        "{shape:>13} {batch:>7}  {plan:<15} {threads:>7} {evaluation:>10} {rate:>10} {error:>9}  \
         {verdict}\n"
    )
}

/// The verdict of the gate, or why there is none: the first line of the reason.
fn verdict(record: &PointRecord) -> String {
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    match (&record.outcome, record.configuration()) {
        (PointOutcome::Finished, Some(configuration)) => configuration.verdict.to_string(),
        (PointOutcome::Finished, None) => "no configuration".to_owned(),
        (PointOutcome::Crashed { reason, .. }, _) => format!("CRASHED: {}", first(reason)),
        (PointOutcome::TimedOut { limit_seconds, .. }, _) => {
            format!("TIMED OUT after {}", seconds(*limit_seconds))
        }
        (PointOutcome::NotAvailable { reason }, _) => format!("NOT AVAILABLE: {}", first(reason)),
        (PointOutcome::Refused { reason }, _) => format!("REFUSED: {}", first(reason)),
    }
}

/// Median seconds of the evaluation, or of its online part.
fn evaluation(configuration: &Configuration) -> Option<f64> {
    let stages = configuration.stages.as_ref()?;
    let wanted = [Stage::Evaluation, Stage::OnlineEvaluation];
    let stage = stages
        .iter()
        .find(|summary| wanted.contains(&summary.stage))?;
    Some(stage.duration.median_seconds)
}

fn end_to_end(record: &PointRecord) -> Option<f64> {
    Some(record.configuration()?.throughput?.end_to_end)
}

/// The tables after an empty line: for every layer and number of threads the throughput by batch
/// and plan, where `gemm` overtakes `diagonal`, and what `auto` chose.
#[must_use]
pub fn summary(records: &[&PointRecord]) -> String {
    let mut groups: Vec<(String, Vec<&PointRecord>)> = Vec::new();
    for record in records {
        let Point {
            library,
            device,
            d_in,
            d_out,
            threads,
            ..
        } = &record.point;
        let name = format!(
            "{d_in}x{d_out}, {}, {library} on {device}",
            plural(*threads as u64, "thread")
        );
        match groups.iter_mut().find(|(other, _)| *other == name) {
            Some((_, group)) => group.push(record),
            None => groups.push((name, vec![record])),
        }
    }
    groups
        .iter()
        .map(|(name, group)| format!("\n{name}: vectors/s, end to end\n{}", table(group)))
        .collect()
}

fn table(group: &[&PointRecord]) -> String {
    let mut plans: Vec<&str> = Vec::new();
    let mut rows: BTreeMap<usize, BTreeMap<&str, &PointRecord>> = BTreeMap::new();
    for record in group {
        let plan = record.point.plan.as_str();
        if !plans.contains(&plan) {
            plans.push(plan);
        }
        rows.entry(record.point.batch)
            .or_default()
            .insert(plan, record);
    }
    let header: Vec<&str> = std::iter::once("batch")
        .chain(plans.iter().copied())
        .collect();
    let mut table = numbers(&header);
    for (batch, row) in &rows {
        let cell = |plan: &&str| match row.get(plan) {
            Some(record) => end_to_end(record).map_or_else(|| short(record), number),
            None => "-".to_owned(),
        };
        table.add_row(std::iter::once(batch.to_string()).chain(plans.iter().map(cell)));
    }
    let mut out = text(&table);

    let both: Vec<(usize, f64, f64)> = rows
        .iter()
        .filter_map(|(&batch, row)| {
            let rate = |plan| end_to_end(row.get(plan)?);
            Some((batch, rate("diagonal")?, rate("gemm")?))
        })
        .collect();
    if let Some(&(largest, ..)) = both.last() {
        out.push_str(&match crossover(&both) {
            Some(batch) => format!(
                "gemm is faster than diagonal from batch {batch} on, of those measured with both\n"
            ),
            None => format!(
                "gemm is not faster than diagonal at batch {largest}, the largest measured with \
                 both\n"
            ),
        });
    }
    let chosen: Vec<String> = rows
        .iter()
        .filter_map(|(batch, row)| {
            let description = row.get("auto")?.configuration()?.description.as_ref()?;
            Some(format!("{batch} {}", description.plan.packing.name))
        })
        .collect();
    if !chosen.is_empty() {
        out.push_str(&format!("auto chose, by batch: {}\n", chosen.join(", ")));
    }
    out
}

/// Why a cell has no number, in one word.
fn short(record: &PointRecord) -> String {
    match verdict(record).split_once(':') {
        Some((word, _)) => word.to_lowercase(),
        None => verdict(record).to_lowercase(),
    }
}

/// The smallest batch from which `gemm` stays faster, of (batch, diagonal, gemm) by rising batch.
fn crossover(both: &[(usize, f64, f64)]) -> Option<usize> {
    both.iter()
        .rev()
        .take_while(|(_, diagonal, gemm)| gemm > diagonal)
        .last()
        .map(|&(batch, ..)| batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Gate;
    use crate::report::{Report, SCHEMA, Settings, Throughput};
    use crate::trial::refused;
    use bench_report::host::Host;

    /// A point of 5x3 that gave so many vectors per second; `None` for a rejected one.
    fn record(plan: &str, batch: usize, end_to_end: Option<f64>) -> PointRecord {
        let mut configuration = refused(5, 3, batch, "too noisy".to_owned());
        if let Some(end_to_end) = end_to_end {
            configuration.verdict = crate::report::Verdict::Passed;
            configuration.throughput = Some(Throughput {
                evaluation: 2.0 * end_to_end,
                end_to_end,
            });
        }
        let report = Report {
            schema: SCHEMA.to_owned(),
            partial: false,
            date: String::new(),
            command_line: Vec::new(),
            build: bench_report::build!(),
            host: Host::current(),
            gpu: None,
            streaming_read: None,
            settings: Settings {
                library: "native".to_owned(),
                device: "cpu".to_owned(),
                mode: None,
                isolated: false,
                threads: 2,
                trials: 1,
                warmup: 0,
                max_seconds: None,
                seed: 1,
                generator: String::new(),
                gate: Gate {
                    limit: 1e-4,
                    scaled: false,
                },
                ahead: false,
                cold: false,
                circumstances: ckks_backend::Circumstances::default(),
                calibration: None,
                weights: String::new(),
                input: String::new(),
            },
            configurations_planned: 1,
            configurations: vec![configuration],
        };
        let point = Point {
            library: "native".to_owned(),
            device: "cpu".to_owned(),
            d_in: 5,
            d_out: 3,
            batch,
            plan: plan.to_owned(),
            threads: 2,
        };
        PointRecord::new(point, PointOutcome::Finished, 1.0, Some(report))
    }

    fn summarised(records: &[PointRecord]) -> String {
        summary(&records.iter().collect::<Vec<_>>())
    }

    #[test]
    fn the_table_by_hand() {
        let mut records = vec![
            record("diagonal", 1, Some(300.0)),
            record("gemm", 1, Some(20.0)),
            record("diagonal", 16, Some(400.0)),
            record("gemm", 16, Some(4321.0)),
            record("diagonal", 4, Some(350.0)),
        ];
        let mut lost = record("gemm", 4, None);
        lost.report = None;
        lost.outcome = PointOutcome::TimedOut {
            limit_seconds: 9.0,
            stderr: Vec::new(),
        };
        records.push(lost);
        records.push(record("diagonal", 64, None));
        let expected = "\n5x3, 2 threads, native on cpu: vectors/s, end to end\n\
                        | batch | diagonal |                 gemm |\n\
                        |-------|----------|----------------------|\n\
                        | 1     |      300 |                 20.0 |\n\
                        | 4     |      350 | timed out after 9.00 s |\n\
                        | 16    |      400 |                4,321 |\n\
                        | 64    | rejected |                    - |\n\
                        gemm is faster than diagonal from batch 16 on, of those measured with \
                        both\n";
        // Not the width of the columns, which is comfy-table's.
        let squeezed = |text: &str| {
            let dashes = text.replace('-', " ");
            dashes.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(squeezed(&summarised(&records)), squeezed(expected));
        let slower = [
            record("diagonal", 4, Some(2.0)),
            record("gemm", 4, Some(1.0)),
        ];
        let text = summarised(&slower);
        assert!(
            text.contains("not faster than diagonal at batch 4"),
            "{text}"
        );
        assert_eq!(summarised(&[]), "");
    }

    #[test]
    fn a_line_by_hand() {
        let records = [record("gemm", 16, Some(4321.0)), record("auto", 1, None)];
        let points: Vec<Point> = records.iter().map(|record| record.point.clone()).collect();
        let lines = Lines::new(&points);
        let words = |record| {
            let line = lines.line(record);
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let expected = ["5x3", "16", "gemm", "2", "-", "4,321", "-", "PASSED"];
        assert_eq!(words(&records[0]), expected);
        let expected = ["5x3", "1", "auto", "2", "-", "-", "-", "REJECTED"];
        assert_eq!(words(&records[1]), expected);
    }

    #[test]
    fn the_crossover_by_hand() {
        assert_eq!(crossover(&[]), None);
        assert_eq!(crossover(&[(1, 5.0, 1.0), (4, 5.0, 4.0)]), None);
        assert_eq!(
            crossover(&[(1, 5.0, 1.0), (4, 5.0, 6.0), (16, 5.0, 9.0)]),
            Some(4)
        );
        // Ahead once, then behind: only the last stretch counts.
        assert_eq!(
            crossover(&[(1, 5.0, 6.0), (4, 5.0, 4.0), (16, 5.0, 9.0)]),
            Some(16)
        );
        assert_eq!(crossover(&[(1, 5.0, 6.0), (4, 5.0, 5.0)]), None);
        assert_eq!(crossover(&[(1, 5.0, 6.0), (4, 5.0, 5.5)]), Some(1));
    }
}
