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

/// The environment variables that hold a secret of this key: they are not for other programs.
#[must_use]
pub fn secret_variables(text: &str) -> Vec<String> {
    let (kind, details) = text.split_once(':').unwrap_or((text, ""));
    let variable = match kind {
        "passphrase" => details.strip_prefix("env:"),
        "pkcs11" => details
            .split(['?', '&'])
            .find_map(|part| part.strip_prefix("pin-source=env:")),
        "vault" => return ["VAULT_TOKEN", "BAO_TOKEN"].map(str::to_owned).to_vec(),
        _ => None,
    };
    variable.map(str::to_owned).into_iter().collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_with_secrets_are_known() {
        for (text, variables) in [
            ("key-file:env:X", &[][..]),
            ("passphrase", &[]),
            ("passphrase:file:env:X", &[]),
            ("passphrase:env:PHRASE", &["PHRASE"]),
            (
                "pkcs11:token=t;object=o?module-path=/m&pin-source=env:PIN",
                &["PIN"],
            ),
            ("pkcs11:token=t;object=o?pin-source=file:/pin", &[]),
            ("vault:transit/k", &["VAULT_TOKEN", "BAO_TOKEN"]),
        ] {
            assert_eq!(secret_variables(text), variables, "{text}");
        }
    }
}
