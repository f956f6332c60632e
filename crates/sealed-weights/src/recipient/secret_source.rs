//! Where a passphrase or a PIN comes from. Never the command line, which other users can list.

use std::path::PathBuf;

use zeroize::Zeroizing;

use super::options::{Options, Purpose};
use crate::error::KeyError;
use crate::private_file;

/// A source of one secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// The user is asked.
    Prompt,
    /// An environment variable.
    Variable(String),
    /// The text of a private file, without the line end that closes it.
    File(PathBuf),
}

impl SecretSource {
    /// Parses nothing, `env:VAR` or `file:PATH`; `what` is the secret's name in messages.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] for anything else. The text is not repeated, for it may be a
    /// secret.
    pub fn parse(what: &str, text: Option<&str>) -> Result<SecretSource, KeyError> {
        let Some(text) = text else {
            return Ok(SecretSource::Prompt);
        };
        match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() => Ok(SecretSource::Variable(name.to_owned())),
            Some(("file", path)) if !path.is_empty() => Ok(SecretSource::File(PathBuf::from(path))),
            _ => Err(KeyError::Malformed {
                what: format!("the source of the {what}"),
                reason: "it must be env:VAR or file:PATH; the secret itself does not belong on a \
                         command line, where other users can read it"
                    .to_owned(),
            }),
        }
    }

    /// Gets the secret.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] if the variable is not set, nobody can be asked, or the secret is
    /// empty; errors of the file.
    pub fn read(
        &self,
        what: &str,
        purpose: Purpose,
        options: &Options,
    ) -> Result<Zeroizing<String>, KeyError> {
        let malformed = |reason: String| KeyError::Malformed {
            what: format!("the {what}"),
            reason,
        };
        let secret = match self {
            SecretSource::Prompt => match &options.prompt {
                Some(prompt) => prompt(what, purpose)?,
                None => {
                    return Err(malformed(
                        "there is no terminal to ask on; give env:VAR or file:PATH".to_owned(),
                    ));
                }
            },
            SecretSource::Variable(name) => options.variables.get(name).ok_or_else(|| {
                malformed(format!(
                    "the environment variable {name} is not set or empty"
                ))
            })?,
            SecretSource::File(path) => {
                let text = private_file::read(path)?;
                let line = text.strip_suffix('\n').unwrap_or(&text);
                Zeroizing::new(line.strip_suffix('\r').unwrap_or(line).to_owned())
            }
        };
        if secret.is_empty() {
            return Err(malformed("it is empty".to_owned()));
        }
        Ok(secret)
    }
}
