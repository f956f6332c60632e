//! What the kinds of recipients need beyond their text.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::error::KeyError;

/// Why a secret is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To wrap a key. A mistyped secret would lock everyone out: ask twice.
    Wrap,
    /// To unwrap a key.
    Unwrap,
}

/// Asks the user for a secret, named in words.
pub type Prompt = dyn Fn(&str, Purpose) -> Result<Zeroizing<String>, KeyError> + Send + Sync;

/// How recipients and identities are reached. Never holds a secret of its own.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Asks for passphrases; without it the text `passphrase` is refused.
    pub prompt: Option<Arc<Prompt>>,
    /// Where environment variables are looked up.
    pub variables: Variables,
    /// Time limits and retries of key services.
    pub network: NetworkOptions,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            prompt: None,
            variables: Variables::Process,
            network: NetworkOptions::default(),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("prompt", &self.prompt.is_some())
            .field("variables", &self.variables)
            .field("network", &self.network)
            .finish()
    }
}

/// A source of environment variables.
#[derive(Clone)]
#[non_exhaustive]
pub enum Variables {
    /// Those of this process.
    Process,
    /// These and no others.
    These(BTreeMap<String, String>),
}

impl Variables {
    /// The value of a variable that is set, not empty and UTF-8.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Zeroizing<String>> {
        let value = match self {
            Variables::Process => std::env::var(name).ok()?,
            Variables::These(variables) => variables.get(name)?.clone(),
        };
        (!value.is_empty()).then(|| Zeroizing::new(value))
    }
}

impl fmt::Debug for Variables {
    /// Names only: values may be tokens.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Variables::Process => f.write_str("Process"),
            Variables::These(variables) => f.debug_set().entries(variables.keys()).finish(),
        }
    }
}

/// Limits of one use of a key service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetworkOptions {
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest wait for an answer, retries included.
    pub call_timeout: Duration,
    /// How often a call is repeated after a failed connection, status 429 or status 5xx.
    pub retries: u32,
    /// Allows `http://` to addresses other than this machine's own. Tokens and keys are then open
    /// to everyone on the way.
    pub allow_plaintext_http: bool,
}

impl Default for NetworkOptions {
    fn default() -> NetworkOptions {
        NetworkOptions {
            connect_timeout: Duration::from_secs(5),
            call_timeout: Duration::from_secs(20),
            retries: 3,
            allow_plaintext_http: false,
        }
    }
}
