//! Recipients and identities: the kinds, their texts, and what they answer when something is wrong.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

#[cfg(feature = "age")]
mod age;
#[cfg(feature = "aws-kms")]
mod aws_kms;
#[cfg(feature = "aws-kms")]
mod aws_kms_faults;
mod common;
mod key_file;
mod keyring;
mod passphrase;
#[cfg(feature = "pkcs11")]
mod pkcs11;
#[cfg(any(feature = "aws-kms", feature = "pkcs11", feature = "vault"))]
mod programs;
#[cfg(any(feature = "aws-kms", feature = "vault"))]
mod servers;
mod spec;
#[cfg(feature = "vault")]
mod vault;
#[cfg(feature = "vault")]
mod vault_faults;
