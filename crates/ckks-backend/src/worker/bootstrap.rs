//! Bootstrapping by a library in a worker: one batch of ciphertexts, refreshed.

use super::client::Client;
use super::message::{Call, KeysReply, MemoryReply, OpenCall, TransferReply};
use super::process::Limits;
use super::slots::parameters;
use super::{Nothing, WorkerCommand};
use crate::{BackendError, MemoryUse, ParameterReport};

/// What to open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BootstrapSpec {
    /// Parameter set; `None` for the library's default.
    pub params: Option<String>,
    /// Mode; `None` for the library's default.
    pub mode: Option<String>,
    /// Threads on the CPU.
    pub threads: usize,
}

/// A library that was opened to bootstrap.
#[derive(Debug)]
pub struct Bootstrapper {
    client: Client,
    /// Name, version, device, parameters.
    pub description: BootstrapDescription,
    doubles: usize,
}

/// Who bootstraps.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct BootstrapDescription {
    /// Name given by the library.
    pub library: String,
    /// Its version.
    pub version: String,
    /// Commit that the shim was written against, if it is built from source.
    pub commit: Option<String>,
    /// `cpu` or a GPU's name.
    pub device: String,
    /// How it computes.
    pub kernels: String,
    /// Parameters with their security row.
    pub parameters: ParameterReport,
    /// Slots of a ciphertext.
    pub slots: u64,
    /// Doubles of a slot: 1 where slots are real, 2 where they are complex.
    pub doubles_per_slot: usize,
    /// What a reader must know.
    pub notes: Vec<String>,
}

impl Bootstrapper {
    /// Starts the worker and opens a context for bootstrapping.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] where the library or the parameters cannot bootstrap,
    /// otherwise as `worker::slots::open`.
    pub fn open(
        start: &WorkerCommand,
        spec: &BootstrapSpec,
        limits: Limits,
    ) -> Result<Self, BackendError> {
        let call = OpenCall {
            params: spec.params.clone(),
            mode: spec.mode.clone(),
            device: 0,
            threads: u32::try_from(spec.threads).unwrap_or(u32::MAX),
            bootstrap: true,
        };
        let (client, hello, context) = Client::open_slots(start, call, limits)?;
        let doubles_per_slot = context.slot_kind.doubles();
        Ok(Self {
            client,
            doubles: context.slots as usize * doubles_per_slot,
            description: BootstrapDescription {
                library: hello.library,
                version: hello.version,
                commit: hello.commit,
                device: context.device,
                kernels: context.kernels,
                parameters: parameters(&context.parameters)?,
                slots: context.slots,
                doubles_per_slot,
                notes: context.notes,
            },
        })
    }

    /// Makes the secret and all evaluation keys; returns the keys' bytes, 0 if not known.
    ///
    /// # Errors
    /// [`BackendError::Worker`] where the library fails.
    pub fn generate_keys(&mut self) -> Result<u64, BackendError> {
        let call = Call::Keys { steps: Vec::new() };
        let keys: KeysReply = self.client.call(call, Vec::new())?;
        Ok(keys.key_bytes)
    }

    /// Encrypts one ciphertext of slots.
    ///
    /// # Errors
    /// [`BackendError::BadArgument`] for another number of doubles than a ciphertext has,
    /// [`BackendError::Worker`] where the library fails.
    pub fn encrypt(&mut self, values: Vec<f64>) -> Result<(), BackendError> {
        if values.len() != self.doubles {
            return Err(BackendError::BadArgument(format!(
                "{} values were given, a ciphertext takes {}",
                values.len(),
                self.doubles
            )));
        }
        let call = Call::Encrypt { ciphertexts: 1 };
        let _: TransferReply = self.client.call(call, values)?;
        Ok(())
    }

    /// Refreshes the ciphertext, and waits for the device.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`], [`BackendError::Worker`].
    pub fn bootstrap(&mut self) -> Result<(), BackendError> {
        for call in [Call::Bootstrap {}, Call::Synchronise {}] {
            let _: Nothing = self.client.call(call, Vec::new())?;
        }
        Ok(())
    }

    /// Decrypts the refreshed ciphertext.
    ///
    /// # Errors
    /// [`BackendError::Worker`].
    pub fn decrypt(&mut self) -> Result<Vec<f64>, BackendError> {
        let doubles = self.doubles as u64;
        Ok(self.client.decrypt(Call::Decrypt {}, 1, doubles)?)
    }

    /// The most memory that the library used.
    pub fn memory(&mut self) -> Option<MemoryUse> {
        let reply: Result<MemoryReply, _> = self.client.call(Call::Memory {}, Vec::new());
        reply.ok().map(MemoryUse::from)
    }

    /// Ends the worker in good order.
    ///
    /// # Errors
    /// [`BackendError::Worker`].
    pub fn close(self) -> Result<(), BackendError> {
        Ok(self.client.close(Call::Close {})?)
    }
}
