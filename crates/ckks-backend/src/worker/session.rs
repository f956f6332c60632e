//! One library of the C ABI, driven by requests.

use super::message::ProtocolCall;
use super::message::{
    Call, DecryptReply, Failure, FailureCode, HelloReply, KeysReply, MemoryReply, OpenCall,
    OpenReply, PROTOCOL, PrepareReply, ProbeReply, Program, TransferReply,
};
use super::resident;
use super::serve::refuse;
use super::texts;
use ckks_abi::{AbiError, Context, Library, Status};
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Instant;

/// Largest payload of a reply, in doubles.
const MAX_VALUES: u64 = super::frame::MAX_PAYLOAD / 8;

/// A call that succeeded.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) reply: Value,
    pub(super) payload: Vec<f64>,
    /// Seconds in the library.
    pub(super) seconds: f64,
}

impl Done {
    /// A reply that took the library no time.
    pub(super) fn of(reply: impl Serialize) -> Self {
        Self {
            // The types of replies have no maps, and so always are JSON.
            reply: serde_json::to_value(reply).unwrap_or_default(),
            payload: Vec::new(),
            seconds: 0.0,
        }
    }

    fn after(self, seconds: f64) -> Self {
        Self { seconds, ..self }
    }
}

impl From<AbiError> for Failure {
    fn from(error: AbiError) -> Self {
        let code = match error.status {
            Status::BadArgument => FailureCode::BadArgument,
            Status::Unsupported => FailureCode::Unsupported,
            Status::NoDevice => FailureCode::NoDevice,
            Status::OutOfMemory => FailureCode::OutOfMemory,
            Status::DeviceFault => FailureCode::DeviceFault,
            Status::LibraryError => FailureCode::LibraryError,
            Status::Internal => FailureCode::Internal,
        };
        Failure {
            code,
            message: error.message,
        }
    }
}

/// A breach of the ABI that shows in what an object reports.
pub(super) fn breach(message: impl Into<String>) -> Failure {
    Failure {
        code: FailureCode::Internal,
        message: message.into(),
    }
}

/// The result of a call to the library, and its seconds.
fn timed<T>(call: impl FnOnce() -> Result<T, AbiError>) -> Result<(T, f64), Failure> {
    let start = Instant::now();
    let result = call();
    let seconds = start.elapsed().as_secs_f64();
    Ok((result?, seconds))
}

/// A loaded library, and what was opened with it.
#[derive(Debug)]
pub(super) struct Session {
    library: Library,
    opened: Option<Opened>,
}

#[derive(Debug)]
struct Opened {
    context: Context,
    /// n.
    slots: u32,
    /// Doubles of a slot vector.
    width: usize,
    layer: Option<Layer>,
    /// Ciphertexts of the batch.
    batch: u64,
    /// Answers that the last evaluation must have made.
    answers: u64,
}

/// The layer that is being prepared, or was.
#[derive(Clone, Copy, Debug)]
struct Layer {
    inputs: u32,
    outputs: u32,
    diagonals: u64,
    /// The diagonal that comes next.
    next: u64,
}

impl Session {
    pub(super) fn new(library: Library) -> Self {
        Self {
            library,
            opened: None,
        }
    }

    /// Frees what was opened.
    pub(super) fn close(&mut self) {
        self.opened = None;
    }

    pub(super) fn answer(&mut self, call: Call, payload: &[f64]) -> Result<Done, Failure> {
        match call {
            Call::Hello { .. } => self.hello(),
            Call::Probe {} => {
                let (text, seconds) = timed(|| self.library.probe())?;
                Ok(Done::of(texts::parse::<ProbeReply>("probe", &text)?).after(seconds))
            }
            Call::Open(spec) => self.open(&spec),
            Call::Memory {} => self.memory(),
            Call::Close {} => Err(refuse("close is not for the library")),
            call => match &mut self.opened {
                Some(opened) => opened.answer(call, payload),
                None => Err(refuse(format!("{} before open", call.name()))),
            },
        }
    }

    fn hello(&self) -> Result<Done, Failure> {
        let (text, seconds) = timed(|| self.library.info())?;
        let info: texts::Info = texts::parse("info", &text)?;
        let reply = HelloReply {
            protocol: PROTOCOL,
            dialect: "slots".to_owned(),
            library: info.name,
            version: info.version,
            commit: info.commit,
            presets: info.presets,
            modes: info.modes,
        };
        Ok(Done::of(reply).after(seconds))
    }

    fn open(&mut self, spec: &OpenCall) -> Result<Done, Failure> {
        let spec = serde_json::to_string(spec).map_err(|error| breach(error.to_string()))?;
        let (mut context, seconds) = timed(|| self.library.open(&spec))?;
        let text = context.describe()?;
        let description: OpenReply = texts::parse("describe", &text)?;
        let slots = texts::check_description(&description)?;
        self.opened = Some(Opened {
            context,
            slots,
            width: slots as usize * description.slot_kind.doubles(),
            layer: None,
            batch: 0,
            answers: 0,
        });
        Ok(Done::of(description).after(seconds))
    }

    fn memory(&mut self) -> Result<Done, Failure> {
        let device = match &mut self.opened {
            Some(opened) => opened.context.bytes_used()?,
            None => ckks_abi::Memory::default(),
        };
        Ok(Done::of(MemoryReply {
            resident_peak_bytes: resident::peak().unwrap_or(0),
            device_bytes: device.device_bytes,
            device_peak_bytes: device.device_peak_bytes,
        }))
    }
}

impl Opened {
    fn answer(&mut self, call: Call, payload: &[f64]) -> Result<Done, Failure> {
        match call {
            Call::Keys { steps } => self.keys(&steps),
            Call::PrepareBegin(program) => self.prepare_begin(&program),
            Call::PrepareDiagonals { first } => self.prepare_diagonals(first, payload),
            Call::PrepareEnd {} => self.prepare_end(),
            Call::Encrypt { ciphertexts } => self.encrypt(ciphertexts, payload),
            Call::Evaluate {} => {
                let made = self
                    .layer
                    .map(|layer| self.batch / u64::from(layer.inputs) * u64::from(layer.outputs));
                let done = self.plain(Context::evaluate)?;
                self.answers = made.unwrap_or_default();
                Ok(done)
            }
            Call::Bootstrap {} => {
                let done = self.plain(Context::bootstrap)?;
                self.answers = self.batch;
                Ok(done)
            }
            Call::Rescale {} => self.plain(Context::rescale),
            Call::Synchronise {} => self.plain(Context::synchronise),
            Call::Answers {} => {
                let (reply, seconds) = self.answers()?;
                Ok(Done::of(reply).after(seconds))
            }
            Call::Decrypt {} => self.decrypt(),
            call => Err(refuse(format!("{} is not for a context", call.name()))),
        }
    }

    fn plain(
        &mut self,
        call: impl FnOnce(&mut Context) -> Result<(), AbiError>,
    ) -> Result<Done, Failure> {
        let ((), seconds) = timed(|| call(&mut self.context))?;
        Ok(Done::of(json!({})).after(seconds))
    }

    fn keys(&mut self, steps: &[i64]) -> Result<Done, Failure> {
        let slots = i64::from(self.slots);
        let mut before = 0;
        for &step in steps {
            if step <= before || step >= slots {
                return Err(refuse(format!(
                    "step {step} after {before}; steps ascend from 1 to {}",
                    slots - 1
                )));
            }
            before = step;
        }
        let (report, seconds) = timed(|| self.context.keys(steps))?;
        let reply = KeysReply {
            galois_keys: report.galois_keys,
            key_bytes: report.key_bytes,
        };
        Ok(Done::of(reply).after(seconds))
    }

    fn prepare_begin(&mut self, program: &Program) -> Result<Done, Failure> {
        let checked = texts::program(program, self.slots)?;
        let ((), seconds) = timed(|| self.context.prepare_begin(&checked))?;
        self.layer = Some(Layer {
            inputs: program.inputs,
            outputs: program.outputs,
            diagonals: program.diagonals,
            next: 0,
        });
        self.answers = 0;
        Ok(Done::of(json!({})).after(seconds))
    }

    /// All of the payload is checked before any of it is handed over: what is refused changed
    /// nothing.
    fn prepare_diagonals(&mut self, first: u64, payload: &[f64]) -> Result<Done, Failure> {
        let Some(layer) = &mut self.layer else {
            return Err(refuse("prepare_diagonals before prepare_begin"));
        };
        let count = whole_vectors(payload, self.width)?;
        if first != layer.next || count > layer.diagonals - layer.next {
            return Err(refuse(format!(
                "{count} diagonals from {first} on; diagonal {} of {} comes next",
                layer.next, layer.diagonals
            )));
        }
        check_finite(payload)?;
        let mut total = 0.0;
        for values in payload.chunks_exact(self.width) {
            let ((), seconds) = timed(|| self.context.prepare_diagonal(layer.next, values))?;
            total += seconds;
            layer.next += 1;
        }
        Ok(Done::of(json!({})).after(total))
    }

    fn prepare_end(&mut self) -> Result<Done, Failure> {
        let (report, seconds) = timed(|| self.context.prepare_end())?;
        if !report.log_scale.is_finite() {
            let scale = report.log_scale;
            return Err(breach(format!(
                "prepare_end reports log_scale = {scale}; it must be a finite number"
            )));
        }
        let reply = PrepareReply {
            prepared_bytes: report.prepared_bytes,
            log_scale: report.log_scale,
        };
        Ok(Done::of(reply).after(seconds))
    }

    fn encrypt(&mut self, ciphertexts: u64, payload: &[f64]) -> Result<Done, Failure> {
        let count = whole_vectors(payload, self.width)?;
        if count != ciphertexts || count == 0 {
            return Err(refuse(format!(
                "{count} slot vectors came for {ciphertexts} ciphertexts; at least one is needed"
            )));
        }
        check_finite(payload)?;
        let (report, seconds) = timed(|| self.context.encrypt(payload, count as usize))?;
        if report.ciphertexts != ciphertexts {
            return Err(breach(format!(
                "encrypt reports {} ciphertexts for {ciphertexts} slot vectors",
                report.ciphertexts
            )));
        }
        self.batch = ciphertexts;
        self.answers = 0;
        Ok(Done::of(TransferReply {
            ciphertexts,
            bytes: report.bytes,
        })
        .after(seconds))
    }

    /// The answers that the library reports, if they are as many as the layer makes.
    fn answers(&mut self) -> Result<(TransferReply, f64), Failure> {
        let (report, seconds) = timed(|| self.context.answers())?;
        if report.ciphertexts != self.answers {
            return Err(breach(format!(
                "the library reports {} answers where there must be {}",
                report.ciphertexts, self.answers
            )));
        }
        let reply = TransferReply {
            ciphertexts: report.ciphertexts,
            bytes: report.bytes,
        };
        Ok((reply, seconds))
    }

    fn decrypt(&mut self) -> Result<Done, Failure> {
        let (TransferReply { ciphertexts, .. }, _) = self.answers()?;
        let count = ciphertexts.saturating_mul(self.width as u64);
        if count > MAX_VALUES {
            return Err(refuse(format!(
                "{ciphertexts} answers have {count} values, a frame {MAX_VALUES}; take a smaller \
                 batch"
            )));
        }
        let mut payload = vec![0.0; count as usize];
        let ((), seconds) = timed(|| self.context.decrypt(&mut payload))?;
        Ok(Done {
            reply: Done::of(DecryptReply { ciphertexts }).reply,
            payload,
            seconds,
        })
    }
}

fn whole_vectors(payload: &[f64], width: usize) -> Result<u64, Failure> {
    if payload.len().is_multiple_of(width) {
        return Ok((payload.len() / width) as u64);
    }
    Err(refuse(format!(
        "{} values are no whole number of slot vectors of {width} doubles",
        payload.len()
    )))
}

fn check_finite(payload: &[f64]) -> Result<(), Failure> {
    match payload.iter().position(|value| !value.is_finite()) {
        Some(index) => {
            let value = payload[index];
            Err(refuse(format!(
                "value {index} is {value}; values are finite"
            )))
        }
        None => Ok(()),
    }
}
