//! Requests and replies of the `slots` dialect.

use crate::{BackendError, MemoryUse};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The version of the protocol.
pub const PROTOCOL: u32 = 1;

/// A numbered request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Request<C = Call> {
    /// Ascends from 1.
    pub id: u64,
    /// What to do.
    #[serde(flatten)]
    pub call: C,
}

/// The calls of a dialect.
pub trait ProtocolCall: Serialize {
    /// The name in the protocol.
    fn name(&self) -> &'static str;

    /// Whether the call is one of those before the library does anything, which have a shorter
    /// limit.
    fn starts(&self) -> bool;
}

/// What a worker is asked to do. Payloads travel beside it in the frame.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case", deny_unknown_fields)]
pub enum Call {
    /// First of all.
    Hello {
        /// The parent's [`PROTOCOL`].
        protocol: u32,
    },
    /// Which devices there are.
    Probe {},
    /// Makes the one context of the process.
    Open(OpenCall),
    /// Makes all keys.
    Keys {
        /// Rotation steps, ascending, 1 ≤ step < n.
        steps: Vec<i64>,
    },
    /// Starts a layer.
    PrepareBegin(Program),
    /// Encodes diagonals; the payload holds whole slot vectors.
    PrepareDiagonals {
        /// Number of the first.
        first: u64,
    },
    /// Ends a layer.
    PrepareEnd {},
    /// Encrypts a batch; the payload holds the slot vectors.
    Encrypt {
        /// How many.
        ciphertexts: u64,
    },
    /// Evaluates the layer.
    Evaluate {},
    /// Divides by the weights' scale.
    Rescale {},
    /// Refreshes every ciphertext.
    Bootstrap {},
    /// Waits for the device.
    Synchronise {},
    /// Counts the answers.
    Answers {},
    /// Decrypts the answers; the reply's payload holds the slot vectors.
    Decrypt {},
    /// Says what memory is in use.
    Memory {},
    /// Ends the worker.
    Close {},
}

impl ProtocolCall for Call {
    fn name(&self) -> &'static str {
        match self {
            Call::Hello { .. } => "hello",
            Call::Probe {} => "probe",
            Call::Open(_) => "open",
            Call::Keys { .. } => "keys",
            Call::PrepareBegin(_) => "prepare_begin",
            Call::PrepareDiagonals { .. } => "prepare_diagonals",
            Call::PrepareEnd {} => "prepare_end",
            Call::Encrypt { .. } => "encrypt",
            Call::Evaluate {} => "evaluate",
            Call::Rescale {} => "rescale",
            Call::Bootstrap {} => "bootstrap",
            Call::Synchronise {} => "synchronise",
            Call::Answers {} => "answers",
            Call::Decrypt {} => "decrypt",
            Call::Memory {} => "memory",
            Call::Close {} => "close",
        }
    }

    fn starts(&self) -> bool {
        matches!(self, Call::Hello { .. } | Call::Probe {} | Call::Open(_))
    }
}

/// What a context is made from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenCall {
    /// Parameter set; `None` for the library's default.
    pub params: Option<String>,
    /// Mode; `None` for the library's default.
    pub mode: Option<String>,
    /// Index into the devices of `probe`.
    pub device: u32,
    /// Threads on the CPU, at least 1.
    pub threads: u32,
    /// Whether the context is for `bootstrap`.
    pub bootstrap: bool,
}

/// A layer for one group of vectors, as baby steps and giant steps.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Input ciphertexts.
    pub inputs: u32,
    /// Output ciphertexts.
    pub outputs: u32,
    /// Diagonals, each in exactly one term.
    pub diagonals: u64,
    /// By ascending output, then ascending step.
    pub giants: Vec<Giant>,
}

/// One giant step of one output.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Giant {
    /// Output ciphertext.
    pub output: u32,
    /// Rotation step of the sum, below n.
    pub step: u32,
    /// Its products: input ciphertext, baby step, diagonal. At least one.
    pub terms: Vec<(u32, u32, u64)>,
}

/// A reply.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// Of the request.
    pub id: u64,
    /// What the call gave; absent after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<serde_json::Value>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// Seconds that the call to the library took in the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// Why a call failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, Error)]
#[error("{message} ({code})")]
pub struct Failure {
    /// Kind.
    pub code: FailureCode,
    /// One sentence, or the library's message unchanged.
    pub message: String,
}

/// Kinds of failures: those of the C ABI, and `refused` of the `layer` dialect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureCode {
    /// The request is wrong; nothing changed.
    BadArgument,
    /// The library or the parameters cannot do this; nothing changed.
    Unsupported,
    /// No device, or no driver.
    NoDevice,
    /// Memory ran out.
    OutOfMemory,
    /// The device reported an error.
    DeviceFault,
    /// The library reported an error of its own.
    LibraryError,
    /// A fault of the worker or shim.
    Internal,
    /// Refused before it runs: predicted overflow, noise or memory.
    Refused,
}

impl FailureCode {
    /// Whether the context may still be used.
    #[must_use]
    pub fn is_recoverable(self) -> bool {
        matches!(self, Self::BadArgument | Self::Unsupported | Self::Refused)
    }

    /// The name in the protocol.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BadArgument => "bad-argument",
            Self::Unsupported => "unsupported",
            Self::NoDevice => "no-device",
            Self::OutOfMemory => "out-of-memory",
            Self::DeviceFault => "device-fault",
            Self::LibraryError => "library-error",
            Self::Internal => "internal",
            Self::Refused => "refused",
        }
    }
}

impl std::fmt::Display for FailureCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Reply to `hello`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HelloReply {
    /// The worker's [`PROTOCOL`].
    pub protocol: u32,
    /// `slots` or `layer`.
    pub dialect: String,
    /// Name as given to `--lib`.
    pub library: String,
    /// Of the library.
    pub version: String,
    /// That the worker was written against, where the library is built from source.
    pub commit: Option<String>,
    /// Parameter sets, the default first.
    pub presets: Vec<String>,
    /// Modes, the default first.
    pub modes: Vec<String>,
}

impl HelloReply {
    /// Refuses a parameter set or a mode that the library does not have.
    ///
    /// # Errors
    /// [`BackendError::BadArgument`] with those that it has.
    pub fn check_names(
        &self,
        params: Option<&str>,
        mode: Option<&str>,
    ) -> Result<(), BackendError> {
        for (flag, asked, known) in [
            ("--params", params, &self.presets),
            ("--mode", mode, &self.modes),
        ] {
            let Some(asked) = asked else { continue };
            if !known.iter().any(|name| name == asked) {
                let known = if known.is_empty() {
                    "has none to choose from".to_owned()
                } else {
                    format!("has {}", known.join(", "))
                };
                return Err(BackendError::BadArgument(format!(
                    "{flag} {asked}: {} {known}",
                    self.library
                )));
            }
        }
        Ok(())
    }
}

/// Reply to `probe`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProbeReply {
    /// At least one.
    pub devices: Vec<Device>,
    /// Driver of the devices.
    pub driver: Option<String>,
}

/// A device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Device {
    /// `cpu`, or a GPU's name.
    pub name: String,
    /// Its memory; 0 for a CPU.
    pub memory_bytes: u64,
}

/// Reply to `open`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OpenReply {
    /// `cpu`, or the GPU's name with its driver.
    pub device: String,
    /// How the library computes, in a few words.
    pub kernels: String,
    /// Slots n of a ciphertext.
    pub slots: u64,
    /// What a slot holds.
    pub slot_kind: SlotKind,
    /// The parameters.
    pub parameters: Parameters,
    /// log2 of the scale of inputs.
    pub log_scale: f64,
    /// Largest |value| of an answer's slot that does not overflow; 0 if not known.
    pub largest: f64,
    /// Sentences for the report.
    pub notes: Vec<String>,
}

/// What a slot holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SlotKind {
    /// One double.
    Real,
    /// Two doubles: real part, imaginary part.
    Complex,
}

impl SlotKind {
    /// Doubles for each slot.
    #[must_use]
    pub fn doubles(self) -> usize {
        match self {
            Self::Real => 1,
            Self::Complex => 2,
        }
    }
}

/// Parameters of a context.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Parameters {
    /// Name of the set.
    pub name: String,
    /// Ring degree N that the security argument is about.
    pub ring_degree: u64,
    /// Primes of the largest ciphertext that the keys are for.
    pub q: Vec<u64>,
    /// Primes of key switching.
    pub p: Vec<u64>,
    /// Secret distribution in words.
    pub secret: String,
    /// Error distribution in words.
    pub error: String,
}

/// Reply to `keys`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KeysReply {
    /// Galois keys.
    pub galois_keys: u64,
    /// Bytes of all evaluation keys as sent; 0 if not known.
    pub key_bytes: u64,
}

/// Reply to `prepare_end`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PrepareReply {
    /// Bytes of the encoded diagonals.
    pub prepared_bytes: u64,
    /// log2 of their scale.
    pub log_scale: f64,
}

/// Reply to `encrypt` and `answers`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TransferReply {
    /// Ciphertexts.
    pub ciphertexts: u64,
    /// Bytes of all of them as sent; 0 if not known.
    pub bytes: u64,
}

/// Reply to `decrypt`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DecryptReply {
    /// Slot vectors in the payload.
    pub ciphertexts: u64,
}

/// Reply to `memory`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemoryReply {
    /// Largest resident memory of the worker so far; 0 if not known.
    pub resident_peak_bytes: u64,
    /// In use on the device; 0 if not known.
    pub device_bytes: u64,
    /// The most of it so far.
    pub device_peak_bytes: u64,
}

impl From<MemoryReply> for MemoryUse {
    fn from(reply: MemoryReply) -> MemoryUse {
        let known = |bytes| Some(bytes).filter(|&bytes| bytes > 0);
        MemoryUse {
            peak_resident: known(reply.resident_peak_bytes),
            peak_device: known(reply.device_peak_bytes),
        }
    }
}

/// Reply to `close`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CloseReply {
    /// Always true.
    pub done: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn requests_look_as_documented() {
        let request = |id, call| serde_json::to_value(Request { id, call }).unwrap();
        assert_eq!(
            request(1, Call::Hello { protocol: 1 }),
            json!({"id": 1, "call": "hello", "protocol": 1})
        );
        assert_eq!(
            request(9, Call::Evaluate {}),
            json!({"id": 9, "call": "evaluate"})
        );
        let program = Program {
            inputs: 1,
            outputs: 1,
            diagonals: 1,
            giants: vec![Giant {
                output: 0,
                step: 4,
                terms: vec![(0, 3, 0)],
            }],
        };
        assert_eq!(
            request(2, Call::PrepareBegin(program)),
            json!({"id": 2, "call": "prepare_begin", "inputs": 1, "outputs": 1, "diagonals": 1,
                   "giants": [{"output": 0, "step": 4, "terms": [[0, 3, 0]]}]})
        );
    }

    #[test]
    fn names_of_calls_are_those_on_the_wire() {
        for call in [
            Call::Probe {},
            Call::PrepareEnd {},
            Call::PrepareDiagonals { first: 0 },
            Call::Close {},
        ] {
            let value = serde_json::to_value(&call).unwrap();
            assert_eq!(value["call"], call.name());
        }
    }

    #[test]
    fn unknown_calls_and_fields_are_refused() {
        let parse = |value| serde_json::from_value::<Request>(value);
        assert!(parse(json!({"id": 1, "call": "evaluate"})).is_ok());
        for bad in [
            json!({"id": 1, "call": "nope"}),
            json!({"id": 1, "call": "keys"}),
            json!({"id": 1, "call": "keys", "steps": [1.5]}),
            json!({"id": 1, "call": "prepare_diagonals", "first": -1}),
            json!({"call": "evaluate"}),
            json!({"id": 1, "call": "evaluate", "extra": 1}),
        ] {
            assert!(parse(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn failures_name_their_code() {
        let failure = Failure {
            code: FailureCode::NoDevice,
            message: "no CUDA device".into(),
        };
        assert_eq!(failure.to_string(), "no CUDA device (no-device)");
        let codes = serde_json::to_value(FailureCode::NoDevice).unwrap();
        assert_eq!(codes, json!("no-device"));
    }
}
