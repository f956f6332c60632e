//! Answers: ciphertexts modulo a power of two, packed.

use super::bits::{pack, packed_len, unpack};
use super::reader::{count_field, require_zero};
use super::{HEADER_LEN, Kind, Wire, WireError, header};
use crate::context::Context;
use crate::error::CkksError;
use crate::rounding::{Answer, MIN_ANSWER_BITS};

/// Most bits of an answer coefficient in this format, whatever the parameters; a context rounds
/// to [`Context::max_answer_bits`] at most.
pub const MAX_ANSWER_BITS: u32 = 61;

const WHAT: &str = "answers";

/// Bytes of an encoded list of `count` answers with `bits` bits for a coefficient.
pub fn answers_len(context: &Context, count: usize, bits: u32) -> u64 {
    let fixed = (HEADER_LEN + 4 + 4 + 4) as u64;
    answer_len(context, bits)
        .saturating_mul(count as u64)
        .saturating_add(fixed)
}

fn answer_len(context: &Context, bits: u32) -> u64 {
    2 * packed_len(context.degree(), bits) as u64
}

impl Wire for Answer {
    const KIND: Kind = Kind::Answers;

    fn encode(context: &Context, list: &[Self]) -> Result<Vec<u8>, WireError> {
        let count = count_field(WHAT, list.len())?;
        let degree = context.degree();
        // An empty list has no size; a zero stands in its place.
        let bits = list.first().map_or(0, Self::bits);
        for (index, answer) in list.iter().enumerate() {
            if answer.bits() != bits {
                let what = "number of bits";
                return Err(WireError::Mixed { what, index });
            }
            for half in [answer.c0(), answer.c1()] {
                if half.len() != degree {
                    return Err(WireError::Ckks(CkksError::Shape {
                        what: "coefficients of an answer",
                        expected: degree,
                        found: half.len(),
                    }));
                }
            }
        }
        let len = answers_len(context, list.len(), bits);
        let mut out = header::begin(context.digest(), Self::KIND, len);
        out.extend_from_slice(&bits.to_le_bytes());
        out.extend_from_slice(&(degree as u32).to_le_bytes());
        out.extend_from_slice(&count);
        for answer in list {
            pack(answer.c0(), bits, &mut out);
            pack(answer.c1(), bits, &mut out);
        }
        Ok(out)
    }

    fn decode(context: &Context, bytes: &[u8]) -> Result<Vec<Self>, WireError> {
        let mut body = header::open(context.digest(), Self::KIND, bytes)?;
        let [bits, padding @ ..] = body.array::<4>("bits of a coefficient")?;
        require_zero("the padding after the bits of a coefficient", &padding)?;
        let found = body.u32("ring degree")?;
        if u64::from(found) != context.degree() as u64 {
            let expected = context.degree();
            return Err(WireError::RingDegree { found, expected });
        }
        let size = u32::from(bits);
        let count = body.u32("count")?;
        if count == 0 {
            require_zero("the bits of a coefficient of an empty list", &[bits])?;
        } else if !(MIN_ANSWER_BITS..=MAX_ANSWER_BITS).contains(&size) {
            return Err(WireError::AnswerBits { bits });
        }
        let count = body.check_count(WHAT, count, answer_len(context, size))?;
        let half = packed_len(context.degree(), size);
        let mut list = Vec::with_capacity(count);
        for _ in 0..count {
            let c0 = unpack(body.bytes("coefficients", half)?, size);
            let c1 = unpack(body.bytes("coefficients", half)?, size);
            list.push(Self::from_coefficients(size, c0, c1)?);
        }
        Ok(list)
    }
}
