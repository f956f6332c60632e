//! What an object describes in JSON, and programs of requests, checked.

use super::message::{Failure, OpenReply, Program};
use super::serve::refuse;
use super::session::breach;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Most slots of a ciphertext that are believed; the largest ring in use has 2^16.
pub(super) const MAX_SLOTS: u64 = 1 << 20;

/// The text of `ckks_backend_info`.
#[derive(Debug, Deserialize)]
pub(super) struct Info {
    pub(super) name: String,
    pub(super) version: String,
    #[serde(default)]
    pub(super) commit: Option<String>,
    pub(super) presets: Vec<String>,
    pub(super) modes: Vec<String>,
}

/// Reads the text of a function.
pub(super) fn parse<T: DeserializeOwned>(function: &str, text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| {
        breach(format!(
            "the text of {function} is not what ckks_backend.h asks for: {error}"
        ))
    })
}

/// Checks the numbers of a description, and gives its slots.
pub(super) fn check_description(description: &OpenReply) -> Result<u32, Failure> {
    let slots = description.slots;
    if !slots.is_power_of_two() || !(2..=MAX_SLOTS).contains(&slots) {
        return Err(breach(format!(
            "describe says that a ciphertext has {slots} slots; they are a power of two from 2 to \
             {MAX_SLOTS}"
        )));
    }
    for (name, value) in [
        ("log_scale", description.log_scale),
        ("largest", description.largest),
    ] {
        if !value.is_finite() || value < 0.0 {
            return Err(breach(format!(
                "describe says that {name} is {value}; it must be finite and at least 0"
            )));
        }
    }
    // Below MAX_SLOTS.
    Ok(slots as u32)
}

/// The program of a request in the form of the ABI.
pub(super) fn program(program: &Program, slots: u32) -> Result<ckks_abi::Program, Failure> {
    let mut giants = Vec::with_capacity(program.giants.len());
    let mut terms = Vec::new();
    for giant in &program.giants {
        giants.push(ckks_abi::Giant {
            output: giant.output,
            giant_step: giant.step,
            first_term: terms.len() as u64,
            term_count: giant.terms.len() as u64,
        });
        let products = giant.terms.iter();
        terms.extend(
            products.map(|&(input, baby_step, diagonal)| ckks_abi::Term {
                input,
                baby_step,
                diagonal,
            }),
        );
    }
    let (inputs, outputs, diagonals) = (program.inputs, program.outputs, program.diagonals);
    ckks_abi::Program::new(slots, inputs, outputs, diagonals, giants, terms)
        .map_err(|error| refuse(error.to_string()))
}
