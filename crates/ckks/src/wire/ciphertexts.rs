//! Ciphertexts: fresh ones, whose masks share one seed, and full ones.

use super::masks::check_counter;
use super::reader::{common_seed, count_field, require_zero};
use super::residues::{Place, poly_len, read_poly, write_poly};
use super::{HEADER_LEN, Kind, Wire, WireError, header};
use crate::ciphertext::{Ciphertext, MaskId, SeededCiphertext};
use crate::context::Context;
use crate::xof::Seed;

const WHAT: &str = "ciphertexts";

/// Bytes of an encoded list of `count` seeded ciphertexts: an upload.
pub fn seeded_ciphertexts_len(context: &Context, count: usize) -> u64 {
    let fixed = (HEADER_LEN + 32 + 4) as u64;
    seeded_len(context)
        .saturating_mul(count as u64)
        .saturating_add(fixed)
}

/// Bytes of an encoded list of `count` full ciphertexts.
pub fn ciphertexts_len(context: &Context, count: usize) -> u64 {
    let fixed = (HEADER_LEN + 4) as u64;
    full_len(context)
        .saturating_mul(count as u64)
        .saturating_add(fixed)
}

fn seeded_len(context: &Context) -> u64 {
    8 + poly_len(context, context.q_limbs())
}

fn full_len(context: &Context) -> u64 {
    2 * poly_len(context, context.q_limbs())
}

fn place(index: usize) -> Place {
    Place {
        object: "ciphertext",
        index,
    }
}

impl Wire for SeededCiphertext {
    const KIND: Kind = Kind::SeededCiphertexts;

    fn encode(context: &Context, list: &[Self]) -> Result<Vec<u8>, WireError> {
        let count = count_field(WHAT, list.len())?;
        let seed = common_seed(list.iter().map(|ciphertext| ciphertext.mask.seed))?;
        check_distinct(list)?;
        let len = seeded_ciphertexts_len(context, list.len());
        let mut out = header::begin(context.digest(), Self::KIND, len);
        out.extend_from_slice(&seed.0);
        out.extend_from_slice(&count);
        for (index, ciphertext) in list.iter().enumerate() {
            let counter = check_counter(index, ciphertext.mask.counter)?;
            out.extend_from_slice(&counter.to_le_bytes());
            let c0 = &ciphertext.c0;
            write_poly(context, context.q_limbs(), place(index), c0, &mut out)?;
        }
        Ok(out)
    }

    fn decode(context: &Context, bytes: &[u8]) -> Result<Vec<Self>, WireError> {
        let mut body = header::open(context.digest(), Self::KIND, bytes)?;
        let seed = Seed(body.array("seed")?);
        let count = body.count(WHAT, seeded_len(context))?;
        if count == 0 {
            require_zero("the seed of an empty list", &seed.0)?;
        }
        let mut list = Vec::with_capacity(count);
        for index in 0..count {
            let counter = check_counter(index, body.u64("mask counter")?)?;
            list.push(Self {
                mask: MaskId { seed, counter },
                c0: read_poly(context, context.q_limbs(), place(index), &mut body)?,
            });
        }
        check_distinct(&list)?;
        Ok(list)
    }
}

/// Refuses two ciphertexts under one mask: their difference would show that of the messages.
fn check_distinct(list: &[SeededCiphertext]) -> Result<(), WireError> {
    let mut counters: Vec<u64> = list.iter().map(|c| c.mask.counter).collect();
    counters.sort_unstable();
    match counters.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(WireError::RepeatedCounter { value: pair[0] }),
        None => Ok(()),
    }
}

impl Wire for Ciphertext {
    const KIND: Kind = Kind::Ciphertexts;

    fn encode(context: &Context, list: &[Self]) -> Result<Vec<u8>, WireError> {
        let count = count_field(WHAT, list.len())?;
        let len = ciphertexts_len(context, list.len());
        let mut out = header::begin(context.digest(), Self::KIND, len);
        out.extend_from_slice(&count);
        for (index, ciphertext) in list.iter().enumerate() {
            for poly in [&ciphertext.c0, &ciphertext.c1] {
                write_poly(context, context.q_limbs(), place(index), poly, &mut out)?;
            }
        }
        Ok(out)
    }

    fn decode(context: &Context, bytes: &[u8]) -> Result<Vec<Self>, WireError> {
        let mut body = header::open(context.digest(), Self::KIND, bytes)?;
        let count = body.count(WHAT, full_len(context))?;
        let mut list = Vec::with_capacity(count);
        for index in 0..count {
            list.push(Self {
                c0: read_poly(context, context.q_limbs(), place(index), &mut body)?,
                c1: read_poly(context, context.q_limbs(), place(index), &mut body)?,
            });
        }
        Ok(list)
    }
}
