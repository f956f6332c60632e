//! The worker's side for shared objects of the C ABI.

use super::frame::{FrameError, MAX_PAYLOAD, read_frame, write_frame};
use super::message::{
    Call, CloseReply, Failure, FailureCode, PROTOCOL, ProtocolCall, Reply, Request,
};
use super::session::{Done, Session};
use super::streams::take_streams;
use ckks_abi::{Library, LoadError};
use serde_json::Value;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use thiserror::Error;

/// Why a worker ends before it was closed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Standard input or output cannot be taken.
    #[error("cannot take over standard input and output: {0}")]
    Streams(#[from] io::Error),
    /// Standard input ended.
    #[error(
        "standard input ended before \"close\"; a worker is started by the program that measures"
    )]
    NotClosed,
    /// A frame that cannot be read or written: what follows it cannot be told.
    #[error("{0}")]
    Frame(FrameError),
    /// A request that no reply can be matched to.
    #[error("a request without a number: {0}")]
    Unnumbered(String),
}

/// Loads a shared object and answers requests on standard input until `close`.
///
/// Replies go to what standard output was; what anything else prints there goes to standard
/// error. An object that cannot be loaded is reported by every reply.
///
/// # Errors
/// [`ServeError`] where the conversation ends in any other way.
pub fn serve(library: &Path) -> Result<(), ServeError> {
    let (input, output) = take_streams()?;
    let mut server = Server {
        input: BufReader::with_capacity(1 << 16, input),
        output,
        session: Library::load(library).map(Session::new),
        greeted: false,
        last: 0,
    };
    let result = server.run();
    // Never unloaded: not every library survives that, and this process ends.
    std::mem::forget(server.session);
    result
}

struct Server<R, W> {
    input: R,
    output: W,
    session: Result<Session, LoadError>,
    greeted: bool,
    /// Number of the last request.
    last: u64,
}

/// The number of a request, whatever else is in it.
fn number(header: &[u8]) -> Result<(u64, Value), ServeError> {
    let value: Value = serde_json::from_slice(header)
        .map_err(|error| ServeError::Unnumbered(error.to_string()))?;
    match value.get("id").and_then(Value::as_u64) {
        Some(id) => Ok((id, value)),
        None => Err(ServeError::Unnumbered(
            "no \"id\" that is a whole number".into(),
        )),
    }
}

pub(super) fn refuse(message: impl Into<String>) -> Failure {
    Failure {
        code: FailureCode::BadArgument,
        message: message.into(),
    }
}

impl<R: Read, W: Write> Server<R, W> {
    fn run(&mut self) -> Result<(), ServeError> {
        loop {
            let frame = match read_frame(&mut self.input, || MAX_PAYLOAD) {
                Ok(frame) => frame,
                Err(FrameError::End) => return Err(ServeError::NotClosed),
                Err(error) => return Err(ServeError::Frame(error)),
            };
            let (id, value) = number(&frame.header)?;
            let request = self.accept(id, value);
            let closing = matches!(&request, Ok(Call::Close {}));
            let result = request.and_then(|call| self.answer(call, &frame.payload));
            let closed = closing && result.is_ok();
            self.reply(id, result)?;
            if closed {
                return Ok(());
            }
        }
    }

    /// The call of a request, if it may come now.
    fn accept(&mut self, id: u64, value: Value) -> Result<Call, Failure> {
        if id <= self.last {
            let last = self.last;
            return Err(refuse(format!(
                "request {id} after request {last}; numbers ascend"
            )));
        }
        self.last = id;
        let request: Request =
            serde_json::from_value(value).map_err(|error| refuse(format!("request: {error}")))?;
        match &request.call {
            Call::Hello { protocol } if *protocol != PROTOCOL => {
                return Err(Failure {
                    code: FailureCode::Unsupported,
                    message: format!(
                        "protocol {protocol} was asked for, this worker speaks {PROTOCOL}"
                    ),
                });
            }
            Call::Hello { .. } => self.greeted = true,
            Call::Close {} => {}
            call if !self.greeted => {
                let name = call.name();
                return Err(refuse(format!("{name} before hello, which comes first")));
            }
            _ => {}
        }
        Ok(request.call)
    }

    fn answer(&mut self, call: Call, payload: &[f64]) -> Result<Done, Failure> {
        let takes = matches!(call, Call::PrepareDiagonals { .. } | Call::Encrypt { .. });
        if !takes && !payload.is_empty() {
            return Err(refuse(format!(
                "{} comes without a payload, and {} values came",
                call.name(),
                payload.len()
            )));
        }
        match (&mut self.session, call) {
            (Ok(session), Call::Close {}) => {
                session.close();
                Ok(Done::of(CloseReply { done: true }))
            }
            (Err(_), Call::Close {}) => Ok(Done::of(CloseReply { done: true })),
            (Ok(session), call) => session.answer(call, payload),
            (Err(error), _) => Err(Failure {
                code: FailureCode::LibraryError,
                message: error.to_string(),
            }),
        }
    }

    fn reply(&mut self, id: u64, result: Result<Done, Failure>) -> Result<(), ServeError> {
        let mut payload = Vec::new();
        let reply = match result {
            Ok(done) => {
                payload = done.payload;
                Reply {
                    id,
                    ok: Some(done.reply),
                    error: None,
                    seconds: Some(done.seconds),
                }
            }
            Err(failure) => Reply {
                id,
                ok: None,
                error: Some(failure),
                seconds: None,
            },
        };
        let header = serde_json::to_vec(&reply)
            .map_err(|error| ServeError::Frame(FrameError::Pipe(error.into())))?;
        write_frame(&mut self.output, &header, &payload).map_err(ServeError::Frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The replies to these requests of a worker whose object cannot be loaded.
    fn talk(requests: &[(Value, &[f64])]) -> (Vec<Reply>, Result<(), ServeError>) {
        let mut input = Vec::new();
        for (header, payload) in requests {
            write_frame(&mut input, header.to_string().as_bytes(), payload).unwrap();
        }
        let mut server = Server {
            input: input.as_slice(),
            output: Vec::new(),
            session: Library::load(Path::new("no such object")).map(Session::new),
            greeted: false,
            last: 0,
        };
        let end = server.run();
        let mut replies = Vec::new();
        let mut written = server.output.as_slice();
        while let Ok(frame) = read_frame(&mut written, || MAX_PAYLOAD) {
            replies.push(serde_json::from_slice(&frame.header).unwrap());
        }
        assert!(written.is_empty());
        (replies, end)
    }

    fn failure(reply: &Reply) -> (FailureCode, &str) {
        let failure = reply.error.as_ref().unwrap();
        (failure.code, &failure.message)
    }

    #[test]
    fn an_object_that_cannot_be_loaded_is_named_in_replies() {
        let (replies, end) = talk(&[
            (json!({"id": 1, "call": "hello", "protocol": 1}), &[]),
            (json!({"id": 2, "call": "probe"}), &[]),
            (json!({"id": 3, "call": "close"}), &[]),
        ]);
        end.unwrap();
        for reply in &replies[..2] {
            let (code, message) = failure(reply);
            assert_eq!(code, FailureCode::LibraryError);
            assert!(
                message.starts_with("no such object cannot be loaded"),
                "{message}"
            );
        }
        assert_eq!(replies[2].ok, Some(json!({"done": true})));
    }

    #[test]
    fn wrong_requests_are_answered_in_order() {
        let (replies, end) = talk(&[
            (json!({"id": 1, "call": "probe"}), &[]),
            (json!({"id": 2, "call": "hello", "protocol": 2}), &[]),
            (json!({"id": 3, "call": "nonsense"}), &[]),
            (
                json!({"id": 4, "call": "hello", "protocol": 1, "more": 1}),
                &[],
            ),
            (json!({"id": 4, "call": "hello", "protocol": 1}), &[]),
            (json!({"id": 5, "call": "hello", "protocol": 1}), &[0.5]),
        ]);
        assert!(matches!(end, Err(ServeError::NotClosed)));
        let ids: Vec<u64> = replies.iter().map(|reply| reply.id).collect();
        assert_eq!(ids, [1, 2, 3, 4, 4, 5]);
        let expected = [
            (FailureCode::BadArgument, "probe before hello"),
            (FailureCode::Unsupported, "protocol 2"),
            (FailureCode::BadArgument, "nonsense"),
            (FailureCode::BadArgument, "more"),
            (FailureCode::BadArgument, "request 4 after request 4"),
            (FailureCode::BadArgument, "without a payload"),
        ];
        for (reply, (code, part)) in replies.iter().zip(expected) {
            let (found, message) = failure(reply);
            assert_eq!(found, code, "{message}");
            assert!(message.contains(part), "{message}");
            assert_eq!(reply.seconds, None);
        }
    }

    #[test]
    fn what_cannot_be_answered_ends_the_worker() {
        for header in [json!([]), json!({"call": "probe"}), json!({"id": -1})] {
            let (replies, end) = talk(&[(header, &[])]);
            assert!(matches!(end, Err(ServeError::Unnumbered(_))));
            assert_eq!(replies, []);
        }
    }
}
