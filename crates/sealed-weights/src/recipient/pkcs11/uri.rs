//! The part of RFC 7512 that names a secret key.

use std::path::PathBuf;

use crate::error::KeyError;
use crate::recipient::entry::printable;
use crate::recipient::options::Options;
use crate::recipient::secret_source::SecretSource;

/// `token=LABEL;object=LABEL?module-path=PATH&pin-source=SOURCE`, percent-encoded as in RFC 7512.
/// SOURCE is `file:PATH`, a path or `env:VAR`; without it the PIN is asked for. Without a module
/// the variable `PKCS11_MODULE_PATH` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pkcs11Uri {
    /// The token's label.
    pub token: String,
    /// The key's label.
    pub object: String,
    /// The library that drives the token.
    pub module: PathBuf,
    /// Where the PIN comes from.
    pub pin: SecretSource,
}

impl Pkcs11Uri {
    /// Parses the text behind `pkcs11:`.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] naming the attribute that is missing, unknown, twice there or
    /// wrong. A PIN in the text is refused and not repeated.
    pub fn parse(text: &str, options: &Options) -> Result<Pkcs11Uri, KeyError> {
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        let mut attributes = Attributes::default();
        for (part, in_query) in path
            .split(';')
            .map(|part| (part, false))
            .chain(query.split('&').map(|part| (part, true)))
        {
            if !part.is_empty() {
                attributes.take(part, in_query)?;
            }
        }
        let missing = |name: &str| {
            malformed(format!(
                "{name} is missing; write pkcs11:token=LABEL;object=LABEL?module-path=PATH"
            ))
        };
        let token = attributes.token.ok_or_else(|| missing("token"))?;
        let object = attributes.object.ok_or_else(|| missing("object"))?;
        let module = match attributes.module {
            Some(module) => module,
            None => options
                .variables
                .get("PKCS11_MODULE_PATH")
                .map(|path| path.to_string())
                .ok_or_else(|| missing("module-path (or the variable PKCS11_MODULE_PATH)"))?,
        };
        Ok(Pkcs11Uri {
            token,
            object,
            module: PathBuf::from(module),
            pin: attributes.pin.unwrap_or(SecretSource::Prompt),
        })
    }
}

#[derive(Default)]
struct Attributes {
    token: Option<String>,
    object: Option<String>,
    module: Option<String>,
    pin: Option<SecretSource>,
}

impl Attributes {
    fn take(&mut self, part: &str, in_query: bool) -> Result<(), KeyError> {
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| malformed("an attribute is not of the form name=value".to_owned()))?;
        if name == "pin-value" {
            return Err(malformed(
                "pin-value puts the PIN on the command line, where other users can read it; use \
                 pin-source=env:VAR or pin-source=file:PATH"
                    .to_owned(),
            ));
        }
        let twice = || malformed(format!("{name} is there twice"));
        let value = decode(name, value)?;
        let place = match (name, in_query) {
            ("token", false) => &mut self.token,
            ("object", false) => &mut self.object,
            ("module-path", true) => &mut self.module,
            ("pin-source", true) => {
                let source = if value.starts_with('/') {
                    SecretSource::File(PathBuf::from(value))
                } else {
                    SecretSource::parse("PIN", Some(&value))?
                };
                return match self.pin.replace(source) {
                    None => Ok(()),
                    Some(_) => Err(twice()),
                };
            }
            // The type of the only objects looked for.
            ("type", false) if value == "secret-key" => return Ok(()),
            _ => {
                return Err(malformed(format!(
                    "the attribute '{}' is not known here; known are token and object, and behind \
                     the '?' module-path and pin-source",
                    printable(name)
                )));
            }
        };
        match place.replace(value) {
            None => Ok(()),
            Some(_) => Err(twice()),
        }
    }
}

/// Percent-decodes a value.
fn decode(name: &str, value: &str) -> Result<String, KeyError> {
    let wrong = || malformed(format!("{name} is empty or not percent-encoded UTF-8"));
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            let mut digit = || rest.next().and_then(|b| char::from(b).to_digit(16));
            match (digit(), digit()) {
                (Some(high), Some(low)) => (high * 16 + low) as u8,
                _ => return Err(wrong()),
            }
        } else {
            byte
        });
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && !text.contains('\0') => Ok(text),
        _ => Err(wrong()),
    }
}

fn malformed(reason: String) -> KeyError {
    KeyError::Malformed {
        what: "the pkcs11 text".to_owned(),
        reason,
    }
}
