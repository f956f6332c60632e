//! `weights-seal rewrap`.

use super::{check_exists, report};
use crate::error::CliError;
use crate::options::{KeyArgs, PolicyArgs, RecipientArgs};
use crate::shown;
use clap::Args;
use sealed_weights::model::{Rewrap, SignedModel, rewrap as rewrap_model};
use std::io::Write;
use std::path::PathBuf;

/// Options of `rewrap`.
#[derive(Debug, Args)]
pub struct RewrapArgs {
    /// Sealed directory
    pub sealed: PathBuf,

    /// Keep the recipients that are there; by default the new ones replace them
    #[arg(long)]
    pub add: bool,

    /// New recipients.
    #[command(flatten)]
    pub recipients: RecipientArgs,

    /// Keys.
    #[command(flatten)]
    pub keys: KeyArgs,

    /// What is insisted on.
    #[command(flatten)]
    pub policy: PolicyArgs,
}

/// Gives a model new recipients.
///
/// # Errors
/// [`CliError`]; the model is then as it was, but for [`CliError::NotReported`].
pub fn rewrap(args: &RewrapArgs, out: &mut dyn Write) -> Result<(), CliError> {
    check_exists(&args.sealed)?;
    let signed = SignedModel::read(&args.sealed, args.policy.policy()?)?;
    let model = signed.unlock(&args.keys.identities()?)?;
    let mode = if args.add {
        Rewrap::Add
    } else {
        Rewrap::Replace
    };
    let entries = rewrap_model(&model, mode, &args.recipients.recipients()?)?;
    let mut text = format!("{} now opens with:\n", shown::path(&args.sealed));
    for entry in entries {
        text.push_str(&format!("  {}\n", entry.describe()));
    }
    if !args.add {
        text.push_str(
            "Earlier recipients who kept the model key can still read this data; \
             weights-seal rotate shuts them out.\n",
        );
    }
    report(out, &text)
}
