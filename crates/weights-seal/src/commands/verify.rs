//! `weights-seal verify`.

use super::{check_exists, print};
use crate::cancel::Cancel;
use crate::error::CliError;
use crate::options::{KeyArgs, PolicyArgs, TrustArg, WorkArgs};
use crate::progress::Meter;
use crate::shown;
use crate::units;
use bench_report::terminal;
use clap::Args;
use comfy_table::Table;
use sealed_weights::model::{Policy, SignedModel};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of `verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Sealed directories
    #[arg(required = true)]
    pub sealed: Vec<PathBuf>,

    /// Check only what needs no key: the manifest's signature, the headers, and the hash of every
    /// chunk that the publisher signed
    #[arg(long, conflicts_with = "key")]
    pub no_key: bool,

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

/// Checks every byte of models.
///
/// # Errors
/// [`CliError`] for the first model that is not acceptable.
pub fn verify(args: &VerifyArgs, out: &mut dyn Write) -> Result<(), CliError> {
    if args.no_key && args.policy.trust == TrustArg::KeyHolders {
        return Err(CliError::usage(
            "--trust key-holders cannot be checked with --no-key: without a key only what the \
             publisher signed can be compared",
        ));
    }
    let policy = args.policy.policy()?;
    let identities = if args.no_key {
        Vec::new()
    } else {
        args.keys.identities()?
    };
    let mut models = Vec::new();
    for path in &args.sealed {
        check_exists(path)?;
        models.push(SignedModel::read(path, policy.clone())?);
    }
    let mut handled = None;
    for (path, signed) in args.sealed.iter().zip(models) {
        let (manifest, bytes) = (signed.signed().clone(), signed.bytes());
        let mut table = described(&signed, &policy);
        let unlocked = if args.no_key {
            Err(signed)
        } else {
            // A prompt for a passphrase is ended by Ctrl-C as ever; handlers come after it.
            Ok(signed.unlock(&identities)?)
        };
        let cancel = match &handled {
            Some(cancel) => Cancel::clone(cancel),
            None => handled.insert(Cancel::on_signals()?).clone(),
        };
        let meter = Meter::new("verifying", bytes, args.work.quiet, cancel);
        let work = args.work.work(&meter);
        let (checked, what) = match &unlocked {
            Ok(model) => (model.verify(&work), content_checks(args.policy.trust)),
            Err(signed) => (signed.verify_content(&work), NO_KEY_CHECKS),
        };
        checked.map_err(|error| meter.failure(error))?;
        if unlocked.is_ok() {
            row(
                &mut table,
                "MACs of manifest and recipients",
                "made by holders of the model key",
            );
        }
        finish(&mut table, what, bytes, meter.finish());
        let text = format!(
            "{}: {}, version {}\n{}{}\n",
            shown::path(path),
            manifest.manifest().model.escape_debug(),
            manifest.manifest().version,
            terminal::text(&table),
            verdict(path, args.no_key)
        );
        print(out, &text)?;
    }
    Ok(())
}

const NO_KEY_CHECKS: &str = "hash of every chunk of ciphertext";

fn content_checks(trust: TrustArg) -> &'static str {
    match trust {
        TrustArg::Publisher => "tag and hash of every chunk",
        TrustArg::KeyHolders => "tag of every chunk",
    }
}

fn verdict(path: &Path, no_key: bool) -> String {
    if no_key {
        format!(
            "{}: what the publisher signed; nothing was decrypted",
            shown::path(path)
        )
    } else {
        format!("{}: authentic", shown::path(path))
    }
}

fn described(signed: &SignedModel, policy: &Policy) -> Table {
    let files = signed.signed().manifest().files.len();
    let mut table = terminal::words(&["checked", "result"]);
    let publisher = if policy.any_publisher {
        "signed by anybody, as --any-publisher allows"
    } else {
        "signed by a trusted publisher"
    };
    row(&mut table, "signature of the manifest", publisher);
    row(
        &mut table,
        "core headers, lengths, no other files",
        &format!("{files} files as signed"),
    );
    table
}

fn finish(table: &mut Table, what: &str, bytes: u64, elapsed: Duration) {
    let result = format!("{}, {}", units::bytes(bytes), units::rate(bytes, elapsed));
    row(table, what, &result);
}

fn row(table: &mut Table, what: &str, result: &str) {
    table.add_row([what, result]);
}
