//! `ckks-bench report`.

use super::print;
use crate::error::{BenchError, Outcome};
use crate::page::{self, Inputs};
use bench_report::output::check_distinct;
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};
use tensor_io::{check_writable, write_atomically};

/// Options of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Reports of `run --json` and files of `sweep`
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<PathBuf>,

    /// Write a page: one file, nothing is loaded from elsewhere
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write the tables as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Write a row for each measurement
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Write every plot as a picture into this folder
    #[arg(long, value_name = "DIR")]
    pub png: Option<PathBuf>,

    /// Heading of the page
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "Encrypted linear layers, measured"
    )]
    pub title: String,
}

/// Reads all inputs and writes what was asked for. The outcome is `Passed` also where the inputs
/// hold rejected measurements: this command measures nothing.
///
/// # Errors
/// [`BenchError::Usage`] for inputs that cannot be read, [`BenchError::File`] for outputs that
/// cannot be written; nothing is written where an input is broken.
pub fn report(args: &ReportArgs, out: &mut dyn Write) -> Result<Outcome, BenchError> {
    let files = [
        ("--html", &args.html),
        ("--markdown", &args.markdown),
        ("--csv", &args.csv),
    ];
    if args.png.is_none() && files.iter().all(|(_, path)| path.is_none()) {
        return Err(BenchError::usage(
            "there is nothing to write; give --html FILE, --markdown FILE, --csv FILE or --png DIR",
        ));
    }
    for (flag, path) in &files {
        if let Some(path) = path {
            check_writable(path).map_err(|source| BenchError::File { flag, source })?;
        }
    }
    let outputs = files.map(|(flag, path)| (flag, path.as_deref()));
    let read: Vec<_> = args
        .inputs
        .iter()
        .map(|path| ("INPUT", Some(path.as_path())))
        .collect();
    check_distinct(&outputs, &read)?;
    let mut inputs = Inputs::default();
    for path in &args.inputs {
        inputs.read(path).map_err(usage)?;
    }
    let page = page::page(&inputs, &args.title).map_err(usage)?;
    if let Some(path) = &args.html {
        write("--html", path, page.html().map_err(usage)?.as_bytes())?;
    }
    if let Some(path) = &args.markdown {
        write("--markdown", path, page.markdown().as_bytes())?;
    }
    if let Some(path) = &args.csv {
        write("--csv", path, page::csv(&inputs).map_err(usage)?.as_bytes())?;
    }
    if let Some(folder) = &args.png {
        std::fs::create_dir_all(folder).map_err(|error| {
            BenchError::usage(format!(
                "--png: cannot make the folder {}: {error}",
                folder.display()
            ))
        })?;
        for picture in page.pictures().map_err(usage)? {
            write("--png", &folder.join(picture.name), &picture.png)?;
        }
    }
    if let Some(status) = &page.status {
        print(out, &format!("{}\n", status.text))?;
    }
    Ok(Outcome::Passed)
}

fn usage(error: impl std::fmt::Display) -> BenchError {
    BenchError::usage(error.to_string())
}

fn write(flag: &'static str, path: &Path, content: &[u8]) -> Result<(), BenchError> {
    write_atomically(path, |file| file.write_all(content))
        .map_err(|source| BenchError::File { flag, source })
}
