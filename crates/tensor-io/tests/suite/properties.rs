//! No input makes the crate panic, and what a reference encoder wrote is read back exactly.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use safetensors::tensor::TensorView;
use tempfile::tempdir;
use tensor_io::{LoadOptions, WeightSource, read_npy, write_npy_f64};

use crate::support::{f32_bytes, load, quick, ramp, safetensors_bytes, safetensors_file, write};

/// Loads a tensor of the file in both orientations; only a panic or a hang is a failure.
fn exercise_safetensors(bytes: &[u8]) {
    let dir = tempdir().unwrap();
    let path = write(dir.path(), "m.safetensors", bytes);
    for (source, transpose) in [("#w", false), ("#w", true), ("", false)] {
        let options = LoadOptions {
            transpose,
            ..quick()
        };
        let _ = load(&format!("{}{source}", path.display()), &options);
    }
}

fn exercise_npy(bytes: &[u8]) {
    let dir = tempdir().unwrap();
    if let Ok(batch) = read_npy(&write(dir.path(), "x.npy", bytes)) {
        assert!(batch.data().iter().all(|v| v.is_finite()));
        assert_eq!(batch.data().len(), batch.rows() * batch.width());
    }
}

/// Positions and new values of bytes, and a length to cut to.
fn mutations() -> impl Strategy<Value = (Vec<(usize, u8)>, Option<usize>)> {
    (
        vec((any::<usize>(), any::<u8>()), 0..6),
        proptest::option::of(any::<usize>()),
    )
}

fn mutate(mut bytes: Vec<u8>, (changes, cut): (Vec<(usize, u8)>, Option<usize>)) -> Vec<u8> {
    for (at, value) in changes {
        let at = at % bytes.len();
        bytes[at] = value;
    }
    if let Some(cut) = cut {
        bytes.truncate(cut % (bytes.len() + 1));
    }
    bytes
}

fn valid_npy(path: &Path) -> Vec<u8> {
    write_npy_f64(path, 3, 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    std::fs::read(path).unwrap()
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_not_a_panic(bytes in vec(any::<u8>(), 0..300)) {
        exercise_safetensors(&bytes);
        exercise_npy(&bytes);
        exercise_npy(&[b"\x93NUMPY\x01\x00", &bytes[..]].concat());
    }

    #[test]
    fn arbitrary_header_text_is_not_a_panic(
        text in r#"\{("w"|"x"|:|,|\{|\}|\[|\]|0|1|9{1,20}|"dtype"|"shape"|"data_offsets"|"F32"){0,30}"#,
        data in vec(any::<u8>(), 0..20),
    ) {
        exercise_safetensors(&safetensors_bytes(&text, &data));
    }

    #[test]
    fn arbitrary_shapes_and_offsets_are_not_a_panic(
        shape in vec(prop_oneof![0u64..4, any::<u64>()], 0..4),
        begin in prop_oneof![0u64..20, any::<u64>()],
        end in prop_oneof![0u64..20, any::<u64>()],
        dtype in prop_oneof![Just("F32"), Just("BF16"), Just("F4"), Just("F6_E2M3")],
    ) {
        let header = format!(
            r#"{{"w":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{begin},{end}]}}}}"#
        );
        exercise_safetensors(&safetensors_bytes(&header, &[0; 16]));
        let tuple = shape.iter().map(|side| format!("{side},")).collect::<String>();
        for order in ["True", "False"] {
            let text = format!("{{'descr':'<f4','fortran_order':{order},'shape':({tuple})}}");
            let length = (text.len() as u16).to_le_bytes();
            exercise_npy(&[b"\x93NUMPY\x01\x00", &length[..], text.as_bytes(), &[0; 16]].concat());
        }
    }

    #[test]
    fn mutated_files_are_not_a_panic(changes in mutations()) {
        let bytes = safetensors_file(&[
            ("b", "F16", &[3], vec![0; 6]),
            ("w", "F32", &[2, 3], f32_bytes(&ramp(6))),
        ]);
        exercise_safetensors(&mutate(bytes, changes.clone()));
        let dir = tempdir().unwrap();
        exercise_npy(&mutate(valid_npy(&dir.path().join("v.npy")), changes));
    }

    #[test]
    fn any_text_is_a_source_or_an_error(text in "(hf://|https?://|)[a-z#@:/?.%\\PC]{0,30}") {
        if let Ok(source) = text.parse::<WeightSource>() {
            let _ = source.to_string();
        }
    }

    #[test]
    fn reference_files_are_read_back_exactly(
        rows in 1usize..40,
        width in 1usize..40,
        seed in any::<u32>(),
        lead in 0usize..9,
    ) {
        let values: Vec<f32> = (0..rows * width)
            .map(|i| (seed.wrapping_mul(2_654_435_761).wrapping_add(i as u32) as f32).sin())
            .collect();
        let (first, data) = (vec![7u8; lead], f32_bytes(&values));
        let tensors = [
            ("a", TensorView::new(safetensors::Dtype::U8, vec![lead], &first).unwrap()),
            ("w", TensorView::new(safetensors::Dtype::F32, vec![rows, width], &data).unwrap()),
        ];
        let bytes = safetensors::serialize(tensors, None).unwrap();
        let dir = tempdir().unwrap();
        let path = write(dir.path(), "m.safetensors", &bytes);
        let source = format!("{}#w", path.display());
        let loaded = load(&source, &quick()).unwrap();
        prop_assert_eq!(loaded.matrix.data(), &values[..]);
        let options = LoadOptions { transpose: true, ..quick() };
        let exchanged = load(&source, &options).unwrap();
        prop_assert_eq!(exchanged.matrix, loaded.matrix.transpose());
    }
}
