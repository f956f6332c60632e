//! A whole measurement: the file, the rounds, the facts.

use super::cases::{Bench, Case, Outcome, counts, mask_id};
use super::facts;
use super::measured::{Measured, compare};
use super::options::Options;
use super::peers::Peers;
use super::record::{Conditions, Record, SCHEMA, SCHEMA_VERSION, SubjectFact};
use super::subject::{Subject, Watch, temporary};
use super::{cold_start, room};
use crate::cancel::Cancel;
use crate::error::CliError;
use bench_report::host::{self, Host};
use bench_report::program::command_line;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sealed_weights::cipher::Provider;
use sealed_weights::core_header::ChunkSize;
use sealed_weights::memory::PlainBuffer;
use sealed_weights::suite::Suite;
use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Measures everything. What it writes is gone when this returns, whatever it returns.
///
/// # Errors
/// [`CliError`]; [`CliError::Interrupted`] after a signal.
pub fn measure(options: &Options, cancel: &Cancel) -> Result<Record, CliError> {
    let measured = measure_all(options, cancel);
    // Whatever failed, failed because of the signal.
    match (measured, cancel.signal()) {
        (Err(_), Some(signal)) => Err(CliError::Interrupted { signal }),
        (measured, _) => measured,
    }
}

fn measure_all(options: &Options, cancel: &Cancel) -> Result<Record, CliError> {
    let mut host = Host::current();
    let date = jiff::Timestamp::now();
    let watch = Watch(cancel);
    let threads = counts(options.threads.unwrap_or_else(host::cores));
    let most = threads.last().copied().unwrap_or(1);
    let progress = progress(options.quiet);

    progress.set_message("preparing the file");
    let expected = room::check(options)?;
    let subject = Subject::prepare(
        options.file.as_deref(),
        options.size,
        &options.dir,
        most,
        &watch,
    )?;
    let shm_folder = temporary(&options.shm);
    let shm = match &shm_folder {
        Err(error) => Err(error.to_string()),
        Ok(folder) => room::on_tmpfs(folder.path(), subject.bytes).map(|()| folder.path()),
    };
    let mount = subject.folder.path().join("mount");
    fs::create_dir(&mount).map_err(super::load::io_error("create", &mount))?;
    progress.set_message("preparing other programs");
    let peers = match &options.peers {
        Some(python) => Peers::prepare(python, &subject)?,
        None => Peers::none(),
    };
    let mut warm = PlainBuffer::new(subject.bytes as usize)?;
    warm.fill(1);
    progress.set_message("entropy and memory");
    let entropy = facts::entropy(&subject, &watch)?;
    let overhead = facts::overhead(&subject)?;
    let peaks = facts::peaks(&subject, shm.as_deref().ok(), most)?;

    let bench = Bench {
        subject: &subject,
        watch: Watch(cancel),
        shm,
        mount: &mount,
        warm: RefCell::new(warm),
        counts: threads,
        cipher_bytes: options.cipher_bytes(),
        shard_bytes: options.shard_bytes(),
        memory_bytes: expected.memory_for_processes,
        peers: &peers,
    };
    let mut cases = rounds(bench.cases()?, options.rounds, &progress, cancel)?;
    compare(&mut cases);
    host.load_at_end = host::load();
    drop(bench);
    let mut record = Record {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        build: bench_report::build!(),
        command: command_line(&options.command),
        date: date.strftime("%FT%TZ").to_string(),
        host,
        conditions: conditions(),
        subject: SubjectFact {
            name: subject.paths.logical.clone(),
            bytes: subject.bytes,
            made_up: subject.made_up,
            tensor: subject.tensor.clone(),
        },
        rounds: options.rounds,
        cases,
        entropy,
        overhead,
        peaks,
        mask_acted: None,
        cold_start: Vec::new(),
        peers: peers.clone(),
    };
    record.mask_acted = mask_acted(&record);
    record.cold_start = cold_start::ways(most)
        .into_iter()
        .filter_map(|(id, label)| {
            let rate = record.rate(&id)?;
            Some(cold_start::row(id, label, most, rate))
        })
        .collect();
    progress.finish_and_clear();
    Ok(record)
}

/// Every case once in each round, so that whatever slows the machine down for a while meets all.
fn rounds(
    mut cases: Vec<Case<'_>>,
    rounds: usize,
    progress: &ProgressBar,
    cancel: &Cancel,
) -> Result<Vec<Measured>, CliError> {
    let mut results: Vec<(Option<String>, Vec<f64>)> = vec![(None, Vec::new()); cases.len()];
    progress.set_length((rounds * cases.len()) as u64);
    for round in 1..=rounds {
        progress.set_prefix(format!("round {round} of {rounds}, "));
        for (case, (skipped, seconds)) in cases.iter_mut().zip(&mut results) {
            if let Some(signal) = cancel.signal() {
                return Err(CliError::Interrupted { signal });
            }
            progress.set_message(case.spec.id.clone());
            if skipped.is_none() {
                match (case.run)()? {
                    Outcome::Seconds(time) => seconds.push(time),
                    Outcome::Skipped(reason) => *skipped = Some(reason),
                }
            }
            progress.inc(1);
        }
    }
    Ok(cases
        .into_iter()
        .zip(results)
        .map(|(case, (skipped, seconds))| Measured::new(case.spec, skipped, seconds))
        .collect())
}

/// Whether AES-GCM was much slower without its instructions: else the mask did nothing, or the
/// processor has none.
fn mask_acted(record: &Record) -> Option<bool> {
    let on = record.rate(&mask_id(Suite::Aes256Gcm, false))?;
    let off = record.rate(&mask_id(Suite::Aes256Gcm, true))?;
    Some(off < on / 2.0)
}

fn conditions() -> Conditions {
    let suite = Suite::for_this_machine();
    let chosen = |name: &str| chosen(&Path::new("/sys/kernel/mm/transparent_hugepage").join(name));
    Conditions {
        huge_pages: chosen("enabled"),
        huge_pages_tmpfs: chosen("shmem_enabled"),
        suite: suite.name().to_owned(),
        provider: Provider::for_this_machine(suite).name().to_owned(),
        chunk_bytes: ChunkSize::DEFAULT.bytes() as u64,
    }
}

/// The value in brackets of `always [madvise] never`.
fn chosen(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

fn progress(quiet: bool) -> ProgressBar {
    // indicatif hides itself where standard error is not a terminal.
    let target = if quiet {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(Some(1), target);
    // The template is constant; a wrong one would only cost its look.
    let style = ProgressStyle::with_template("{spinner} {bar:24} {prefix}{msg}, {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style);
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(100));
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn the_value_that_holds_is_in_brackets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("enabled");
        assert_eq!(chosen(&path), None);
        std::fs::write(&path, "always [madvise] never\n").unwrap();
        assert_eq!(chosen(&path).as_deref(), Some("madvise"));
        std::fs::write(&path, "always").unwrap();
        assert_eq!(chosen(&path), None);
    }
}
