//! AES-256 keys that stay in a token: hardware security modules, smart cards, TPMs, SoftHSM.
//!
//! The token encrypts the model key by AES-256-GCM (`CKM_AES_GCM`) with the context's digest as
//! additional data.

mod failure;
mod token;
mod uri;

use std::cell::RefCell;

use base64::{Engine, engine::general_purpose::STANDARD};
use zeroize::Zeroizing;

use self::token::{Encrypted, Token};
pub use self::uri::Pkcs11Uri;
use super::options::{Options, Purpose};
use super::{Identity, Pkcs11Entry, Recipient, RecipientEntry, WrapContext};
use crate::error::KeyError;
use crate::path::shown;
use crate::secret::ModelKey;

/// A key in a token, as recipient and as identity.
#[derive(Debug)]
pub struct Pkcs11Key {
    uri: Pkcs11Uri,
    options: Options,
    /// A refused login. It is not repeated with the same PIN: tokens lock themselves.
    refused: RefCell<Option<String>>,
}

impl Pkcs11Key {
    /// The key that a text names. The token is used, and its PIN asked for, when it is needed.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] if the text is not `token=…;object=…?…`.
    pub fn parse(text: &str, options: &Options) -> Result<Pkcs11Key, KeyError> {
        Ok(Pkcs11Key {
            uri: Pkcs11Uri::parse(text, options)?,
            options: options.clone(),
            refused: RefCell::new(None),
        })
    }

    fn service(&self, reason: String) -> KeyError {
        KeyError::Service {
            service: self.name(),
            reason,
        }
    }

    fn name(&self) -> String {
        let Pkcs11Uri { token, object, .. } = &self.uri;
        format!(
            "pkcs11 key '{object}' in token '{token}' ({})",
            shown(&self.uri.module)
        )
    }

    /// Logs in to the token.
    fn with_token<T>(
        &self,
        purpose: Purpose,
        work: impl FnOnce(&Token) -> Result<T, String>,
    ) -> Result<T, KeyError> {
        if let Some(reason) = self.refused.borrow().as_ref() {
            return Err(self.service(reason.clone()));
        }
        let token = Token::find(&self.uri).map_err(|reason| self.service(reason))?;
        let pin = token
            .wants_pin()
            .then(|| {
                let what = format!("PIN of token {}", self.uri.token);
                self.uri.pin.read(&what, purpose, &self.options)
            })
            .transpose()?;
        token.login(pin).map_err(|reason| {
            self.refused.replace(Some(reason.clone()));
            self.service(reason)
        })?;
        work(&token).map_err(|reason| self.service(reason))
    }
}

impl Recipient for Pkcs11Key {
    fn describe(&self) -> String {
        self.name()
    }

    fn wrap(&self, key: &ModelKey, context: &WrapContext) -> Result<RecipientEntry, KeyError> {
        // A PIN is checked by the token: there is no need to ask twice.
        let Encrypted { nonce, bytes } = self.with_token(Purpose::Unwrap, |token| {
            token.encrypt(&self.uri, key.expose(), &context.digest())
        })?;
        Ok(RecipientEntry::Pkcs11(Pkcs11Entry {
            token: self.uri.token.clone(),
            object: self.uri.object.clone(),
            nonce: STANDARD.encode(nonce),
            wrapped: STANDARD.encode(bytes),
            bound_to: context.clone(),
        }))
    }
}

impl Identity for Pkcs11Key {
    fn describe(&self) -> String {
        self.name()
    }

    fn unwrap(
        &self,
        entry: &RecipientEntry,
        context: &WrapContext,
    ) -> Result<Option<ModelKey>, KeyError> {
        let RecipientEntry::Pkcs11(entry) = entry else {
            return Ok(None);
        };
        if (&entry.token, &entry.object) != (&self.uri.token, &self.uri.object) {
            return Ok(None);
        }
        let malformed = || KeyError::Malformed {
            what: "the pkcs11 entry of the recipients section".to_owned(),
            reason: "a field is not base64 of its length".to_owned(),
        };
        let decode = |text: &str| STANDARD.decode(text).map_err(|_| malformed());
        let nonce: [u8; 12] = decode(&entry.nonce)?.try_into().map_err(|_| malformed())?;
        let bytes: [u8; 48] = decode(&entry.wrapped)?
            .try_into()
            .map_err(|_| malformed())?;
        let opened = self.with_token(Purpose::Unwrap, |token| {
            token.decrypt(&self.uri, &Encrypted { nonce, bytes }, &context.digest())
        })?;
        let Some(opened) = opened else {
            return Err(KeyError::Refused {
                who: self.name(),
                reason: context.mismatch(&entry.bound_to),
            });
        };
        let mut key = Zeroizing::new([0; 32]);
        if opened.len() != key.len() {
            return Err(malformed());
        }
        key.copy_from_slice(&opened);
        Ok(Some(ModelKey::new(key)))
    }
}
