//! Masks announced ahead of the ciphertexts that will use them.

use super::reader::{common_seed, count_field, require_zero};
use super::{HEADER_LEN, Kind, Wire, WireError, header};
use crate::ciphertext::MaskId;
use crate::context::Context;
use crate::xof::Seed;

/// Largest counter of a mask: the XOF keeps 8 of its 64 bits for the limb.
pub const MAX_COUNTER: u64 = (1 << 56) - 1;
/// Most masks of one message. Each stands for a whole evaluation ahead of time, and a list in
/// memory is five times its encoding; several messages announce more.
pub const MAX_MASKS: usize = 4096;

const WHAT: &str = "masks";

/// Bytes of an encoded list of `count` masks.
pub const fn masks_len(count: usize) -> u64 {
    let fixed = (HEADER_LEN + 32 + 4) as u64;
    (count as u64).saturating_mul(8).saturating_add(fixed)
}

/// The counter of entry `index`, if it is in range.
pub(super) fn check_counter(index: usize, value: u64) -> Result<u64, WireError> {
    if value > MAX_COUNTER {
        return Err(WireError::Counter { index, value });
    }
    Ok(value)
}

impl Wire for MaskId {
    const KIND: Kind = Kind::Masks;

    fn encode(context: &Context, list: &[Self]) -> Result<Vec<u8>, WireError> {
        check_count(list.len())?;
        let seed = common_seed(list.iter().map(|mask| mask.seed))?;
        let count = count_field(WHAT, list.len())?;
        let mut out = header::begin(context.digest(), Self::KIND, masks_len(list.len()));
        out.extend_from_slice(&seed.0);
        out.extend_from_slice(&count);
        let mut previous = None;
        for (index, mask) in list.iter().enumerate() {
            check_order(index, mask.counter, &mut previous)?;
            out.extend_from_slice(&mask.counter.to_le_bytes());
        }
        Ok(out)
    }

    fn decode(context: &Context, bytes: &[u8]) -> Result<Vec<Self>, WireError> {
        let mut body = header::open(context.digest(), Self::KIND, bytes)?;
        let seed = Seed(body.array("seed")?);
        let count = body.count(WHAT, 8)?;
        check_count(count)?;
        if count == 0 {
            require_zero("the seed of an empty list", &seed.0)?;
        }
        let mut list = Vec::with_capacity(count);
        let mut previous = None;
        for index in 0..count {
            let counter = body.u64("mask counter")?;
            check_order(index, counter, &mut previous)?;
            list.push(Self { seed, counter });
        }
        Ok(list)
    }
}

fn check_count(count: usize) -> Result<(), WireError> {
    if count > MAX_MASKS {
        return Err(WireError::TooMany {
            what: WHAT,
            count: count as u64,
            limit: MAX_MASKS as u64,
        });
    }
    Ok(())
}

/// Refuses a counter out of range, or not above the one before.
fn check_order(index: usize, value: u64, previous: &mut Option<u64>) -> Result<(), WireError> {
    check_counter(index, value)?;
    if let Some(previous) = previous
        .replace(value)
        .filter(|&previous| previous >= value)
    {
        return Err(WireError::Order {
            what: "mask counter",
            index,
            value,
            previous,
        });
    }
    Ok(())
}
