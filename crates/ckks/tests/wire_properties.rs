//! Round trips over sizes and contents, and hostile bytes: whatever decodes, encodes to the same
//! bytes again.

#![allow(clippy::unwrap_used, reason = "test code")]

mod golden;

use ckks::automorphism::GaloisElement;
use ckks::modulus::ntt_primes;
use ckks::xof::Seed;
use ckks::{
    Answer, Ciphertext, Context, MaskId, Parameters, RnsPoly, SeededCiphertext, SeededGaloisKey,
    Wire,
};
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, LazyLock};

/// Two ciphertext primes, so that digits and limbs differ in number.
static WIDE: LazyLock<Arc<Context>> = LazyLock::new(|| {
    let q = ntt_primes(31, 4096, 3).unwrap();
    Context::new(Parameters::new("wide", 4096, &q[..2], Some(q[2])).unwrap()).unwrap()
});
static SMALL: LazyLock<Arc<Context>> = LazyLock::new(golden::small);
static SWITCHING: LazyLock<Arc<Context>> = LazyLock::new(golden::switching);

/// A stream of 64-bit values (SplitMix64), much cheaper than a strategy for each residue.
fn values(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn poly(context: &Context, limbs: usize, next: &mut impl FnMut() -> u64) -> RnsPoly {
    let mut poly = RnsPoly::zero(limbs, context.degree());
    for limb in 0..limbs {
        let modulus = context.modulus(limb);
        for v in poly.limb_mut(limb) {
            *v = modulus.reduce_u64(next());
        }
    }
    poly
}

fn round_trip<T: Wire + PartialEq + Debug>(
    context: &Context,
    list: &[T],
    predicted: u64,
) -> Result<(), TestCaseError> {
    let bytes = T::encode(context, list)?;
    prop_assert_eq!(bytes.len() as u64, predicted);
    prop_assert_eq!(bytes.capacity(), bytes.len());
    prop_assert!(T::decode(context, &bytes)? == list);
    Ok(())
}

fn canonical<T: Wire>(context: &Context, bytes: &[u8]) -> Result<(), TestCaseError> {
    if let Ok(list) = T::decode(context, bytes) {
        prop_assert!(T::encode(context, &list)? == bytes);
    }
    Ok(())
}

fn counters() -> impl Strategy<Value = BTreeSet<u64>> {
    prop::collection::btree_set(0..1u64 << 56, 0..5)
}

fn all_canonical(bytes: &[u8]) -> Result<(), TestCaseError> {
    canonical::<SeededGaloisKey>(&SWITCHING, bytes)?;
    canonical::<SeededCiphertext>(&SMALL, bytes)?;
    canonical::<Ciphertext>(&SMALL, bytes)?;
    canonical::<Answer>(&SMALL, bytes)?;
    canonical::<MaskId>(&SMALL, bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn keys_round_trip(
        exponents in prop::collection::btree_set(0u32..4096, 0..4),
        seed: [u8; 32],
        state: u64,
    ) {
        let mut next = values(state);
        // An empty list carries no seed, so none comes back.
        let keys: Vec<_> = exponents
            .iter()
            .map(|e| SeededGaloisKey {
                element: GaloisElement::from_exponent(2 * e + 1, 4096).unwrap(),
                seed: Seed(seed),
                digits: (0..2).map(|_| poly(&WIDE, 3, &mut next)).collect(),
            })
            .collect();
        round_trip(&WIDE, &keys, ckks::wire::galois_keys_len(&WIDE, keys.len()))?;
    }

    #[test]
    fn ciphertexts_round_trip(counters in counters(), reverse: bool, seed: [u8; 32], state: u64) {
        let mut next = values(state);
        let mut uploads: Vec<_> = counters
            .iter()
            .map(|&counter| SeededCiphertext {
                c0: poly(&WIDE, 2, &mut next),
                mask: MaskId { seed: Seed(seed), counter },
            })
            .collect();
        if reverse {
            uploads.reverse();
        }
        let count = uploads.len();
        round_trip(&WIDE, &uploads, ckks::wire::seeded_ciphertexts_len(&WIDE, count))?;
        let full: Vec<_> = uploads.iter().map(|c| c.expand(&WIDE).unwrap()).collect();
        round_trip(&WIDE, &full, ckks::wire::ciphertexts_len(&WIDE, count))?;
    }

    #[test]
    fn answers_round_trip(bits in 16u32..=61, count in 0usize..4, state: u64) {
        let mut next = values(state);
        let mut half = || (0..4096).map(|_| next() >> (64 - bits)).collect::<Vec<_>>();
        let answers: Vec<_> = (0..count)
            .map(|_| Answer::from_coefficients(bits, half(), half()).unwrap())
            .collect();
        round_trip(&WIDE, &answers, ckks::wire::answers_len(&WIDE, count, bits))?;
    }

    #[test]
    fn masks_round_trip(
        counters in prop::collection::btree_set(0..1u64 << 56, 0..300),
        seed: [u8; 32],
    ) {
        let seed = Seed(seed);
        let masks: Vec<_> = counters.iter().map(|&counter| MaskId { seed, counter }).collect();
        round_trip(&WIDE, &masks, ckks::wire::masks_len(masks.len()))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        all_canonical(&bytes)?;
    }

    #[test]
    fn arbitrary_bodies_never_panic(
        kind in 1u8..=5,
        body in prop::collection::vec(any::<u8>(), 0..300),
        pad in prop::option::of(0usize..20_000),
    ) {
        let mut body = body;
        if let Some(len) = pad {
            body.resize(len, 0);
        }
        let digest = if kind == 1 { golden::SWITCHING_DIGEST } else { golden::SMALL_DIGEST };
        all_canonical(&golden::message(kind, digest, &body))?;
    }

    #[test]
    fn mutations_are_refused_or_canonical(
        which in 0usize..5,
        near_the_start: bool,
        edits in prop::collection::vec((any::<Index>(), any::<u8>()), 1..4),
        cut in prop::option::weighted(0.2, any::<Index>()),
        relabel: bool,
    ) {
        let mut bytes = match which {
            0 => golden::keys_bytes(),
            1 => golden::uploads_bytes(),
            2 => golden::ciphertexts_bytes(),
            3 => golden::answers_bytes(),
            _ => golden::masks_bytes(),
        };
        let within = if near_the_start { 96 } else { bytes.len() };
        for (at, value) in edits {
            bytes[at.index(within)] = value;
        }
        if let Some(at) = cut {
            bytes.truncate(at.index(bytes.len()));
        }
        if relabel && bytes.len() >= 52 {
            let len = bytes.len() as u64 - 52;
            bytes[44..52].copy_from_slice(&len.to_le_bytes());
        }
        all_canonical(&bytes)?;
    }
}
