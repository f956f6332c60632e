//! What the service's answers mean for the user.

use super::TransitKey;
use super::connection::{Connection, Failure};
use crate::error::KeyError;

/// Service, address and key.
pub(super) fn name(connection: &Connection, key: &TransitKey) -> String {
    format!("vault {}, key {key}", connection.address())
}

pub(super) fn service(connection: &Connection, key: &TransitKey, reason: String) -> KeyError {
    KeyError::Service {
        service: name(connection, key),
        reason,
    }
}

/// The failure of an action, with the way out.
pub(super) fn told(
    failure: Failure,
    connection: &Connection,
    key: &TransitKey,
    action: &str,
) -> KeyError {
    let reason = match failure {
        Failure::Unreachable(reason) | Failure::Answer(reason) => reason,
        Failure::Status { code, errors } => {
            let hint = hint(code, &errors, key, action);
            let errors = if errors.is_empty() {
                "nothing".to_owned()
            } else {
                errors
            };
            format!("{hint} (status {code}, it said: {errors})")
        }
    };
    service(connection, key, reason)
}

fn hint(code: u16, errors: &str, key: &TransitKey, action: &str) -> String {
    let says = |words: &str| errors.contains(words);
    match code {
        403 => format!(
            "permission denied; the token has expired, or its policy lacks: path \"{}\" {{ \
             capabilities = [\"update\"] }}",
            key.path(action)
        ),
        404 if says("no handler for route") => format!(
            "no Transit engine is mounted at '{}'; check the mount and the namespace",
            key.mount
        ),
        404 => no_key(key),
        400 if says("encryption key not found") => no_key(key),
        400 if says("soft-deleted") => {
            "the key is disabled (soft-deleted); an administrator can restore it".to_owned()
        }
        400 if says("too old") => format!(
            "the version of the key that wrapped is disabled; lower min_decryption_version in {} \
             to unwrap, then rewrap",
            key.path("keys")
        ),
        300..400 => "it redirects to another server, to which the token is not sent; set \
                     VAULT_ADDR to the active server"
            .to_owned(),
        429 => "it is busy; try again later".to_owned(),
        503 if says("sealed") => "the server is sealed; an operator must unseal it".to_owned(),
        500.. => "the server failed; try again later or see its log".to_owned(),
        _ => format!("it refused to {action}"),
    }
}

fn no_key(key: &TransitKey) -> String {
    format!(
        "there is no such key; make it with: vault write -f {} derived=true",
        key.path("keys")
    )
}
