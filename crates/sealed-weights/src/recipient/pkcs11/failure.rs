//! What a token's return values mean for the user.

use cryptoki::context::Function;
use cryptoki::error::{Error, RvError};

/// A sentence with the way out.
pub(super) fn told(error: Error) -> String {
    let (value, function) = match error {
        Error::LibraryLoading(error) => {
            return format!("the module cannot be loaded ({error}); check module-path");
        }
        Error::MissingSymbol(name) => {
            return format!(
                "the module has no {name}: it is no PKCS #11 library; check module-path"
            );
        }
        Error::Pkcs11(value, function) => (value, function),
        error => return format!("the module did not answer as it should ({error})"),
    };
    let name = format!("{value:?} from {function:?}");
    match value {
        RvError::PinIncorrect | RvError::PinInvalid | RvError::PinLenRange => format!(
            "the PIN is wrong ({name}); it is not tried again, for the token may lock itself after \
             a few wrong ones"
        ),
        RvError::PinLocked => format!(
            "the PIN is locked after too many wrong ones ({name}); the token's security officer \
             can set a new one"
        ),
        RvError::PinExpired => format!("the PIN has expired ({name}); set a new one"),
        RvError::UserPinNotInitialized => {
            format!("the token has no user PIN yet ({name}); initialise it")
        }
        RvError::TokenNotPresent | RvError::TokenNotRecognized | RvError::DeviceRemoved => {
            format!("the token is not there ({name}); plug it in")
        }
        RvError::MechanismInvalid | RvError::MechanismParamInvalid => format!(
            "the token does not do AES-GCM with a nonce and additional data of ours ({name}); use \
             another token"
        ),
        RvError::KeyFunctionNotPermitted => format!(
            "the key may not do that ({name}); it needs {}",
            if matches!(function, Function::DecryptInit | Function::Decrypt) {
                "CKA_DECRYPT"
            } else {
                "CKA_ENCRYPT"
            }
        ),
        _ => format!("the token failed ({name})"),
    }
}

/// Whether a token says by this error that tag and ciphertext do not match. Modules differ in it.
pub(super) fn is_tag_mismatch(error: &Error) -> bool {
    matches!(
        error,
        Error::Pkcs11(
            RvError::EncryptedDataInvalid
                | RvError::EncryptedDataLenRange
                | RvError::GeneralError
                | RvError::FunctionFailed,
            Function::Decrypt
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_says_what_to_do() {
        // SoftHSM locks no PIN and needs no expiry: these are as the standard defines them.
        for (value, function, expected) in [
            (RvError::PinLocked, Function::Login, "locked after too many"),
            (RvError::PinExpired, Function::Login, "expired"),
            (
                RvError::UserPinNotInitialized,
                Function::Login,
                "no user PIN",
            ),
            (RvError::DeviceRemoved, Function::Encrypt, "plug it in"),
            (
                RvError::MechanismInvalid,
                Function::EncryptInit,
                "does not do AES-GCM",
            ),
            (
                RvError::KeyFunctionNotPermitted,
                Function::DecryptInit,
                "CKA_DECRYPT",
            ),
            (
                RvError::KeyFunctionNotPermitted,
                Function::EncryptInit,
                "CKA_ENCRYPT",
            ),
            (
                RvError::HostMemory,
                Function::Encrypt,
                "HostMemory from Encrypt",
            ),
        ] {
            let text = told(Error::Pkcs11(value, function));
            assert!(text.contains(expected), "{text}");
        }
    }
}
