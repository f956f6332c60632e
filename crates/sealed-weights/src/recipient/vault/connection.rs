//! HTTP to a Vault or OpenBao server.

use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use ureq::http::StatusCode;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Error};
use zeroize::Zeroizing;

use super::settings::{certificates, checked, malformed, token, variable};
use crate::error::KeyError;
use crate::recipient::entry::printable;
use crate::recipient::options::{NetworkOptions, Options};

/// Longest answer read.
const MAX_ANSWER: u64 = 1 << 20;
/// First wait before a retry; each later one is twice as long.
const FIRST_BACKOFF: Duration = Duration::from_millis(200);

/// Where the server is, and who asks.
pub(super) struct Connection {
    address: String,
    loopback: bool,
    token: Zeroizing<String>,
    namespace: Option<Zeroizing<String>>,
    roots: Option<RootCerts>,
    network: NetworkOptions,
}

/// Why a call failed.
pub(super) enum Failure {
    /// No answer.
    Unreachable(String),
    /// An answer of this status, with the service's words.
    Status { code: u16, errors: String },
    /// An answer that is not of this interface.
    Answer(String),
}

impl Connection {
    pub(super) fn open(options: &Options) -> Result<Connection, KeyError> {
        let variables = &options.variables;
        let address = variable(variables, "ADDR").ok_or_else(|| {
            malformed(
                "the address of the vault server",
                "set VAULT_ADDR (or BAO_ADDR) to it, as in https://vault.example:8200",
            )
        })?;
        let address = address.trim_end_matches('/').to_owned();
        let loopback = checked(&address, options.network.allow_plaintext_http)?;
        Ok(Connection {
            address,
            loopback,
            token: token(variables)?,
            namespace: variable(variables, "NAMESPACE"),
            roots: variable(variables, "CACERT")
                .map(|path| certificates(path.as_str().as_ref()))
                .transpose()?,
            network: options.network,
        })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.call(path, None)
    }

    pub(super) fn post<T: DeserializeOwned>(&self, path: &str, body: &str) -> Result<T, Failure> {
        self.call(path, Some(body))
    }

    /// Repeats a call while the server cannot be reached, is busy or fails, within the time given.
    fn call<T: DeserializeOwned>(&self, path: &str, body: Option<&str>) -> Result<T, Failure> {
        let deadline = Instant::now() + self.network.call_timeout;
        let mut backoff = FIRST_BACKOFF;
        let mut left = self.network.retries;
        loop {
            let remaining = deadline.saturating_duration_since(Instant::now());
            let (failure, again) = match self.attempt(path, body, remaining) {
                Ok((code, bytes)) if code.is_success() => return answer(&bytes),
                Ok((code, bytes)) => (
                    Failure::Status {
                        code: code.as_u16(),
                        errors: errors(&bytes),
                    },
                    code == StatusCode::TOO_MANY_REQUESTS || code.is_server_error(),
                ),
                Err(error) => (self.unreachable(&error), is_connection_failure(&error)),
            };
            if !again || left == 0 || Instant::now() + backoff >= deadline {
                return Err(failure);
            }
            thread::sleep(backoff);
            backoff *= 2;
            left -= 1;
        }
    }

    fn attempt(
        &self,
        path: &str,
        body: Option<&str>,
        remaining: Duration,
    ) -> Result<(StatusCode, Zeroizing<Vec<u8>>), Error> {
        let mut tls = TlsConfig::builder();
        if let Some(roots) = &self.roots {
            tls = tls.root_certs(roots.clone());
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(self.network.connect_timeout.min(remaining)))
            .timeout_global(Some(remaining))
            // A redirect would carry the token to another server.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .tls_config(tls.build());
        if self.loopback {
            config = config.proxy(None);
        }
        let agent: Agent = config.build().into();
        let url = format!("{}/v1/{path}", self.address);
        let headers = [
            ("X-Vault-Request", Some("true")),
            ("X-Vault-Token", Some(self.token.as_str())),
            (
                "X-Vault-Namespace",
                self.namespace.as_ref().map(|name| name.as_str()),
            ),
        ];
        let mut response = match body {
            None => {
                let mut request = agent.get(url);
                for (name, value) in headers {
                    if let Some(value) = value {
                        request = request.header(name, value);
                    }
                }
                request.call()?
            }
            Some(body) => {
                let mut request = agent.post(url).content_type("application/json");
                for (name, value) in headers {
                    if let Some(value) = value {
                        request = request.header(name, value);
                    }
                }
                request.send(body.as_bytes())?
            }
        };
        let status = response.status();
        let body = response
            .body_mut()
            .with_config()
            .limit(MAX_ANSWER)
            .read_to_vec()?;
        Ok((status, Zeroizing::new(body)))
    }

    /// Never repeats a header: it could hold the token.
    fn unreachable(&self, error: &Error) -> Failure {
        let seconds = self.network.call_timeout.as_secs_f64();
        Failure::Unreachable(match error {
            Error::Timeout(_) => format!(
                "it did not answer within {seconds} s; check that it is up and not overloaded"
            ),
            Error::HostNotFound => "no such host; check the address".to_owned(),
            Error::Rustls(_) | Error::Tls(_) | Error::TlsRequired => format!(
                "the TLS connection failed ({error}); if the server's certificate is of your own \
                 authority, set VAULT_CACERT to its certificate"
            ),
            Error::Http(_) => "the token or the namespace holds characters that a header may not \
                               hold"
                .to_owned(),
            error => tls_hint(error).unwrap_or_else(|| {
                format!("it cannot be reached ({error}); check that it is up and the address right")
            }),
        })
    }
}

/// TLS failures arrive as errors of the socket.
fn tls_hint(error: &Error) -> Option<String> {
    let text = error.to_string();
    (text.contains("certificate") || text.contains("tls")).then(|| {
        format!(
            "the TLS connection failed ({text}); if the server's certificate is of your own \
             authority, set VAULT_CACERT to its certificate"
        )
    })
}

fn is_connection_failure(error: &Error) -> bool {
    match error {
        Error::Io(error) => tls_hint(&Error::Io(std::io::Error::new(
            error.kind(),
            error.to_string(),
        )))
        .is_none(),
        Error::ConnectionFailed | Error::Timeout(ureq::Timeout::Connect) => true,
        _ => false,
    }
}

fn answer<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    #[derive(Deserialize)]
    struct Answer<T> {
        data: T,
    }
    serde_json::from_slice::<Answer<T>>(bytes)
        .map(|answer| answer.data)
        // The parser's message may quote the answer, and with it the key.
        .map_err(|error| {
            Failure::Answer(format!(
                "its answer lacks a field (column {})",
                error.column()
            ))
        })
}

/// The service's own words.
fn errors(bytes: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Errors {
        errors: Vec<String>,
    }
    match serde_json::from_slice::<Errors>(bytes) {
        Ok(Errors { errors }) => {
            let words: Vec<String> = errors
                .iter()
                .map(|error| printable(&error.replace(['\n', '\t'], " ")))
                .collect();
            words.join("; ")
        }
        Err(_) => printable(&String::from_utf8_lossy(bytes)),
    }
}
