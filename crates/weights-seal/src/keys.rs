//! Recipients and keys from their texts, and asking for passphrases.

use sealed_weights::error::KeyError;
use sealed_weights::recipient::options::{Options, Purpose};
use sealed_weights::recipient::{Identity, Recipient, spec};
use std::io::IsTerminal;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The recipient that a text names.
///
/// # Errors
/// [`KeyError`] naming what is wrong, never with a secret in it.
pub fn parse_recipient(text: &str) -> Result<Box<dyn Recipient>, KeyError> {
    spec::parse_recipient(text, &options())
}

/// The key that a text names.
///
/// # Errors
/// As [`parse_recipient`].
pub fn parse_identity(text: &str) -> Result<Box<dyn Identity>, KeyError> {
    spec::parse_identity(text, &options())
}

/// The environment variable that a text takes a secret from.
#[must_use]
pub fn secret_variable(text: &str) -> Option<&str> {
    text.strip_prefix("passphrase:env:")
}

fn options() -> Options {
    let mut options = Options::default();
    if std::io::stdin().is_terminal() {
        options.prompt = Some(Arc::new(ask));
    }
    options
}

fn ask(what: &str, purpose: Purpose) -> Result<Zeroizing<String>, KeyError> {
    let read = |prompt: String| {
        rpassword::prompt_password(prompt)
            .map(Zeroizing::new)
            .map_err(|error| KeyError::Malformed {
                what: format!("the {what}"),
                reason: format!("it cannot be asked for: {error}"),
            })
    };
    let secret = read(format!("{what}: "))?;
    if purpose == Purpose::Wrap && *read(format!("{what} again: "))? != *secret {
        return Err(KeyError::Malformed {
            what: format!("the {what}"),
            reason: "it was not the same the second time".to_owned(),
        });
    }
    Ok(secret)
}
