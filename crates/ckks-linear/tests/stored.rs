//! Prepared layers as bytes: what comes back evaluates to the same bits, and nothing that was
//! tampered with leads evaluation out of its buffers.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use ckks::Context;
use ckks::gemm::{Epoch, GemmParameters, GemmRing};
use ckks_linear::evaluate::{AheadQuery, Query};
use ckks_linear::gemm::{AnswerLength, DEFAULT_ERROR_BUDGET, GemmClient, GemmLayer};
use ckks_linear::plan::PlanKind;
use ckks_linear::planner::{PlanOptions, candidates};
use ckks_linear::prepared::PreparedLayer;
use ckks_linear::shape::{Folding, LayerShape};
use ckks_linear::stored::StoredError;
use ckks_secret::SeededCsprng;
use ckks_secret::gemm::{GemmMasks, encrypt};
use proptest::prelude::*;
use std::sync::OnceLock;
use support::{Trial, best, context, dense, matrix, plan_with, vectors};
use tensor_io::WeightMatrix;

const FRONT: usize = 64;

fn decode(bytes: &[u8]) -> Result<PreparedLayer, StoredError> {
    PreparedLayer::decode(&context(), bytes)
}

/// Evaluates whole and in two parts; both must agree where both succeed.
fn evaluations(
    trial: &Trial,
    layer: &PreparedLayer,
    inputs: &[ckks::Ciphertext],
) -> Option<Vec<ckks::Ciphertext>> {
    let query = Query {
        keys: &trial.keys,
        inputs,
    };
    let whole = layer.evaluate(&trial.context, &[query]).ok()?.0.remove(0);
    let masks: Vec<_> = inputs.iter().map(|c| c.c1.clone()).collect();
    let queries = vec![
        AheadQuery {
            keys: &trial.keys,
            masks: &masks,
        };
        5
    ];
    let ahead = layer.evaluate_ahead(&trial.context, &queries).unwrap().0;
    let halves: Vec<_> = inputs.iter().map(|c| &c.c0).collect();
    let online = ahead.into_iter().map(|a| (a, halves.clone())).collect();
    let (parts, _) = layer.evaluate_online(&trial.context, online).unwrap();
    assert!(parts.iter().all(|part| *part == whole));
    Some(whole)
}

/// The weights of a banded matrix, so that many diagonals are zero.
fn banded(d_in: usize, d_out: usize) -> WeightMatrix {
    matrix(d_in, d_out, |j, k| {
        if j.abs_diff(k) % 37 < 3 {
            ((j * 7 + k * 3) as f64).sin()
        } else {
            0.0
        }
    })
}

#[test]
fn a_layer_comes_back_to_the_bit() {
    let shape = (100, 300);
    let plans = [
        (best(5, 3), dense(5, 3, 1)),
        (best(300, 200), dense(300, 200, 2)),
        (best(300, 200), banded(300, 200)),
        (best(64, 64), matrix(64, 64, |_, _| 0.0)),
        (best(2100, 40), dense(2100, 40, 3)),
        (
            plan_with(PlanKind::DiagonalSquare, shape, 1, None, None),
            dense(100, 300, 4),
        ),
        (
            plan_with(PlanKind::Diagonal, shape, 2, Some(Folding::Pair), None),
            dense(100, 300, 5),
        ),
    ];
    for (plan, weights) in plans {
        let what = plan.describe();
        let mut trial = Trial::new(&context(), plan, &weights);
        let bytes = trial.layer.encode();
        let layer = decode(&bytes).unwrap();
        assert_eq!(layer.manifest(), trial.layer.manifest(), "{what}");
        assert_eq!(layer.zero_diagonals(), trial.layer.zero_diagonals());
        assert_eq!(layer.memory_bytes(), trial.layer.memory_bytes());
        assert!(layer.encode() == bytes, "{what}: another encoding");
        let x = vectors(1, weights.d_in(), 6);
        let (inputs, _) = trial.encrypt(&[&x[0]]).unwrap();
        let expected = evaluations(&trial, &trial.layer, &inputs).unwrap();
        let found = evaluations(&trial, &layer, &inputs).unwrap();
        assert!(found == expected, "{what}");
    }
}

/// Every plan that the planner offers can be stored.
#[test]
fn every_kind_of_plan_comes_back() {
    for (d_in, d_out) in [(1, 1), (7, 300), (300, 7), (129, 127), (2049, 3), (3, 4097)] {
        let shape = LayerShape::new(d_in, d_out).unwrap();
        let weights = matrix(d_in, d_out, |j, k| f64::from(u8::from(j == k)));
        for kind in [PlanKind::Diagonal, PlanKind::DiagonalSquare] {
            for batch in [1, 2] {
                let options = PlanOptions::default();
                for candidate in candidates(kind, shape, 2048, batch, &options).unwrap() {
                    let plan = candidate.plan;
                    let what = format!("{shape} {}", plan.describe());
                    let layer =
                        PreparedLayer::prepare(&context(), plan.clone(), &weights, 40, &|_| ())
                            .unwrap();
                    let bytes = layer.encode();
                    let back = decode(&bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert_eq!(back.manifest().plan, plan);
                    assert!(back.encode() == bytes, "{what}");
                }
            }
        }
    }
}

#[test]
fn other_bytes_are_refused_with_a_reason() {
    let layer =
        PreparedLayer::prepare(&context(), best(300, 200), &dense(300, 200, 2), 40, &|_| ())
            .unwrap();
    let bytes = layer.encode();
    let refusal = |bytes: &[u8]| decode(bytes).unwrap_err().to_string();
    assert!(refusal(b"").contains("no prepared layer"));
    assert!(refusal(b"\x93NUMPY and more").contains("no prepared layer"));
    let changed = |at: usize, with: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + with.len()].copy_from_slice(with);
        refusal(&bytes)
    };
    let words = |n: u32| n.to_le_bytes();
    for (found, expected) in [
        (changed(8, &[2]), "version 2"),
        (changed(10, &[2]), "form 2"),
        (changed(10, &[9]), "form 9"),
        (changed(12, &[1]), "reserved"),
        (changed(16, &[0; 32]), "parameters"),
        (changed(48, &[255; 8]), "length"),
        (changed(48, &[1]), "head"),
        (changed(56, &[255; 8]), "length"),
        (changed(64, &words(7)), "kind of plan"),
        (changed(68, &words(9)), "folding"),
        (changed(72, &words(1024)), "slots"),
        (changed(76, &words(0)), "shape"),
        (changed(76, &words(u32::MAX)), "shape"),
        (changed(84, &words(0)), "baby steps"),
        (changed(84, &words(100_000)), "baby steps"),
        (changed(88, &words(0)), "number of inputs"),
        (changed(88, &words(u32::MAX)), "number of inputs"),
        (changed(92, &words(u32::MAX)), "number of outputs"),
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
    // A residue that is its prime.
    let prime = context().modulus(0).value();
    let head = u64::from_le_bytes(bytes[48..56].try_into().unwrap()) as usize;
    assert!(changed(FRONT + head, &words(prime)).contains("residue"));
    assert!(changed(FRONT + head - 1, &[1]).contains("not zero"));
    for end in [
        1,
        8,
        63,
        64,
        100,
        FRONT + head,
        bytes.len() - 64,
        bytes.len() - 1,
    ] {
        assert!(decode(&bytes[..end]).is_err(), "{end}");
    }
    assert!(refusal(&[&bytes[..], &[0; 64]].concat()).contains("length"));
    let other = Context::named("diagonal-4096").unwrap();
    assert!(PreparedLayer::decode(&other, &bytes[..]).is_ok());
}

struct Subject {
    trial: Trial,
    inputs: Vec<ckks::Ciphertext>,
    bytes: Vec<u8>,
    head: usize,
}

/// Layers of each family of layouts.
fn subjects() -> &'static [Subject] {
    static SUBJECTS: OnceLock<Vec<Subject>> = OnceLock::new();
    SUBJECTS.get_or_init(|| {
        let guard = (33, 700);
        [
            (best(300, 200), banded(300, 200)),
            (best(2049, 3), dense(2049, 3, 3)),
            (
                plan_with(PlanKind::Diagonal, guard, 1, Some(Folding::Output), None),
                dense(33, 700, 4),
            ),
        ]
        .into_iter()
        .map(|(plan, weights)| {
            let mut trial = Trial::new(&context(), plan, &weights);
            let x = vectors(1, weights.d_in(), 6);
            let (inputs, _) = trial.encrypt(&[&x[0]]).unwrap();
            let bytes = trial.layer.encode();
            let head = u64::from_le_bytes(bytes[48..56].try_into().unwrap()) as usize;
            Subject {
                trial,
                inputs,
                bytes,
                head,
            }
        })
        .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Changed bytes are refused, or are a layer that evaluates to some ciphertexts of its plan or
    /// lacks keys; nothing panics.
    #[test]
    fn changed_bytes_never_lead_out_of_bounds(
        which in any::<prop::sample::Index>(),
        changes in proptest::collection::vec(
            (any::<prop::sample::Index>(), any::<bool>(), prop_oneof![
                Just(vec![0u8]), Just(vec![255]), Just(vec![1]), Just(vec![2]), Just(vec![64]),
                proptest::collection::vec(any::<u8>(), 1..9),
            ]),
            1..4,
        ),
        cut in prop_oneof![9 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)],
    ) {
        let subjects = subjects();
        let subject = which.get(subjects);
        let mut bytes = subject.bytes.clone();
        for (place, in_head, with) in changes {
            // Most of a layer is plaintexts, most of what can go wrong is in the head.
            let range = if in_head { FRONT + subject.head.min(400) } else { bytes.len() };
            let at = place.index(range - with.len());
            bytes[at..at + with.len()].copy_from_slice(&with);
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(layer) = decode(&bytes) {
            prop_assert!(layer.encode() == bytes, "two encodings of one layer");
            if let Some(found) = evaluations(&subject.trial, &layer, &subject.inputs) {
                prop_assert_eq!(found.len(), layer.manifest().plan.outputs().len());
            }
        }
    }
}

fn gemm_parameters() -> GemmParameters {
    GemmParameters::named("gemm-2048").unwrap()
}

fn gemm_layer(weights: &WeightMatrix) -> GemmLayer {
    let length = AnswerLength::within(DEFAULT_ERROR_BUDGET, 2048);
    GemmLayer::prepare(&gemm_parameters(), weights, Epoch(3), length, &|_| ()).unwrap()
}

/// An upload of three vectors for a `gemm` layer.
fn upload(layer: &GemmLayer, width: usize) -> Vec<u8> {
    let ring = GemmRing::new(gemm_parameters()).unwrap();
    let client = GemmClient::new(&gemm_parameters(), layer.manifest().clone()).unwrap();
    let masks = GemmMasks::new(&ring, Epoch(3), width, 3).unwrap();
    let batch = vectors(3, width, 9);
    let rows: Vec<&[f64]> = batch.iter().map(Vec::as_slice).collect();
    let scale = client.scales(&rows, 1e-4, false).unwrap();
    let mut rng = SeededCsprng::insecure(1, 0);
    encrypt(&masks, &rows, scale.deltas(), &mut rng).unwrap().0
}

#[test]
fn a_gemm_layer_comes_back_to_the_bit() {
    for (d_in, d_out) in [(1, 1), (40, 13), (17, 8)] {
        let layer = gemm_layer(&dense(d_in, d_out, 8));
        let bytes = layer.encode();
        let back = GemmLayer::decode(&gemm_parameters(), &bytes[..]).unwrap();
        assert_eq!(back.manifest(), layer.manifest());
        assert_eq!(back.mask_products(), layer.mask_products());
        assert!(back.encode() == bytes);
        let upload = upload(&layer, d_in);
        assert!(back.evaluate(&upload).unwrap().0 == layer.evaluate(&upload).unwrap().0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn changed_gemm_layers_are_refused_or_evaluate(
        place in any::<prop::sample::Index>(),
        in_head in any::<bool>(),
        with in proptest::collection::vec(any::<u8>(), 1..9),
        cut in prop_oneof![9 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)],
    ) {
        static LAYER: OnceLock<(GemmLayer, Vec<u8>)> = OnceLock::new();
        let (layer, upload) = LAYER.get_or_init(|| {
            let layer = gemm_layer(&dense(20, 11, 8));
            let upload = upload(&layer, 20);
            (layer, upload)
        });
        let mut bytes = layer.encode();
        let range = if in_head { 400 } else { bytes.len() };
        let at = place.index(range - with.len());
        bytes[at..at + with.len()].copy_from_slice(&with);
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(back) = GemmLayer::decode(&gemm_parameters(), &bytes[..]) {
            prop_assert!(back.encode() == bytes);
            let _ = back.evaluate(upload);
        }
    }
}
