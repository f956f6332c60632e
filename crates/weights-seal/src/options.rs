//! Flags that several commands share.

use crate::error::CliError;
use crate::keys;
use clap::{Args, ValueEnum};
use sealed_weights::core_header::ChunkSize;
use sealed_weights::ids::{ManifestDigest, ModelId};
use sealed_weights::model::Policy;
use sealed_weights::publisher_file;
use sealed_weights::recipient::{Identity, Recipient};
use sealed_weights::sealed_file::Trust;
use sealed_weights::signing::PublisherId;
use sealed_weights::suite::{Suite, has_aes_instructions};
use sealed_weights::work::{Progress, Work};
use std::env::VarError;
use std::num::NonZeroUsize;

/// Most threads that are accepted.
pub const MAX_THREADS: usize = 4096;
/// Keys, one a line, where no --key is given.
pub const KEY_VARIABLE: &str = "WEIGHTS_SEAL_KEY";
/// Publishers, one a line, where neither --publisher nor --any-publisher is given.
pub const PUBLISHER_VARIABLE: &str = "WEIGHTS_SEAL_PUBLISHER";

/// What a reader insists on.
#[derive(Clone, Debug, Args)]
pub struct PolicyArgs {
    /// Accept models signed by this publisher: a publisher.pub or its 64 hexadecimal digits; may be
    /// repeated [env: WEIGHTS_SEAL_PUBLISHER, one a line]
    #[arg(long, value_name = "FILE|HEX")]
    pub publisher: Vec<String>,

    /// Accept anybody's signature: the content is then as trustworthy as the holders of the key
    #[arg(long, conflicts_with = "publisher")]
    pub any_publisher: bool,

    /// Accept only the model with this id (see: weights-seal inspect)
    #[arg(long, value_name = "ID")]
    pub expect_model: Option<ModelId>,

    /// Refuse versions below this one, which may be old copies put back
    #[arg(long, value_name = "N")]
    pub min_version: Option<u64>,

    /// Accept only the manifest with this SHA-256
    #[arg(long, value_name = "HEX")]
    pub expect_digest: Option<ManifestDigest>,

    /// Whom every byte is checked against
    #[arg(long, value_enum, default_value_t = TrustArg::Publisher)]
    pub trust: TrustArg,
}

/// Names of [`Trust`] on the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TrustArg {
    /// What the publisher signed, also against those who hold the model key
    Publisher,
    /// Whatever a holder of the model key sealed: faster, no hash of every byte
    KeyHolders,
}

impl PolicyArgs {
    /// The policy.
    ///
    /// # Errors
    /// [`CliError::Flag`] for a publisher that cannot be read.
    pub fn policy(&self) -> Result<Policy, CliError> {
        let (flag, texts) = if self.any_publisher {
            ("--publisher", Vec::new())
        } else {
            or_variable("--publisher", &self.publisher, PUBLISHER_VARIABLE)?
        };
        Ok(Policy {
            publishers: texts
                .iter()
                .map(|text| find_publisher(flag, text))
                .collect::<Result<_, _>>()?,
            any_publisher: self.any_publisher,
            model_id: self.expect_model,
            min_version: self.min_version,
            expect_digest: self.expect_digest,
            trust: match self.trust {
                TrustArg::Publisher => Trust::Publisher,
                TrustArg::KeyHolders => Trust::KeyHolders,
            },
        })
    }
}

/// The keys that open a model.
#[derive(Clone, Debug, Args)]
pub struct KeyArgs {
    /// Open the model with this key, such as key-file:PATH; may be repeated, the first that fits
    /// is used [env: WEIGHTS_SEAL_KEY, one a line]
    #[arg(long, value_name = "KEY")]
    pub key: Vec<String>,
}

impl KeyArgs {
    /// The keys.
    ///
    /// # Errors
    /// [`CliError::Usage`] for none, [`CliError::Flag`] for one that cannot be used.
    pub fn identities(&self) -> Result<Vec<Box<dyn Identity>>, CliError> {
        let (flag, texts) = self.texts()?;
        if texts.is_empty() {
            return Err(CliError::usage(format!(
                "no key is given; pass --key KEY (for example key-file:PATH) or set {KEY_VARIABLE}"
            )));
        }
        texts
            .iter()
            .map(|text| keys::parse_identity(text).map_err(CliError::text(flag, text)))
            .collect()
    }

    /// The keys as text, and where they come from.
    ///
    /// # Errors
    /// [`CliError::Usage`] where the variable is not UTF-8 text.
    pub fn texts(&self) -> Result<(&'static str, Vec<String>), CliError> {
        or_variable("--key", &self.key, KEY_VARIABLE)
    }
}

/// Who may open a model.
#[derive(Clone, Debug, Args)]
pub struct RecipientArgs {
    /// Let this recipient open the model, such as key-file:PATH; may be repeated
    #[arg(long, value_name = "RECIPIENT", required = true)]
    pub recipient: Vec<String>,
}

impl RecipientArgs {
    /// The recipients.
    ///
    /// # Errors
    /// [`CliError::Flag`] for one that cannot be used.
    pub fn recipients(&self) -> Result<Vec<Box<dyn Recipient>>, CliError> {
        self.recipient
            .iter()
            .map(|text| keys::parse_recipient(text).map_err(CliError::text("--recipient", text)))
            .collect()
    }
}

/// How the work is done.
#[derive(Clone, Copy, Debug, Args)]
pub struct WorkArgs {
    /// Worker threads [default: the cores available]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<NonZeroUsize>,

    /// Nothing on standard error but errors
    #[arg(long)]
    pub quiet: bool,
}

impl WorkArgs {
    /// The work, heard by `progress`.
    #[must_use]
    pub fn work<'a>(&self, progress: &'a dyn Progress) -> Work<'a> {
        Work {
            threads: self.threads.unwrap_or(Work::default().threads),
            progress,
        }
    }
}

/// How data is sealed.
#[derive(Clone, Copy, Debug, Args)]
pub struct SuiteArgs {
    /// Cipher suite: aes-256-gcm or chacha20-poly1305 [default: aes-256-gcm where the processor
    /// has instructions for it]
    #[arg(long, value_name = "NAME", value_parser = suite)]
    pub suite: Option<Suite>,

    /// Bytes of a chunk, a power of two from 4KiB to 64MiB
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = chunk_size)]
    pub chunk_size: ChunkSize,
}

impl SuiteArgs {
    /// The suite, and why if it is not AES-256-GCM.
    #[must_use]
    pub fn suite(&self) -> (Suite, Option<&'static str>) {
        let suite = self.suite.unwrap_or_else(Suite::for_this_machine);
        let reason = match suite {
            Suite::Aes256Gcm => None,
            _ if self.suite.is_some() => Some("--suite asks for it"),
            _ => Some("this processor has no AES instructions"),
        };
        (suite, reason)
    }

    /// The note about a suite that was asked for although it is the slower one here, or was chosen
    /// because it is the faster one.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        match self.suite() {
            (suite, Some(reason)) => Some(format!("sealing with {suite}, because {reason}")),
            (suite, None) if !has_aes_instructions() => Some(format!(
                "sealing with {suite} as --suite asks, though this processor has no AES \
                 instructions; chacha20-poly1305 would be several times faster"
            )),
            _ => None,
        }
    }
}

fn or_variable(
    flag: &'static str,
    given: &[String],
    variable: &'static str,
) -> Result<(&'static str, Vec<String>), CliError> {
    if !given.is_empty() {
        return Ok((flag, given.to_vec()));
    }
    let value = match std::env::var(variable) {
        Ok(value) => value,
        Err(VarError::NotPresent) => String::new(),
        Err(VarError::NotUnicode(_)) => {
            return Err(CliError::usage(format!(
                "{variable}: it is not UTF-8 text; pass {flag} instead"
            )));
        }
    };
    let lines = value.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok((variable, lines.map(str::to_owned).collect()))
}

/// Digits are taken in either case.
fn find_publisher(flag: &'static str, text: &str) -> Result<PublisherId, CliError> {
    let digits = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let found = if digits {
        publisher_file::find_public(&text.to_ascii_lowercase())
    } else {
        publisher_file::find_public(text)
    };
    found.map_err(CliError::text(flag, text))
}

fn threads(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<NonZeroUsize>() {
        Ok(threads) if threads.get() <= MAX_THREADS => Ok(threads),
        _ => Err(format!("expected a whole number from 1 to {MAX_THREADS}")),
    }
}

fn suite(text: &str) -> Result<Suite, String> {
    Suite::from_name(text).ok_or_else(|| {
        let names = Suite::ALL.map(Suite::name);
        format!("known are {}", names.join(" and "))
    })
}

fn chunk_size(text: &str) -> Result<ChunkSize, String> {
    let bytes = crate::units::parse_size(text)?;
    ChunkSize::new(u32::try_from(bytes).unwrap_or(u32::MAX)).map_err(|defect| defect.to_string())
}
