//! What it takes to measure again.

use crate::page::section::{Content, Section};
use crate::page::table::{Cell, Table};
use crate::report::Report;
use crate::units::{bytes_per_second, plural};
use ckks_backend::Delivery;

pub(super) fn section(content: &Content) -> Section {
    let mut section = Section::new("redo", "How to redo it");
    let mut table = Table::new(
        "Command lines, in the order of their start",
        &["start (UTC)", "commit", "command line", "settings"],
    );
    let mut reports: Vec<&Report> = content.reports.iter().map(|report| &**report).collect();
    reports.sort_by(|a, b| a.date.cmp(&b.date));
    for report in reports {
        table.push(vec![
            Cell::words(report.date.clone()),
            Cell::words(super::environment::commit(report)),
            Cell::words(command(&report.command_line)),
            Cell::words(settings(report)),
        ]);
    }
    if !table.rows.is_empty() {
        section.notes.push(
            "Check out the commit, build with cargo build --release, run the command lines on an \
             idle machine, and make this page again with ckks-bench report. Durations will differ; \
             with synthetic data and the same seed, weights and vectors will not."
                .to_owned(),
        );
    }
    section.table(table);
    section
}

fn settings(report: &Report) -> String {
    let settings = &report.settings;
    let circumstances = settings.circumstances;
    let mut parts = vec![
        format!("library {} on {}", settings.library, settings.device),
        plural(settings.threads as u64, "thread"),
        format!(
            "{} after {}",
            plural(settings.trials as u64, "trial"),
            plural(settings.warmup as u64, "warm-up")
        ),
        format!("seed {}", settings.seed),
        format!("generator: {}", settings.generator),
        format!("weights {}", settings.weights),
        format!("vectors {}", settings.input),
        format!(
            "link {}, {} per key or layer download, W·A {}",
            bytes_per_second(circumstances.link_bytes_per_second),
            plural(circumstances.reuse, "evaluation"),
            match circumstances.delivery {
                Delivery::Cached => "cached",
                Delivery::Sent => "sent with every answer",
            }
        ),
    ];
    if settings.ahead {
        parts.push("ahead-of-time part split off".to_owned());
    }
    parts.push(if settings.cold { "cold" } else { "warm" }.to_owned());
    parts.join("; ")
}

/// The arguments in a form that a shell reads back.
fn command(arguments: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
    arguments
        .iter()
        .map(|argument| {
            if !argument.is_empty() && argument.chars().all(plain) {
                argument.clone()
            } else {
                format!("'{}'", argument.replace('\'', r"'\''"))
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn a_shell_reads_the_command_back() {
        let line = ["ckks-bench", "run", "--weights", "my file#it's", ""].map(str::to_owned);
        assert_eq!(
            command(&line),
            r"ckks-bench run --weights 'my file#it'\''s' ''"
        );
    }
}
