//! `weights-seal open`.

use super::{check_exists, report};
use crate::cancel::Cancel;
use crate::error::CliError;
use crate::memory;
use crate::options::{KeyArgs, PolicyArgs, WorkArgs};
use crate::progress::{Meter, summary};
use crate::shown;
use clap::Args;
use sealed_weights::model::{
    ExtractOptions, Extraction, SealedModel, SignedModel, is_memory_file_system,
};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `open`.
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// Sealed directory
    pub sealed: PathBuf,

    /// Directory for the plaintext, absent or empty, on a memory file system such as /dev/shm
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,

    /// Allow a directory whose files reach a disk, where plaintext may stay after it is deleted
    #[arg(long)]
    pub allow_disk: bool,

    /// Keys.
    #[command(flatten)]
    pub keys: KeyArgs,

    /// What is insisted on.
    #[command(flatten)]
    pub policy: PolicyArgs,

    /// Threads and messages.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// Opens a model into a directory.
///
/// # Errors
/// [`CliError`]; the directory is then as it was, but for [`CliError::NotReported`].
pub fn open(args: &OpenArgs, out: &mut dyn Write) -> Result<(), CliError> {
    check_exists(&args.sealed)?;
    let signed = SignedModel::read(&args.sealed, args.policy.policy()?)?;
    let model = signed.unlock(&args.keys.identities()?)?;
    let options = ExtractOptions {
        allow_disk: args.allow_disk,
    };
    let extraction = Extraction::prepare(&model, &args.to, options)?;
    if in_memory(&args.to) {
        memory::check(pages(&model, PAGE))?;
    }
    let bytes = model.signed().bytes();
    let meter = Meter::new("opening", bytes, args.work.quiet, Cancel::on_signals()?);
    extraction
        .run(&args.work.work(&meter))
        .map_err(|error| meter.failure(error))?;
    let text = format!(
        "opened {} of {} files into {}\n",
        summary(bytes, meter.finish()),
        model.manifest().files.len(),
        shown::path(&args.to)
    );
    report(out, &text)
}

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;

/// Bytes that the plaintext takes in pages of `page` bytes.
pub(super) fn pages(model: &SealedModel, page: u64) -> u64 {
    let files = model.manifest().files.iter();
    files
        .map(|file| file.length.div_ceil(page).saturating_mul(page))
        .fold(0, u64::saturating_add)
}

fn in_memory(directory: &Path) -> bool {
    let parent = match directory.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    [directory, parent]
        .into_iter()
        .find_map(|place| is_memory_file_system(place).ok())
        .unwrap_or(false)
}
