//! Key sets: Galois keys that share one seed.

use super::reader::{common_seed, count_field, require_zero};
use super::residues::{Place, poly_len, read_poly, write_poly};
use super::{HEADER_LEN, Kind, Wire, WireError, header};
use crate::automorphism::GaloisElement;
use crate::context::Context;
use crate::error::CkksError;
use crate::keyswitch::SeededGaloisKey;
use crate::xof::Seed;

const WHAT: &str = "Galois keys";

/// Bytes of an encoded set of `count` Galois keys.
pub fn galois_keys_len(context: &Context, count: usize) -> u64 {
    let fixed = (HEADER_LEN + 32 + 4) as u64;
    key_len(context)
        .saturating_mul(count as u64)
        .saturating_add(fixed)
}

fn key_len(context: &Context) -> u64 {
    4 + context.q_limbs() as u64 * poly_len(context, context.qp_limbs())
}

impl Wire for SeededGaloisKey {
    const KIND: Kind = Kind::GaloisKeys;

    fn encode(context: &Context, list: &[Self]) -> Result<Vec<u8>, WireError> {
        context.require_key_switching()?;
        let count = count_field(WHAT, list.len())?;
        let seed = common_seed(list.iter().map(|key| key.seed))?;
        let len = galois_keys_len(context, list.len());
        let mut out = header::begin(context.digest(), Self::KIND, len);
        out.extend_from_slice(&seed.0);
        out.extend_from_slice(&count);
        let mut previous = 0;
        for (index, key) in list.iter().enumerate() {
            let element = key.element.exponent();
            check_element(context, index, element, &mut previous)?;
            if key.digits.len() != context.q_limbs() {
                return Err(WireError::Ckks(CkksError::Shape {
                    what: "digits of a Galois key",
                    expected: context.q_limbs(),
                    found: key.digits.len(),
                }));
            }
            out.extend_from_slice(&element.to_le_bytes());
            for digit in &key.digits {
                write_poly(context, context.qp_limbs(), place(index), digit, &mut out)?;
            }
        }
        Ok(out)
    }

    fn decode(context: &Context, bytes: &[u8]) -> Result<Vec<Self>, WireError> {
        context.require_key_switching()?;
        let mut body = header::open(context.digest(), Self::KIND, bytes)?;
        let seed = Seed(body.array("seed")?);
        let count = body.count(WHAT, key_len(context))?;
        if count == 0 {
            require_zero("the seed of an empty list", &seed.0)?;
        }
        let mut keys = Vec::with_capacity(count);
        let mut previous = 0;
        for index in 0..count {
            let value = body.u32("Galois element")?;
            let element = check_element(context, index, value, &mut previous)?;
            let mut digits = Vec::with_capacity(context.q_limbs());
            for _ in 0..context.q_limbs() {
                digits.push(read_poly(
                    context,
                    context.qp_limbs(),
                    place(index),
                    &mut body,
                )?);
            }
            keys.push(Self {
                element,
                seed,
                digits,
            });
        }
        Ok(keys)
    }
}

fn place(index: usize) -> Place {
    Place {
        object: "Galois key",
        index,
    }
}

/// The element of key `index`, if it is one of this ring and above the one before. No element is
/// 0, the value to start from.
fn check_element(
    context: &Context,
    index: usize,
    value: u32,
    previous: &mut u32,
) -> Result<GaloisElement, WireError> {
    let element = GaloisElement::from_exponent(value, context.degree());
    let element = element.ok_or(WireError::Element {
        index,
        value,
        limit: 2 * context.degree() as u32,
    })?;
    if value <= *previous {
        return Err(WireError::Order {
            what: "Galois element",
            index,
            value: value.into(),
            previous: (*previous).into(),
        });
    }
    *previous = value;
    Ok(element)
}
