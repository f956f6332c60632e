//! A safetensors file behind an HTTP(S) server that answers range requests.
//!
//! Only the ranges asked for travel. Redirects are followed here rather than by the HTTP library,
//! because the access token may follow only to the very same scheme, host and port.

use std::io::Read;
use std::time::Duration;

use ureq::http::header::{
    AUTHORIZATION, CONTENT_RANGE, ETAG, HeaderName, HeaderValue, LAST_MODIFIED, LOCATION, RANGE,
};
use ureq::http::{Response, Uri};
use ureq::{Agent, Body};

use crate::byte_source::{ByteSource, Sink};
use crate::error::{TensorError, shown};
use crate::load::LoadOptions;
use crate::redirect::{is_loopback, resolve, same_origin, shown_address};

/// Bytes asked for with the first request: the header of most models, in one round trip.
const PREFIX_BYTES: u64 = 16 * 1024;
/// Bytes read from the connection at a time.
const PIECE: usize = 64 * 1024;
/// Redirects followed for one request.
const MAX_REDIRECTS: usize = 10;
/// Longest pause between two attempts, as a multiple of the first pause.
const MAX_BACKOFF: u32 = 16;

/// Why one attempt failed.
enum Failure {
    /// Worth another attempt.
    Transient(String),
    /// Another attempt would fail as well.
    Fatal(TensorError),
}

impl From<TensorError> for Failure {
    fn from(error: TensorError) -> Failure {
        Failure::Fatal(error)
    }
}

/// Sends requests, follows redirects and counts what arrives.
pub(crate) struct HttpClient {
    agent: Agent,
    max_retries: u32,
    retry_delay: Duration,
    bytes: u64,
}

/// The address of a file and how to ask for it.
pub(crate) struct Target {
    pub(crate) uri: Uri,
    /// Sent to the origin of `uri` only.
    pub(crate) authorization: Option<HeaderValue>,
    /// Whether messages should mention the Hub's access rules.
    pub(crate) hub: bool,
}

impl Target {
    fn shown(&self) -> String {
        shown_address(&self.uri)
    }

    fn status_error(&self, status: u16) -> TensorError {
        let hint = match (status, self.hub) {
            (401 | 403, true) => {
                "the repository does not exist or is private or gated: check ORG/MODEL, accept \
                 its terms on the Hub, and set HF_TOKEN to a token that may read it"
            }
            (401 | 403, false) => {
                "the server wants a login, which plain URLs cannot carry: download the file and \
                 use FILE#TENSOR"
            }
            (404 | 410, true) => {
                "check ORG/MODEL and REV, and that the repository has model.safetensors; if it \
                 is private, set HF_TOKEN"
            }
            (404 | 410, false) => "check the URL",
            (416, _) => "the file is empty or shorter than expected: check the URL",
            (429, _) => "the server limits requests: run again later",
            _ => "check the URL, or download the file and use FILE#TENSOR",
        };
        TensorError::HttpStatus {
            url: self.shown(),
            status,
            hint,
        }
    }
}

impl HttpClient {
    pub(crate) fn new(options: &LoadOptions) -> HttpClient {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .accept_encoding("identity")
            .user_agent(concat!("tensor-io/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(options.connect_timeout))
            .timeout_connect(Some(options.connect_timeout))
            .timeout_recv_response(Some(options.read_timeout))
            .timeout_per_read(Some(options.read_timeout))
            .build();
        HttpClient {
            agent: config.into(),
            max_retries: options.max_retries,
            retry_delay: options.retry_delay,
            bytes: 0,
        }
    }

    /// Sends one GET (inclusive `range`) and follows its redirects.
    fn get(&self, target: &Target, range: Option<(u64, u64)>) -> Result<Response<Body>, Failure> {
        let mut uri = target.uri.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = self.agent.get(uri.clone());
            if let Some((first, last)) = range {
                request = request.header(RANGE, format!("bytes={first}-{last}"));
            }
            if let Some(value) = &target.authorization
                && same_origin(&uri, &target.uri)
            {
                request = request.header(AUTHORIZATION, value.clone());
            }
            let sent = if is_loopback(&uri) {
                request.config().proxy(None).build().call()
            } else {
                request.call()
            };
            let response = sent.map_err(|e| Self::failure(target, &e))?;
            if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(response);
            }
            let bad = |problem| TensorError::BadRedirect {
                url: target.shown(),
                problem,
            };
            let location = text(&response, &LOCATION)
                .ok_or_else(|| bad("without saying where to".to_owned()))?;
            uri = resolve(&uri, &location).map_err(bad)?;
        }
        Err(Failure::Fatal(TensorError::BadRedirect {
            url: target.shown(),
            problem: format!("more than {MAX_REDIRECTS} times"),
        }))
    }

    fn failure(target: &Target, error: &ureq::Error) -> Failure {
        use ureq::Error as E;
        let message = shown(&error.to_string());
        let hopeless = match error {
            E::HostNotFound | E::BadUri(_) | E::Tls(_) | E::Rustls(_) | E::Http(_) => true,
            // A certificate that is not accepted.
            E::Io(e) => e.kind() == std::io::ErrorKind::InvalidData,
            _ => false,
        };
        if !hopeless {
            return Failure::Transient(message);
        }
        Failure::Fatal(TensorError::Transport {
            url: target.shown(),
            offset: 0,
            attempts: 1,
            message,
        })
    }

    /// Runs `attempt` until it succeeds or the retries are used up. `offset` is shared with it:
    /// how far it got, for the message.
    fn retrying<T>(
        &mut self,
        target: &Target,
        offset: &mut u64,
        mut attempt: impl FnMut(&mut HttpClient, &mut u64) -> Result<T, Failure>,
    ) -> Result<T, TensorError> {
        let mut failures = 0u32;
        loop {
            let message = match attempt(self, offset) {
                Ok(value) => return Ok(value),
                Err(Failure::Fatal(error)) => return Err(error),
                Err(Failure::Transient(message)) => message,
            };
            if failures == self.max_retries {
                return Err(TensorError::Transport {
                    url: target.shown(),
                    offset: *offset,
                    attempts: failures.saturating_add(1),
                    message,
                });
            }
            let factor = 1u32
                .checked_shl(failures)
                .unwrap_or(MAX_BACKOFF)
                .min(MAX_BACKOFF);
            if !self.retry_delay.is_zero() {
                std::thread::sleep(self.retry_delay.saturating_mul(factor));
            }
            failures += 1;
        }
    }

    /// Fetches a whole small file; `None` if the server answers 404.
    pub(crate) fn get_small(
        &mut self,
        target: &Target,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, TensorError> {
        self.retrying(target, &mut 0, |client, offset| {
            let response = client.get(target, None)?;
            match response.status().as_u16() {
                200 => {}
                404 => return Ok(None),
                status if is_transient(status) => {
                    return Err(Failure::Transient(format!("HTTP status {status}")));
                }
                status => return Err(target.status_error(status).into()),
            }
            let mut content = Vec::new();
            let outcome = response
                .into_body()
                .into_reader()
                .take(limit + 1)
                .read_to_end(&mut content);
            client.bytes += content.len() as u64;
            *offset = content.len() as u64;
            outcome.map_err(|e| Failure::Transient(shown(&e.to_string())))?;
            if content.len() as u64 > limit {
                return Err(Failure::Fatal(TensorError::HubIndex {
                    url: target.shown(),
                    problem: format!("it is longer than {limit} bytes"),
                }));
            }
            Ok(Some(content))
        })
    }
}

/// Statuses with which servers ask for another attempt.
fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502 | 503 | 504)
}

fn text(response: &Response<Body>, name: &HeaderName) -> Option<String> {
    response
        .headers()
        .get(name)
        .and_then(|v| v.to_str().ok())
        .map(str::to_owned)
}

/// What identifies one version of the remote file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    size: u64,
    etag: Option<String>,
    last_modified: Option<String>,
}

impl Version {
    /// The first difference that shows that the file changed: what, before, after.
    fn difference(&self, now: &Version) -> Option<(&'static str, String, String)> {
        let differing =
            |what, before: &Option<String>, after: &Option<String>| match (before, after) {
                (Some(before), Some(after)) if before != after => {
                    Some((what, shown(before), shown(after)))
                }
                _ => None,
            };
        if self.size != now.size {
            return Some(("size", self.size.to_string(), now.size.to_string()));
        }
        if self.etag.is_some() && now.etag.is_some() {
            return differing("ETag", &self.etag, &now.etag);
        }
        differing("Last-Modified", &self.last_modified, &now.last_modified)
    }
}

/// A remote file whose size is known and whose beginning is held in memory.
pub(crate) struct RemoteFile {
    client: HttpClient,
    target: Target,
    version: Version,
    prefix: Vec<u8>,
}

impl RemoteFile {
    /// Asks for the first bytes of the file.
    pub(crate) fn open(mut client: HttpClient, target: Target) -> Result<RemoteFile, TensorError> {
        let mut version = None;
        let mut prefix = Vec::new();
        fetch(
            &mut client,
            &target,
            &mut version,
            0,
            PREFIX_BYTES,
            &mut |bytes| {
                prefix.extend_from_slice(bytes);
                Ok(())
            },
        )?;
        // A fetch of at least one byte that succeeded has set the version.
        let version = version.ok_or_else(|| target.status_error(416))?;
        Ok(RemoteFile {
            client,
            target,
            version,
            prefix,
        })
    }
}

impl ByteSource for RemoteFile {
    fn location(&self) -> String {
        self.target.shown()
    }

    fn size(&self) -> u64 {
        self.version.size
    }

    fn bytes_read(&self) -> u64 {
        self.client.bytes
    }

    fn read_range(&mut self, start: u64, end: u64, sink: &mut Sink<'_>) -> Result<(), TensorError> {
        let held = self.prefix.len() as u64;
        let mut start = start;
        if start < held {
            let until = end.min(held);
            sink(&self.prefix[start as usize..until as usize])?;
            start = until;
        }
        if start >= end {
            return Ok(());
        }
        let mut version = Some(self.version.clone());
        fetch(
            &mut self.client,
            &self.target,
            &mut version,
            start,
            end,
            sink,
        )
    }
}

/// Passes the bytes `start..end` (at most to the end of the file) to `sink`, resuming where a
/// broken transfer stopped. The first answer sets `version`; all later ones must match it.
fn fetch(
    client: &mut HttpClient,
    target: &Target,
    version: &mut Option<Version>,
    start: u64,
    end: u64,
    sink: &mut Sink<'_>,
) -> Result<(), TensorError> {
    let mut offset = start;
    client.retrying(target, &mut offset, |client, offset| {
        let end = version.as_ref().map_or(end, |v| v.size.min(end));
        if *offset >= end {
            return Ok(());
        }
        let response = client.get(target, Some((*offset, end - 1)))?;
        match response.status().as_u16() {
            206 => {}
            200 => {
                return Err(TensorError::RangeIgnored {
                    url: target.shown(),
                }
                .into());
            }
            status if is_transient(status) => {
                return Err(Failure::Transient(format!("HTTP status {status}")));
            }
            status => return Err(target.status_error(status).into()),
        }
        let last = check_answer(&response, target, version, *offset, end)?;
        let mut remaining = last + 1 - *offset;
        let mut buffer = vec![0u8; remaining.min(PIECE as u64) as usize];
        let mut reader = response.into_body().into_reader();
        while remaining > 0 {
            let wanted = remaining.min(PIECE as u64) as usize;
            let count = reader
                .read(&mut buffer[..wanted])
                .map_err(|e| Failure::Transient(shown(&e.to_string())))?;
            if count == 0 {
                return Err(Failure::Transient(format!(
                    "the connection ended {remaining} bytes early"
                )));
            }
            client.bytes += count as u64;
            sink(&buffer[..count])?;
            *offset += count as u64;
            remaining -= count as u64;
        }
        Ok(())
    })
}

/// Checks that a 206 answer is the range `first..end` (or its part inside the file) of the known
/// version of the file; sets the version if none is known. Returns the last byte that it carries.
fn check_answer(
    response: &Response<Body>,
    target: &Target,
    version: &mut Option<Version>,
    first: u64,
    end: u64,
) -> Result<u64, TensorError> {
    let range = text(response, &CONTENT_RANGE);
    let bad = || TensorError::BadContentRange {
        url: target.shown(),
        wanted: format!("{first}-{}", end - 1),
        answered: range.as_deref().map_or("none".to_owned(), shown),
    };
    let (answered_first, answered_last, size) = range
        .as_deref()
        .and_then(parse_content_range)
        .ok_or_else(bad)?;
    let now = Version {
        size,
        etag: text(response, &ETAG),
        last_modified: text(response, &LAST_MODIFIED),
    };
    if let Some((what, before, after)) = version.as_ref().and_then(|known| known.difference(&now)) {
        return Err(TensorError::RemoteChanged {
            url: target.shown(),
            what,
            before,
            after,
        });
    }
    if first >= size || answered_first != first || answered_last != end.min(size) - 1 {
        return Err(bad());
    }
    version.get_or_insert(now);
    Ok(answered_last)
}

/// Parses `bytes FIRST-LAST/SIZE`.
fn parse_content_range(text: &str) -> Option<(u64, u64, u64)> {
    let (range, size) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    Some((
        first.trim().parse().ok()?,
        last.trim().parse().ok()?,
        size.trim().parse().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges() {
        assert_eq!(parse_content_range("bytes 0-7/100"), Some((0, 7, 100)));
        for bad in [
            "bytes 0-7/*",
            "bytes */100",
            "0-7/100",
            "bytes 7/100",
            "bytes -1-7/100",
            "",
        ] {
            assert_eq!(parse_content_range(bad), None, "{bad}");
        }
    }

    #[test]
    fn versions_compare_by_the_strongest_mark_both_have() {
        let version = |size, etag: Option<&str>, modified: Option<&str>| Version {
            size,
            etag: etag.map(str::to_owned),
            last_modified: modified.map(str::to_owned),
        };
        let base = version(9, Some("a"), Some("m"));
        let what = |now: &Version| base.difference(now).map(|d| d.0);
        assert_eq!(what(&version(9, Some("a"), Some("other"))), None);
        assert_eq!(what(&version(8, Some("a"), Some("m"))), Some("size"));
        assert_eq!(what(&version(9, Some("b"), Some("m"))), Some("ETag"));
        assert_eq!(what(&version(9, None, Some("n"))), Some("Last-Modified"));
        assert_eq!(what(&version(9, None, None)), None);
    }
}
