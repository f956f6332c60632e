//! Arbitrary bytes through every parser: none panics, and what is accepted has one encoding.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use proptest::prelude::*;
use safetensors_header::{Header, LENGTH_BYTES};
use sealed_weights::core_header::{ChunkSize, CoreHeader, PublicHeader};
use sealed_weights::ids::{FileId, ModelId};
use sealed_weights::manifest::{MANIFEST_NAME, SignedManifest};
use sealed_weights::recipients::{RECIPIENTS_NAME, RecipientsFile};
use sealed_weights::suite::Suite;

/// A document of the test vectors.
fn vector(name: &str) -> Vec<u8> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    std::fs::read(folder.join("aes-256-gcm").join(name)).unwrap()
}

fn header() -> impl Strategy<Value = CoreHeader> {
    let ids = (any::<[u8; 16]>(), any::<[u8; 16]>(), any::<[u8; 32]>());
    let path = "[a-z\u{e9}]{1,300}(/[a-z.]{3,20}x){0,3}";
    let public = prop::option::of((1u32..=1000, any::<[u8; 32]>()));
    (
        12u32..=26,
        1000u64..1 << 50,
        ids,
        path,
        any::<bool>(),
        public,
    )
        .prop_map(
            |(bits, length, (file_id, model_id, salt), path, aes, public)| CoreHeader {
                suite: Suite::ALL[usize::from(aes)],
                chunk_size: ChunkSize::new(1 << bits).unwrap(),
                // At most 2^32 − 1 chunks.
                length: length.min(((1 << 32) - 1) << bits),
                file_id: FileId::new(file_id),
                model_id: ModelId::new(model_id),
                salt,
                path: path.parse().unwrap(),
                public_header: public.map(|(length, hash)| PublicHeader { length, hash }),
            },
        )
}

/// Bytes of a good input with some replaced, removed or added.
fn damaged(good: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let edits = prop::collection::vec(
        (any::<prop::sample::Index>(), any::<u8>(), 0..3u8),
        0..4usize,
    );
    edits.prop_map(move |edits| {
        let mut bytes = good.clone();
        for (at, byte, kind) in edits {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_header_decodes_to_what_was_encoded(header in header(), more in any::<[u8; 9]>()) {
        let mut bytes = header.encode();
        bytes.extend(more);
        prop_assert_eq!(CoreHeader::decode(&bytes), Ok(header));
    }

    #[test]
    fn a_damaged_header_is_refused_or_encodes_to_its_bytes(
        bytes in header().prop_flat_map(|header| damaged(header.encode())),
    ) {
        match CoreHeader::decode(&bytes) {
            Ok(header) => {
                let again = header.encode();
                prop_assert_eq!(&again[..], &bytes[..again.len()]);
                prop_assert!(header.layout().end >= header.length);
            }
            Err(defect) => prop_assert!(!defect.to_string().is_empty()),
        }
    }

    #[test]
    fn any_bytes_are_no_header(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(CoreHeader::decode(&bytes).is_err());
    }

    #[test]
    fn a_damaged_manifest_is_refused(bytes in damaged(vector(MANIFEST_NAME))) {
        let good = bytes == vector(MANIFEST_NAME);
        let Ok(text) = String::from_utf8(bytes) else { return Ok(()) };
        match SignedManifest::parse(&text) {
            Ok(signed) => prop_assert!(good && signed.text() == text),
            Err(defect) => prop_assert!(!good && !defect.to_string().is_empty()),
        }
    }

    #[test]
    fn damaged_recipients_are_refused_or_read_as_written(bytes in damaged(vector(RECIPIENTS_NAME))) {
        let Ok(text) = String::from_utf8(bytes) else { return Ok(()) };
        match RecipientsFile::parse(&text) {
            Ok(file) => {
                let json = serde_json::to_string(file.recipients()).unwrap();
                prop_assert_eq!(text.lines().nth(1), Some(json.as_str()));
            }
            Err(defect) => prop_assert!(!defect.to_string().is_empty()),
        }
    }

    #[test]
    fn any_text_is_no_document(text in "\\PC{0,200}\n?\\PC{0,200}\n?") {
        prop_assert!(SignedManifest::parse(&text).is_err());
        prop_assert!(RecipientsFile::parse(&text).is_err());
    }

    #[test]
    fn a_damaged_safetensors_header_is_refused_or_covers_its_data(
        json in damaged(SAFETENSORS.as_bytes().to_vec()),
        data_bytes in 0u64..30,
    ) {
        match Header::parse(&json, data_bytes) {
            Ok(header) => {
                let mut end = LENGTH_BYTES + json.len() as u64;
                for tensor in header.tensors() {
                    prop_assert!(tensor.begin == end && tensor.end >= tensor.begin);
                    end = tensor.end;
                }
                prop_assert_eq!(end, LENGTH_BYTES + json.len() as u64 + data_bytes);
            }
            Err(defect) => prop_assert!(!defect.to_string().is_empty()),
        }
    }

    #[test]
    fn any_length_field_is_within_the_file_or_refused(
        start in prop::collection::vec(any::<u8>(), 0..12),
        size in any::<u64>(),
    ) {
        if let Ok(length) = Header::length(&start, size) {
            prop_assert!(length <= size - LENGTH_BYTES);
        }
    }
}

const SAFETENSORS: &str = r#"{"__metadata__":{"k":"v"},"a":{"dtype":"F16","shape":[2,5],"data_offsets":[0,20]},"b":{"dtype":"U8","shape":[],"data_offsets":[20,21]}}"#;

#[test]
fn the_safetensors_header_that_is_damaged_is_good() {
    assert_eq!(
        Header::parse(SAFETENSORS.as_bytes(), 21)
            .unwrap()
            .tensors()
            .len(),
        2
    );
}
