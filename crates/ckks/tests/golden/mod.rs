//! The objects in the golden files, by formula, and their bytes, written a second time from
//! `docs/wire-format.md` with none of the crate's encoder.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use ckks::automorphism::GaloisElement;
use ckks::modulus::ntt_primes;
use ckks::xof::Seed;
use ckks::{
    Answer, Ciphertext, Context, MaskId, Parameters, RnsPoly, SeededCiphertext, SeededGaloisKey,
};
use std::path::PathBuf;
use std::sync::Arc;

/// N = 1024, one 26-bit prime, no key switching; digest and prime computed outside this crate.
pub(crate) const SMALL_PRIME: u32 = 67_104_769;
pub(crate) const SMALL_DIGEST: &str =
    "7de3107b2b63b65b1b40ead8b99fdd08b9798d43a7a65fb527ba50da06499887";
/// N = 2048, the same prime and a 27-bit key-switching prime.
pub(crate) const SWITCHING_PRIME: u32 = 134_176_769;
pub(crate) const SWITCHING_DIGEST: &str =
    "2f55634a10c04fb2b055484d6bf8201a842ae31a7c4c0e203c9dd7a146ff0aee";

pub(crate) const ELEMENTS: [u32; 2] = [5, 4095];
pub(crate) const UPLOAD_COUNTERS: [u64; 2] = [0x00ff_ffff_ffff_ffff, 5];
pub(crate) const MASK_COUNTERS: [u64; 3] = [0, 258, 0x00ff_ffff_ffff_ffff];
pub(crate) const BITS: u32 = 21;

pub(crate) fn small() -> Arc<Context> {
    let q = ntt_primes(26, 1024, 1).unwrap();
    Context::new(Parameters::new("golden", 1024, &q, None).unwrap()).unwrap()
}

pub(crate) fn switching() -> Arc<Context> {
    let q = ntt_primes(26, 2048, 1).unwrap();
    let p = ntt_primes(27, 2048, 1).unwrap();
    Context::new(Parameters::new("golden keys", 2048, &q, p.first().copied()).unwrap()).unwrap()
}

/// The seed of all golden files: bytes 1, 8, 15, ….
pub(crate) fn seed() -> Seed {
    Seed(std::array::from_fn(|i| 7 * i as u8 + 1))
}

/// The residue that stands at place `i` among all residues of a message.
pub(crate) fn residue(i: u64, prime: u32) -> u32 {
    ((i * i * 31 + 7) % u64::from(prime)) as u32
}

/// The coefficient that stands at place `i` among all coefficients of a message.
pub(crate) fn coefficient(i: u64) -> u64 {
    (i * i * 31 + 7) % (1 << BITS)
}

/// A polynomial whose first residue stands at place `start`.
fn poly(start: u64, degree: usize, primes: &[u32]) -> RnsPoly {
    let mut poly = RnsPoly::zero(primes.len(), degree);
    let mut i = start;
    for (limb, &prime) in primes.iter().enumerate() {
        for v in poly.limb_mut(limb) {
            *v = residue(i, prime);
            i += 1;
        }
    }
    poly
}

pub(crate) fn keys() -> Vec<SeededGaloisKey> {
    let key = |(i, &element): (usize, &u32)| SeededGaloisKey {
        element: GaloisElement::from_exponent(element, 2048).unwrap(),
        seed: seed(),
        digits: vec![poly(4096 * i as u64, 2048, &[SMALL_PRIME, SWITCHING_PRIME])],
    };
    ELEMENTS.iter().enumerate().map(key).collect()
}

pub(crate) fn uploads() -> Vec<SeededCiphertext> {
    let upload = |(i, &counter): (usize, &u64)| SeededCiphertext {
        c0: poly(1024 * i as u64, 1024, &[SMALL_PRIME]),
        mask: MaskId {
            seed: seed(),
            counter,
        },
    };
    UPLOAD_COUNTERS.iter().enumerate().map(upload).collect()
}

pub(crate) fn ciphertexts() -> Vec<Ciphertext> {
    let half = |i: u64| poly(1024 * i, 1024, &[SMALL_PRIME]);
    vec![Ciphertext {
        c0: half(0),
        c1: half(1),
    }]
}

pub(crate) fn answers() -> Vec<Answer> {
    let half = |i: u64| (1024 * i..1024 * (i + 1)).map(coefficient).collect();
    let answer = |i: u64| Answer::from_coefficients(BITS, half(2 * i), half(2 * i + 1)).unwrap();
    vec![answer(0), answer(1)]
}

pub(crate) fn masks() -> Vec<MaskId> {
    let mask = |&counter| MaskId {
        seed: seed(),
        counter,
    };
    MASK_COUNTERS.iter().map(mask).collect()
}

/// A message: header from literals, then the body.
pub(crate) fn message(kind: u8, digest: &str, body: &[u8]) -> Vec<u8> {
    let mut out = b"CKKSWIRE\x01\x00".to_vec();
    out.extend([kind, 0]);
    out.extend((0..32).map(|i| u8::from_str_radix(&digest[2 * i..2 * i + 2], 16).unwrap()));
    out.extend((body.len() as u64).to_le_bytes());
    out.extend(body);
    out
}

fn residues(range: std::ops::Range<u64>, prime: u32) -> Vec<u8> {
    range
        .flat_map(|i| residue(i, prime).to_le_bytes())
        .collect()
}

pub(crate) fn keys_bytes() -> Vec<u8> {
    let mut body = seed().0.to_vec();
    body.extend([2, 0, 0, 0]);
    for (i, element) in (0..).zip(ELEMENTS) {
        body.extend(element.to_le_bytes());
        body.extend(residues(4096 * i..4096 * i + 2048, SMALL_PRIME));
        body.extend(residues(4096 * i + 2048..4096 * (i + 1), SWITCHING_PRIME));
    }
    message(1, SWITCHING_DIGEST, &body)
}

pub(crate) fn uploads_bytes() -> Vec<u8> {
    let mut body = seed().0.to_vec();
    body.extend([2, 0, 0, 0]);
    for (i, counter) in (0..).zip(UPLOAD_COUNTERS) {
        body.extend(counter.to_le_bytes());
        body.extend(residues(1024 * i..1024 * (i + 1), SMALL_PRIME));
    }
    message(2, SMALL_DIGEST, &body)
}

pub(crate) fn ciphertexts_bytes() -> Vec<u8> {
    let mut body = vec![1, 0, 0, 0];
    body.extend(residues(0..2048, SMALL_PRIME));
    message(3, SMALL_DIGEST, &body)
}

pub(crate) fn answers_bytes() -> Vec<u8> {
    // 21 bits, three bytes of padding, N = 1024, two answers.
    let mut body = vec![21, 0, 0, 0, 0, 4, 0, 0, 2, 0, 0, 0];
    let mut stream = vec![0u8; 2 * 2 * 1024 * 21 / 8];
    for i in 0..4 * 1024 {
        for k in 0..21 {
            let j = 21 * i + k;
            stream[j / 8] |= ((coefficient(i as u64) >> k & 1) as u8) << (j % 8);
        }
    }
    body.extend(stream);
    message(4, SMALL_DIGEST, &body)
}

pub(crate) fn masks_bytes() -> Vec<u8> {
    let mut body = seed().0.to_vec();
    body.extend([3, 0, 0, 0]);
    body.extend(MASK_COUNTERS.iter().flat_map(|c| c.to_le_bytes()));
    message(5, SMALL_DIGEST, &body)
}

/// Path of a golden file.
pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}
