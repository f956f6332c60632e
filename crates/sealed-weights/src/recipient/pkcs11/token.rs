//! A session with a token.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::Mechanism;
use cryptoki::mechanism::aead::GcmParams;
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::TokenInfo;
use cryptoki::types::AuthPin;
use zeroize::Zeroizing;

use super::failure::{is_tag_mismatch, told};
use super::uri::Pkcs11Uri;
use crate::ids;

/// Modules that this process has initialised. That happens once in a process, and finalising would
/// end everybody's sessions. The lock is held while a token is used: logins are per process.
static MODULES: Mutex<BTreeMap<PathBuf, Pkcs11>> = Mutex::new(BTreeMap::new());

type Modules = MutexGuard<'static, BTreeMap<PathBuf, Pkcs11>>;

/// A nonce, and ciphertext with tag.
pub(super) struct Encrypted {
    pub(super) nonce: [u8; 12],
    pub(super) bytes: [u8; 48],
}

/// An open session. Closing it logs out.
pub(super) struct Token {
    session: Session,
    info: TokenInfo,
    _modules: Modules,
}

impl Token {
    /// Loads the module and opens the token of this label.
    pub(super) fn find(uri: &Pkcs11Uri) -> Result<Token, String> {
        let mut modules = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
        let module = loaded(&mut modules, &uri.module)?;
        let mut labels = Vec::new();
        let mut found = Vec::new();
        for slot in module.get_slots_with_initialized_token().map_err(told)? {
            let info = module.get_token_info(slot).map_err(told)?;
            if info.label() == uri.token {
                found.push((slot, info));
            } else {
                labels.push(info.label().to_owned());
            }
        }
        let several = found.len() > 1;
        let Some((slot, info)) = found.pop() else {
            return Err(format!(
                "the module has no such token; it has {}. Is it plugged in, and the module's \
                 configuration the right one?",
                if labels.is_empty() {
                    "none".to_owned()
                } else {
                    labels.join(", ")
                }
            ));
        };
        if several {
            return Err("several tokens have this label; give them different ones".to_owned());
        }
        let session = module.open_ro_session(slot).map_err(told)?;
        Ok(Token {
            session,
            info,
            _modules: modules,
        })
    }

    /// Whether a PIN goes through this program, and not through the token's own keypad.
    pub(super) fn wants_pin(&self) -> bool {
        self.info.login_required() && !self.info.protected_authentication_path()
    }

    pub(super) fn login(&self, pin: Option<Zeroizing<String>>) -> Result<(), String> {
        if !self.info.login_required() {
            return Ok(());
        }
        let pin = pin.map(|pin| AuthPin::from(pin.as_str()));
        match self.session.login(UserType::User, pin.as_ref()) {
            Ok(()) | Err(Error::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => Ok(()),
            Err(error) => Err(told(error)),
        }
    }

    pub(super) fn encrypt(
        &self,
        uri: &Pkcs11Uri,
        key: &[u8; 32],
        digest: &[u8; 32],
    ) -> Result<Encrypted, String> {
        let handle = self.key(uri)?;
        let mut nonce: [u8; 12] = ids::random().map_err(|error| error.to_string())?;
        let bytes = {
            let params = GcmParams::new(&mut nonce, digest, 128.into()).map_err(told)?;
            self.session
                .encrypt(&Mechanism::AesGcm(params), handle, key)
                .map_err(told)?
        };
        // Some modules draw the nonce themselves and write it over ours: it is read afterwards.
        let length = bytes.len();
        let bytes = bytes.try_into().map_err(|_| {
            format!("the token gave {length} bytes of ciphertext where 48 are due; it is not GCM")
        })?;
        Ok(Encrypted { nonce, bytes })
    }

    /// The plaintext; `None` if the tag does not match.
    pub(super) fn decrypt(
        &self,
        uri: &Pkcs11Uri,
        encrypted: &Encrypted,
        digest: &[u8; 32],
    ) -> Result<Option<Zeroizing<Vec<u8>>>, String> {
        let handle = self.key(uri)?;
        let mut nonce = encrypted.nonce;
        let params = GcmParams::new(&mut nonce, digest, 128.into()).map_err(told)?;
        let mechanism = Mechanism::AesGcm(params);
        match self.session.decrypt(&mechanism, handle, &encrypted.bytes) {
            Ok(plaintext) => Ok(Some(Zeroizing::new(plaintext))),
            Err(error) if is_tag_mismatch(&error) => Ok(None),
            Err(error) => Err(told(error)),
        }
    }

    /// The one AES-256 key of this label.
    fn key(&self, uri: &Pkcs11Uri) -> Result<ObjectHandle, String> {
        let found = self
            .session
            .find_objects(&[
                Attribute::Class(ObjectClass::SECRET_KEY),
                Attribute::KeyType(KeyType::AES),
                Attribute::Label(uri.object.clone().into_bytes()),
            ])
            .map_err(told)?;
        let handle = match found[..] {
            [] => {
                return Err(
                    "the token has no AES key of this label; make one with: pkcs11-tool --keygen \
                     --key-type AES:32 --label LABEL"
                        .to_owned(),
                );
            }
            [handle] => handle,
            _ => {
                return Err(format!(
                    "the token has {} AES keys of this label; give them different ones",
                    found.len()
                ));
            }
        };
        let attributes = self
            .session
            .get_attributes(handle, &[AttributeType::ValueLen])
            .map_err(told)?;
        match attributes[..] {
            [Attribute::ValueLen(length)] if *length != 32 => Err(format!(
                "the key has {} bits; only AES-256 keys are used",
                *length * 8
            )),
            _ => Ok(handle),
        }
    }
}

/// The module, initialised.
fn loaded(modules: &mut Modules, path: &Path) -> Result<Pkcs11, String> {
    if let Some(module) = modules.get(path) {
        return Ok(module.clone());
    }
    let module = Pkcs11::new(path).map_err(told)?;
    match module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)) {
        Ok(()) | Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => {}
        Err(error) => return Err(told(error)),
    }
    modules.insert(path.to_path_buf(), module.clone());
    Ok(module)
}
