//! A wrapping key stretched from a passphrase.

use std::cell::OnceCell;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::{Engine, engine::general_purpose::STANDARD};
use zeroize::Zeroizing;

use super::local_wrap::{LocalRefusal, LocalWrap};
use super::options::{Options, Purpose};
use super::secret_source::SecretSource;
use super::{Identity, PassphraseEntry, Recipient, RecipientEntry, WrapContext};
use crate::error::KeyError;
use crate::ids;
use crate::secret::ModelKey;

/// Least memory accepted, in KiB: below it, guessing is cheap on a graphics card.
pub const MIN_MEMORY_KIB: u32 = 19 << 10;
/// Most memory accepted, in KiB: that of RFC 9106's first recommended setting.
pub const MAX_MEMORY_KIB: u32 = 2 << 20;
/// Most passes accepted.
pub const MAX_PASSES: u32 = 16;
/// Most lanes accepted.
pub const MAX_LANES: u32 = 16;
/// Most work accepted, as memory in KiB times passes: some ten seconds.
pub const MAX_WORK_KIB: u32 = 2 << 20;

const SALT_BYTES: usize = 16;

/// RFC 9106's second recommended setting, for machines that cannot spare 2 GiB.
const SETTING: Setting = Setting {
    memory_kib: 64 << 10,
    passes: 3,
    lanes: 4,
};

#[derive(Debug, Clone, Copy)]
struct Setting {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

impl Setting {
    /// Refuses what is too weak, and what a hostile entry would burn memory and time with.
    fn check(self) -> Result<Setting, KeyError> {
        let Setting {
            memory_kib,
            passes,
            lanes,
        } = self;
        let reason = if !(MIN_MEMORY_KIB..=MAX_MEMORY_KIB).contains(&memory_kib) {
            format!(
                "it asks for {memory_kib} KiB of memory; {MIN_MEMORY_KIB} to {MAX_MEMORY_KIB} are \
                 accepted"
            )
        } else if passes == 0 || passes > MAX_PASSES {
            format!("it asks for {passes} passes; 1 to {MAX_PASSES} are accepted")
        } else if lanes == 0 || lanes > MAX_LANES {
            format!("it asks for {lanes} lanes; 1 to {MAX_LANES} are accepted")
        } else if memory_kib.saturating_mul(passes) > MAX_WORK_KIB {
            format!(
                "it asks for {passes} passes over {memory_kib} KiB; their product may be at most \
                 {MAX_WORK_KIB}"
            )
        } else {
            return Ok(self);
        };
        Err(malformed(reason))
    }

    fn stretch(self, passphrase: &str, salt: &[u8]) -> Result<Zeroizing<[u8; 32]>, KeyError> {
        let refused = |error| KeyError::Internal(format!("Argon2id: {error}"));
        let params =
            Params::new(self.memory_kib, self.passes, self.lanes, Some(32)).map_err(refused)?;
        let mut key = Zeroizing::new([0; 32]);
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(passphrase.as_bytes(), salt, key.as_mut_slice())
            .map_err(refused)?;
        Ok(key)
    }
}

fn malformed(reason: String) -> KeyError {
    KeyError::Malformed {
        what: "the passphrase entry of the recipients section".to_owned(),
        reason,
    }
}

/// A passphrase at hand. Zeroised when dropped.
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// Takes the secret, exactly as it is: no spaces are cut, nothing is normalised.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] if it is empty.
    pub fn new(secret: Zeroizing<String>) -> Result<Passphrase, KeyError> {
        if secret.is_empty() {
            return Err(KeyError::Malformed {
                what: "the passphrase".to_owned(),
                reason: "it is empty".to_owned(),
            });
        }
        Ok(Passphrase(secret))
    }

    fn unwrap_entry(
        &self,
        entry: &PassphraseEntry,
        context: &WrapContext,
    ) -> Result<ModelKey, KeyError> {
        let setting = Setting {
            memory_kib: entry.memory_kib,
            passes: entry.passes,
            lanes: entry.lanes,
        }
        .check()?;
        let not_base64 = || malformed("a field is not base64 of its length".to_owned());
        let salt = STANDARD.decode(&entry.salt).map_err(|_| not_base64())?;
        if salt.len() != SALT_BYTES {
            return Err(not_base64());
        }
        let wrapping_key = setting.stretch(&self.0, &salt)?;
        entry
            .wrap
            .unwrap(&wrapping_key, context)
            .map_err(|refusal| match refusal {
                LocalRefusal::Malformed => not_base64(),
                LocalRefusal::WrongKey => KeyError::Refused {
                    who: "passphrase".to_owned(),
                    reason: "it is not the right one, or the wrapped key was altered or belongs \
                             to another model"
                        .to_owned(),
                },
            })
    }
}

impl std::fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

impl Recipient for Passphrase {
    fn describe(&self) -> String {
        "passphrase".to_owned()
    }

    fn wrap(&self, key: &ModelKey, context: &WrapContext) -> Result<RecipientEntry, KeyError> {
        let salt: [u8; SALT_BYTES] = ids::random()?;
        let wrapping_key = SETTING.stretch(&self.0, &salt)?;
        Ok(RecipientEntry::Passphrase(PassphraseEntry {
            salt: STANDARD.encode(salt),
            memory_kib: SETTING.memory_kib,
            passes: SETTING.passes,
            lanes: SETTING.lanes,
            wrap: LocalWrap::wrap(&wrapping_key, key, context)?,
        }))
    }
}

impl Identity for Passphrase {
    fn describe(&self) -> String {
        Recipient::describe(self)
    }

    fn unwrap(
        &self,
        entry: &RecipientEntry,
        context: &WrapContext,
    ) -> Result<Option<ModelKey>, KeyError> {
        let RecipientEntry::Passphrase(entry) = entry else {
            return Ok(None);
        };
        self.unwrap_entry(entry, context).map(Some)
    }
}

/// A passphrase that is got when the first passphrase entry turns up: nobody is asked for one that
/// opens nothing.
#[derive(Debug)]
pub(crate) struct LatePassphrase {
    source: SecretSource,
    options: Options,
    passphrase: OnceCell<Passphrase>,
}

impl LatePassphrase {
    pub(crate) fn new(source: SecretSource, options: &Options) -> LatePassphrase {
        LatePassphrase {
            source,
            options: options.clone(),
            passphrase: OnceCell::new(),
        }
    }

    fn get(&self) -> Result<&Passphrase, KeyError> {
        if let Some(passphrase) = self.passphrase.get() {
            return Ok(passphrase);
        }
        let secret = self
            .source
            .read("passphrase", Purpose::Unwrap, &self.options)?;
        let passphrase = Passphrase::new(secret)?;
        Ok(self.passphrase.get_or_init(|| passphrase))
    }
}

impl Identity for LatePassphrase {
    fn describe(&self) -> String {
        "passphrase".to_owned()
    }

    fn unwrap(
        &self,
        entry: &RecipientEntry,
        context: &WrapContext,
    ) -> Result<Option<ModelKey>, KeyError> {
        let RecipientEntry::Passphrase(entry) = entry else {
            return Ok(None);
        };
        self.get()?.unwrap_entry(entry, context).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretching_agrees_with_the_reference_implementation() {
        // From test.c of the Argon2 reference implementation: argon2id, version 0x13.
        let setting = Setting {
            memory_kib: 1 << 16,
            passes: 2,
            lanes: 1,
        };
        let key = setting.stretch("password", b"somesalt").unwrap();
        assert_eq!(
            hex::encode(key.as_slice()),
            "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7"
        );
    }
}
