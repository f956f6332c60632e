//! Stored messages of format version 1: every later build reads them and writes the same bytes.

#![allow(clippy::unwrap_used, reason = "test code")]

mod golden;

use ckks::modulus::Modulus;
use ckks::ntt::NttTable;
use ckks::xof::Seed;
use ckks::{Answer, Ciphertext, Context, MaskId, RnsPoly, SeededCiphertext, SeededGaloisKey, Wire};
use std::fmt::Debug;

/// Asserts the header byte by byte, and that file, formula and codec agree.
fn check<T: Wire + PartialEq + Debug>(
    context: &Context,
    name: &str,
    header: ([u8; 4], [u8; 32], [u8; 8]),
    bytes: &[u8],
    objects: &[T],
    predicted: u64,
) {
    let file = std::fs::read(golden::path(name)).unwrap();
    let (version_and_kind, digest, body_len) = header;
    assert_eq!(
        file[..8],
        [0x43, 0x4b, 0x4b, 0x53, 0x57, 0x49, 0x52, 0x45],
        "{name}"
    );
    assert_eq!(file[8..12], version_and_kind, "{name}");
    assert_eq!(file[12..44], digest, "{name}");
    assert_eq!(file[44..52], body_len, "{name}");
    assert!(file == bytes, "{name} differs from the formula's bytes");
    let decoded = T::decode(context, &file).unwrap();
    assert!(decoded == objects, "{name} decodes to other objects");
    let encoded = T::encode(context, objects).unwrap();
    assert!(encoded == file, "{name} is encoded otherwise");
    assert_eq!(encoded.len() as u64, predicted, "{name}");
    assert_eq!(encoded.capacity(), encoded.len(), "{name}");
}

const SMALL: [u8; 32] = [
    0x7d, 0xe3, 0x10, 0x7b, 0x2b, 0x63, 0xb6, 0x5b, 0x1b, 0x40, 0xea, 0xd8, 0xb9, 0x9f, 0xdd, 0x08,
    0xb9, 0x79, 0x8d, 0x43, 0xa7, 0xa6, 0x5f, 0xb5, 0x27, 0xba, 0x50, 0xda, 0x06, 0x49, 0x98, 0x87,
];
const SWITCHING: [u8; 32] = [
    0x2f, 0x55, 0x63, 0x4a, 0x10, 0xc0, 0x4f, 0xb2, 0xb0, 0x55, 0x48, 0x4d, 0x6b, 0xf8, 0x20, 0x1a,
    0x84, 0x2a, 0xe3, 0x1a, 0x7c, 0x4c, 0x0e, 0x20, 0x3c, 0x9d, 0xd7, 0xa1, 0x46, 0xff, 0x0a, 0xee,
];

#[test]
fn galois_keys() {
    let context = golden::switching();
    check::<SeededGaloisKey>(
        &context,
        "galois-keys.bin",
        ([1, 0, 1, 0], SWITCHING, [0x2c, 0x80, 0, 0, 0, 0, 0, 0]),
        &golden::keys_bytes(),
        &golden::keys(),
        ckks::wire::galois_keys_len(&context, 2),
    );
}

#[test]
fn seeded_ciphertexts() {
    let context = golden::small();
    check::<SeededCiphertext>(
        &context,
        "seeded-ciphertexts.bin",
        ([1, 0, 2, 0], SMALL, [0x34, 0x20, 0, 0, 0, 0, 0, 0]),
        &golden::uploads_bytes(),
        &golden::uploads(),
        ckks::wire::seeded_ciphertexts_len(&context, 2),
    );
}

#[test]
fn ciphertexts() {
    let context = golden::small();
    check::<Ciphertext>(
        &context,
        "ciphertexts.bin",
        ([1, 0, 3, 0], SMALL, [0x04, 0x20, 0, 0, 0, 0, 0, 0]),
        &golden::ciphertexts_bytes(),
        &golden::ciphertexts(),
        ckks::wire::ciphertexts_len(&context, 1),
    );
}

#[test]
fn answers() {
    let context = golden::small();
    check::<Answer>(
        &context,
        "answers.bin",
        ([1, 0, 4, 0], SMALL, [0x0c, 0x2a, 0, 0, 0, 0, 0, 0]),
        &golden::answers_bytes(),
        &golden::answers(),
        ckks::wire::answers_len(&context, 2, golden::BITS),
    );
}

#[test]
fn masks() {
    check::<MaskId>(
        &golden::small(),
        "masks.bin",
        ([1, 0, 5, 0], SMALL, [0x3c, 0, 0, 0, 0, 0, 0, 0]),
        &golden::masks_bytes(),
        &golden::masks(),
        ckks::wire::masks_len(3),
    );
}

/// Values computed with another implementation of RFC 8439 from the format's description.
#[test]
fn seeds_expand_as_specified() {
    let context = Context::named("diagonal-4096").unwrap();
    assert_eq!(
        context.digest().to_string(),
        "96612f17cfd051fd29ceaa68832ad1207bee811f67d9e5d8fb90a425c0f152ca"
    );
    let seed = Seed(std::array::from_fn(|i| i as u8));
    let ends = |poly: &RnsPoly, limb| {
        let limb = poly.limb(limb);
        [limb[0], limb[1], limb[2], limb[4095]]
    };
    let mask = MaskId { seed, counter: 7 }.expand(&context);
    let expected = [
        [495_056_161, 73_431_204, 52_717_850, 189_457_787],
        [361_828_882, 449_135_235, 250_395_207, 230_027_223],
    ];
    assert_eq!([ends(&mask, 0), ends(&mask, 1)], expected);
    let element = ckks::automorphism::GaloisElement::from_exponent(5, 4096).unwrap();
    let digit = ckks::keyswitch::expand_key_digit(&context, &seed, element, 1);
    let expected = [
        [24_929_691, 296_795_051, 459_162_672, 27_192_933],
        [152_501_147, 172_364_743, 228_101_721, 526_872_073],
        [1_659_910_464, 1_632_817_502, 1_510_404_025, 386_765_708],
    ];
    assert_eq!([0, 1, 2].map(|limb| ends(&digit, limb)), expected);
}

/// Position `i` of a limb is the value at `ψ^(2·rev(i) + 1)`: the transform of X shows the points.
#[test]
fn residues_are_in_the_specified_order() {
    let modulus = Modulus::new(536_813_569).unwrap();
    let mut x = vec![0; 4096];
    x[1] = 1;
    NttTable::new(modulus, 4096).unwrap().forward(&mut x);
    for (i, &point) in x.iter().enumerate() {
        let rev = (i as u32).reverse_bits() >> 20;
        assert_eq!(point, modulus.pow(PSI, u64::from(2 * rev + 1)), "{i}");
    }
}

/// The first of `x^((q-1)/8192)`, x = 2, 3, …, that has order 8192 modulo 536813569.
const PSI: u32 = 327_210_582;

/// Writes the files, from the formula and not from the encoder. Only for a new format version:
/// stored files are never rewritten.
#[test]
#[ignore = "writes the golden files"]
fn generate() {
    for (name, bytes) in [
        ("galois-keys.bin", golden::keys_bytes()),
        ("seeded-ciphertexts.bin", golden::uploads_bytes()),
        ("ciphertexts.bin", golden::ciphertexts_bytes()),
        ("answers.bin", golden::answers_bytes()),
        ("masks.bin", golden::masks_bytes()),
    ] {
        std::fs::write(golden::path(name), bytes).unwrap();
    }
}
