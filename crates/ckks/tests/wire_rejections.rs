//! Everything that a message can get wrong is refused, with a message that names the value.

#![allow(clippy::unwrap_used, reason = "test code")]

mod golden;

use ckks::automorphism::GaloisElement;
use ckks::wire::{HEADER_LEN, Header, Kind, MAX_COUNTER};
use ckks::xof::Seed;
use ckks::{
    Answer, Ciphertext, CkksError, Context, MaskId, RnsPoly, SeededCiphertext, SeededGaloisKey,
    Wire, WireError,
};

const COUNT_AFTER_SEED: usize = HEADER_LEN + 32;
const FIRST_KEY: usize = COUNT_AFTER_SEED + 4;
const KEY_LEN: usize = 4 + 2 * 4 * 2048;
const UPLOAD_LEN: usize = 8 + 4 * 1024;

fn refused<T: Wire>(context: &Context, bytes: &[u8]) -> WireError {
    T::decode(context, bytes)
        .err()
        .expect("the message is wrong")
}

fn patched(bytes: &[u8], at: usize, patch: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + patch.len()].copy_from_slice(patch);
    bytes
}

/// The same with a header that tells the truth about the length.
fn relabelled(mut bytes: Vec<u8>) -> Vec<u8> {
    let len = (bytes.len() - HEADER_LEN) as u64;
    bytes[44..52].copy_from_slice(&len.to_le_bytes());
    bytes
}

/// Asserts that the text of an error has all of the parts.
fn says(error: &WireError, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "\"{text}\" lacks \"{part}\"");
    }
}

fn with_all_kinds(check: impl Fn(&dyn Fn(&[u8]) -> WireError, Vec<u8>)) {
    let (small, switching) = (golden::small(), golden::switching());
    check(
        &|b| refused::<SeededGaloisKey>(&switching, b),
        golden::keys_bytes(),
    );
    check(
        &|b| refused::<SeededCiphertext>(&small, b),
        golden::uploads_bytes(),
    );
    check(
        &|b| refused::<Ciphertext>(&small, b),
        golden::ciphertexts_bytes(),
    );
    check(&|b| refused::<Answer>(&small, b), golden::answers_bytes());
    check(&|b| refused::<MaskId>(&small, b), golden::masks_bytes());
}

#[test]
fn magic() {
    with_all_kinds(|refused, bytes| {
        for at in 0..8 {
            let error = refused(&patched(&bytes, at, &[0]));
            assert!(matches!(error, WireError::Magic { .. }));
            says(&error, &["CKKSWIRE", "00"]);
        }
    });
}

#[test]
fn unknown_version_says_what_is_read() {
    with_all_kinds(|refused, bytes| {
        for found in [0u16, 2, 256, u16::MAX] {
            let error = refused(&patched(&bytes, 8, &found.to_le_bytes()));
            assert_eq!(error, WireError::Version { found });
            says(&error, &[&found.to_string(), "reads version 1 only"]);
        }
    });
}

#[test]
fn unknown_and_wrong_kinds() {
    with_all_kinds(|refused, bytes| {
        for found in [0u16, 9, 256, u16::MAX] {
            let error = refused(&patched(&bytes, 10, &found.to_le_bytes()));
            assert_eq!(error, WireError::UnknownKind { found });
            says(&error, &[&found.to_string(), "1 to 8"]);
        }
        for other in 1u8..=8 {
            if bytes[10] == other {
                continue;
            }
            let error = refused(&patched(&bytes, 10, &[other]));
            assert!(matches!(error, WireError::WrongKind { .. }));
        }
    });
    let error = refused::<Answer>(&golden::small(), &golden::ciphertexts_bytes());
    assert_eq!(
        error,
        WireError::WrongKind {
            expected: Kind::Answers,
            found: Kind::Ciphertexts
        }
    );
    says(&error, &["list of ciphertexts", "list of answers"]);
}

#[test]
fn other_parameters_are_named() {
    with_all_kinds(|refused, bytes| {
        for at in [12, 27, 43] {
            let error = refused(&patched(&bytes, at, &[bytes[at] ^ 1]));
            assert!(matches!(error, WireError::ContextMismatch { .. }));
        }
    });
    let error = refused::<MaskId>(&golden::switching(), &golden::masks_bytes());
    says(&error, &["7de3107b", "2f55634a"]);
}

#[test]
fn body_length() {
    with_all_kinds(|refused, bytes| {
        let found = (bytes.len() - HEADER_LEN) as u64;
        for announced in [0, found - 1, found + 1, found << 8, u64::MAX] {
            let error = refused(&patched(&bytes, 44, &announced.to_le_bytes()));
            assert_eq!(error, WireError::BodyLength { announced, found });
            says(&error, &[&announced.to_string(), &found.to_string()]);
        }
    });
}

#[test]
fn truncated_anywhere() {
    with_all_kinds(|refused, bytes| {
        for len in 0..bytes.len() {
            let error = refused(&bytes[..len]);
            if len < HEADER_LEN {
                assert!(matches!(error, WireError::Truncated { length, .. } if length == len));
            } else {
                assert!(matches!(error, WireError::BodyLength { .. }));
            }
        }
        // Also when the header agrees.
        for len in HEADER_LEN..bytes.len() {
            let error = refused(&relabelled(bytes[..len].to_vec()));
            let expected = matches!(
                error,
                WireError::Truncated { .. }
                    | WireError::Count { .. }
                    | WireError::RingDegree { .. }
            );
            assert!(expected, "{len}: {error}");
        }
    });
    says(
        &refused::<MaskId>(&golden::small(), &golden::masks_bytes()[..9]),
        &["9 bytes", "format version", "1 bytes are missing"],
    );
}

#[test]
fn extended() {
    with_all_kinds(|refused, mut bytes| {
        bytes.push(0);
        assert!(matches!(refused(&bytes), WireError::BodyLength { .. }));
        assert!(matches!(
            refused(&relabelled(bytes)),
            WireError::Count { .. }
        ));
    });
}

#[test]
fn huge_counts_with_a_short_body() {
    with_all_kinds(|refused, bytes| {
        let at = match bytes[10] {
            1 | 2 | 5 => COUNT_AFTER_SEED,
            3 => HEADER_LEN,
            _ => HEADER_LEN + 8,
        };
        for wrong in [u32::MAX, 1 << 31, 1 << 20, 4] {
            for body in [bytes.len(), at + 4] {
                let message = patched(&bytes, at, &wrong.to_le_bytes());
                let error = refused(&relabelled(message[..body].to_vec()));
                assert!(matches!(error, WireError::Count { count, .. } if count == wrong));
                says(&error, &[&wrong.to_string()]);
            }
        }
    });
}

#[test]
fn residues_that_are_not_canonical() {
    let (small, switching) = (golden::small(), golden::switching());
    for value in [golden::SMALL_PRIME, golden::SMALL_PRIME + 1, u32::MAX] {
        let patch = value.to_le_bytes();
        // Residue 1023 of upload 1.
        let at = FIRST_KEY + 2 * UPLOAD_LEN - 4;
        let error =
            refused::<SeededCiphertext>(&small, &patched(&golden::uploads_bytes(), at, &patch));
        let expected = WireError::Residue {
            object: "ciphertext",
            index: 1,
            limb: 0,
            position: 1023,
            value,
            prime: golden::SMALL_PRIME,
        };
        assert_eq!(error, expected);
        says(&error, &["1023", &value.to_string(), "67104769"]);
        // Residue 0 of c0 and 5 of c1.
        for at in [0, 4 * (1024 + 5)] {
            let bytes = patched(&golden::ciphertexts_bytes(), HEADER_LEN + 4 + at, &patch);
            assert!(matches!(
                refused::<Ciphertext>(&small, &bytes),
                WireError::Residue { .. }
            ));
        }
    }
    // Each limb of a key has its own prime.
    let at = FIRST_KEY + KEY_LEN + 4 + 4 * (2048 + 17);
    let key = |value: u32| patched(&golden::keys_bytes(), at, &value.to_le_bytes());
    assert!(SeededGaloisKey::decode(&switching, &key(golden::SWITCHING_PRIME - 1)).is_ok());
    assert_eq!(
        refused::<SeededGaloisKey>(&switching, &key(golden::SWITCHING_PRIME)),
        WireError::Residue {
            object: "Galois key",
            index: 1,
            limb: 1,
            position: 17,
            value: golden::SWITCHING_PRIME,
            prime: golden::SWITCHING_PRIME,
        }
    );
}

#[test]
fn galois_elements() {
    let context = golden::switching();
    let bytes = golden::keys_bytes();
    for value in [0, 2, 6, 4094, 4096, 4097, 65_537, u32::MAX, u32::MAX - 1] {
        let error =
            refused::<SeededGaloisKey>(&context, &patched(&bytes, FIRST_KEY, &value.to_le_bytes()));
        let (index, limit) = (0, 4096);
        assert_eq!(
            error,
            WireError::Element {
                index,
                value,
                limit
            }
        );
        says(&error, &[&value.to_string(), "4096"]);
    }
    // The second key has the element of the first, or one below.
    for value in [5u32, 3] {
        let second = patched(&bytes, FIRST_KEY + KEY_LEN, &value.to_le_bytes());
        let error = refused::<SeededGaloisKey>(&context, &second);
        assert!(matches!(
            error,
            WireError::Order {
                index: 1,
                previous: 5,
                ..
            }
        ));
    }
}

#[test]
fn mask_counters() {
    let small = golden::small();
    let value = MAX_COUNTER + 1;
    let masks = patched(&golden::masks_bytes(), FIRST_KEY + 16, &value.to_le_bytes());
    assert_eq!(
        refused::<MaskId>(&small, &masks),
        WireError::Counter { index: 2, value }
    );
    let uploads = patched(&golden::uploads_bytes(), FIRST_KEY, &value.to_le_bytes());
    assert_eq!(
        refused::<SeededCiphertext>(&small, &uploads),
        WireError::Counter { index: 0, value }
    );
    for value in [0u64, 258] {
        let masks = patched(&golden::masks_bytes(), FIRST_KEY + 16, &value.to_le_bytes());
        let error = refused::<MaskId>(&small, &masks);
        assert!(matches!(
            error,
            WireError::Order {
                index: 2,
                previous: 258,
                ..
            }
        ));
    }
    let twice = patched(&golden::uploads_bytes(), FIRST_KEY, &5u64.to_le_bytes());
    let error = refused::<SeededCiphertext>(&small, &twice);
    assert_eq!(error, WireError::RepeatedCounter { value: 5 });
}

#[test]
fn too_many_masks() {
    let context = golden::small();
    let (seed, most) = (golden::seed(), ckks::wire::MAX_MASKS as u64);
    let masks = |count| (0..count).map(|counter| MaskId { seed, counter });
    let list: Vec<_> = masks(most).collect();
    let bytes = MaskId::encode(&context, &list).unwrap();
    assert_eq!(MaskId::decode(&context, &bytes).unwrap(), list);
    let list: Vec<_> = masks(most + 1).collect();
    let error = MaskId::encode(&context, &list).unwrap_err();
    assert!(matches!(
        error,
        WireError::TooMany {
            count: 4097,
            limit: 4096,
            ..
        }
    ));
    let mut bytes = patched(&bytes, COUNT_AFTER_SEED, &4097u32.to_le_bytes());
    bytes.extend(most.to_le_bytes());
    assert_eq!(refused::<MaskId>(&context, &relabelled(bytes)), error);
}

#[test]
fn answer_fields() {
    let context = golden::small();
    let bytes = golden::answers_bytes();
    for bits in [0, 1, 15, 62, 64, 255] {
        let error = refused::<Answer>(&context, &patched(&bytes, HEADER_LEN, &[bits]));
        assert_eq!(error, WireError::AnswerBits { bits });
        says(&error, &[&bits.to_string(), "16 to 61"]);
    }
    for bits in [16, 20, 22, 61] {
        let error = refused::<Answer>(&context, &patched(&bytes, HEADER_LEN, &[bits]));
        assert!(matches!(error, WireError::Count { .. }));
    }
    for at in 1..4 {
        let error = refused::<Answer>(&context, &patched(&bytes, HEADER_LEN + at, &[9]));
        assert!(matches!(error, WireError::NotZero { byte: 9, .. }));
        says(&error, &["padding", "09"]);
    }
    for found in [0u32, 1023, 2048, u32::MAX] {
        let error = refused::<Answer>(
            &context,
            &patched(&bytes, HEADER_LEN + 4, &found.to_le_bytes()),
        );
        let expected = 1024;
        assert_eq!(error, WireError::RingDegree { found, expected });
    }
}

#[test]
fn empty_lists_say_nothing() {
    let (small, switching) = (golden::small(), golden::switching());
    let empty = SeededGaloisKey::encode(&switching, &[]).unwrap();
    assert!(
        SeededGaloisKey::decode(&switching, &empty)
            .unwrap()
            .is_empty()
    );
    let seeded = patched(&empty, HEADER_LEN + 31, &[1]);
    let error = refused::<SeededGaloisKey>(&switching, &seeded);
    assert!(matches!(error, WireError::NotZero { byte: 1, .. }));

    let empty = SeededCiphertext::encode(&small, &[]).unwrap();
    assert!(SeededCiphertext::decode(&small, &empty).unwrap().is_empty());
    let seeded = patched(&empty, HEADER_LEN, &[1]);
    let error = refused::<SeededCiphertext>(&small, &seeded);
    assert!(matches!(error, WireError::NotZero { .. }));

    let empty = MaskId::encode(&small, &[]).unwrap();
    assert!(MaskId::decode(&small, &empty).unwrap().is_empty());
    let seeded = patched(&empty, HEADER_LEN, &[1]);
    assert!(matches!(
        refused::<MaskId>(&small, &seeded),
        WireError::NotZero { .. }
    ));

    let empty = Answer::encode(&small, &[]).unwrap();
    assert!(Answer::decode(&small, &empty).unwrap().is_empty());
    let sized = patched(&empty, HEADER_LEN, &[40]);
    assert!(matches!(
        refused::<Answer>(&small, &sized),
        WireError::NotZero { .. }
    ));

    let empty = Ciphertext::encode(&small, &[]).unwrap();
    assert!(Ciphertext::decode(&small, &empty).unwrap().is_empty());
}

#[test]
fn keys_need_a_key_switching_prime() {
    let context = golden::small();
    let no_prime = |e: &WireError| matches!(e, WireError::Ckks(CkksError::NoKeySwitching { .. }));
    assert!(no_prime(&refused::<SeededGaloisKey>(
        &context,
        &golden::keys_bytes()
    )));
    assert!(no_prime(
        &SeededGaloisKey::encode(&context, &golden::keys()).unwrap_err()
    ));
}

#[test]
fn encoders_refuse_what_could_not_be_decoded() {
    let (small, switching) = (golden::small(), golden::switching());
    let other = Seed([9; 32]);

    let mut keys = golden::keys();
    keys[1].seed = other;
    let error = SeededGaloisKey::encode(&switching, &keys).unwrap_err();
    assert_eq!(
        error,
        WireError::Mixed {
            what: "seed",
            index: 1
        }
    );
    let mut keys = golden::keys();
    keys.reverse();
    let error = SeededGaloisKey::encode(&switching, &keys).unwrap_err();
    assert!(matches!(error, WireError::Order { index: 1, .. }));
    let mut keys = golden::keys();
    keys[0].element = GaloisElement::from_exponent(4097, 4096).unwrap();
    let error = SeededGaloisKey::encode(&switching, &keys).unwrap_err();
    assert!(matches!(error, WireError::Element { value: 4097, .. }));
    let mut keys = golden::keys();
    keys[0].digits.clear();
    assert!(SeededGaloisKey::encode(&switching, &keys).is_err());
    let mut keys = golden::keys();
    keys[0].digits[0] = RnsPoly::zero(4, 1024);
    assert!(SeededGaloisKey::encode(&switching, &keys).is_err());

    let mut uploads = golden::uploads();
    uploads[1].mask.seed = other;
    let error = SeededCiphertext::encode(&small, &uploads).unwrap_err();
    assert!(matches!(error, WireError::Mixed { index: 1, .. }));
    let mut uploads = golden::uploads();
    uploads[1].mask.counter = uploads[0].mask.counter;
    let error = SeededCiphertext::encode(&small, &uploads).unwrap_err();
    assert!(matches!(error, WireError::RepeatedCounter { .. }));
    let mut uploads = golden::uploads();
    uploads[0].mask.counter = u64::MAX;
    let error = SeededCiphertext::encode(&small, &uploads).unwrap_err();
    assert!(matches!(error, WireError::Counter { .. }));

    let mut list = golden::ciphertexts();
    list[0].c1.limb_mut(0)[3] = golden::SMALL_PRIME;
    let error = Ciphertext::encode(&small, &list).unwrap_err();
    assert!(matches!(error, WireError::Residue { position: 3, .. }));
    list[0].c1 = RnsPoly::zero(2, 1024);
    assert!(Ciphertext::encode(&small, &list).is_err());

    let mut list = golden::answers();
    list.push(Answer::from_coefficients(40, vec![0; 1024], vec![0; 1024]).unwrap());
    let error = Answer::encode(&small, &list).unwrap_err();
    assert!(matches!(error, WireError::Mixed { index: 2, .. }));
    let short = Answer::from_coefficients(40, vec![0; 512], vec![0; 512]).unwrap();
    assert!(Answer::encode(&small, &[short]).is_err());

    let mut masks = golden::masks();
    masks.reverse();
    let error = MaskId::encode(&small, &masks).unwrap_err();
    assert!(matches!(error, WireError::Order { index: 1, .. }));
    let mut masks = golden::masks();
    masks[2].seed = other;
    assert!(MaskId::encode(&small, &masks).is_err());
}

#[test]
fn the_header_can_be_read_before_the_body_is_there() {
    let bytes = golden::answers_bytes();
    let header = Header::parse(&bytes[..HEADER_LEN]).unwrap();
    assert_eq!(header.version, 1);
    assert_eq!(header.kind, Kind::Answers);
    assert_eq!(header.digest, golden::small().digest());
    assert_eq!(header.body_len as usize, bytes.len() - HEADER_LEN);
    assert!(Header::parse(&bytes[..HEADER_LEN - 1]).is_err());
}
