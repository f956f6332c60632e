//! Recipients and identities: the kinds, their texts, and what they answer when something is wrong.

#[cfg(feature = "age")]
mod age;
mod common;
mod key_file;
mod keyring;
mod passphrase;
#[cfg(feature = "pkcs11")]
mod pkcs11;
#[cfg(feature = "pkcs11")]
mod programs;
mod spec;
