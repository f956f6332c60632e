//! `weights-seal bench`, and the workers that it starts.

use super::print;
use crate::bench::options::{Options, QUICK_SIZE, SIZE};
use crate::bench::{page, run, worker};
use crate::cancel::Cancel;
use crate::error::CliError;
use crate::units;
use bench_report::output;
use clap::Args;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Options of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Measure this file; it is only read
    #[arg(long, value_name = "FILE", conflicts_with = "size")]
    pub file: Option<PathBuf>,

    /// Size of the made-up bf16 safetensors file that is measured without --file [default: 1.7GB]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    pub size: Option<u64>,

    /// Where that file and sealed ones go: a directory on the disk to be measured
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,

    /// A directory on the system's tmpfs
    #[arg(long, value_name = "DIR", default_value = "/dev/shm")]
    pub shm: PathBuf,

    /// How often everything is measured; the first time is told apart from the others [default: 5]
    #[arg(long, value_name = "N")]
    pub rounds: Option<NonZeroUsize>,

    /// The most threads and the most processes [default: as many as the machine runs at once]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// A file of 64 MB, once: shows that everything works, and little more
    #[arg(long)]
    pub quick: bool,

    /// A Python interpreter that has `cryptography` and `cryptotensors`: measures them too
    #[arg(long, value_name = "PYTHON")]
    pub peers: Option<PathBuf>,

    /// Write everything that was measured as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the tables as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Write the tables and plots as a page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
}

/// Measures, and writes or prints the results.
///
/// # Errors
/// [`CliError`]; what it wrote to measure is removed.
pub fn bench(args: &BenchArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let outputs = [
        ("--json", args.json.as_deref()),
        ("--markdown", args.markdown.as_deref()),
        ("--html", args.html.as_deref()),
    ];
    output::check_distinct(&outputs, &[("--file", args.file.as_deref())])
        .map_err(|error| CliError::usage(error.to_string()))?;
    for (_, path) in outputs {
        if let Some(path) = path {
            tensor_io::check_writable(path).map_err(unwritable)?;
        }
    }
    let options = options(args);
    let cancel = Cancel::on_signals()?;
    let record = run::measure(&options, &cancel)?;
    let page = page::page(&record).map_err(|error| CliError::usage(error.to_string()))?;
    if let Some(path) = &args.json {
        output::write_json(path, &record).map_err(unwritable)?;
    }
    if let Some(path) = &args.markdown {
        write(path, &page.markdown())?;
    }
    if let Some(path) = &args.html {
        let html = page
            .html()
            .map_err(|error| CliError::usage(error.to_string()))?;
        write(path, &html)?;
    }
    if outputs.iter().all(|(_, path)| path.is_none()) {
        print(out, &page.markdown())?;
    }
    Ok(())
}

/// Does what standard input says, for `bench`.
///
/// # Errors
/// [`CliError`].
pub fn work(out: &mut dyn Write) -> Result<(), CliError> {
    worker::serve(&mut io::stdin().lock(), out, &Cancel::on_signals()?)
}

fn options(args: &BenchArgs) -> Options {
    let size = if args.quick { QUICK_SIZE } else { SIZE };
    let rounds = if args.quick { 1 } else { 5 };
    Options {
        file: args.file.clone(),
        size: args.size.unwrap_or(size).max(2),
        dir: args.dir.clone(),
        shm: args.shm.clone(),
        rounds: args.rounds.map_or(rounds, NonZeroUsize::get),
        threads: args.threads.map(NonZeroUsize::get),
        quick: args.quick,
        peers: args.peers.clone(),
        quiet: args.quiet,
        command: std::iter::once("weights-seal".to_owned())
            .chain(std::env::args().skip(1))
            .collect(),
    }
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    tensor_io::write_atomically(path, |file| file.write_all(text.as_bytes())).map_err(unwritable)
}

fn unwritable(error: tensor_io::TensorError) -> CliError {
    CliError::usage(error.to_string())
}
