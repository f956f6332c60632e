//! `weights-seal rotate`.

use super::seal::described;
use super::{check_exists, note, report};
use crate::cancel::Cancel;
use crate::error::CliError;
use crate::options::{KeyArgs, PolicyArgs, RecipientArgs, SuiteArgs, WorkArgs};
use crate::progress::{Meter, summary};
use crate::shown;
use clap::Args;
use sealed_weights::model::{RotateOptions, Rotation, SignedModel};
use sealed_weights::publisher_file;
use std::io::Write;
use std::path::PathBuf;

/// Options of `rotate`.
#[derive(Debug, Args)]
pub struct RotateArgs {
    /// Sealed directory
    pub sealed: PathBuf,

    /// Recipients of the new key.
    #[command(flatten)]
    pub recipients: RecipientArgs,

    /// Sign the new version with this publisher.key
    #[arg(long, value_name = "FILE")]
    pub sign: PathBuf,

    /// How it is sealed.
    #[command(flatten)]
    pub suite: SuiteArgs,

    /// Do not wait until the data is on the disk: a power failure may then lose it
    #[arg(long)]
    pub no_sync: bool,

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

/// Seals a model anew under a fresh key.
///
/// # Errors
/// [`CliError`]; the model is then as it was, but for [`CliError::NotReported`].
pub fn rotate(args: &RotateArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let publisher = publisher_file::read(&args.sign)
        .map_err(CliError::text("--sign", &args.sign.to_string_lossy()))?;
    check_exists(&args.sealed)?;
    let signed = SignedModel::read(&args.sealed, args.policy.policy()?)?;
    let model = signed.unlock(&args.keys.identities()?)?;
    let options = RotateOptions {
        suite: args.suite.suite().0,
        chunk_size: args.suite.chunk_size,
        sync: !args.no_sync,
    };
    let rotation = Rotation::prepare(&model, options)?;
    let recipients = args.recipients.recipients()?;
    if let Some(text) = args.suite.note() {
        note(args.work.quiet, &text);
    }
    let bytes = model.signed().bytes();
    let meter = Meter::new(
        "sealing anew",
        bytes,
        args.work.quiet,
        Cancel::on_signals()?,
    );
    let signed = rotation
        .run(&recipients, &publisher, &args.work.work(&meter))
        .map_err(|error| meter.failure(error))?;
    let text = format!(
        "sealed {} anew in {}\n{}",
        summary(bytes, meter.finish()),
        shown::path(&args.sealed),
        described(&signed)
    );
    report(out, &text)
}
