//! Prepared layers in sealed models: prepared, sealed, opened and evaluated.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use ckks::gemm::{Epoch, GemmParameters};
use ckks_linear::evaluate::Query;
use ckks_linear::gemm::{AnswerLength, DEFAULT_ERROR_BUDGET, GemmLayer};
use ckks_linear::prepared::PreparedLayer;
use ckks_linear::stored::{SealedLayer, StoredError};
use sealed_weights::core_header::ChunkSize;
use sealed_weights::model::{Policy, SealJob, SealOptions, SealedModel};
use sealed_weights::recipient::key_file::KeyFile;
use sealed_weights::recipient::{Identity, Recipient};
use sealed_weights::signing::PublisherKey;
use sealed_weights::work::Work;
use std::fs;
use std::path::Path;
use support::{Trial, best, context, dense, vectors};
use zeroize::Zeroizing;

fn publisher() -> PublisherKey {
    PublisherKey::from_seed(&Zeroizing::new([5; 32])).unwrap()
}

/// Seals files that are in memory only.
fn seal(folder: &Path, files: Vec<(&str, Vec<u8>)>) {
    let recipients: [Box<dyn Recipient>; 1] =
        [Box::new(KeyFile::create(&folder.join("key")).unwrap())];
    let files = files
        .into_iter()
        .map(|(path, bytes)| (path.parse().unwrap(), Zeroizing::new(bytes)))
        .collect();
    let options = SealOptions {
        chunk_size: ChunkSize::new(65_536).unwrap(),
        ..SealOptions::default()
    };
    SealJob::from_memory(files, &folder.join("layers"), options)
        .unwrap()
        .run(&recipients, &publisher(), &Work::default())
        .unwrap();
}

fn open(folder: &Path) -> SealedModel {
    let identities: [Box<dyn Identity>; 1] =
        [Box::new(KeyFile::read(&folder.join("key")).unwrap())];
    let policy = Policy::publisher(publisher().id());
    SealedModel::open(&folder.join("layers"), &identities, policy).unwrap()
}

#[test]
fn sealed_layers_evaluate_to_the_same_bits() {
    let weights = dense(300, 200, 2);
    let mut trial = Trial::new(&context(), best(300, 200), &weights);
    let parameters = GemmParameters::named("gemm-2048").unwrap();
    let length = AnswerLength::within(DEFAULT_ERROR_BUDGET, 2048);
    let gemm =
        GemmLayer::prepare(&parameters, &dense(40, 13, 3), Epoch(3), length, &|_| ()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let bytes = trial.layer.encode();
    seal(
        folder.path(),
        vec![
            ("mlp/up.layer", bytes.clone()),
            ("head.layer", gemm.encode()),
        ],
    );
    // Nothing of it is on the disk in plaintext.
    let sealed = fs::read(folder.path().join("layers/mlp/up.layer.sealed")).unwrap();
    let piece = &bytes[bytes.len() / 2..][..64];
    assert!(!sealed.windows(64).any(|window| window == piece));

    let model = open(folder.path());
    let stored = SealedLayer::open(&model, "mlp/up.layer", Work::default()).unwrap();
    let layer = PreparedLayer::decode(&trial.context, &stored).unwrap();
    let x = vectors(1, 300, 6);
    let (inputs, _) = trial.encrypt(&[&x[0]]).unwrap();
    let query = Query {
        keys: &trial.keys,
        inputs: &inputs,
    };
    let expected = trial.layer.evaluate(&trial.context, &[query]).unwrap().0;
    assert!(layer.evaluate(&trial.context, &[query]).unwrap().0 == expected);
    let stored = SealedLayer::open(&model, "head.layer", Work::default()).unwrap();
    let back = GemmLayer::decode(&parameters, &stored).unwrap();
    assert!(back.encode() == gemm.encode());
    assert!(SealedLayer::open(&model, "other.layer", Work::default()).is_err());
}

#[test]
fn a_tampered_layer_is_refused() {
    let weights = dense(300, 200, 2);
    let layer = PreparedLayer::prepare(&context(), best(300, 200), &weights, 40, &|_| ()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    seal(folder.path(), vec![("a.layer", layer.encode())]);
    let path = folder.path().join("layers/a.layer.sealed");
    let before = fs::read(&path).unwrap();
    let model = open(folder.path());
    for from_end in [1, before.len() / 2, 70_000] {
        let mut altered = before.clone();
        altered[before.len() - from_end] ^= 1;
        fs::write(&path, altered).unwrap();
        let stored = SealedLayer::open(&model, "a.layer", Work::default()).unwrap();
        let refused = PreparedLayer::decode(&context(), &stored).unwrap_err();
        assert!(matches!(refused, StoredError::Read(_)), "{refused}");
        assert!(
            refused.to_string().contains("publisher signed"),
            "{refused}"
        );
    }
    fs::write(&path, layer.encode()).unwrap();
    assert!(SealedLayer::open(&model, "a.layer", Work::default()).is_err());
}
