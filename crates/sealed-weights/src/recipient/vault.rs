//! Keys of the Transit engine of HashiCorp Vault and OpenBao.
//!
//! The context's digest goes along as `context`, from which Transit derives the key that encrypts.
//! Only keys made with `derived=true` do that; for others the service ignores the context, so they
//! are refused.

mod connection;
mod failure;
mod settings;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::json;
use zeroize::Zeroizing;

use self::connection::{Connection, Failure};
use super::options::Options;
use super::{Identity, Recipient, RecipientEntry, VaultEntry, WrapContext};
use crate::error::KeyError;
use crate::secret::ModelKey;

/// A Transit key's place: `MOUNT/KEY`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TransitKey {
    mount: String,
    key: String,
}

impl TransitKey {
    /// Both go into the path of a request with a token: nothing but plain names passes.
    fn new(mount: &str, key: &str) -> Option<TransitKey> {
        let plain = |name: &str| {
            !name.is_empty()
                && !name.starts_with('.')
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        (mount.len() + key.len() <= 512 && mount.split('/').all(plain) && plain(key)).then(|| {
            TransitKey {
                mount: mount.to_owned(),
                key: key.to_owned(),
            }
        })
    }

    fn parse(text: &str) -> Result<TransitKey, KeyError> {
        text.rsplit_once('/')
            .and_then(|(mount, key)| TransitKey::new(mount, key))
            .ok_or_else(|| KeyError::Malformed {
                what: "the vault text".to_owned(),
                reason:
                    "write vault:MOUNT/KEY, where Transit is mounted (often 'transit') and the \
                         key's name, of letters, digits, '-', '_' and '.'"
                        .to_owned(),
            })
    }

    fn path(&self, action: &str) -> String {
        format!("{}/{action}/{}", self.mount, self.key)
    }
}

impl std::fmt::Display for TransitKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.mount, self.key)
    }
}

/// A Transit key that wraps.
///
/// Address, token, namespace and certificate authority come from `VAULT_ADDR`, `VAULT_TOKEN` or
/// `~/.vault-token`, `VAULT_NAMESPACE` and `VAULT_CACERT`, or from those with `BAO_`, which come
/// first.
#[derive(Debug)]
pub struct VaultRecipient {
    key: TransitKey,
    options: Options,
}

impl VaultRecipient {
    /// The key that `MOUNT/KEY` names. The service is not called yet.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] for other text.
    pub fn parse(text: &str, options: &Options) -> Result<VaultRecipient, KeyError> {
        Ok(VaultRecipient {
            key: TransitKey::parse(text)?,
            options: options.clone(),
        })
    }

    /// Whether the service binds the context. `None` if the token may not look.
    fn derived(&self, connection: &Connection) -> Result<Option<bool>, Failure> {
        #[derive(Deserialize)]
        struct Key {
            derived: bool,
        }
        match connection.get::<Key>(&self.key.path("keys")) {
            Ok(key) => Ok(Some(key.derived)),
            Err(Failure::Status { code: 403, .. }) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    fn encrypt(&self, connection: &Connection, body: &str) -> Result<String, Failure> {
        #[derive(Deserialize)]
        struct Encrypted {
            ciphertext: String,
        }
        let answer: Encrypted = connection.post(&self.key.path("encrypt"), body)?;
        Ok(answer.ciphertext)
    }
}

impl Recipient for VaultRecipient {
    fn describe(&self) -> String {
        format!("vault {}", self.key)
    }

    fn wrap(&self, key: &ModelKey, context: &WrapContext) -> Result<RecipientEntry, KeyError> {
        let connection = Connection::open(&self.options)?;
        let failed = |failure| failure::told(failure, &connection, &self.key, "encrypt");
        let not_derived = || {
            let reason = format!(
                "the key does not derive, so the service would ignore which model a wrapped key \
                 belongs to; make another with: vault write -f {} derived=true",
                self.key.path("keys")
            );
            failure::service(&connection, &self.key, reason)
        };
        let derived = self.derived(&connection).map_err(failed)?;
        if derived == Some(false) {
            return Err(not_derived());
        }
        let plaintext = Zeroizing::new(STANDARD.encode(key.expose()));
        let digest = STANDARD.encode(context.digest());
        // Written by hand, for a JSON value would keep a copy of the key. Base64 needs no escapes.
        let body = Zeroizing::new(format!(
            r#"{{"plaintext":"{}","context":"{digest}"}}"#,
            plaintext.as_str()
        ));
        let ciphertext = self.encrypt(&connection, &body).map_err(failed)?;
        if derived.is_none() {
            // A key that derives refuses to work without a context. This comes second, so that a
            // service that makes missing keys on first use makes one that derives.
            match self.encrypt(&connection, r#"{"plaintext":"AA=="}"#) {
                Err(Failure::Status { code: 400, errors }) if errors.contains("context") => {}
                Ok(_) => return Err(not_derived()),
                Err(failure) => return Err(failed(failure)),
            }
        }
        Ok(RecipientEntry::Vault(VaultEntry {
            mount: self.key.mount.clone(),
            key: self.key.key.clone(),
            ciphertext,
            bound_to: context.clone(),
        }))
    }
}

/// A Transit key that unwraps, or, without a name, every one that the token may use.
#[derive(Debug)]
pub struct VaultIdentity {
    only: Option<TransitKey>,
    options: Options,
}

impl VaultIdentity {
    /// The key that `MOUNT/KEY` names, or any. The service is not called yet.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] for other text.
    pub fn parse(text: Option<&str>, options: &Options) -> Result<VaultIdentity, KeyError> {
        Ok(VaultIdentity {
            only: text.map(TransitKey::parse).transpose()?,
            options: options.clone(),
        })
    }
}

impl Identity for VaultIdentity {
    fn describe(&self) -> String {
        match &self.only {
            Some(key) => format!("vault {key}"),
            None => "vault".to_owned(),
        }
    }

    fn unwrap(
        &self,
        entry: &RecipientEntry,
        context: &WrapContext,
    ) -> Result<Option<ModelKey>, KeyError> {
        #[derive(Deserialize)]
        struct Decrypted {
            plaintext: String,
        }
        let RecipientEntry::Vault(entry) = entry else {
            return Ok(None);
        };
        let malformed = |reason: &str| KeyError::Malformed {
            what: "the vault entry of the recipients section".to_owned(),
            reason: reason.to_owned(),
        };
        let key = TransitKey::new(&entry.mount, &entry.key)
            .ok_or_else(|| malformed("its mount or key is no plain name; it was altered"))?;
        if self.only.as_ref().is_some_and(|only| *only != key) {
            return Ok(None);
        }
        let connection = Connection::open(&self.options)?;
        let body = json!({
            "ciphertext": entry.ciphertext,
            "context": STANDARD.encode(context.digest()),
        });
        let answer: Decrypted = connection
            .post(&key.path("decrypt"), &body.to_string())
            .map_err(|failure| match failure {
                Failure::Status { code: 400, errors }
                    if errors.contains("authentication failed")
                        || errors.contains("invalid ciphertext") =>
                {
                    KeyError::Refused {
                        who: failure::name(&connection, &key),
                        reason: format!(
                            "{} (it said: {errors})",
                            context.mismatch(&entry.bound_to)
                        ),
                    }
                }
                failure => failure::told(failure, &connection, &key, "decrypt"),
            })?;
        let bytes = STANDARD
            .decode(answer.plaintext.as_bytes())
            .map(Zeroizing::new);
        let mut model_key = Zeroizing::new([0; 32]);
        match bytes {
            Ok(bytes) if bytes.len() == model_key.len() => model_key.copy_from_slice(&bytes),
            _ => return Err(malformed("it holds something else than a model key")),
        }
        Ok(Some(ModelKey::new(model_key)))
    }
}
