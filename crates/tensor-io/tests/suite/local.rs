//! Safetensors files on disk: values against independent encoders, and every refusal.

use std::collections::HashMap;

use safetensors::tensor::TensorView;
use tempfile::tempdir;
use tensor_io::{HeaderDefect, LoadOptions, TensorError};

use crate::support::{
    f32_bytes, load, load_file, quick, ramp, safetensors_bytes, safetensors_file, write,
};

#[test]
fn hand_written_file_gives_its_values_and_reads_only_them() {
    let dir = tempdir().unwrap();
    let bytes = safetensors_file(&[
        ("bias", "F32", &[2], f32_bytes(&[9.0, 9.0])),
        (
            "w",
            "F32",
            &[2, 3],
            f32_bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        ),
        ("tail", "I64", &[1000], vec![0; 8000]),
    ]);
    let path = write(dir.path(), "m.safetensors", &bytes);
    let loaded = load_file(&path, "w").unwrap();
    assert_eq!((loaded.matrix.d_in(), loaded.matrix.d_out()), (3, 2));
    assert_eq!(loaded.matrix.row(0), [1.0, 2.0, 3.0]);
    assert_eq!(loaded.matrix.row(1), [4.0, 5.0, 6.0]);
    assert_eq!(loaded.shape, [2, 3]);
    assert_eq!(loaded.dtype.name(), "F32");
    assert_eq!(loaded.source, format!("{}#w", path.display()));
    assert_eq!(loaded.location, path.display().to_string());
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    assert_eq!(loaded.bytes_read, 8 + header + 24);

    let options = LoadOptions {
        transpose: true,
        ..quick()
    };
    let stored_in_out = load(&format!("{}#w", path.display()), &options).unwrap();
    assert_eq!(
        (stored_in_out.matrix.d_in(), stored_in_out.matrix.d_out()),
        (2, 3)
    );
    assert_eq!(stored_in_out.matrix.data(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    assert_eq!(stored_in_out.shape, [2, 3]);
}

#[test]
fn half_types_decode_to_hand_known_values() {
    let dir = tempdir().unwrap();
    let le = |bits: [u16; 4]| {
        bits.iter()
            .flat_map(|b| b.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let bytes = safetensors_file(&[
        ("f16", "F16", &[2, 2], le([0x3c00, 0xc000, 0x3555, 0x7bff])),
        (
            "bf16",
            "BF16",
            &[2, 2],
            le([0x3f80, 0xc020, 0x4049, 0x7f7f]),
        ),
    ]);
    let path = write(dir.path(), "m.safetensors", &bytes);
    let f16 = load_file(&path, "f16").unwrap();
    assert_eq!(f16.matrix.data(), [1.0, -2.0, 0.333_251_95, 65504.0]);
    assert_eq!(f16.dtype.name(), "F16");
    let bf16 = load_file(&path, "bf16").unwrap();
    assert_eq!(
        bf16.matrix.data(),
        [1.0, -2.5, 3.140625, f32::from_bits(0x7f7f_0000)]
    );
}

#[test]
fn files_of_the_reference_serializer_are_read() {
    let values = ramp(35);
    let (a, b) = (f32_bytes(&values), vec![1u8; 13]);
    let tensors = [
        (
            "zz.weight",
            TensorView::new(safetensors::Dtype::F32, vec![5, 7], &a).unwrap(),
        ),
        (
            "flags",
            TensorView::new(safetensors::Dtype::BOOL, vec![13], &b).unwrap(),
        ),
    ];
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    let bytes = safetensors::serialize(tensors, Some(metadata)).unwrap();
    let dir = tempdir().unwrap();
    let path = write(dir.path(), "m.safetensors", &bytes);
    let loaded = load_file(&path, "zz.weight").unwrap();
    assert_eq!(loaded.matrix.data(), values);
    assert_eq!((loaded.matrix.d_in(), loaded.matrix.d_out()), (7, 5));
}

#[test]
fn tensors_that_cannot_be_weights_are_refused() {
    let dir = tempdir().unwrap();
    let bytes = safetensors_file(&[
        (
            "encoder.dense.weight",
            "F32",
            &[2, 2],
            f32_bytes(&[1.0, 2.0, f32::NAN, 4.0]),
        ),
        ("encoder.dense.bias", "F32", &[2], f32_bytes(&[1.0, 2.0])),
        ("double", "F64", &[1, 1], vec![0; 8]),
        ("none", "F32", &[0, 4_000_000_000], vec![]),
    ]);
    let path = write(dir.path(), "m.safetensors", &bytes);
    let refusal = |tensor: &str| load_file(&path, tensor).unwrap_err();

    assert!(matches!(
        refusal("encoder.dense.weight"),
        TensorError::NonFiniteWeight {
            output: 1,
            input: 0,
            ..
        }
    ));
    let options = LoadOptions {
        transpose: true,
        ..quick()
    };
    for tensor in ["encoder.dense.weight", "none"] {
        let error = load(&format!("{}#{tensor}", path.display()), &options).unwrap_err();
        assert!(
            matches!(
                error,
                TensorError::NonFiniteWeight {
                    output: 0,
                    input: 1,
                    ..
                } | TensorError::Empty { .. }
            ),
            "{error}"
        );
    }
    assert!(matches!(
        refusal("none"),
        TensorError::Empty { rows: 0, .. }
    ));
    let bias = refusal("encoder.dense.bias");
    assert!(matches!(&bias, TensorError::NotTwoDimensional { shape, .. } if *shape == [2]));
    let double = refusal("double");
    assert!(matches!(
        double,
        TensorError::UnsupportedDtype { dtype: "F64", .. }
    ));
    assert!(double.to_string().contains("F64"));

    let unknown = refusal("encoder.dense.wieght");
    assert!(matches!(unknown, TensorError::UnknownTensor { .. }));
    assert!(
        unknown
            .to_string()
            .contains("did you mean 'encoder.dense.weight'"),
        "{unknown}"
    );
    let nothing_like_it = refusal("qqqq").to_string();
    assert!(
        nothing_like_it.contains("holds 4 others"),
        "{nothing_like_it}"
    );

    let unnamed = load(&path.display().to_string(), &quick()).unwrap_err();
    assert!(matches!(unnamed, TensorError::MissingTensorName { .. }));
    assert!(
        unnamed
            .to_string()
            .contains("encoder.dense.weight (F32 [2, 2])"),
        "{unnamed}"
    );

    let small = LoadOptions {
        max_bytes: 15,
        ..quick()
    };
    let error = load(&format!("{}#encoder.dense.weight", path.display()), &small).unwrap_err();
    assert!(matches!(
        error,
        TensorError::TensorTooLarge {
            bytes: 16,
            limit: 15,
            ..
        }
    ));
}

#[test]
fn a_long_listing_is_cut() {
    let names: Vec<String> = (0..25).map(|i| format!("layer.{i:02}")).collect();
    let tensors: Vec<(&str, &str, &[usize], Vec<u8>)> = names
        .iter()
        .map(|n| (n.as_str(), "U8", &[1usize][..], vec![0]))
        .collect();
    let dir = tempdir().unwrap();
    let path = write(dir.path(), "m.safetensors", &safetensors_file(&tensors));
    let text = load(&path.display().to_string(), &quick())
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("layer.19") && !text.contains("layer.20"),
        "{text}"
    );
    assert!(text.contains("and 5 more"), "{text}");
}

#[test]
fn what_is_not_a_file_is_refused() {
    let dir = tempdir().unwrap();
    let missing = load_file(&dir.path().join("missing"), "w").unwrap_err();
    assert!(matches!(missing, TensorError::Io { action: "open", .. }));
    assert!(missing.to_string().contains("missing"));
    assert!(matches!(
        load_file(dir.path(), "w"),
        Err(TensorError::NoSafetensors { .. })
    ));
}

fn header_defect(bytes: &[u8]) -> HeaderDefect {
    let dir = tempdir().unwrap();
    let path = write(dir.path(), "m.safetensors", bytes);
    match load_file(&path, "a").unwrap_err() {
        TensorError::Header { defect, location } => {
            assert_eq!(location, path.display().to_string());
            defect
        }
        other => panic!("{other}"),
    }
}

fn entry(name: &str, dtype: &str, shape: &str, begin: u64, end: u64) -> String {
    format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}"#)
}

fn defect_of(entries: &[String], data_bytes: usize) -> HeaderDefect {
    header_defect(&safetensors_bytes(
        &format!("{{{}}}", entries.join(",")),
        &vec![0; data_bytes],
    ))
}

#[test]
fn bad_header_lengths() {
    for size in 0..8 {
        let defect = header_defect(&vec![0; size]);
        assert_eq!(defect, HeaderDefect::TooShort { size: size as u64 });
    }
    let mut bytes = 3u64.to_le_bytes().to_vec();
    bytes.extend_from_slice(b"{}");
    assert_eq!(
        header_defect(&bytes),
        HeaderDefect::LengthBeyondFile {
            length: 3,
            available: 2
        }
    );
    for length in [100_000_001, u64::MAX] {
        let defect = header_defect(&length.to_le_bytes());
        assert_eq!(
            defect,
            HeaderDefect::LengthOverLimit {
                length,
                limit: 100_000_000
            }
        );
    }
}

#[test]
fn headers_that_are_not_the_expected_json() {
    let nested = format!("{{\"a\":{}", "[".repeat(100_000));
    for text in [
        "",
        "[]",
        " {}",
        "{",
        "{}x",
        "{\"a\":1}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1,1],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[0,4,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[0,4]}}",
        "{\"__metadata__\":{},\"__metadata__\":{}}",
        "{\"__metadata__\":{\"a\":1}}",
        nested.as_str(),
    ] {
        let defect = header_defect(&safetensors_bytes(text, &[0; 4]));
        assert!(
            matches!(defect, HeaderDefect::InvalidJson { .. }),
            "{text:.40}: {defect}"
        );
    }
    let defect = header_defect(&[&2u64.to_le_bytes()[..], b"{\xff"].concat());
    assert!(matches!(defect, HeaderDefect::InvalidJson { .. }));
}

#[test]
fn bad_tensor_entries() {
    let a = || entry("a", "F32", "[1,1]", 0, 4);
    assert_eq!(
        defect_of(&[a(), a()], 4),
        HeaderDefect::DuplicateName { name: "a".into() }
    );
    assert_eq!(
        defect_of(&[entry("a", "F33", "[1,1]", 0, 4)], 4),
        HeaderDefect::UnknownDtype {
            name: "a".into(),
            dtype: "F33".into()
        }
    );
    assert_eq!(
        defect_of(&[entry("a", "F32", "[1,1]", 4, 0)], 4),
        HeaderDefect::ReversedOffsets {
            name: "a".into(),
            begin: 4,
            end: 0
        }
    );
    assert_eq!(
        defect_of(&[a()], 3),
        HeaderDefect::OffsetsBeyondFile {
            name: "a".into(),
            end: 4,
            available: 3
        }
    );
    assert_eq!(
        defect_of(&[entry("a", "F32", "[1,1]", u64::MAX - 4, u64::MAX)], 4),
        HeaderDefect::OffsetsBeyondFile {
            name: "a".into(),
            end: u64::MAX,
            available: 4
        }
    );
    assert_eq!(
        defect_of(&[entry("a", "F32", "[1,2]", 0, 4)], 4),
        HeaderDefect::WrongLength {
            name: "a".into(),
            expected: 8,
            actual: 4
        }
    );
    for shape in [
        "[4294967296,4294967296]",
        "[18446744073709551615,2]",
        "[4611686018427387904]",
    ] {
        assert_eq!(
            defect_of(&[entry("a", "F32", shape, 0, 4)], 4),
            HeaderDefect::ShapeOverflow { name: "a".into() }
        );
    }
    assert_eq!(
        defect_of(&[entry("a", "F4", "[1,3]", 0, 1)], 1),
        HeaderDefect::Unaligned { name: "a".into() }
    );
    assert_eq!(
        defect_of(&[a(), entry("b", "F32", "[1,1]", 2, 6)], 6),
        HeaderDefect::Overlap {
            first: "a".into(),
            second: "b".into(),
            offset: 2
        }
    );
    assert_eq!(
        defect_of(&[a(), entry("b", "F32", "[1,1]", 8, 12)], 12),
        HeaderDefect::Hole { begin: 4, end: 8 }
    );
    assert_eq!(
        defect_of(&[entry("a", "F32", "[1,1]", 4, 8)], 8),
        HeaderDefect::Hole { begin: 0, end: 4 }
    );
    assert_eq!(
        defect_of(&[a()], 9),
        HeaderDefect::Hole { begin: 4, end: 9 }
    );
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let defect = defect_of(&[entry("a\\u001b[31m", "F33", "[1,1]", 0, 4)], 4);
    let text = defect.to_string();
    assert!(
        !text.contains('\u{1b}') && text.contains("\\u{1b}"),
        "{text}"
    );
}
