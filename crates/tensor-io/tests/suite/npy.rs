//! .npy files: bytes of NumPy itself as the oracle, and every refusal.

use tempfile::tempdir;
use tensor_io::{InputBatch, NpyDefect, TensorError, read_npy, write_npy_f64};

use crate::support::write;

/// `numpy.save` of `[[1.0, -2.5], [0.125, 3.0]]` as `<f8`: header padded to 128 bytes, then data.
fn numpy_f8_2x2() -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00v\x00".to_vec();
    file.extend_from_slice(b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }");
    file.resize(127, b' ');
    file.push(b'\n');
    file.extend_from_slice(&[
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x3f, // 1.0
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0xc0, // -2.5
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xc0, 0x3f, // 0.125
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x40, // 3.0
    ]);
    file
}

/// A file of the given version with an unpadded header.
fn npy(version: u8, dictionary: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY".to_vec();
    file.extend_from_slice(&[version, 0]);
    if version == 1 {
        file.extend_from_slice(&(dictionary.len() as u16).to_le_bytes());
    } else {
        file.extend_from_slice(&(dictionary.len() as u32).to_le_bytes());
    }
    file.extend_from_slice(dictionary.as_bytes());
    file.extend_from_slice(data);
    file
}

fn dictionary(descr: &str, fortran_order: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': {fortran_order}, 'shape': {shape}, }}")
}

fn read(bytes: &[u8]) -> Result<InputBatch, TensorError> {
    let dir = tempdir().unwrap();
    read_npy(&write(dir.path(), "x.npy", bytes))
}

fn defect(bytes: &[u8]) -> NpyDefect {
    match read(bytes).unwrap_err() {
        TensorError::Npy { defect, .. } => defect,
        other => panic!("{other}"),
    }
}

#[test]
fn written_bytes_are_those_of_numpy() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("y.npy");
    write_npy_f64(&path, 2, 2, &[1.0, -2.5, 0.125, 3.0]).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), numpy_f8_2x2());
    let batch = read_npy(&path).unwrap();
    assert_eq!((batch.rows(), batch.width()), (2, 2));
    assert_eq!(batch.data(), [1.0, -2.5, 0.125, 3.0]);
    assert_eq!(batch.iter().nth(1).unwrap(), [0.125, 3.0]);
}

#[test]
fn the_data_of_any_size_starts_at_a_multiple_of_64() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("y.npy");
    for (rows, width) in [(1, 1), (1, 12_345), (12_345, 1), (100, 1000)] {
        let values: Vec<f64> = (0..rows * width).map(|i| i as f64 / 3.0).collect();
        write_npy_f64(&path, rows, width, &values).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!((bytes.len() - 8 * values.len()) % 64, 0);
        assert_eq!(
            read_npy(&path).unwrap(),
            InputBatch::new(rows, width, values).unwrap()
        );
    }
}

#[test]
fn vectors_halves_fortran_order_and_later_versions() {
    // Data bytes as numpy.save writes them for [1.5, -2.0], [[1.0, -0.5]] and
    // numpy.asfortranarray([[0, 1, 2], [3, 4, 5]]).
    let f4 = [0x00, 0x00, 0xc0, 0x3f, 0x00, 0x00, 0x00, 0xc0];
    for version in 1..=3 {
        let batch = read(&npy(version, &dictionary("<f4", "False", "(2,)"), &f4)).unwrap();
        assert_eq!(batch, InputBatch::new(1, 2, vec![1.5, -2.0]).unwrap());
    }
    let f2 = [0x00, 0x3c, 0x00, 0xb8];
    let batch = read(&npy(1, &dictionary("<f2", "False", "(1, 2)"), &f2)).unwrap();
    assert_eq!(batch.data(), [1.0, -0.5]);

    let columns: Vec<u8> = [0.0f32, 3.0, 1.0, 4.0, 2.0, 5.0]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    let batch = read(&npy(1, &dictionary("<f4", "True", "(2, 3)"), &columns)).unwrap();
    assert_eq!(
        batch,
        InputBatch::new(2, 3, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).unwrap()
    );
    let batch = read(&npy(1, &dictionary("<f4", "True", "(2,)"), &f4)).unwrap();
    assert_eq!(batch.data(), [1.5, -2.0]);
}

#[test]
fn damaged_files_are_refused() {
    let good = numpy_f8_2x2();
    for end in 0..6 {
        assert_eq!(defect(&good[..end]), NpyDefect::NotNpy);
    }
    for end in 6..128 {
        assert_eq!(
            defect(&good[..end]),
            NpyDefect::TruncatedHeader { size: end as u64 }
        );
    }
    for end in [128, 159] {
        assert!(matches!(
            defect(&good[..end]),
            NpyDefect::WrongLength { expected: 32, actual, .. } if actual == end as u64 - 128
        ));
    }
    assert!(matches!(
        defect(&[&good[..], b"x"].concat()),
        NpyDefect::WrongLength {
            expected: 32,
            actual: 33,
            ..
        }
    ));
    assert_eq!(defect(b"PK\x03\x04 a .npz file"), NpyDefect::NotNpy);
    assert_eq!(
        defect(b"\x93NUMPY\x04\x00"),
        NpyDefect::UnknownVersion { major: 4, minor: 0 }
    );
    assert!(matches!(
        defect(&npy(1, "{}", &[])),
        NpyDefect::MalformedHeader { .. }
    ));
    let mut huge = b"\x93NUMPY\x02\x00".to_vec();
    huge.extend_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(
        defect(&huge),
        NpyDefect::HeaderTooLong {
            length: 0xffff_ffff,
            ..
        }
    ));
}

#[test]
fn arrays_that_are_not_batches_are_refused() {
    for descr in [">f8", "<i8", "|b1", "<c16", "=f8", "|O"] {
        let error = defect(&npy(1, &dictionary(descr, "False", "(1,)"), &[0; 8]));
        assert_eq!(
            error,
            NpyDefect::UnsupportedDtype {
                descr: descr.into()
            }
        );
    }
    for shape in ["()", "(1, 1, 1)"] {
        let error = defect(&npy(1, &dictionary("<f8", "False", shape), &[0; 8]));
        assert!(matches!(error, NpyDefect::WrongRank { .. }), "{shape}");
    }
    for shape in ["(18446744073709551615, 2)", "(2305843009213693952,)"] {
        let error = defect(&npy(1, &dictionary("<f8", "False", shape), &[0; 8]));
        assert!(matches!(error, NpyDefect::ShapeOverflow { .. }), "{shape}");
    }
    // A petabyte claimed, eight bytes there.
    let error = defect(&npy(
        1,
        &dictionary("<f8", "False", "(1000000, 134217728)"),
        &[0; 8],
    ));
    assert!(matches!(error, NpyDefect::WrongLength { actual: 8, .. }));
    for shape in [
        "(0,)",
        "(0, 18446744073709551615)",
        "(18446744073709551615, 0)",
    ] {
        for order in ["False", "True"] {
            let result = read(&npy(1, &dictionary("<f8", order, shape), &[]));
            assert!(
                matches!(result, Err(TensorError::Empty { .. })),
                "{shape}: {result:?}"
            );
        }
    }
}

#[test]
fn nan_and_infinity_are_named() {
    let data: Vec<u8> = [1.0f64, 2.0, 3.0, f64::NEG_INFINITY]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    let error = read(&npy(1, &dictionary("<f8", "False", "(2, 2)"), &data)).unwrap_err();
    assert!(matches!(
        error,
        TensorError::NonFiniteInput {
            row: 1,
            index: 1,
            ..
        }
    ));
    assert!(error.to_string().contains("-inf"), "{error}");
}

#[test]
fn sizes_are_checked_before_writing() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("y.npy");
    assert!(matches!(
        write_npy_f64(&path, 2, 2, &[1.0; 3]),
        Err(TensorError::WrongLength {
            expected: 4,
            actual: 3,
            ..
        })
    ));
    assert!(matches!(
        write_npy_f64(&path, 0, 2, &[]),
        Err(TensorError::Empty { .. })
    ));
    assert!(matches!(
        write_npy_f64(&path, usize::MAX, 2, &[]),
        Err(TensorError::SizeOverflow { .. })
    ));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    assert!(matches!(read_npy(&path), Err(TensorError::Io { .. })));
    assert!(matches!(
        read_npy(dir.path()),
        Err(TensorError::NotAFile { .. })
    ));
}
