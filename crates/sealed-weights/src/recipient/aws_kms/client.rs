//! A blocking call of the AWS SDK, which is asynchronous.

use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_sdk_kms::config::retry::RetryConfig;
use aws_sdk_kms::config::timeout::TimeoutConfig;
use aws_sdk_kms::config::{Credentials, Region};

use super::arn::Arn;
use super::failure::Failure;
use crate::error::KeyError;
use crate::recipient::entry::printable;
use crate::recipient::options::{NetworkOptions, Options, Variables};

/// Waits before a retry begin with it.
const FIRST_BACKOFF: Duration = Duration::from_millis(200);

/// Where a key is reached, and by whom.
pub(super) struct Client {
    key: String,
    region: String,
    endpoint: Option<String>,
    credentials: Option<Credentials>,
    /// Whether credentials are looked for where the SDK looks.
    search: bool,
    network: NetworkOptions,
}

impl Client {
    pub(super) fn new(arn: &Arn, options: &Options) -> Result<Client, KeyError> {
        let variables = &options.variables;
        let endpoint = ["AWS_ENDPOINT_URL_KMS", "AWS_ENDPOINT_URL"]
            .iter()
            .find_map(|name| variables.get(name))
            .map(|endpoint| endpoint.to_string());
        if let Some(endpoint) = &endpoint {
            check(endpoint, options.network.allow_plaintext_http)?;
        }
        Ok(Client {
            key: arn.to_string(),
            region: arn.region.clone(),
            endpoint,
            credentials: credentials(variables),
            search: matches!(variables, Variables::Process),
            network: options.network,
        })
    }

    /// Service, address and key.
    pub(super) fn name(&self) -> String {
        match &self.endpoint {
            Some(endpoint) => format!("aws-kms at {endpoint}, key {}", self.key),
            None => format!("aws-kms in {}, key {}", self.region, self.key),
        }
    }

    pub(super) fn region(&self) -> &str {
        &self.region
    }

    pub(super) fn seconds(&self) -> f64 {
        self.network.call_timeout.as_secs_f64()
    }

    /// Runs one call to its end, on a thread of its own: the caller may be inside a runtime.
    pub(super) fn call<T: Send>(
        &self,
        work: impl AsyncFnOnce(aws_sdk_kms::Client) -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        if self.credentials.is_none() && !self.search {
            return Err(Failure::Credentials("none are given".to_owned()));
        }
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| Failure::Answer(format!("no runtime for the call ({error})")))?;
            runtime.block_on(async {
                let limited = async { work(self.connect().await).await };
                // The SDK's own limit does not cover the search for credentials.
                match tokio::time::timeout(self.network.call_timeout, limited).await {
                    Ok(result) => result,
                    Err(_) => Err(Failure::Timeout),
                }
            })
        };
        std::thread::scope(|scope| {
            scope
                .spawn(run)
                .join()
                .unwrap_or_else(|_| Err(Failure::Answer("the AWS SDK panicked".to_owned())))
        })
    }

    async fn connect(&self) -> aws_sdk_kms::Client {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(self.network.connect_timeout)
            .operation_timeout(self.network.call_timeout)
            .build();
        let retries = RetryConfig::standard()
            .with_max_attempts(self.network.retries.saturating_add(1))
            .with_initial_backoff(FIRST_BACKOFF);
        let config = match &self.credentials {
            // The search is left out: it would read profiles that do not count.
            Some(credentials) => aws_sdk_kms::config::Builder::new()
                .behavior_version(aws_sdk_kms::config::BehaviorVersion::latest())
                .credentials_provider(credentials.clone()),
            None => {
                let found = aws_config::defaults(BehaviorVersion::latest())
                    .region(Region::new(self.region.clone()))
                    .load()
                    .await;
                aws_sdk_kms::config::Builder::from(&found)
            }
        };
        let mut config = config
            .region(Region::new(self.region.clone()))
            .timeout_config(timeouts)
            .retry_config(retries);
        if let Some(endpoint) = &self.endpoint {
            config = config.endpoint_url(endpoint);
        }
        aws_sdk_kms::Client::from_conf(config.build())
    }
}

/// Credentials of the environment, which come first in the SDK's search too.
fn credentials(variables: &Variables) -> Option<Credentials> {
    let id = variables.get("AWS_ACCESS_KEY_ID")?;
    let secret = variables.get("AWS_SECRET_ACCESS_KEY")?;
    let session = variables
        .get("AWS_SESSION_TOKEN")
        .map(|token| token.to_string());
    Some(Credentials::new(
        id.as_str(),
        secret.as_str(),
        session,
        None,
        "environment",
    ))
}

/// Refuses an endpoint that would show the model key on the way.
fn check(endpoint: &str, allow_plaintext: bool) -> Result<(), KeyError> {
    let rest = match endpoint.split_once("://") {
        Some(("https", _)) => return Ok(()),
        Some(("http", rest)) => rest,
        _ => "",
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let loopback = host == "localhost"
        || host
            .parse()
            .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    if !authority.contains('@') && (loopback || (allow_plaintext && !host.is_empty())) {
        return Ok(());
    }
    Err(KeyError::Malformed {
        what: format!("the endpoint {} of AWS_ENDPOINT_URL", printable(endpoint)),
        reason: "it must be https://HOST:PORT; plain http would show the model key to everyone on \
                 the way, except to this machine itself"
            .to_owned(),
    })
}
