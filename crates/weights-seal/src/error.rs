//! What ends the program, and with which exit code.

use crate::shown;
use sealed_weights::error::{KeyError, ModelError, SealError};
use std::io;
use thiserror::Error;

/// The model is not acceptable.
const REFUSED: u8 = 1;
/// Wrong usage, or files that cannot be read or written.
const USAGE: u8 = 2;
/// A key service that did not answer, or that this build leaves out.
const NOT_AVAILABLE: u8 = 3;

/// Everything that ends the program early.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CliError {
    /// Options that make no sense; the message names the flag and the way out.
    #[error("{0}")]
    Usage(String),
    /// What a flag names is not acceptable.
    #[error("{flag}: {source}")]
    Flag {
        /// The flag.
        flag: &'static str,
        /// What is wrong.
        source: SealError,
    },
    /// Sealing or opening failed.
    #[error(transparent)]
    Seal(SealError),
    /// A signal asked the program to end; nothing is left behind.
    #[error("interrupted; nothing was left behind")]
    Interrupted {
        /// The signal's number.
        signal: i32,
    },
    /// A command cannot be run in private memory.
    #[error("{message}")]
    Exec {
        /// What failed, and the way out.
        message: String,
        /// The exit code.
        code: u8,
    },
    /// Standard output is gone.
    #[error("cannot write the results to standard output: {0}")]
    Output(io::Error),
    /// All is done; standard output is gone.
    #[error("done, but the report could not be written: {0}")]
    NotReported(io::Error),
}

impl CliError {
    /// A usage error from its message.
    #[must_use]
    pub fn usage(message: impl Into<String>) -> CliError {
        CliError::Usage(message.into())
    }

    /// What a flag names is not acceptable.
    pub fn flag(flag: &'static str) -> impl Fn(KeyError) -> CliError {
        move |error| CliError::Flag {
            flag,
            source: error.into(),
        }
    }

    /// What `text`, given with a flag, names is not acceptable. The text is not repeated where it
    /// may be a secret, given by mistake in place of its file's name.
    pub fn text<'a>(flag: &'static str, text: &'a str) -> impl Fn(KeyError) -> CliError + 'a {
        const HIDDEN: &str = "the text given is not shown because it may be a secret";
        move |error| {
            let reason = match &error {
                KeyError::UnknownKind { role, known, .. } => {
                    format!("it names no {role}; known are {known}")
                }
                KeyError::NotBuilt { .. } | KeyError::Service { .. } => {
                    return CliError::flag(flag)(error);
                }
                _ if !shown::may_be_secret(text) => return CliError::flag(flag)(error),
                KeyError::File { action, source, .. } => {
                    format!("cannot {action} the file of that name: {source}")
                }
                KeyError::Permissions { mode, .. } => {
                    format!("the file has mode {mode:04o}, so others may read it; chmod 600 it")
                }
                _ => "it cannot be used".to_owned(),
            };
            CliError::Usage(format!("{flag}: {reason} ({HIDDEN})"))
        }
    }

    /// The exit code of the program.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            CliError::Usage(_) | CliError::Output(_) | CliError::NotReported(_) => USAGE,
            CliError::Flag { source, .. } | CliError::Seal(source) => code_of(source),
            CliError::Interrupted { signal } => interrupted(*signal),
            CliError::Exec { code, .. } => *code,
        }
    }
}

impl From<SealError> for CliError {
    fn from(error: SealError) -> CliError {
        CliError::Seal(error)
    }
}

/// What shells expect of a program that a signal ended.
#[must_use]
pub fn interrupted(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

fn code_of(error: &SealError) -> u8 {
    match error {
        SealError::Header { .. }
        | SealError::Document { .. }
        | SealError::Length { .. }
        | SealError::Commitment { .. }
        | SealError::Padding { .. }
        | SealError::Tag { .. }
        | SealError::ChunkHash { .. }
        | SealError::Root { .. }
        | SealError::PublicHeader { .. } => REFUSED,
        SealError::Key(error) => match error {
            KeyError::File { .. }
            | KeyError::Permissions { .. }
            | KeyError::Malformed { .. }
            | KeyError::UnknownKind { .. } => USAGE,
            KeyError::Service { .. } | KeyError::NotBuilt { .. } => NOT_AVAILABLE,
            _ => REFUSED,
        },
        SealError::Model(
            ModelError::NoManifest { .. }
            | ModelError::NoRecipients { .. }
            | ModelError::UntrustedPublisher { .. }
            | ModelError::OtherModel { .. }
            | ModelError::OldVersion { .. }
            | ModelError::OtherDigest { .. }
            | ModelError::ManifestMac
            | ModelError::RecipientsMac
            | ModelError::ContextDiffers { .. }
            | ModelError::Unlisted { .. }
            | ModelError::Missing { .. }
            | ModelError::OtherFile { .. },
        ) => REFUSED,
        _ => USAGE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn exit_codes_are_the_documented_ones() {
        let path = PathBuf::from("m");
        let service = KeyError::Service {
            service: "vault".into(),
            reason: "down".into(),
        };
        let cases = [
            (SealError::Commitment { path: path.clone() }.into(), 1),
            (SealError::from(ModelError::ManifestMac).into(), 1),
            (SealError::from(ModelError::Exists { path }).into(), 2),
            (CliError::flag("--key")(service), 3),
            (CliError::usage("x"), 2),
            (CliError::Interrupted { signal: 2 }, 130),
            (CliError::Interrupted { signal: 15 }, 143),
        ];
        for (error, code) in cases {
            assert_eq!(error.exit_code(), code, "{error}");
        }
    }
}
