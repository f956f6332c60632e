//! What the service's answers mean for the user.

use aws_sdk_kms::config::http::HttpResponse;
use aws_sdk_kms::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};

use super::client::Client;
use crate::error::KeyError;
use crate::recipient::entry::printable;

/// Why a call failed.
pub(super) enum Failure {
    /// No credentials.
    Credentials(String),
    /// No answer in time.
    Timeout,
    /// No connection.
    Unreachable(String),
    /// An answer that is none of KMS.
    Answer(String),
    /// A status without the exception that should come with it, as from a proxy.
    Status(u16),
    /// An exception of the service.
    Service { code: String, message: String },
}

impl<E> From<SdkError<E, HttpResponse>> for Failure
where
    E: std::error::Error + ProvideErrorMetadata + 'static,
{
    fn from(error: SdkError<E, HttpResponse>) -> Failure {
        match &error {
            SdkError::TimeoutError(_) => Failure::Timeout,
            SdkError::DispatchFailure(failure) if failure.is_timeout() => {
                Failure::Unreachable("no connection in time".to_owned())
            }
            SdkError::DispatchFailure(failure) if failure.is_io() => {
                Failure::Unreachable(deepest(&error))
            }
            SdkError::DispatchFailure(failure) => {
                let text = DisplayErrorContext(&error).to_string();
                if failure.as_connector_error().is_none() || text.contains("credentials") {
                    Failure::Credentials(deepest(&error))
                } else {
                    Failure::Unreachable(deepest(&error))
                }
            }
            SdkError::ServiceError(_) | SdkError::ResponseError(_) => {
                let status = error
                    .raw_response()
                    .map(|response| response.status().as_u16());
                match (error.code(), status) {
                    (Some(code), _) => Failure::Service {
                        code: printable(code),
                        message: error
                            .message()
                            .filter(|message| !message.is_empty())
                            .map_or_else(|| "nothing".to_owned(), printable),
                    },
                    (None, Some(status)) if status >= 300 => Failure::Status(status),
                    _ => {
                        Failure::Answer(format!("its answer is none of KMS ({})", deepest(&error)))
                    }
                }
            }
            _ => Failure::Answer(format!("the call was not made ({})", deepest(&error))),
        }
    }
}

/// The innermost reason: the SDK's own messages name only their layer.
fn deepest(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    printable(&error.to_string())
}

/// Whether this exception says that blob, key or context is another one than when encrypting.
pub(super) fn is_mismatch(code: &str) -> bool {
    matches!(code, "InvalidCiphertextException" | "IncorrectKeyException")
}

impl Failure {
    /// With the way out. `action` is the permission that the call needs.
    pub(super) fn told(self, client: &Client, action: &str) -> KeyError {
        let reason = match self {
            Failure::Credentials(reason) => format!(
                "no AWS credentials ({reason}); set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, \
                 AWS_PROFILE, or run where a role is attached"
            ),
            Failure::Timeout => format!(
                "it did not answer within {} s; check the network and the region",
                client.seconds()
            ),
            Failure::Unreachable(reason) => format!(
                "it cannot be reached ({reason}); check the network, the region and \
                 AWS_ENDPOINT_URL"
            ),
            Failure::Answer(reason) => reason,
            Failure::Status(status @ (401 | 403)) => format!(
                "permission denied, or the credentials are not accepted (status {status} without \
                 an exception of KMS); the caller needs {action} on this key"
            ),
            Failure::Status(status) => format!(
                "it answered status {status} without an exception of KMS; check AWS_ENDPOINT_URL \
                 and proxies, or try again later"
            ),
            Failure::Service { code, message } => {
                format!(
                    "{} ({code}, it said: {message})",
                    hint(&code, client.region(), action)
                )
            }
        };
        KeyError::Service {
            service: client.name(),
            reason,
        }
    }
}

fn hint(code: &str, region: &str, action: &str) -> String {
    match code {
        "DisabledException" => {
            "the key is disabled; enable it with: aws kms enable-key --key-id ARN".to_owned()
        }
        "KMSInvalidStateException" => "the key cannot be used now (pending deletion, import or \
                                       creation); aws kms describe-key tells its state"
            .to_owned(),
        "NotFoundException" => format!(
            "there is no such key in region {region}; check region, account and key of the ARN"
        ),
        "AccessDeniedException" => format!(
            "permission denied; the caller needs {action} on this key by its key policy or IAM, \
             with a condition on the encryption context that fits, if any"
        ),
        "UnrecognizedClientException"
        | "InvalidSignatureException"
        | "InvalidClientTokenId"
        | "IncompleteSignature"
        | "MissingAuthenticationToken"
        | "SignatureDoesNotMatch" => {
            "the credentials are not accepted; check access key, secret and the machine's clock"
                .to_owned()
        }
        "ExpiredTokenException" | "ExpiredToken" => {
            "the credentials have expired; log in again".to_owned()
        }
        "InvalidKeyUsageException" => {
            "the key is not for encryption; use a symmetric key of usage ENCRYPT_DECRYPT".to_owned()
        }
        "ThrottlingException" | "LimitExceededException" => {
            "too many calls; try again later".to_owned()
        }
        "KeyUnavailableException" | "DependencyTimeoutException" | "KMSInternalException" => {
            "the service failed; try again later".to_owned()
        }
        _ => "it refused".to_owned(),
    }
}
