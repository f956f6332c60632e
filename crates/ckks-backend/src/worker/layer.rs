//! The `layer` dialect: the native engine, whole layers at a time, in a process of its own. Its
//! calls are those of the trait [`Backend`].

use super::client::Client;
use super::frame::{FrameError, MAX_PAYLOAD, read_frame, write_frame};
use super::message::{
    CloseReply, DecryptReply, Failure, FailureCode, HelloReply, MemoryReply, PROTOCOL,
    ProtocolCall, Reply, Request,
};
use super::process::Limits;
use super::serve::ServeError;
use super::streams::take_streams;
use super::{Nothing, WorkerCommand, resident};
use crate::{
    Backend, BackendError, Description, EvaluationReport, KeyReport, MemoryUse, Predicted,
    PrepareReport, TransferReport, TrialSpec, native,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::{BufReader, Read, Write};
use std::time::Instant;
use tensor_io::{InputBatch, WeightMatrix};

const LIBRARY: &str = "native";
const DIALECT: &str = "layer";
/// Weights that travel in one frame: 32 MiB.
const WEIGHTS_AT_ONCE: usize = 1 << 22;

/// What a worker of this dialect is asked to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
enum LayerCall {
    Hello {
        protocol: u32,
    },
    Open {
        spec: Box<TrialSpec>,
    },
    Keys {},
    /// The next weights, output by output, in the payload.
    Weights {},
    /// All weights have come.
    Prepare {},
    Replicate {},
    Ahead {},
    /// Vectors in the payload, one after the other.
    Encrypt {},
    Evaluate {},
    Decrypt {},
    Predicted {},
    Memory {},
    Close {},
}

impl ProtocolCall for LayerCall {
    fn name(&self) -> &'static str {
        match self {
            LayerCall::Hello { .. } => "hello",
            LayerCall::Open { .. } => "open",
            LayerCall::Keys {} => "keys",
            LayerCall::Weights {} => "weights",
            LayerCall::Prepare {} => "prepare",
            LayerCall::Replicate {} => "replicate",
            LayerCall::Ahead {} => "ahead",
            LayerCall::Encrypt {} => "encrypt",
            LayerCall::Evaluate {} => "evaluate",
            LayerCall::Decrypt {} => "decrypt",
            LayerCall::Predicted {} => "predicted",
            LayerCall::Memory {} => "memory",
            LayerCall::Close {} => "close",
        }
    }

    fn starts(&self) -> bool {
        matches!(self, LayerCall::Hello { .. } | LayerCall::Open { .. })
    }
}

/// Opens the native engine in a worker.
///
/// # Errors
/// As [`native::open`], and [`BackendError::Worker`] where the worker fails.
pub fn open(
    start: &WorkerCommand,
    spec: &TrialSpec,
    limits: Limits,
) -> Result<Box<dyn Backend>, BackendError> {
    let hello = LayerCall::Hello { protocol: PROTOCOL };
    let (mut client, _) = Client::start(start, DIALECT, hello, limits)?;
    let spec = spec.clone();
    let open = LayerCall::Open {
        spec: Box::new(spec.clone()),
    };
    let description = client.call(open, Vec::new())?;
    Ok(Box::new(Isolated {
        spec,
        description,
        client: Some(client),
        predicted: None,
    }))
}

struct Isolated {
    spec: TrialSpec,
    description: Description,
    /// `None` once closed.
    client: Option<Client>,
    /// Of the last batch.
    predicted: Option<Predicted>,
}

impl Isolated {
    fn client(&mut self) -> Result<&mut Client, BackendError> {
        let ended = || BackendError::Worker("the worker of native has ended".to_owned());
        self.client.as_mut().ok_or_else(ended)
    }

    fn call<T: DeserializeOwned>(&mut self, call: LayerCall) -> Result<T, BackendError> {
        Ok(self.client()?.call(call, Vec::new())?)
    }
}

impl Backend for Isolated {
    fn describe(&self) -> Description {
        self.description.clone()
    }

    fn generate_keys(&mut self) -> Result<KeyReport, BackendError> {
        self.call(LayerCall::Keys {})
    }

    fn prepare(
        &mut self,
        weights: &WeightMatrix,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<PrepareReport, BackendError> {
        let (found, expected) = (
            (weights.d_in(), weights.d_out()),
            (self.spec.d_in, self.spec.d_out),
        );
        if found != expected {
            return Err(BackendError::BadArgument(format!(
                "weights of {}x{} were given, the trial was opened for {}x{}",
                found.0, found.1, expected.0, expected.1
            )));
        }
        let all = weights.data().len();
        let mut sent = 0;
        for chunk in weights.data().chunks(WEIGHTS_AT_ONCE) {
            let payload = chunk.iter().copied().map(f64::from).collect();
            let _: Nothing = self.client()?.call(LayerCall::Weights {}, payload)?;
            sent += chunk.len();
            // Half of the way, roughly; what the engine does with them is not seen from here.
            progress(0.5 * sent as f64 / all as f64);
        }
        self.call(LayerCall::Prepare {})
    }

    fn replicate(&mut self) -> Result<(), BackendError> {
        self.call(LayerCall::Replicate {}).map(|Nothing {}| ())
    }

    fn evaluate_ahead(&mut self) -> Result<EvaluationReport, BackendError> {
        self.call(LayerCall::Ahead {})
    }

    fn encrypt(&mut self, inputs: &InputBatch) -> Result<TransferReport, BackendError> {
        native::check_inputs(&self.spec, inputs)?;
        let payload = inputs.data().to_vec();
        let report = self.client()?.call(LayerCall::Encrypt {}, payload)?;
        self.predicted = self.call(LayerCall::Predicted {})?;
        Ok(report)
    }

    fn evaluate(&mut self) -> Result<EvaluationReport, BackendError> {
        self.call(LayerCall::Evaluate {})
    }

    fn decrypt(&mut self) -> Result<Vec<f64>, BackendError> {
        let (batch, width) = (self.spec.batch as u64, self.spec.d_out as u64);
        Ok(self
            .client()?
            .decrypt(LayerCall::Decrypt {}, batch, width)?)
    }

    fn predicted(&self) -> Option<Predicted> {
        self.predicted
    }

    fn memory(&mut self) -> Option<MemoryUse> {
        let reply: MemoryReply = self.call(LayerCall::Memory {}).ok()?;
        Some(reply.into())
    }

    fn close(&mut self) -> Result<(), BackendError> {
        match self.client.take() {
            Some(client) => Ok(client.close(LayerCall::Close {})?),
            None => Ok(()),
        }
    }
}

/// Answers requests on standard input until `close`, with the engine of this repository.
///
/// # Errors
/// [`ServeError`] where the conversation ends in any other way.
pub fn serve() -> Result<(), ServeError> {
    let (input, mut output) = take_streams()?;
    serve_on(&mut BufReader::new(input), &mut output)
}

fn serve_on(input: &mut impl Read, output: &mut impl Write) -> Result<(), ServeError> {
    let mut served = Served::default();
    loop {
        let frame = match read_frame(input, || MAX_PAYLOAD) {
            Ok(frame) => frame,
            Err(FrameError::End) => return Err(ServeError::NotClosed),
            Err(error) => return Err(ServeError::Frame(error)),
        };
        let request: Request<LayerCall> = serde_json::from_slice(&frame.header)
            .map_err(|error| ServeError::Unnumbered(error.to_string()))?;
        let closes = matches!(request.call, LayerCall::Close {});
        let start = Instant::now();
        let answer = served.answer(request.call, frame.payload);
        let seconds = Some(start.elapsed().as_secs_f64());
        let (reply, payload) = match answer {
            Ok((value, payload)) => (
                Reply {
                    id: request.id,
                    ok: Some(value),
                    error: None,
                    seconds,
                },
                payload,
            ),
            Err(error) => (
                Reply {
                    id: request.id,
                    ok: None,
                    error: Some(failure(&error)),
                    seconds,
                },
                Vec::new(),
            ),
        };
        let header = serde_json::to_vec(&reply)
            .map_err(|error| ServeError::Frame(FrameError::Pipe(error.into())))?;
        write_frame(output, &header, &payload).map_err(ServeError::Frame)?;
        if closes {
            return Ok(());
        }
    }
}

/// The worker's side.
#[derive(Default)]
struct Served {
    opened: Option<(TrialSpec, Box<dyn Backend>)>,
    weights: Vec<f32>,
}

type Answer = Result<(Value, Vec<f64>), BackendError>;

impl Served {
    fn answer(&mut self, call: LayerCall, payload: Vec<f64>) -> Answer {
        if let LayerCall::Hello { .. } = call {
            return value(&HelloReply {
                protocol: PROTOCOL,
                dialect: DIALECT.to_owned(),
                library: LIBRARY.to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                commit: None,
                presets: native::parameter_sets()
                    .into_iter()
                    .map(|p| p.name)
                    .collect(),
                modes: Vec::new(),
            });
        }
        if let LayerCall::Open { spec } = call {
            let backend = native::open(&spec)?;
            let description = backend.describe();
            self.opened = Some((*spec, backend));
            return value(&description);
        }
        if let LayerCall::Close {} = call {
            return value(&CloseReply { done: true });
        }
        let Some((spec, backend)) = &mut self.opened else {
            return Err(BackendError::OutOfOrder {
                step: call.name(),
                needs: "open",
            });
        };
        let bad = |error: &dyn std::fmt::Display| BackendError::BadArgument(error.to_string());
        match call {
            LayerCall::Keys {} => value(&backend.generate_keys()?),
            LayerCall::Weights {} => {
                self.weights
                    .extend(payload.iter().map(|&weight| weight as f32));
                value(&json!({}))
            }
            LayerCall::Prepare {} => {
                let data = std::mem::take(&mut self.weights);
                let weights = WeightMatrix::from_output_major(spec.d_in, spec.d_out, data)
                    .map_err(|error| bad(&error))?;
                value(&backend.prepare(&weights, &|_| ())?)
            }
            LayerCall::Replicate {} => backend.replicate().and_then(|()| value(&json!({}))),
            LayerCall::Ahead {} => value(&backend.evaluate_ahead()?),
            LayerCall::Encrypt {} => {
                let inputs =
                    InputBatch::new(spec.batch, spec.d_in, payload).map_err(|error| bad(&error))?;
                value(&backend.encrypt(&inputs)?)
            }
            LayerCall::Evaluate {} => value(&backend.evaluate()?),
            LayerCall::Decrypt {} => {
                let outputs = backend.decrypt()?;
                let reply = DecryptReply {
                    ciphertexts: spec.batch as u64,
                };
                value(&reply).map(|(value, _)| (value, outputs))
            }
            LayerCall::Predicted {} => {
                // JSON has no numbers that are not finite.
                let finite = |p: &Predicted| p.rms.is_finite() && p.six_sigma.is_finite();
                value(&backend.predicted().filter(finite))
            }
            LayerCall::Memory {} => value(&MemoryReply {
                resident_peak_bytes: resident::peak().unwrap_or(0),
                device_bytes: 0,
                device_peak_bytes: 0,
            }),
            LayerCall::Hello { .. } | LayerCall::Open { .. } | LayerCall::Close {} => {
                value(&json!({}))
            }
        }
    }
}

fn value(of: &impl Serialize) -> Answer {
    serde_json::to_value(of)
        .map(|value| (value, Vec::new()))
        .map_err(|error| BackendError::Worker(error.to_string()))
}

/// The failure on the wire. What the parent makes of it is again the same kind of error.
fn failure(error: &BackendError) -> Failure {
    let code = match error {
        BackendError::Refused(_) => FailureCode::Refused,
        BackendError::Unsupported(_) => FailureCode::Unsupported,
        BackendError::BadArgument(_) | BackendError::OutOfOrder { .. } => FailureCode::BadArgument,
        BackendError::NotAvailable { .. } => FailureCode::NoDevice,
        BackendError::Library { .. } | BackendError::Worker(_) => FailureCode::LibraryError,
    };
    let message = match error {
        BackendError::NotAvailable { reason, .. } => reason.clone(),
        other => other.to_string(),
    };
    Failure { code, message }
}
