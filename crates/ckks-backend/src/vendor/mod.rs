//! The pins of the foreign libraries under test: one file for each in `vendor/`, part of the
//! program.
//!
//! A file says which commit or package version is measured, how it is reached, what it needs, the
//! parameters, and what is known to be wrong with it. [`Pinned`] is its typed reading; nothing
//! that is inconsistent gets past [`parse`].

mod build;
mod library;
mod preset;
mod validate;

pub use build::{Build, Part, SystemHeader};
pub use library::{Defect, Evidence, Mode, Package, Pin, Pinned, PinnedFile, Reach, Variable};
pub use preset::{Modulus, Preset, PrimeGroup, Secret};
pub use validate::VendorError;

pub(crate) use validate::placeholders;

use std::sync::LazyLock;

const FILES: [(&str, &str); 5] = [
    ("cheddar", include_str!("../../../../vendor/cheddar.toml")),
    ("fideslib", include_str!("../../../../vendor/fideslib.toml")),
    ("openfhe", include_str!("../../../../vendor/openfhe.toml")),
    ("seal", include_str!("../../../../vendor/seal.toml")),
    ("lattigo", include_str!("../../../../vendor/lattigo.toml")),
];

static ALL: LazyLock<Vec<Pinned>> = LazyLock::new(|| {
    FILES
        .iter()
        .map(|(name, text)| match parse(name, text) {
            Ok(pinned) => pinned,
            // The files are part of the program, and the tests read each of them.
            Err(error) => panic!("vendor/{name}.toml: {error}"),
        })
        .collect()
});

/// Every foreign library, in the order in which they are listed.
pub fn all() -> &'static [Pinned] {
    &ALL
}

/// The library of that name.
pub fn find(name: &str) -> Option<&'static Pinned> {
    all().iter().find(|pinned| pinned.name == name)
}

/// Reads the description of the library `name`.
///
/// # Errors
/// [`VendorError`]: not TOML, unknown or missing keys, or contents that contradict themselves.
pub fn parse(name: &str, text: &str) -> Result<Pinned, VendorError> {
    let pinned: Pinned = toml::from_str(text)?;
    validate::validate(name, &pinned)?;
    Ok(pinned)
}

#[cfg(test)]
mod tests;
