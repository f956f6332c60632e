//! What a description of a library must keep to.

use super::{Build, Defect, Package, Pin, Pinned, PinnedFile, Preset, PrimeGroup, Reach, Secret};
use std::collections::HashSet;
use thiserror::Error;

/// Difference allowed between a stated and a summed length of a modulus, in bits, where all primes
/// are known; where only their lengths are, they may be off by this much each.
const TOLERANCE_OF_VALUES: f64 = 0.01;
const TOLERANCE_OF_LENGTHS: f64 = 0.5;

/// What is wrong with a description of a library.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VendorError {
    /// Not TOML, or keys that are unknown, missing or of the wrong type.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// A value that cannot be.
    #[error("{place}: {reason}")]
    Invalid {
        /// Where it is.
        place: String,
        /// What it must be.
        reason: String,
    },
}

fn require(holds: bool, place: &str, reason: impl Into<String>) -> Result<(), VendorError> {
    if holds {
        return Ok(());
    }
    Err(VendorError::Invalid {
        place: place.to_owned(),
        reason: reason.into(),
    })
}

fn require_text(text: &str, place: &str) -> Result<(), VendorError> {
    require(!text.trim().is_empty(), place, "it must not be empty")
}

fn require_distinct<'a>(
    names: impl Iterator<Item = &'a str>,
    place: &str,
) -> Result<(), VendorError> {
    let mut seen = HashSet::new();
    for name in names {
        require_text(name, place)?;
        require(
            seen.insert(name),
            place,
            format!("\"{name}\" is there twice"),
        )?;
    }
    Ok(())
}

/// Lower-case hex of exactly that many digits.
fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// A path that stays below the folder it is joined to.
fn is_below(path: &str) -> bool {
    let parts = || path.split('/');
    !path.is_empty() && parts().all(|part| !part.is_empty() && part != "." && part != "..")
}

pub(super) fn validate(name: &str, pinned: &Pinned) -> Result<(), VendorError> {
    require(
        pinned.name == name,
        "name",
        format!("\"{}\" is not the file's name", pinned.name),
    )?;
    for (text, place) in [
        (&pinned.title, "title"),
        (&pinned.summary, "summary"),
        (&pinned.licence, "licence"),
        (&pinned.language, "language"),
        (&pinned.install, "install"),
    ] {
        require_text(text, place)?;
    }
    let owner_and_name = pinned.repository.split('/').count() == 2 && is_below(&pinned.repository);
    require(
        owner_and_name,
        "repository",
        format!("\"{}\" is not owner/name", pinned.repository),
    )?;
    let words_known = pinned.words.iter().all(|bits| [32, 64].contains(bits));
    require(
        !pinned.words.is_empty() && words_known,
        "words",
        "32, 64 or both",
    )?;
    let devices_known = pinned
        .devices
        .iter()
        .all(|d| ["cpu", "cuda"].contains(&&**d));
    require(
        !pinned.devices.is_empty() && devices_known,
        "devices",
        "cpu, cuda or both",
    )?;
    pin(pinned)?;
    variables(pinned)?;
    require_distinct(pinned.modes.iter().map(|mode| &*mode.name), "mode")?;
    require_distinct(pinned.presets.iter().map(|preset| &*preset.name), "preset")?;
    require(!pinned.presets.is_empty(), "preset", "at least one")?;
    for one in &pinned.presets {
        preset(pinned, one)?;
    }
    require_distinct(pinned.defects.iter().map(|defect| &*defect.id), "defect")?;
    pinned.defects.iter().try_for_each(defect)
}

fn pin(pinned: &Pinned) -> Result<(), VendorError> {
    match (&pinned.pin, &pinned.reach) {
        (Pin::Commit { commit, date, .. }, Reach::CAbi {}) => {
            require(is_hex(commit, 40), "pin.commit", "40 hex digits")?;
            let date_parts: Vec<_> = date.split('-').map(str::len).collect();
            require(date_parts == [4, 2, 2], "pin.date", "year-month-day")?;
            require(
                !pinned.files.is_empty(),
                "file",
                "an installation is recognised by at least one",
            )?;
            let Some(build) = &pinned.build else {
                return require(false, "build", "a library of the C ABI needs one");
            };
            arguments(pinned, build)
        }
        (
            Pin::PythonPackage { .. },
            Reach::Python {
                script,
                requirements,
                modules,
                ..
            },
        ) => {
            for Package { package, version } in pinned.packages() {
                require_text(&package, "pin.package")?;
                require_text(&version, "pin.version")?;
            }
            for path in [script, requirements] {
                require(is_below(path), "reach.script", "a relative path")?;
            }
            let identifier = |part: &str| {
                !part.is_empty()
                    && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                    && !part.starts_with(|c: char| c.is_ascii_digit())
            };
            // A module's name becomes an argument of the interpreter.
            let all = |module: &String| module.split('.').all(identifier);
            require(
                !modules.is_empty() && modules.iter().all(all),
                "reach.modules",
                "Python modules",
            )?;
            require(
                pinned.build.is_none() && pinned.parts.is_empty() && pinned.files.is_empty(),
                "reach",
                "a package in Python has nothing to build",
            )
        }
        _ => require(
            false,
            "reach",
            "c-abi goes with a commit, python with a package",
        ),
    }
}

fn variables(pinned: &Pinned) -> Result<(), VendorError> {
    let names = pinned.variables.iter().map(|variable| &*variable.name);
    require_distinct(names, "variable")?;
    for variable in &pinned.variables {
        require_text(&variable.meaning, &variable.name)?;
    }
    require_distinct(pinned.parts.iter().map(|part| &*part.name), "part")?;
    for part in &pinned.parts {
        require_text(&part.what, &part.name)?;
        places(pinned, &part.name, &part.root, &part.places)?;
    }
    for header in &pinned.headers {
        require(is_below(&header.name), "header", "a relative path")?;
        require_text(&header.from, &header.name)?;
    }
    for PinnedFile {
        root,
        places: found,
        sha256,
    } in &pinned.files
    {
        places(pinned, "file", root, found)?;
        require(
            is_hex(sha256, 64),
            found.first().map_or("file", |place| place),
            "sha256 has 64 hex digits",
        )?;
    }
    Ok(())
}

fn places(pinned: &Pinned, at: &str, root: &str, places: &[String]) -> Result<(), VendorError> {
    require(
        pinned.variable(root).is_some(),
        at,
        format!("{root} is no variable of this library"),
    )?;
    require(!places.is_empty(), at, "at least one place")?;
    require(
        places.iter().all(|place| is_below(place)),
        at,
        "places are relative paths without . and ..",
    )
}

/// Every placeholder of the arguments has a value.
fn arguments(pinned: &Pinned, build: &Build) -> Result<(), VendorError> {
    require_text(&build.compiler, "build.compiler")?;
    require_distinct(build.sources.iter().map(|s| &**s), "build.sources")?;
    let sources = !build.sources.is_empty() && build.sources.iter().all(|s| is_below(s));
    require(sources, "build.sources", "relative paths")?;
    for needed in ["{sources}", "{output}"] {
        let there = build.arguments.iter().any(|argument| argument == needed);
        require(there, "build.arguments", format!("{needed} on its own"))?;
    }
    for name in build.arguments.iter().flat_map(|a| placeholders(a)) {
        let part = name.strip_suffix(".folder").unwrap_or(name);
        let known = ["sources", "output", "include", "shim", "common"].contains(&name)
            || pinned.variable(name).is_some()
            || pinned.parts.iter().any(|one| one.name == part);
        require(
            known,
            "build.arguments",
            format!("{{{name}}} has no meaning"),
        )?;
    }
    Ok(())
}

/// The names in braces.
pub(crate) fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}

fn preset(pinned: &Pinned, preset: &Preset) -> Result<(), VendorError> {
    let at = &*preset.name;
    let degree = preset.ring_degree;
    require_text(&preset.source, at)?;
    require(
        degree.is_power_of_two() && degree >= 2,
        at,
        format!("ring degree {degree} is no power of two"),
    )?;
    require(
        preset.slots == degree || preset.slots == degree / 2,
        at,
        "slots are half the ring degree, or all of a conjugate-invariant ring",
    )?;
    require(
        pinned.words.contains(&preset.word),
        at,
        format!("words of {} bits are not the library's", preset.word),
    )?;
    let lengths = preset.scale_bits > 0.0 && preset.error_sigma > 0.0 && preset.digits > 0;
    require(lengths, at, "scale, sigma and digits are above 0")?;
    require_text(&preset.error, at)?;
    require_distinct(preset.groups.iter().map(|group| &*group.group), at)?;
    for group in &preset.groups {
        primes(at, preset, group)?;
    }
    let of_q: Vec<_> = preset
        .groups
        .iter()
        .filter(|group| group.modulus == super::Modulus::Q)
        .map(PrimeGroup::count)
        .collect();
    require(of_q.iter().sum::<usize>() > 0, at, "Q has no primes")?;
    let fits = |level: &Vec<usize>| {
        level.len() == of_q.len() && level.iter().zip(&of_q).all(|(have, most)| have <= most)
    };
    require(
        preset.levels.iter().all(fits),
        at,
        "a level has more primes than its groups",
    )?;
    require(
        preset.levels.is_empty() || (preset.level as usize) < preset.levels.len(),
        at,
        format!("there is no level {}", preset.level),
    )?;
    security(at, preset)
}

fn primes(at: &str, preset: &Preset, group: &PrimeGroup) -> Result<(), VendorError> {
    require(
        group.values.is_empty() != group.bits.is_empty(),
        at,
        format!("group {} has either values or bits", group.group),
    )?;
    // A conjugate-invariant ring (all slots) transforms in a ring of twice the degree.
    let order = 2 * preset.ring_degree as u64 * (preset.slots / (preset.ring_degree / 2)) as u64;
    for &prime in &group.values {
        let fits = prime % order == 1 && prime.ilog2() < preset.word;
        require(fits, at, format!("{prime} is not 1 modulo {order}"))?;
    }
    require(
        group
            .bits
            .iter()
            .all(|&bits| bits > 1 && bits <= preset.word),
        at,
        "lengths of primes are those of words at most",
    )
}

fn security(at: &str, preset: &Preset) -> Result<(), VendorError> {
    let (sum, tolerance) = preset
        .groups
        .iter()
        .fold((0.0, 0.0), |(sum, slack), group| {
            let of_lengths = group.bits.len() as f64 * TOLERANCE_OF_LENGTHS;
            (sum + group.log2(), slack + of_lengths)
        });
    let off = (preset.log_qp - sum).abs();
    require(
        off <= tolerance + TOLERANCE_OF_VALUES,
        at,
        format!("log_qp {} is not the sum {sum:.2}", preset.log_qp),
    )?;
    preset.security().map_err(|error| VendorError::Invalid {
        place: at.to_owned(),
        reason: error.to_string(),
    })?;
    let from_table = matches!(preset.secret, Secret::UniformTernary {})
        && preset.error_sigma >= ckks::security::ERROR_SIGMA;
    require(
        from_table
            != preset
                .departure
                .as_deref()
                .is_some_and(|why| !why.trim().is_empty()),
        at,
        "departure says why the table holds where a distribution is not its own, and only there",
    )
}

fn defect(defect: &Defect) -> Result<(), VendorError> {
    for text in [
        &defect.condition,
        &defect.consequence,
        &defect.remedy,
        &defect.source,
    ] {
        require_text(text, &defect.id)?;
    }
    Ok(())
}
