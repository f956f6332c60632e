//! `weights-seal inspect`.

use super::{check_exists, print};
use crate::error::CliError;
use crate::units;
use bench_report::terminal;
use clap::Args;
use jiff::Timestamp;
use sealed_weights::manifest::MANIFEST_NAME;
use sealed_weights::model::{Policy, SignedModel};
use sealed_weights::recipients::RECIPIENTS_NAME;
use sealed_weights::sealed_file::Front;
use serde::Serialize;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

/// Name and version of the JSON document.
pub const SCHEMA: &str = "weights-seal-inspect-1";

const NOTHING_VERIFIED: &str = "Nothing here is verified beyond the consistency of the signature: \
anybody can sign anything. Compare publisher and digest, then run weights-seal verify.";

/// Options of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Sealed directory
    pub sealed: PathBuf,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What a sealed model says of itself.
#[derive(Debug, Serialize)]
pub struct Inspection {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// What of this can be relied on.
    pub verified: &'static str,
    /// The model's name.
    pub model: String,
    /// The model across versions.
    pub model_id: String,
    /// The version.
    pub version: u64,
    /// When it was sealed: seconds since 1970-01-01 UTC.
    pub created: u64,
    /// Public key of whoever signed it.
    pub publisher: String,
    /// SHA-256 of the manifest.
    pub digest: String,
    /// Commitment to the model key.
    pub key_id: String,
    /// Who may open it.
    pub recipients: Vec<String>,
    /// The files.
    pub files: Vec<InspectedFile>,
    /// Bytes of plaintext.
    pub plain_bytes: u64,
    /// Bytes on the disk, manifest and recipients included.
    pub sealed_bytes: u64,
}

/// A sealed file.
#[derive(Debug, Serialize)]
pub struct InspectedFile {
    /// Path of the plaintext.
    pub path: String,
    /// Bytes of plaintext.
    pub plain_bytes: u64,
    /// Bytes of the sealed file.
    pub sealed_bytes: u64,
    /// Cipher suite.
    pub suite: &'static str,
    /// Bytes of a chunk.
    pub chunk_size: usize,
    /// Whether the safetensors header is readable without a key.
    pub public_header: bool,
}

/// Shows what a model says of itself.
///
/// # Errors
/// [`CliError`] where it cannot be read as a sealed model.
pub fn inspect(args: &InspectArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let inspection = read(args)?;
    let text = if args.json {
        let mut text = serde_json::to_string_pretty(&inspection)
            .map_err(|error| CliError::Output(error.into()))?;
        text.push('\n');
        text
    } else {
        describe(&inspection)
    };
    print(out, &text)
}

fn read(args: &InspectArgs) -> Result<Inspection, CliError> {
    let policy = Policy {
        any_publisher: true,
        ..Policy::default()
    };
    check_exists(&args.sealed)?;
    let model = SignedModel::read(&args.sealed, policy)?;
    let (signed, manifest) = (model.signed(), model.signed().manifest());
    let mut files = Vec::with_capacity(manifest.files.len());
    for file in &manifest.files {
        let front = Front::read(&file.path.sealed_under(model.directory()))?;
        files.push(InspectedFile {
            path: file.path.to_string(),
            plain_bytes: file.length,
            sealed_bytes: front.layout().end,
            suite: front.core().suite.name(),
            chunk_size: front.core().chunk_size.bytes(),
            public_header: front.core().public_header.is_some(),
        });
    }
    let documents = [MANIFEST_NAME, RECIPIENTS_NAME].map(|name| {
        fs::metadata(model.directory().join(name)).map_or(0, |metadata| metadata.len())
    });
    let recipients = &model.recipients().recipients().recipients;
    Ok(Inspection {
        schema: SCHEMA,
        verified: NOTHING_VERIFIED,
        model: manifest.model.clone(),
        model_id: manifest.model_id.to_string(),
        version: manifest.version,
        created: manifest.created,
        publisher: signed.publisher().to_string(),
        digest: signed.digest().to_string(),
        key_id: manifest.key_id.to_string(),
        recipients: recipients.iter().map(|entry| entry.describe()).collect(),
        plain_bytes: model.bytes(),
        sealed_bytes: files.iter().map(|file| file.sealed_bytes).sum::<u64>()
            + documents.iter().sum::<u64>(),
        files,
    })
}

fn describe(inspection: &Inspection) -> String {
    let created = i64::try_from(inspection.created)
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .map_or_else(|| inspection.created.to_string(), |time| time.to_string());
    let overhead = inspection
        .sealed_bytes
        .saturating_sub(inspection.plain_bytes);
    let percent = 100.0 * overhead as f64 / (inspection.plain_bytes.max(1)) as f64;
    let mut facts = terminal::words(&["what", "as stated"]);
    let rows = [
        ("model", inspection.model.escape_debug().to_string()),
        ("version", inspection.version.to_string()),
        ("sealed at", created),
        ("publisher", inspection.publisher.clone()),
        ("manifest SHA-256", inspection.digest.clone()),
        ("key id", inspection.key_id.clone()),
        ("recipients", inspection.recipients.join("\n")),
        ("plaintext", units::bytes(inspection.plain_bytes)),
        (
            "overhead",
            format!("{} ({percent:.4} %)", units::bytes(overhead)),
        ),
    ];
    for (what, value) in rows {
        facts.add_row([what, &value]);
    }
    let mut files = terminal::words(&["file", "plaintext", "suite", "chunk", "header"]);
    for file in &inspection.files {
        files.add_row([
            file.path.as_str(),
            units::bytes(file.plain_bytes).as_str(),
            file.suite,
            indicatif::BinaryBytes(file.chunk_size as u64)
                .to_string()
                .as_str(),
            if file.public_header {
                "public"
            } else {
                "hidden"
            },
        ]);
    }
    format!(
        "{NOTHING_VERIFIED}\n\n{}\n{}",
        terminal::text(&facts),
        terminal::text(&files)
    )
}
