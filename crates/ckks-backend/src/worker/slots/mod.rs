//! A library in a worker, behind the trial's trait: the packing is decided here, the worker
//! encrypts slots, rotates, multiplies, adds, decrypts.

mod describe;

pub(super) use describe::parameters;

use super::client::Client;
use super::frame::MAX_PAYLOAD;
use super::message::{
    Call, Giant, HelloReply, KeysReply, MemoryReply, OpenCall, PrepareReply, Program, SlotKind,
    TransferReply,
};
use super::process::Limits;
use super::{Nothing, WorkerCommand};
use crate::native::check_inputs;
use crate::{
    Backend, BackendError, Description, EvaluationReport, KeyReport, MemoryUse, Phase, PlanChoice,
    Predicted, PrepareReport, TransferReport, TrialSpec,
};
use ckks::Complex64;
use ckks_linear::error::LinearError;
use ckks_linear::plan::PlanKind;
use ckks_linear::planner::PlanOptions;
use ckks_linear::shape::LayerShape;
use ckks_linear::slots::{self, SlotDiagonals, SlotOutput, SlotProgram};
use tensor_io::{InputBatch, WeightMatrix};

/// Doubles of diagonals that travel in one frame, about: 32 MiB.
const DOUBLES_AT_ONCE: usize = 1 << 22;

/// Opens a library in a worker of its own.
///
/// # Errors
/// [`BackendError::NotAvailable`] where the worker cannot be started or finds no device,
/// [`BackendError::Unsupported`] for what no library in a worker does, [`BackendError::Refused`]
/// for parameters beyond the security table, [`BackendError::Worker`] where it fails.
pub fn open(
    start: &WorkerCommand,
    spec: &TrialSpec,
    limits: Limits,
) -> Result<Box<dyn Backend>, BackendError> {
    let kind = kind(spec, &start.name)?;
    let shape = LayerShape::new(spec.d_in, spec.d_out)
        .map_err(|error| BackendError::BadArgument(error.to_string()))?;
    let call = OpenCall {
        params: spec.params.clone(),
        mode: spec.mode.clone(),
        device: 0,
        threads: u32::try_from(spec.threads).unwrap_or(u32::MAX),
        bootstrap: false,
    };
    let (client, hello, context) = Client::open_slots(start, call, limits)?;
    let parameters = parameters(&context.parameters)?;
    let slot_kind = match context.slot_kind {
        SlotKind::Real => slots::SlotKind::Real,
        SlotKind::Complex => slots::SlotKind::Complex,
    };
    let options = PlanOptions::default();
    let n = context.slots as usize;
    let program = SlotProgram::choose(kind, shape, n, slot_kind, spec.batch, &options)
        .map_err(|error| BackendError::BadArgument(error.to_string()))?;
    let doubles = n.saturating_mul(context.slot_kind.doubles()) as u64;
    let ciphertexts = program.ciphertexts(spec.batch);
    for (what, count) in [
        ("inputs", ciphertexts.inputs),
        ("answers", ciphertexts.outputs),
    ] {
        let bytes = count.saturating_mul(doubles).saturating_mul(8);
        if bytes > MAX_PAYLOAD {
            return Err(BackendError::BadArgument(format!(
                "{count} {what} of {doubles} values are {bytes} bytes for the worker's pipe, and \
                 {MAX_PAYLOAD} are the most at a time; take a smaller --batch"
            )));
        }
    }
    Ok(Box::new(Slots {
        spec: spec.clone(),
        client: Some(client),
        hello,
        description: describe::Described {
            parameters,
            context,
            notes: start.notes.clone(),
        },
        program,
        layer: None,
        encrypted: false,
        answers: 0,
    }))
}

fn kind(spec: &TrialSpec, library: &str) -> Result<PlanKind, BackendError> {
    let cannot = |what: &str| {
        Err(BackendError::Unsupported(format!(
            "{what} only --lib native can do, not {library}; leave it out"
        )))
    };
    if spec.ahead {
        return cannot("an ahead-of-time part (--ahead)");
    }
    if spec.replicas > 1 {
        return cannot("evaluations that leave the caches (--cold)");
    }
    match spec.plan {
        PlanChoice::Auto | PlanChoice::Diagonal => Ok(PlanKind::Diagonal),
        PlanChoice::DiagonalSquare => Ok(PlanKind::DiagonalSquare),
        PlanChoice::Gemm => cannot("--plan gemm"),
    }
}

struct Slots {
    spec: TrialSpec,
    /// `None` once closed.
    client: Option<Client>,
    hello: HelloReply,
    description: describe::Described,
    program: SlotProgram,
    layer: Option<Layer>,
    /// Whether a batch is there to be evaluated.
    encrypted: bool,
    /// Ciphertexts to be decrypted; 0 before an evaluation.
    answers: u64,
}

/// What is known of the prepared layer.
struct Layer {
    /// Largest norm of what one slot meets.
    bound: f64,
    /// The library has nothing to compute: all weights are zero.
    zero: bool,
}

impl Slots {
    fn client(&mut self) -> Result<&mut Client, BackendError> {
        let library = &self.hello.library;
        self.client
            .as_mut()
            .ok_or_else(|| BackendError::Worker(format!("the worker of {library} has ended")))
    }

    fn call<T: serde::de::DeserializeOwned>(&mut self, call: Call) -> Result<T, BackendError> {
        Ok(self.client()?.call(call, Vec::new())?)
    }

    /// A call as a phase with the time that the worker measured.
    fn phase(&mut self, name: &str, call: Call) -> Result<Phase, BackendError> {
        let (_, seconds): (Nothing, f64) = self.client()?.timed(call, Vec::new())?;
        Ok(Phase {
            name: name.to_owned(),
            seconds,
            bytes: None,
        })
    }

    fn doubles(&self) -> usize {
        self.description.context.slot_kind.doubles() * self.program.slots()
    }

    /// Sends all diagonals, several in a frame.
    fn send_diagonals(
        &mut self,
        diagonals: &SlotDiagonals<'_>,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<(), BackendError> {
        let slots = diagonals.program().slots();
        let kind = self.description.context.slot_kind;
        let (count, doubles) = (diagonals.len(), self.doubles());
        let at_once = (DOUBLES_AT_ONCE / doubles).max(1);
        let mut buffer = vec![Complex64::ZERO; at_once.min(count) * slots];
        for first in (0..count).step_by(at_once) {
            let range = first..count.min(first + at_once);
            let buffer = &mut buffer[..range.len() * slots];
            diagonals.fill_range(range, buffer).map_err(linear_error)?;
            let mut payload = Vec::with_capacity(buffer.len() * kind.doubles());
            append(kind, buffer, &mut payload);
            let call = Call::PrepareDiagonals {
                first: first as u64,
            };
            let _: Nothing = self.client()?.call(call, payload)?;
            progress((first + at_once).min(count) as f64 / count as f64);
        }
        Ok(())
    }

    /// Refuses a batch whose answers could overflow.
    fn check_range(&self, inputs: &InputBatch, bound: f64) -> Result<(), BackendError> {
        let largest = self.description.context.largest;
        let norm = inputs
            .iter()
            .map(|row| row.iter().map(|x| x * x).sum::<f64>().sqrt())
            .fold(0.0, f64::max);
        // Two vectors that share slots as real and imaginary parts.
        let shared = self.program.plan().folding().vectors_per_group() as f64;
        let reached = bound * norm * shared.sqrt();
        if largest > 0.0 && reached > largest {
            return Err(BackendError::Refused(format!(
                "answers could reach {reached:.3e}, and the parameters {} hold at most \
                 {largest:.3e}; scale W or x down, or take other --params",
                self.description.parameters.name
            )));
        }
        Ok(())
    }
}

impl Backend for Slots {
    fn describe(&self) -> Description {
        self.description
            .describe(&self.hello, &self.program, &self.spec)
    }

    fn generate_keys(&mut self) -> Result<KeyReport, BackendError> {
        let steps = self.program.rotation_steps();
        let steps = steps.into_iter().map(|step| step as i64).collect();
        let reply: KeysReply = self.call(Call::Keys { steps })?;
        Ok(KeyReport {
            key_bytes: reply.key_bytes,
            galois_keys: reply.galois_keys,
        })
    }

    fn prepare(
        &mut self,
        weights: &WeightMatrix,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<PrepareReport, BackendError> {
        self.layer = None;
        let program = self.program.clone();
        let diagonals = program.prepare(weights).map_err(linear_error)?;
        let bound = program.slot_bound(weights).map_err(linear_error)?;
        let mut report = PrepareReport {
            zero_diagonals: diagonals.zero_diagonals() as u64,
            log_weight_scale: 0.0,
            ..PrepareReport::default()
        };
        if !diagonals.is_empty() {
            let _: Nothing = self.call(Call::PrepareBegin(on_the_wire(&diagonals)))?;
            self.send_diagonals(&diagonals, progress)?;
            let reply: PrepareReply = self.call(Call::PrepareEnd {})?;
            report.prepared_bytes = reply.prepared_bytes;
            report.log_weight_scale = reply.log_scale;
        }
        self.layer = Some(Layer {
            bound,
            zero: diagonals.is_empty(),
        });
        Ok(report)
    }

    fn evaluate_ahead(&mut self) -> Result<EvaluationReport, BackendError> {
        Err(BackendError::Unsupported(format!(
            "{} has no ahead-of-time part",
            self.hello.library
        )))
    }

    fn encrypt(&mut self, inputs: &InputBatch) -> Result<TransferReport, BackendError> {
        check_inputs(&self.spec, inputs)?;
        let Some(layer) = &self.layer else {
            return Err(out_of_order("encrypt", "prepare"));
        };
        let zero = layer.zero;
        self.check_range(inputs, layer.bound)?;
        let rows: Vec<&[f64]> = inputs.iter().collect();
        let kind = self.description.context.slot_kind;
        let mut payload = Vec::new();
        let mut ciphertexts = 0u64;
        for group in rows.chunks(self.program.vectors_per_ciphertext()) {
            for slots in self.program.pack(group).map_err(linear_error)? {
                append(kind, &slots, &mut payload);
                ciphertexts += 1;
            }
        }
        self.encrypted = false;
        self.answers = 0;
        if zero {
            self.encrypted = true;
            return Ok(TransferReport { bytes: 0 });
        }
        let call = Call::Encrypt { ciphertexts };
        let client = self.client()?;
        let reply: TransferReply = client.call(call, payload)?;
        if reply.ciphertexts != ciphertexts {
            let what = format!("{} ciphertexts of {ciphertexts}", reply.ciphertexts);
            return Err(client.wrong("encrypt", what).into());
        }
        self.encrypted = true;
        Ok(TransferReport { bytes: reply.bytes })
    }

    fn evaluate(&mut self) -> Result<EvaluationReport, BackendError> {
        let Some(layer) = self.layer.as_ref().filter(|_| self.encrypted) else {
            return Err(out_of_order("evaluate", "encrypt"));
        };
        let expected = self.program.ciphertexts(self.spec.batch).outputs;
        if layer.zero {
            self.answers = expected;
            return Ok(EvaluationReport::default());
        }
        let phases = vec![
            self.phase("evaluate", Call::Evaluate {})?,
            self.phase("rescale", Call::Rescale {})?,
            self.phase("synchronise", Call::Synchronise {})?,
        ];
        let reply: TransferReply = self.call(Call::Answers {})?;
        if reply.ciphertexts != expected {
            let what = format!("{} answers of {expected}", reply.ciphertexts);
            return Err(self.client()?.wrong("answers", what).into());
        }
        self.answers = expected;
        Ok(EvaluationReport {
            phases,
            download_bytes: reply.bytes,
        })
    }

    fn decrypt(&mut self) -> Result<Vec<f64>, BackendError> {
        let Some(layer) = self.layer.as_ref().filter(|_| self.answers > 0) else {
            return Err(out_of_order("decrypt", "evaluate"));
        };
        if layer.zero {
            return Ok(vec![0.0; self.spec.batch * self.spec.d_out]);
        }
        let (answers, doubles) = (self.answers, self.doubles());
        let values = self
            .client()?
            .decrypt(Call::Decrypt {}, answers, doubles as u64)?;
        let kind = self.description.context.slot_kind;
        let slots: Vec<Vec<Complex64>> = values
            .chunks_exact(doubles)
            .map(|values| complex(kind, values))
            .collect();
        let outputs = self.program.outputs().len();
        let each = self.program.vectors_per_ciphertext();
        let mut all = Vec::with_capacity(self.spec.batch * self.spec.d_out);
        for (group, answers) in slots.chunks(outputs).enumerate() {
            let vectors = each.min(self.spec.batch - group * each);
            let unpacked = self
                .program
                .unpack(answers, vectors)
                .map_err(linear_error)?;
            all.extend(unpacked.into_iter().flatten());
        }
        Ok(all)
    }

    fn predicted(&self) -> Option<Predicted> {
        None
    }

    fn memory(&mut self) -> Option<MemoryUse> {
        let reply: MemoryReply = self.call(Call::Memory {}).ok()?;
        Some(reply.into())
    }

    fn close(&mut self) -> Result<(), BackendError> {
        match self.client.take() {
            Some(client) => Ok(client.close(Call::Close {})?),
            None => Ok(()),
        }
    }
}

/// The term lists as the protocol has them. Widths are bounded, so that all numbers fit.
fn on_the_wire(diagonals: &SlotDiagonals<'_>) -> Program {
    let program = diagonals.program();
    let mut giants = Vec::new();
    for (output, sum) in diagonals.outputs().iter().enumerate() {
        let SlotOutput::Sum(steps) = sum else {
            continue;
        };
        giants.extend(steps.iter().map(|giant| {
            Giant {
                output: output as u32,
                step: giant.step as u32,
                terms: giant
                    .terms
                    .iter()
                    .map(|term| (term.input as u32, term.baby as u32, term.diagonal as u64))
                    .collect(),
            }
        }));
    }
    Program {
        inputs: program.inputs().len() as u32,
        outputs: program.outputs().len() as u32,
        diagonals: diagonals.len() as u64,
        giants,
    }
}

/// Slots as the doubles of a payload.
fn append(kind: SlotKind, slots: &[Complex64], payload: &mut Vec<f64>) {
    match kind {
        SlotKind::Real => payload.extend(slots.iter().map(|slot| slot.re)),
        SlotKind::Complex => payload.extend(slots.iter().flat_map(|slot| [slot.re, slot.im])),
    }
}

/// Doubles of a payload as slots.
fn complex(kind: SlotKind, values: &[f64]) -> Vec<Complex64> {
    match kind {
        SlotKind::Real => values.iter().map(|&re| Complex64::new(re, 0.0)).collect(),
        SlotKind::Complex => values
            .as_chunks::<2>()
            .0
            .iter()
            .map(|&[re, im]| Complex64::new(re, im))
            .collect(),
    }
}

fn linear_error(error: LinearError) -> BackendError {
    BackendError::BadArgument(error.to_string())
}

fn out_of_order(step: &'static str, needs: &'static str) -> BackendError {
    BackendError::OutOfOrder { step, needs }
}
