//! `weights-seal seal`.

use super::{note, report};
use crate::cancel::Cancel;
use crate::error::CliError;
use crate::options::{RecipientArgs, SuiteArgs, WorkArgs};
use crate::progress::{Meter, summary};
use crate::shown;
use clap::Args;
use sealed_weights::error::{ModelError, SealError};
use sealed_weights::manifest::SignedManifest;
use sealed_weights::model::{SealJob, SealOptions};
use sealed_weights::publisher_file;
use std::io::Write;
use std::path::PathBuf;

/// Options of `seal`.
#[derive(Debug, Args)]
pub struct SealArgs {
    /// Directory of the model, or one file
    pub source: PathBuf,

    /// Directory to make
    pub dest: PathBuf,

    /// Who may open it.
    #[command(flatten)]
    pub recipients: RecipientArgs,

    /// Sign with this publisher.key
    #[arg(long, value_name = "FILE")]
    pub sign: PathBuf,

    /// The model's name, which stays the same across versions [default: that of SOURCE]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,

    /// Version to seal [default: 1, or one more than the version that is replaced]
    #[arg(long, value_name = "N")]
    pub model_version: Option<u64>,

    /// How it is sealed.
    #[command(flatten)]
    pub suite: SuiteArgs,

    /// Leave names, types and shapes of tensors readable without a key (they cannot be altered)
    #[arg(long)]
    pub public_header: bool,

    /// Seal what symbolic links out of SOURCE lead to
    #[arg(long)]
    pub follow_links: bool,

    /// Replace an older version of the same model at DEST, in one step
    #[arg(long)]
    pub replace: bool,

    /// Do not wait until the data is on the disk: a power failure may then lose it
    #[arg(long)]
    pub no_sync: bool,

    /// Threads and messages.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// Seals a model.
///
/// # Errors
/// [`CliError`]; the destination is then as it was, but for [`CliError::NotReported`].
pub fn seal(args: &SealArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let publisher = publisher_file::read(&args.sign)
        .map_err(CliError::text("--sign", &args.sign.to_string_lossy()))?;
    let options = SealOptions {
        model: args.model.clone(),
        version: args.model_version,
        suite: args.suite.suite().0,
        chunk_size: args.suite.chunk_size,
        public_header: args.public_header,
        follow_links: args.follow_links,
        replace: args.replace,
        sync: !args.no_sync,
    };
    let job = SealJob::prepare(&args.source, &args.dest, options)
        .map_err(|error| explain(args, error))?;
    let recipients = args.recipients.recipients()?;
    if let Some(text) = args.suite.note() {
        note(args.work.quiet, &text);
    }
    let (bytes, files) = (job.bytes(), job.files());
    let meter = Meter::new("sealing", bytes, args.work.quiet, Cancel::on_signals()?);
    let signed = job
        .run(&recipients, &publisher, &args.work.work(&meter))
        .map_err(|error| meter.failure(error))?;
    let elapsed = meter.finish();
    let text = format!(
        "sealed {} of {files} files into {}\n{}",
        summary(bytes, elapsed),
        shown::path(&args.dest),
        described(&signed)
    );
    report(out, &text)
}

/// What to pin a model by.
pub(super) fn described(signed: &SignedManifest) -> String {
    format!(
        "model {}, version {}\npublisher {}\nmanifest SHA-256 {}\n",
        signed.manifest().model.escape_debug(),
        signed.manifest().version,
        signed.publisher(),
        signed.digest()
    )
}

/// Names the flag where it is a flag's fault.
fn explain(args: &SealArgs, error: SealError) -> CliError {
    match error {
        SealError::Model(ModelError::OldVersion { wanted, .. }) => CliError::usage(format!(
            "--model-version {}: the next version of {} is {wanted}; give that or a later one",
            args.model_version.unwrap_or_default(),
            shown::path(&args.dest)
        )),
        SealError::Model(ModelError::ContextDiffers { fields }) => CliError::usage(format!(
            "--replace: {} is another model ({fields}); give --model its name, or another DEST",
            shown::path(&args.dest)
        )),
        error => CliError::Seal(error),
    }
}
