//! The parent's side of the protocol: typed calls to a worker, each with its limit.

use super::WorkerCommand;
use super::frame::{Frame, MAX_PAYLOAD};
use super::message::{
    Call, CloseReply, DecryptReply, Failure, FailureCode, HelloReply, OpenCall, OpenReply,
    PROTOCOL, ProbeReply, ProtocolCall, Reply, Request,
};
use super::process::{Limits, Worker, WorkerFault};
use crate::BackendError;
use serde::de::DeserializeOwned;
use std::fmt;

const DOUBLE: u64 = 8;

/// A worker that has said hello.
#[derive(Debug)]
pub struct Client {
    worker: Worker,
    library: String,
    limits: Limits,
    /// Of the last request.
    id: u64,
    /// The first failure after which the worker must not be asked again.
    lost: Option<String>,
}

/// A call that failed, with the end of the worker's standard error.
#[derive(Debug)]
pub struct WorkerError {
    library: String,
    call: &'static str,
    fault: Fault,
    stderr: Vec<String>,
}

#[derive(Debug)]
enum Fault {
    /// The worker answered that it failed.
    Failed(Failure),
    /// The worker did not answer as it must.
    Worker(WorkerFault),
    /// It answered, with something that makes no sense.
    Answer(String),
    /// It is not asked again after this failure.
    Lost(String),
}

impl fmt::Display for WorkerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the worker of {}, asked to {}: ",
            self.library, self.call
        )?;
        match &self.fault {
            Fault::Failed(failure) => f.write_str(&printable(&failure.to_string()))?,
            Fault::Worker(fault) => f.write_str(&printable(&fault.to_string()))?,
            Fault::Answer(what) => write!(f, "its answer is wrong: {}", printable(what))?,
            Fault::Lost(first) => write!(f, "it is not asked again, because of {first}")?,
        }
        if !self.stderr.is_empty() {
            let last = printable(&self.stderr.join(" | "));
            write!(f, "; last on standard error: {last}")?;
        }
        Ok(())
    }
}

impl std::error::Error for WorkerError {}

impl From<WorkerError> for BackendError {
    fn from(error: WorkerError) -> BackendError {
        match &error.fault {
            Fault::Failed(failure) => {
                let message = printable(&failure.message);
                match failure.code {
                    FailureCode::Unsupported => BackendError::Unsupported(message),
                    FailureCode::Refused => BackendError::Refused(message),
                    FailureCode::NoDevice => BackendError::NotAvailable {
                        name: error.library,
                        reason: message,
                    },
                    _ => BackendError::Worker(error.to_string()),
                }
            }
            Fault::Worker(WorkerFault::Start(source)) => BackendError::NotAvailable {
                reason: format!("its worker could not be started: {source}"),
                name: error.library,
            },
            _ => BackendError::Worker(error.to_string()),
        }
    }
}

impl Client {
    /// Starts a worker and says `hello`, which it must answer with its name and this dialect.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn start(
        start: &WorkerCommand,
        dialect: &str,
        hello: impl ProtocolCall,
        limits: Limits,
    ) -> Result<(Client, HelloReply), WorkerError> {
        let library = &start.name;
        let worker =
            Worker::start(start.command(), limits.memory).map_err(|fault| WorkerError {
                library: library.clone(),
                call: "start",
                fault: Fault::Worker(fault),
                stderr: Vec::new(),
            })?;
        let mut client = Client {
            worker,
            library: library.clone(),
            limits,
            id: 0,
            lost: None,
        };
        let mut hello: HelloReply = client.call(hello, Vec::new()).map_err(|mut error| {
            // What cannot even say hello is not there.
            if let Fault::Failed(failure) = &mut error.fault {
                failure.code = FailureCode::NoDevice;
            }
            error
        })?;
        for (what, expected, found) in [
            ("protocol", PROTOCOL.to_string(), hello.protocol.to_string()),
            ("dialect", dialect.to_owned(), hello.dialect.clone()),
            (
                "library",
                start.answers.as_ref().unwrap_or(&hello.library).clone(),
                hello.library.clone(),
            ),
        ] {
            if expected != found {
                return Err(client.wrong("hello", format!("{what} {found:?}, not {expected:?}")));
            }
        }
        for text in [&mut hello.library, &mut hello.version]
            .into_iter()
            .chain(&mut hello.commit)
        {
            *text = printable(text);
        }
        Ok((client, hello))
    }

    /// Starts a worker of the `slots` dialect and opens its context, once the names in `call` and
    /// the devices are known to be there.
    ///
    /// # Errors
    /// [`BackendError::BadArgument`] for a parameter set or a mode that the library does not have,
    /// otherwise what becomes of a [`WorkerError`].
    pub fn open_slots(
        start: &WorkerCommand,
        call: OpenCall,
        limits: Limits,
    ) -> Result<(Client, HelloReply, OpenReply), BackendError> {
        let hello = Call::Hello { protocol: PROTOCOL };
        let (mut client, hello) = Client::start(start, "slots", hello, limits)?;
        hello.check_names(call.params.as_deref(), call.mode.as_deref())?;
        client.probe()?;
        let context = client.open(call)?;
        Ok((client, hello, context))
    }

    /// Which devices there are: at least one.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn probe(&mut self) -> Result<ProbeReply, WorkerError> {
        let probe: ProbeReply = self.call(Call::Probe {}, Vec::new())?;
        if probe.devices.is_empty() {
            return Err(self.wrong("probe", "no devices, and no error".to_owned()));
        }
        Ok(probe)
    }

    /// Opens the context.
    ///
    /// # Errors
    /// [`WorkerError`]; also for a number of slots that is no power of two from 2 to 2^20, and for
    /// parameters that cannot be.
    pub fn open(&mut self, call: OpenCall) -> Result<OpenReply, WorkerError> {
        let mut open: OpenReply = self.call(Call::Open(call), Vec::new())?;
        let set = &mut open.parameters;
        let texts = [&mut open.device, &mut open.kernels].into_iter();
        let texts = texts.chain([&mut set.name, &mut set.secret, &mut set.error]);
        for text in texts.chain(&mut open.notes) {
            *text = printable(text);
        }
        match check_open(&open) {
            Ok(()) => Ok(open),
            Err(what) => Err(self.wrong("open", what)),
        }
    }

    /// A call whose reply has no payload.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn call<T: DeserializeOwned>(
        &mut self,
        call: impl ProtocolCall,
        payload: Vec<f64>,
    ) -> Result<T, WorkerError> {
        Ok(self.timed(call, payload)?.0)
    }

    /// As [`Client::call`], with the seconds that the worker measured.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn timed<T: DeserializeOwned>(
        &mut self,
        call: impl ProtocolCall,
        payload: Vec<f64>,
    ) -> Result<(T, f64), WorkerError> {
        let (value, seconds, _) = self.exchange(call, payload, 0)?;
        Ok((value, seconds))
    }

    /// Decrypts `ciphertexts` answers of `doubles` doubles each.
    ///
    /// # Errors
    /// [`WorkerError`]; also where it returns fewer or more.
    pub fn decrypt(
        &mut self,
        call: impl ProtocolCall,
        ciphertexts: u64,
        doubles: u64,
    ) -> Result<Vec<f64>, WorkerError> {
        let expected = ciphertexts.saturating_mul(doubles);
        let limit = expected.saturating_mul(DOUBLE).min(MAX_PAYLOAD);
        let (reply, _, values): (DecryptReply, _, _) = self.exchange(call, Vec::new(), limit)?;
        if (reply.ciphertexts, values.len() as u64) != (ciphertexts, expected) {
            let what = format!(
                "{} values of {} ciphertexts, where {expected} of {ciphertexts} were due",
                values.len(),
                reply.ciphertexts,
            );
            return Err(self.wrong("decrypt", what));
        }
        Ok(values)
    }

    /// Ends the worker in good order.
    ///
    /// # Errors
    /// [`WorkerError`] where it does not exit with status 0 after it answered `done`.
    pub fn close(mut self, call: impl ProtocolCall) -> Result<(), WorkerError> {
        let reply: CloseReply = self.call(call, Vec::new())?;
        if !reply.done {
            return Err(self.wrong("close", "not done".to_owned()));
        }
        let limit = self.limits.exit;
        let finished = self.worker.finish(limit);
        finished.map_err(|fault| self.error("close", Fault::Worker(fault)))
    }

    fn exchange<T: DeserializeOwned>(
        &mut self,
        call: impl ProtocolCall,
        payload: Vec<f64>,
        max_payload: u64,
    ) -> Result<(T, f64, Vec<f64>), WorkerError> {
        let name = call.name();
        if let Some(first) = &self.lost {
            return Err(self.error(name, Fault::Lost(first.clone())));
        }
        self.id += 1;
        let limit = if call.starts() {
            self.limits.start
        } else {
            self.limits.call
        };
        let request = Request { id: self.id, call };
        let header = match serde_json::to_vec(&request) {
            Ok(header) => header,
            Err(error) => return Err(self.error(name, Fault::Answer(error.to_string()))),
        };
        let frame = match self.worker.ask(header, payload, max_payload, limit) {
            Ok(frame) => frame,
            Err(fault) => return Err(self.lose(name, Fault::Worker(fault))),
        };
        self.read(name, frame)
    }

    fn read<T: DeserializeOwned>(
        &mut self,
        name: &'static str,
        frame: Frame,
    ) -> Result<(T, f64, Vec<f64>), WorkerError> {
        let reply: Reply = match serde_json::from_slice(&frame.header) {
            Ok(reply) => reply,
            Err(error) => return Err(self.wrong(name, error.to_string())),
        };
        if reply.id != self.id {
            let what = format!("it answers request {}, not {}", reply.id, self.id);
            return Err(self.wrong(name, what));
        }
        let value = match (reply.ok, reply.error) {
            (Some(value), None) => value,
            (None, Some(failure)) => {
                return Err(if failure.code.is_recoverable() {
                    self.error(name, Fault::Failed(failure))
                } else {
                    self.lose(name, Fault::Failed(failure))
                });
            }
            _ => {
                return Err(self.wrong(name, "neither done nor failed, or both".to_owned()));
            }
        };
        let seconds = reply.seconds.unwrap_or(0.0);
        if !(seconds.is_finite() && seconds >= 0.0) {
            return Err(self.wrong(name, format!("{seconds} seconds")));
        }
        match serde_json::from_value(value) {
            Ok(value) => Ok((value, seconds, frame.payload)),
            Err(error) => Err(self.wrong(name, error.to_string())),
        }
    }

    /// An answer that breaks the protocol: the worker is not asked again.
    pub(super) fn wrong(&mut self, call: &'static str, what: String) -> WorkerError {
        self.lose(call, Fault::Answer(what))
    }

    /// A failure after which the worker is not asked again.
    fn lose(&mut self, call: &'static str, fault: Fault) -> WorkerError {
        let error = self.error(call, fault);
        self.lost.get_or_insert_with(|| error.to_string());
        error
    }

    fn error(&self, call: &'static str, fault: Fault) -> WorkerError {
        let stderr = match fault {
            // A failure that the library explains itself needs no more.
            Fault::Failed(_) | Fault::Answer(_) | Fault::Lost(_) => Vec::new(),
            Fault::Worker(_) => self.worker.stderr(),
        };
        WorkerError {
            library: self.library.clone(),
            call,
            fault,
            stderr,
        }
    }
}

/// A text of a worker as it may be shown: without control characters, which could draw over what
/// was printed before, and not longer than a screen.
pub(super) fn printable(text: &str) -> String {
    const MOST: usize = 4096;
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    let mut cut: String = text.chars().take(MOST).map(shown).collect();
    if text.chars().nth(MOST).is_some() {
        cut.push('…');
    }
    cut
}

/// Refuses a context that no library has, before anything is computed with its figures.
fn check_open(open: &OpenReply) -> Result<(), String> {
    const MAX_SLOTS: u64 = 1 << 20;
    const MAX_PRIMES: usize = 256;
    if !(open.slots.is_power_of_two() && (2..=MAX_SLOTS).contains(&open.slots)) {
        return Err(format!(
            "{} slots; it must be a power of two from 2 to {MAX_SLOTS}",
            open.slots
        ));
    }
    let parameters = &open.parameters;
    if !parameters.ring_degree.is_power_of_two() || parameters.ring_degree > 2 * MAX_SLOTS {
        return Err(format!("a ring degree of {}", parameters.ring_degree));
    }
    if parameters.q.is_empty() || parameters.q.len() + parameters.p.len() > MAX_PRIMES {
        return Err(format!(
            "{} + {} primes; it must be 1 to {MAX_PRIMES}",
            parameters.q.len(),
            parameters.p.len()
        ));
    }
    if let Some(prime) = parameters.q.iter().chain(&parameters.p).find(|p| **p < 2) {
        return Err(format!("a modulus of {prime}"));
    }
    for (what, value) in [("log_scale", open.log_scale), ("largest", open.largest)] {
        if !(value.is_finite() && value >= 0.0) {
            return Err(format!("{what} {value}"));
        }
    }
    Ok(())
}
