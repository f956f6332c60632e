//! Limbs of canonical residues, 4 bytes each.

use super::WireError;
use super::reader::Reader;
use crate::context::Context;
use crate::error::CkksError;
use crate::poly::RnsPoly;

/// Names a polynomial in messages.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) object: &'static str,
    pub(super) index: usize,
}

/// Bytes of a polynomial with `limbs` limbs.
pub(super) fn poly_len(context: &Context, limbs: usize) -> u64 {
    (limbs * context.degree() * size_of::<u32>()) as u64
}

/// Appends a polynomial over the first `limbs` primes.
pub(super) fn write_poly(
    context: &Context,
    limbs: usize,
    place: Place,
    poly: &RnsPoly,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let (expected, found) = (limbs * context.degree(), poly.residues().len());
    if poly.degree() != context.degree() || found != expected {
        return Err(WireError::Ckks(CkksError::Shape {
            what: "residues of a polynomial",
            expected,
            found,
        }));
    }
    let start = out.len();
    out.resize(start + size_of_val(poly.residues()), 0);
    let bytes = &mut out[start..];
    for (limb, bytes) in bytes.chunks_exact_mut(4 * context.degree()).enumerate() {
        let residues = poly.limb(limb);
        check(context, limb, place, residues, max(residues))?;
        for (out, v) in bytes.as_chunks_mut().0.iter_mut().zip(residues) {
            *out = v.to_le_bytes();
        }
    }
    Ok(())
}

/// Reads a polynomial over the first `limbs` primes.
pub(super) fn read_poly(
    context: &Context,
    limbs: usize,
    place: Place,
    reader: &mut Reader<'_>,
) -> Result<RnsPoly, WireError> {
    let limb_len = 4 * context.degree();
    let bytes = reader.bytes("residues", limbs * limb_len)?;
    let mut poly = RnsPoly::zero(limbs, context.degree());
    for (limb, bytes) in bytes.chunks_exact(limb_len).enumerate() {
        let residues = poly.limb_mut(limb);
        for (out, &bytes) in residues.iter_mut().zip(bytes.as_chunks().0) {
            *out = u32::from_le_bytes(bytes);
        }
        check(context, limb, place, residues, max(residues))?;
    }
    Ok(poly)
}

/// The largest residue. One comparison for a limb instead of one for each residue keeps the loop
/// free of branches.
fn max(residues: &[u32]) -> u32 {
    residues.iter().fold(0, |max, &v| max.max(v))
}

/// Refuses a limb whose largest residue is not below the prime.
fn check(
    context: &Context,
    limb: usize,
    place: Place,
    residues: &[u32],
    max: u32,
) -> Result<(), WireError> {
    let prime = context.modulus(limb).value();
    if max < prime {
        return Ok(());
    }
    let first = residues.iter().enumerate().find(|(_, v)| **v >= prime);
    let (position, &value) = first.unwrap_or((0, &max));
    Err(WireError::Residue {
        object: place.object,
        index: place.index,
        limb,
        position,
        value,
        prime,
    })
}
