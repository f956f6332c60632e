//! Texts that an object returns: asked for their length first, then written.

use crate::error::AbiError;
use crate::symbols::Symbols;
use crate::sys;
use std::ffi::c_char;

/// Most bytes of a text, its zero among them.
pub const TEXT_LIMIT: usize = 1 << 20;

/// Gets a text from a function that takes a buffer, its capacity, and where to store what is
/// needed.
///
/// `function` is called with a null pointer and 0, then with a buffer and its length.
pub(crate) fn read(
    symbols: &Symbols,
    call: &'static str,
    mut function: impl FnMut(*mut c_char, usize, &mut usize) -> sys::ckks_backend_status,
) -> Result<String, AbiError> {
    let mut needed = 0;
    symbols.result(call, function(std::ptr::null_mut(), 0, &mut needed))?;
    if needed == 0 || needed > TEXT_LIMIT {
        let message = format!("wants {needed} bytes for its text; 1 to {TEXT_LIMIT} are given");
        return Err(AbiError::breach(call, message));
    }
    let mut buffer = vec![0u8; needed];
    let mut again = 0;
    symbols.result(
        call,
        function(buffer.as_mut_ptr().cast(), needed, &mut again),
    )?;
    if again != needed {
        let message = format!("wanted {needed} bytes for its text, then {again}");
        return Err(AbiError::breach(call, message));
    }
    match buffer.iter().position(|&byte| byte == 0) {
        Some(end) if end + 1 == needed => buffer.truncate(end),
        _ => {
            let message = format!(
                "its text does not end with a zero after {} bytes",
                needed - 1
            );
            return Err(AbiError::breach(call, message));
        }
    }
    String::from_utf8(buffer).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        AbiError::breach(call, format!("its text is not UTF-8 from byte {at} on"))
    })
}
