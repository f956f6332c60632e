//! Messages of the `gemm` plan: stored bytes, made from `docs/wire-format.md` without the encoder;
//! and everything that such a message can get wrong.

#![allow(clippy::unwrap_used, reason = "test code")]

use ckks::WireError;
use ckks::gemm::{
    AnswerBuffer, AnswerView, Epoch, GemmParameters, MaskExpander, MaskProductsBuffer,
    MaskProductsView, UploadBuffer, UploadView, answer_len, mask_products_len, pack, upload_len,
};
use ckks::wire::{HEADER_LEN, Kind};
use proptest::prelude::*;
use std::path::PathBuf;

/// SHA-256 of the canonical description, computed outside this crate.
const DIGEST: &str = "2d1268687a256c9bb82490c5e8af7d7239a543c82e1739b9702120546b2d9ac0";
const EPOCH: u64 = 0x0102_0304_0506_0708;
const FEATURES: usize = 3;
/// Odd, so that rows of an upload have padding.
const COLUMNS: usize = 5;
const OUTPUTS: usize = 2;
/// 11 coefficients of 21 bits leave one bit of padding.
const ANSWER_COLUMNS: usize = 11;
const ANSWER_BITS: u32 = 21;
const PRODUCT_BITS: u32 = 17;

fn set() -> GemmParameters {
    GemmParameters::named("gemm-2048").unwrap()
}

/// The coefficient at a place among all coefficients of a message.
fn coefficient(i: usize, bits: u32) -> u64 {
    (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)
}

/// Rows of coefficients, packed one bit at a time.
fn packed_rows(rows: usize, columns: usize, bits: u32) -> Vec<u8> {
    let mut out = Vec::new();
    for row in 0..rows {
        let mut bytes = vec![0u8; (columns * bits as usize).div_ceil(8)];
        for column in 0..columns {
            let value = coefficient(row * columns + column, bits);
            for k in 0..bits as usize {
                let j = column * bits as usize + k;
                bytes[j / 8] |= ((value >> k & 1) as u8) << (j % 8);
            }
        }
        out.extend(bytes);
    }
    out
}

fn message(kind: u8, fields: &[u8], rows: &[u8]) -> Vec<u8> {
    let mut out = b"CKKSWIRE\x01\x00".to_vec();
    out.extend([kind, 0]);
    out.extend((0..32).map(|i| u8::from_str_radix(&DIGEST[2 * i..2 * i + 2], 16).unwrap()));
    out.extend(((fields.len() + rows.len()) as u64).to_le_bytes());
    out.extend(fields);
    out.extend(rows);
    out
}

fn upload() -> Vec<u8> {
    let fields = [8, 7, 6, 5, 4, 3, 2, 1, 3, 0, 0, 0, 5, 0, 0, 0];
    message(6, &fields, &packed_rows(FEATURES, COLUMNS, 52))
}

fn answer() -> Vec<u8> {
    let fields = [2, 0, 0, 0, 11, 0, 0, 0, 21, 0, 0, 0];
    message(
        7,
        &fields,
        &packed_rows(OUTPUTS, ANSWER_COLUMNS, ANSWER_BITS),
    )
}

fn mask_products() -> Vec<u8> {
    let fields = [8, 7, 6, 5, 4, 3, 2, 1, 1, 0, 0, 0, 17, 0, 0, 0];
    message(8, &fields, &packed_rows(1, 2048, PRODUCT_BITS))
}

/// A golden file: its name and what makes its bytes.
type Golden = (&'static str, fn() -> Vec<u8>);

const NAMES: [Golden; 3] = [
    ("gemm-upload.bin", upload),
    ("gemm-answer.bin", answer),
    ("gemm-mask-products.bin", mask_products),
];

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

/// Parses, and writes again what was read.
fn rewrite(kind: u8, bytes: &[u8]) -> Result<Vec<u8>, WireError> {
    let set = set();
    match kind {
        6 => {
            let view = UploadView::parse(&set, bytes)?;
            let (features, columns) = (view.features(), view.columns());
            let sizes = (features as u32, columns as u32);
            let mut out = UploadBuffer::new(&set, view.epoch(), sizes.0, sizes.1)?;
            let row_len = out.row_len();
            let mut values = vec![0; columns];
            for (j, row) in out.rows_mut().chunks_exact_mut(row_len).enumerate() {
                view.unpack(j, 0, &mut values);
                pack(&values, 52, row);
            }
            Ok(out.into_bytes())
        }
        7 => {
            let view = AnswerView::parse(&set, bytes)?;
            let sizes = (view.outputs() as u32, view.columns() as u32);
            let mut out = AnswerBuffer::new(&set, sizes.0, sizes.1, view.bits())?;
            for mut tile in out.tiles(1, 8) {
                let mut values = vec![0; tile.columns()];
                for row in 0..tile.rows() {
                    view.unpack(tile.first_row() + row, tile.first_column(), &mut values);
                    tile.pack(row, &values);
                }
            }
            Ok(out.into_bytes())
        }
        _ => {
            let view = MaskProductsView::parse(&set, bytes)?;
            let outputs = view.outputs() as u32;
            let mut out = MaskProductsBuffer::new(&set, view.epoch(), outputs, view.bits())?;
            let row_len = out.row_len();
            let mut values = vec![0; 2048];
            for (k, row) in out.rows_mut().chunks_exact_mut(row_len).enumerate() {
                view.unpack(k, &mut values);
                pack(&values, view.bits(), row);
            }
            Ok(out.into_bytes())
        }
    }
}

#[test]
fn stored_messages_are_read_and_written_again() {
    for (name, bytes) in NAMES {
        let file = std::fs::read(path(name)).unwrap();
        assert!(file == bytes(), "{name} differs from the formula's bytes");
        assert!(rewrite(file[10], &file).unwrap() == file, "{name}");
    }
    let set = set();
    assert_eq!(set.digest().to_string(), DIGEST);
    let bytes = upload();
    let view = UploadView::parse(&set, &bytes).unwrap();
    assert_eq!(view.epoch(), Epoch(EPOCH));
    assert_eq!((view.features(), view.columns()), (FEATURES, COLUMNS));
    assert_eq!(bytes.len() as u64, upload_len(3, 5));
    for row in 0..FEATURES {
        for (first, len) in [(0, 5), (2, 3), (4, 1), (0, 1), (2, 0)] {
            let mut values = vec![0; len];
            view.unpack(row, first, &mut values);
            let expected = (first..first + len).map(|c| coefficient(row * COLUMNS + c, 52));
            assert!(values.into_iter().eq(expected));
        }
    }
    let bytes = answer();
    let view = AnswerView::parse(&set, &bytes).unwrap();
    assert_eq!((view.outputs(), view.columns(), view.bits()), (2, 11, 21));
    assert_eq!(bytes.len() as u64, answer_len(2, 11, 21));
    let mut values = [0; 3];
    view.unpack(1, 8, &mut values);
    assert_eq!(values, [19, 20, 21].map(|i| coefficient(i, 21)));
    let bytes = mask_products();
    let view = MaskProductsView::parse(&set, &bytes).unwrap();
    assert_eq!(
        (view.epoch(), view.outputs(), view.bits()),
        (Epoch(EPOCH), 1, 17)
    );
    assert_eq!(bytes.len() as u64, mask_products_len(&set, 1, 17));
    let mut values = [0; 2048];
    view.unpack(0, &mut values);
    assert!((0..2048).all(|i| values[i] == coefficient(i, 17)));
}

/// Writes the files, from the formula and not from the encoder. Only for a new format version:
/// stored files are never rewritten.
#[test]
#[ignore = "writes the golden files"]
fn generate() {
    for (name, bytes) in NAMES {
        std::fs::write(path(name), bytes()).unwrap();
    }
}

/// Values computed with another implementation of RFC 8439 from the format's description.
#[test]
fn masks_expand_as_specified() {
    let expected = [
        (
            0,
            0,
            [
                3_432_457_788_402_889,
                2_301_575_658_233_780,
                4_142_172_158_527_528,
                335_997_412_026_071,
            ],
        ),
        (
            1,
            5,
            [
                4_123_028_406_195_172,
                3_629_993_585_360_384,
                3_273_773_453_374_579,
                426_544_924_236_739,
            ],
        ),
        (
            u64::MAX,
            262_143,
            [
                3_317_849_495_181_042,
                196_967_037_386_950,
                359_047_381_998_729,
                3_254_008_485_415_435,
            ],
        ),
    ];
    for (epoch, j, expected) in expected {
        let mut mask = vec![0; 2048];
        MaskExpander::new(&set(), Epoch(epoch)).expand(j, &mut mask);
        assert_eq!([mask[0], mask[1], mask[2], mask[2047]], expected);
    }
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

fn refused(kind: u8, bytes: &[u8]) -> WireError {
    rewrite(kind, bytes).expect_err("the message is wrong")
}

fn with_all_kinds(check: impl Fn(&dyn Fn(&[u8]) -> WireError, Vec<u8>)) {
    for (_, bytes) in NAMES {
        let bytes = bytes();
        let kind = bytes[10];
        check(&|b| refused(kind, b), bytes);
    }
}

#[test]
fn wrong_headers() {
    with_all_kinds(|refused, bytes| {
        for at in 0..8 {
            let error = refused(&patched(&bytes, at, &[0]));
            assert!(matches!(error, WireError::Magic { .. }));
        }
        let error = refused(&patched(&bytes, 8, &[2, 0]));
        assert_eq!(error, WireError::Version { found: 2 });
        for found in [0u16, 9, 256, u16::MAX] {
            let error = refused(&patched(&bytes, 10, &found.to_le_bytes()));
            assert_eq!(error, WireError::UnknownKind { found });
        }
        for kind in (1..=8).filter(|kind| *kind != bytes[10]) {
            let error = refused(&patched(&bytes, 10, &[kind]));
            assert!(matches!(error, WireError::WrongKind { .. }));
        }
        for at in [12, 27, 43] {
            let error = refused(&patched(&bytes, at, &[bytes[at] ^ 1]));
            assert!(matches!(error, WireError::ContextMismatch { .. }));
        }
        let found = (bytes.len() - HEADER_LEN) as u64;
        for announced in [0, found - 1, found + 1, u64::MAX] {
            let error = refused(&patched(&bytes, 44, &announced.to_le_bytes()));
            assert_eq!(error, WireError::BodyLength { announced, found });
        }
    });
    let error = UploadView::parse(&set(), &answer()).unwrap_err();
    let (expected, found) = (Kind::GemmUpload, Kind::GemmAnswer);
    assert_eq!(error, WireError::WrongKind { expected, found });
    assert!(error.to_string().contains("batch of encrypted products"));
}

#[test]
fn truncated_and_extended_anywhere() {
    with_all_kinds(|refused, mut bytes| {
        for len in 0..bytes.len() {
            let error = refused(&bytes[..len]);
            assert!(matches!(
                error,
                WireError::Truncated { .. } | WireError::BodyLength { .. }
            ));
            if len >= HEADER_LEN {
                let error = refused(&relabelled(bytes[..len].to_vec()));
                assert!(matches!(
                    error,
                    WireError::Truncated { .. } | WireError::Count { .. }
                ));
            }
        }
        bytes.push(0);
        assert!(matches!(refused(&bytes), WireError::BodyLength { .. }));
        assert!(matches!(
            refused(&relabelled(bytes)),
            WireError::Count { .. }
        ));
    });
}

#[test]
fn sizes_out_of_range() {
    let size = |kind, bytes: Vec<u8>, at, value: u32, limit: u64| {
        let error = refused(kind, &patched(&bytes, at, &value.to_le_bytes()));
        let WireError::GemmSize {
            value: v, limit: l, ..
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!((v, l), (value.into(), limit));
        assert!(error.to_string().contains(&value.to_string()));
    };
    for value in [0, 262_145, u32::MAX] {
        size(6, upload(), HEADER_LEN + 8, value, 262_144);
        size(7, answer(), HEADER_LEN, value, 262_144);
        size(8, mask_products(), HEADER_LEN + 8, value, 262_144);
    }
    for value in [0, (1 << 20) + 1, u32::MAX] {
        size(6, upload(), HEADER_LEN + 12, value, 1 << 20);
        size(7, answer(), HEADER_LEN + 4, value, 1 << 20);
    }
    // In range, but not what is there.
    for value in [1u32, 4, 262_144] {
        let bytes = patched(&upload(), HEADER_LEN + 8, &value.to_le_bytes());
        assert!(matches!(refused(6, &bytes), WireError::Count { count, .. } if count == value));
    }
    let set = set();
    for (rows, columns) in [(0, 1), (1, 0), (262_145, 1), (1, (1 << 20) + 1)] {
        assert!(UploadBuffer::new(&set, Epoch(0), rows, columns).is_err());
        assert!(AnswerBuffer::new(&set, rows, columns, 16).is_err());
    }
    assert!(MaskProductsBuffer::new(&set, Epoch(0), 0, 16).is_err());
    assert!(MaskProductsBuffer::new(&set, Epoch(0), 262_145, 16).is_err());
}

#[test]
fn bits_out_of_range() {
    for bits in [0u8, 15, 53, 64, 255] {
        let expected = WireError::GemmBits { bits: bits.into() };
        assert_eq!(
            refused(7, &patched(&answer(), HEADER_LEN + 8, &[bits])),
            expected
        );
        let bytes = patched(&mask_products(), HEADER_LEN + 12, &[bits]);
        assert_eq!(refused(8, &bytes), expected);
        assert!(expected.to_string().contains("16 to 52"));
        let error = AnswerBuffer::new(&set(), 1, 1, bits.into()).unwrap_err();
        assert_eq!(error, expected);
        let error = MaskProductsBuffer::new(&set(), Epoch(0), 1, bits.into()).unwrap_err();
        assert_eq!(error, expected);
    }
}

#[test]
fn padding_that_is_not_zero() {
    for at in 1..4 {
        for (kind, bytes, field) in [(7, answer(), 8), (8, mask_products(), 12)] {
            let error = refused(kind, &patched(&bytes, HEADER_LEN + field + at, &[1]));
            assert!(matches!(error, WireError::NotZero { byte: 1, .. }));
        }
    }
    // Rows of an upload have 260 bits in 33 bytes, rows of an answer 231 bits in 29.
    for (kind, bytes, rows_at, row_len, used) in
        [(6, upload(), 68, 33, 4), (7, answer(), 64, 29, 7)]
    {
        for end in (rows_at + row_len - 1..bytes.len()).step_by(row_len) {
            for bit in used..8 {
                let error = refused(kind, &patched(&bytes, end, &[bytes[end] | 1 << bit]));
                assert!(matches!(error, WireError::NotZero { .. }));
                assert!(error.to_string().contains("end of a row"));
            }
        }
    }
}

proptest! {
    #[test]
    fn whatever_is_read_is_written_again(
        kind in 6u8..=8,
        fields in prop::collection::vec(0u8..9, 12..=16),
        rows in prop::collection::vec(any::<u8>(), 0..300),
        patches in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = message(kind, &fields, &rows);
        for (at, byte) in &patches {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        if let Ok(again) = rewrite(kind, &bytes) {
            prop_assert!(again == bytes);
        }
        let mut bytes = NAMES[usize::from(kind - 6)].1();
        for (at, byte) in patches {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(again) = rewrite(kind, &bytes) {
            prop_assert!(again == bytes);
        }
    }

    #[test]
    fn tiles_cover_an_answer_once(
        outputs in 1u32..9,
        columns in 1u32..70,
        bits in 16u32..=52,
        rows in 1usize..5,
        width in 1usize..40,
    ) {
        let mut whole = AnswerBuffer::new(&set(), outputs, columns, bits).unwrap();
        let row_len = whole.row_len();
        let value = |row: usize, column: usize| coefficient(row * columns as usize + column, bits);
        for (k, row) in whole.rows_mut().chunks_exact_mut(row_len).enumerate() {
            let values: Vec<u64> = (0..columns as usize).map(|i| value(k, i)).collect();
            pack(&values, bits, row);
        }
        let mut tiled = AnswerBuffer::new(&set(), outputs, columns, bits).unwrap();
        let mut written = 0;
        for mut tile in tiled.tiles(rows, width) {
            for row in 0..tile.rows() {
                let first = tile.first_column();
                let values: Vec<u64> = (first..first + tile.columns())
                    .map(|i| value(tile.first_row() + row, i))
                    .collect();
                tile.pack(row, &values);
                written += values.len();
            }
        }
        prop_assert_eq!(written, (outputs * columns) as usize);
        prop_assert!(tiled.into_bytes() == whole.into_bytes());
    }
}
