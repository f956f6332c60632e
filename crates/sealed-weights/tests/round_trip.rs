//! A model sealed, opened, rewrapped and rotated: the plaintext that comes out is what went in.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::fs;

use common::{Fixture, files_below, pattern, threads};
use proptest::prelude::*;
use safetensors_header::LENGTH_BYTES;
use sealed_weights::core_header::ChunkSize;
use sealed_weights::error::{ModelError, SealError};
use sealed_weights::model::{
    ExtractOptions, Extraction, Policy, Rewrap, RotateOptions, Rotation, SealJob, SealOptions,
    SealedModel, rewrap,
};
use sealed_weights::sealed_file::Trust;
use sealed_weights::suite::Suite;

/// A safetensors file of byte tensors.
fn safetensors(tensors: &[(&str, &[u8])]) -> Vec<u8> {
    let mut header = String::from("{");
    let mut data = Vec::new();
    for (number, (name, bytes)) in tensors.iter().enumerate() {
        let comma = if number == 0 { "" } else { "," };
        header.push_str(&format!(
            "{comma}\"{name}\":{{\"dtype\":\"U8\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
            bytes.len(),
            data.len(),
            data.len() + bytes.len()
        ));
        data.extend_from_slice(bytes);
    }
    header.push('}');
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(&data);
    file
}

#[test]
fn a_directory_comes_back_byte_for_byte() {
    for suite in Suite::ALL {
        let fixture = Fixture::new();
        let weights = safetensors(&[
            ("a", &pattern(10_000, 1)),
            ("empty", b""),
            ("b", &pattern(1, 2)),
        ]);
        fixture.write("model.safetensors", &weights);
        fixture.write("config.json", b"{}");
        fixture.write("empty.txt", b"");
        fixture.write("sub/tokenizer.model", &pattern(4096 * 3, 3));
        let options = SealOptions {
            suite,
            chunk_size: ChunkSize::new(4096).unwrap(),
            ..SealOptions::default()
        };
        fixture.seal(options, &threads(2));
        for (name, bytes) in files_below(&fixture.sealed()) {
            assert!(
                !bytes
                    .windows(64)
                    .any(|w| weights.windows(64).any(|v| v == w)),
                "{name} holds plaintext"
            );
        }
        for trust in [Trust::Publisher, Trust::KeyHolders] {
            let model = fixture.open("key", trust);
            model.verify(&threads(2)).unwrap();
            model.signed().verify_content(&threads(1)).unwrap();
            let out = fixture.folder.path().join("out");
            let options = ExtractOptions { allow_disk: true };
            Extraction::prepare(&model, &out, options)
                .unwrap()
                .run(&threads(2))
                .unwrap();
            assert_eq!(files_below(&out), files_below(&fixture.plain()));
            fs::remove_dir_all(out).unwrap();
            let tensor = model.tensor("a", &threads(1)).unwrap();
            assert_eq!(&*tensor.data, &pattern(10_000, 1));
            assert_eq!(tensor.shape, [10_000]);
            assert_eq!(tensor.dtype.name(), "U8");
            assert_eq!(model.tensor("empty", &threads(1)).unwrap().data.len(), 0);
            assert_eq!(model.tensor_names().unwrap(), ["a", "empty", "b"]);
        }
    }
}

#[test]
fn rewrapping_changes_the_recipients_and_nothing_else() {
    let fixture = Fixture::new();
    fixture.write("w.bin", &pattern(100_000, 1));
    fixture.seal(SealOptions::default(), &threads(1));
    let before = files_below(&fixture.sealed());
    let model = fixture.open("key", Trust::Publisher);
    rewrap(&model, Rewrap::Replace, &[fixture.recipient("other")]).unwrap();
    let mut after = files_below(&fixture.sealed());
    let new = after.remove("sealed.recipients").unwrap();
    assert_ne!(before["sealed.recipients"], new);
    for (name, bytes) in &after {
        assert_eq!(&before[name], bytes, "{name}");
    }
    assert_eq!(after.len() + 1, before.len());
    fixture
        .open("other", Trust::Publisher)
        .verify(&threads(1))
        .unwrap();
    let policy = Policy::publisher(fixture.publisher.id());
    assert!(SealedModel::open(&fixture.sealed(), &[fixture.identity("key")], policy).is_err());
    let model = fixture.open("other", Trust::Publisher);
    rewrap(&model, Rewrap::Add, &[fixture.recipient("key")]).unwrap();
    fixture
        .open("key", Trust::Publisher)
        .verify(&threads(1))
        .unwrap();
    fixture
        .open("other", Trust::Publisher)
        .verify(&threads(1))
        .unwrap();
}

#[test]
fn rotating_changes_every_byte_but_the_plaintext() {
    let fixture = Fixture::new();
    let weights = safetensors(&[("a", &pattern(3_000_000, 1))]);
    fixture.write("m.safetensors", &weights);
    fixture.write("sub/config.json", b"{}");
    let options = SealOptions {
        public_header: true,
        ..SealOptions::default()
    };
    fixture.seal(options, &threads(2));
    let before = files_below(&fixture.sealed());
    let model = fixture.open("key", Trust::Publisher);
    let options = RotateOptions {
        chunk_size: ChunkSize::new(8192).unwrap(),
        suite: Suite::ChaCha20Poly1305,
        ..RotateOptions::default()
    };
    let signed = Rotation::prepare(&model, options)
        .unwrap()
        .run(
            &[fixture.recipient("other")],
            &fixture.publisher,
            &threads(2),
        )
        .unwrap();
    assert_eq!(signed.manifest().version, 2);
    assert_ne!(signed.manifest().key_id, model.manifest().key_id);
    assert_eq!(signed.manifest().model_id, model.manifest().model_id);
    let after = files_below(&fixture.sealed());
    assert_eq!(before.len(), after.len());
    assert_ne!(
        before["m.safetensors.sealed"][8192..16384],
        after["m.safetensors.sealed"][8192..16384]
    );
    let model = fixture.open("other", Trust::Publisher);
    assert_eq!(
        &*model
            .file("m.safetensors")
            .unwrap()
            .read_all(&threads(2))
            .unwrap(),
        &weights
    );
    // Nothing is left beside it.
    let names: Vec<_> = fs::read_dir(fixture.folder.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
}

#[test]
fn a_model_that_was_rotated_meanwhile_is_not_changed_for_its_old_key() {
    let fixture = Fixture::new();
    fixture.write("a.bin", b"one");
    fixture.seal(SealOptions::default(), &threads(1));
    let stale = fixture.open("key", Trust::Publisher);
    Rotation::prepare(
        &fixture.open("key", Trust::Publisher),
        RotateOptions::default(),
    )
    .unwrap()
    .run(&[fixture.recipient("key")], &fixture.publisher, &threads(1))
    .unwrap();
    let refused = |error: SealError| {
        assert!(matches!(
            error,
            SealError::Model(ModelError::DirectoryChanged { .. })
        ));
    };
    refused(rewrap(&stale, Rewrap::Add, &[fixture.recipient("other")]).unwrap_err());
    refused(
        Rotation::prepare(&stale, RotateOptions::default())
            .unwrap()
            .run(&[fixture.recipient("key")], &fixture.publisher, &threads(1))
            .unwrap_err(),
    );
    fixture
        .open("key", Trust::Publisher)
        .verify(&threads(1))
        .unwrap();
}

#[test]
fn the_next_version_replaces_the_old_one() {
    let fixture = Fixture::new();
    fixture.write("a.bin", b"one");
    fixture.seal(SealOptions::default(), &threads(1));
    let first = fixture.open("key", Trust::Publisher);
    fixture.write("a.bin", b"two");
    let again = SealJob::prepare(&fixture.plain(), &fixture.sealed(), SealOptions::default());
    assert!(again.is_err());
    let options = SealOptions {
        replace: true,
        ..SealOptions::default()
    };
    fixture.seal(options, &threads(1));
    let second = fixture.open("key", Trust::Publisher);
    assert_eq!(second.manifest().version, 2);
    assert_eq!(second.manifest().model_id, first.manifest().model_id);
    assert_eq!(
        &*second.file("a.bin").unwrap().read_all(&threads(1)).unwrap(),
        b"two"
    );
}

#[test]
fn a_public_header_is_readable_without_a_key() {
    let fixture = Fixture::new();
    let weights = safetensors(&[("secret.name", &pattern(5000, 1))]);
    fixture.write("m.safetensors", &weights);
    let options = SealOptions {
        public_header: true,
        ..SealOptions::default()
    };
    fixture.seal(options, &threads(1));
    let front =
        sealed_weights::sealed_file::Front::read(&fixture.sealed().join("m.safetensors.sealed"))
            .unwrap();
    let public = front.public_header().unwrap().unwrap();
    let length = u64::from_le_bytes(weights[..8].try_into().unwrap()) + LENGTH_BYTES;
    assert_eq!(public, &weights[..length as usize]);
    let model = fixture.open("key", Trust::Publisher);
    assert_eq!(
        &*model.tensor("secret.name", &threads(1)).unwrap().data,
        &pattern(5000, 1)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_range_of_any_length_is_the_plaintext(
        length in prop_oneof![0usize..20, 4090..4100usize, 0..40_000usize],
        ranges in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..8),
        count in 1usize..4,
    ) {
        let fixture = Fixture::new();
        let plain = pattern(length, 7);
        fixture.write("w.bin", &plain);
        let options = SealOptions {
            chunk_size: ChunkSize::new(4096).unwrap(),
            sync: false,
            ..SealOptions::default()
        };
        fixture.seal(options, &threads(count));
        let file = fixture.open("key", Trust::Publisher).file("w.bin").unwrap();
        prop_assert_eq!(&*file.read_all(&threads(count)).unwrap(), &plain[..]);
        for (one, two) in ranges {
            let (one, two) = (one.index(length + 1), two.index(length + 1));
            let (begin, end) = (one.min(two), one.max(two));
            let read = file.read(begin as u64..end as u64, &threads(count)).unwrap();
            prop_assert_eq!(&*read, &plain[begin..end]);
        }
        prop_assert!(file.read(0..length as u64 + 1, &threads(1)).is_err());
    }
}
