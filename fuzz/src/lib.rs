//! What every decoder is checked for: it returns, and what it accepts encodes to the same bytes.

pub mod gemm;

use ckks::modulus::ntt_primes;
use ckks::{Context, ParameterError, Parameters, Wire};
use std::sync::Arc;

/// Longest body that a short input is extended to.
const LONGEST_BODY: usize = 70_000;

/// The parameters of the golden files, so that these serve as a corpus: N = 1024 with one prime.
///
/// # Errors
/// Never; the parameters are constants.
pub fn small() -> Result<Arc<Context>, ParameterError> {
    let q = ntt_primes(26, 1024, 1)?;
    Context::new(Parameters::new("golden", 1024, &q, None)?)
}

/// The same for keys: N = 2048 with one prime and a key-switching prime.
///
/// # Errors
/// Never; the parameters are constants.
pub fn switching() -> Result<Arc<Context>, ParameterError> {
    let q = ntt_primes(26, 2048, 1)?;
    let p = ntt_primes(27, 2048, 1)?;
    Context::new(Parameters::new(
        "golden keys",
        2048,
        &q,
        p.first().copied(),
    )?)
}

/// Decodes an input as it is, as a body behind a right header, and as the start of a body that
/// continues with zeros up to each of `lengths` (of whole messages): zeros are valid residues, so
/// that short inputs reach the code behind the length checks.
pub fn check<T: Wire>(context: &Context, data: &[u8], lengths: &[u64]) {
    canonical::<T>(context, data);
    let Ok(empty) = T::encode(context, &[]) else {
        return;
    };
    let header = &empty[..ckks::wire::HEADER_LEN];
    framed::<T>(context, header, data.to_vec());
    for &len in lengths {
        let body = usize::try_from(len).map_or(0, |len| len.saturating_sub(header.len()));
        if data.len() < body && body <= LONGEST_BODY {
            let mut data = data.to_vec();
            data.resize(body, 0);
            framed::<T>(context, header, data);
        }
    }
}

/// Decodes a body with a header that tells its length.
fn framed<T: Wire>(context: &Context, header: &[u8], body: Vec<u8>) {
    let mut message = header.to_vec();
    let at = message.len() - 8;
    message[at..].copy_from_slice(&(body.len() as u64).to_le_bytes());
    message.extend(body);
    canonical::<T>(context, &message);
}

fn canonical<T: Wire>(context: &Context, bytes: &[u8]) {
    match T::decode(context, bytes) {
        Ok(list) => {
            let again = T::encode(context, &list);
            assert!(
                again.as_ref().is_ok_and(|again| again == bytes),
                "a message of {} bytes decodes but is not what its objects encode to",
                bytes.len()
            );
        }
        // The text of an error is built from what was read; it must not fail either.
        Err(error) => drop(error.to_string()),
    }
}
