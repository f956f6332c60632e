//! Against the reference implementation: what it writes is read, with the same tensors, and what is
//! accepted here it accepts too, with the same tensors. No input is a panic.

use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::*;
use safetensors::SafeTensors;
use safetensors::tensor::TensorView;
use safetensors_header::{Dtype, Header, HeaderDefect, LENGTH_BYTES};

/// Dtypes of the reference implementation.
const DTYPES: [safetensors::Dtype; 22] = {
    use safetensors::Dtype::*;
    [
        BOOL,
        F4,
        F6_E2M3,
        F6_E3M2,
        U8,
        I8,
        F8_E5M2,
        F8_E4M3,
        F8_E8M0,
        F8_E4M3FNUZ,
        F8_E5M2FNUZ,
        I16,
        U16,
        F16,
        BF16,
        I32,
        U32,
        F32,
        C64,
        F64,
        I64,
        U64,
    ]
};

fn read(file: &[u8]) -> Result<Header, HeaderDefect> {
    let size = file.len() as u64;
    let data = LENGTH_BYTES + Header::length(file, size)?;
    Header::parse(&file[LENGTH_BYTES as usize..data as usize], size - data)
}

fn file_of(json: &str, data_bytes: usize) -> Vec<u8> {
    [
        &(json.len() as u64).to_le_bytes()[..],
        json.as_bytes(),
        &vec![0; data_bytes],
    ]
    .concat()
}

/// Checks the header, if it is accepted, against the reference implementation's.
fn compare(file: &[u8]) {
    let Ok(header) = read(file) else { return };
    let (length, reference) = SafeTensors::read_metadata(file)
        .unwrap_or_else(|e| panic!("accepted, and the reference refuses it: {e}"));
    let base = LENGTH_BYTES + length as u64;
    let tensors = reference.tensors();
    assert_eq!(header.tensors().len(), tensors.len());
    for tensor in header.tensors() {
        let expected = tensors[&tensor.name];
        assert_eq!(tensor.dtype.name(), expected.dtype.to_string());
        let shape: Vec<u64> = expected.shape.iter().map(|side| *side as u64).collect();
        assert_eq!(tensor.shape, shape);
        let (begin, end) = expected.data_offsets;
        assert_eq!(tensor.begin, base + begin as u64);
        assert_eq!(tensor.end, base + end as u64);
        assert_eq!(header.find(&tensor.name), Some(tensor));
    }
    let expected = reference.metadata().as_ref();
    assert_eq!(header.metadata().is_some(), expected.is_some());
    if let (Some(metadata), Some(expected)) = (header.metadata(), expected) {
        let metadata: HashMap<String, String> = metadata.clone().into_iter().collect();
        assert_eq!(metadata, *expected);
    }
}

#[test]
fn every_dtype_has_the_reference_name_and_size() {
    for dtype in DTYPES {
        let ours = Dtype::from_name(&dtype.to_string()).unwrap();
        assert_eq!(ours.bits(), dtype.bitsize() as u64, "{dtype}");
    }
}

proptest! {
    #[test]
    fn files_of_the_reference_serializer_are_accepted(
        tensors in proptest::collection::hash_map(
            "[a-z\\PC]{0,6}", (0usize..22, vec(0usize..4, 0..4)), 0..6,
        ),
        // Not empty: with neither tensors nor keys the reference writes what is not JSON.
        metadata in proptest::option::of(
            proptest::collection::hash_map("\\PC{0,4}", "\\PC{0,4}", 1..3),
        ),
    ) {
        let buffer = vec![0u8; 64 * 8];
        let views: Vec<(String, TensorView)> = tensors
            .into_iter()
            .filter_map(|(name, (dtype, shape))| {
                let bits = shape.iter().product::<usize>() * DTYPES[dtype].bitsize();
                // What does not fill whole bytes cannot be written.
                let view = TensorView::new(DTYPES[dtype], shape, &buffer[..bits / 8]).ok()?;
                Some((name, view))
            })
            .collect();
        let count = views.len();
        let file = safetensors::serialize(views, metadata).unwrap();
        prop_assert_eq!(read(&file).unwrap().tensors().len(), count);
        compare(&file);
    }

    #[test]
    fn arbitrary_bytes_are_not_a_panic(bytes in vec(any::<u8>(), 0..300), data in any::<u64>()) {
        compare(&bytes);
        let _ = Header::parse(&bytes, data);
        let _ = Header::parse(&[b"{", &bytes[..]].concat(), data);
    }

    #[test]
    fn arbitrary_text(
        text in r#"\{("w"|"x"|"__metadata__"|:|,|\{|\}|\[|\]|0|1|9{1,20}|"dtype"|"shape"|"data_offsets"|"F32"){0,30}"#,
        data in 0usize..20,
    ) {
        compare(&file_of(&text, data));
    }

    #[test]
    fn arbitrary_shapes_and_offsets(
        entries in vec(
            (
                prop_oneof![Just("w"), Just("x"), Just("__metadata__")],
                prop_oneof![Just("F32"), Just("BF16"), Just("U8"), Just("F4"), Just("F6_E2M3")],
                vec(prop_oneof![8 => 0u64..4, 1 => any::<u64>()], 0..4),
                prop_oneof![8 => 0u64..17, 1 => any::<u64>()],
                prop_oneof![8 => 0u64..17, 1 => any::<u64>()],
            ),
            0..3,
        ),
        data in 0usize..17,
    ) {
        let members: Vec<String> = entries
            .iter()
            .map(|(name, dtype, shape, begin, end)| {
                format!(
                    r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{begin},{end}]}}"#
                )
            })
            .collect();
        compare(&file_of(&format!("{{{}}}", members.join(",")), data));
    }

    /// One changed byte, and seldom a cut: a part of these is still accepted.
    #[test]
    fn mutated_files(
        at in any::<usize>(),
        value in prop_oneof![any::<u8>(), proptest::sample::select(&b"0123456 wU"[..])],
        cut in prop_oneof![4 => Just(0usize), 1 => 1usize..3],
    ) {
        let mut file = file_of(
            r#"{"__metadata__":{"k":"v"},"b":{"dtype":"F16","shape":[3],"data_offsets":[0,6]},"e":{"dtype":"U8","shape":[0],"data_offsets":[6,6]},"w":{"dtype":"U8","shape":[2,3],"data_offsets":[6,12]}}"#,
            12,
        );
        let position = at % file.len();
        file[position] = value;
        file.truncate(file.len() - cut);
        compare(&file);
    }
}
