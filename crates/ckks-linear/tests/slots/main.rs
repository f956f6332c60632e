//! Slot programs on a plain slot machine, against float64.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
#![allow(unreachable_pub, reason = "shared by the files of this test")]

mod choice;
mod machine;
mod refusals;
#[path = "../support/mod.rs"]
mod support;

use ckks_linear::plan::PlanKind;
use ckks_linear::planner::PlanOptions;
use ckks_linear::shape::{Folding, LayerShape};
use ckks_linear::slots::{SlotKind, SlotOutput, SlotProgram};
use machine::multiply;
use proptest::prelude::*;
use support::{dense, matrix, product, vectors};
use tensor_io::WeightMatrix;

/// Compares a batch with a float64 product.
fn check(program: &SlotProgram, weights: &WeightMatrix, batch: &[Vec<f64>]) {
    let found = multiply(program, weights, batch);
    assert_eq!(found.len(), batch.len());
    for (found, x) in found.iter().zip(batch) {
        let expected = product(weights, x);
        assert_eq!(found.len(), expected.len());
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let size: f64 = weights
                .row(k)
                .iter()
                .zip(x)
                .map(|(&w, x)| (f64::from(w) * x).abs())
                .sum();
            let error = (found - expected).abs();
            assert!(
                error <= 1e-12 * size,
                "output {k}: {found}, not {expected}; {}",
                program.describe()
            );
        }
    }
}

/// The largest norm of an output's weights.
fn longest_column(weights: &WeightMatrix) -> f64 {
    let norm_sqr = |row: &[f32]| row.iter().map(|&w| f64::from(w).powi(2)).sum::<f64>();
    weights.rows().map(norm_sqr).fold(0.0, f64::max).sqrt()
}

fn slot_kinds() -> [(SlotKind, Option<Folding>); 5] {
    [
        (SlotKind::Real, None),
        (SlotKind::Complex, None),
        (SlotKind::Complex, Some(Folding::Input)),
        (SlotKind::Complex, Some(Folding::Output)),
        (SlotKind::Complex, Some(Folding::Pair)),
    ]
}

/// Weights of which about one in `sparsity` is not zero; none for 0.
fn sparse(d_in: usize, d_out: usize, seed: u64, sparsity: u64) -> WeightMatrix {
    let full = dense(d_in, d_out, seed);
    let mut next = support::uniform(seed ^ 0x5ca1e);
    let mut present = || sparsity != 0 && (next() + 1.0) * sparsity as f64 <= 2.0;
    let data = full
        .into_data()
        .into_iter()
        .map(|w| if present() { w } else { 0.0 });
    WeightMatrix::from_output_major(d_in, d_out, data.collect()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_are_right(
        d_in in 1usize..150,
        d_out in 1usize..150,
        log_slots in 3u32..=8,
        batch in 1usize..=9,
        square in prop::bool::weighted(0.2),
        slot_kind in 0usize..5,
        n1 in proptest::option::of(1usize..40),
        log_interleave in proptest::option::of(0u32..=8),
        sparsity in prop_oneof![4 => Just(1u64), 1 => Just(0), 1 => Just(50), 1 => Just(1000)],
        seed in 0u64..1 << 32,
    ) {
        let kind = if square { PlanKind::DiagonalSquare } else { PlanKind::Diagonal };
        let shape = LayerShape::new(d_in, d_out).unwrap();
        let (slot_kind, folding) = slot_kinds()[slot_kind];
        let options = PlanOptions { baby_steps: n1, folding, ..PlanOptions::default() };
        let slots = 1 << log_slots;
        let program = match log_interleave {
            None => SlotProgram::choose(kind, shape, slots, slot_kind, batch, &options),
            Some(log) => {
                let interleave = 1 << log.min(log_slots);
                SlotProgram::with_interleave(
                    kind, shape, slots, slot_kind, batch, interleave, &options,
                )
            }
        }
        .unwrap();
        prop_assert_eq!(program.slots(), slots);
        let weights = sparse(d_in, d_out, seed, sparsity);
        check(&program, &weights, &vectors(batch, d_in, seed ^ 1));
        let columns = if program.plan().folding() == Folding::Output { 2.0f64 } else { 1.0 };
        let most = columns.sqrt() * longest_column(&weights) * (1.0 + 1e-9);
        prop_assert!(program.slot_bound(&weights).unwrap() <= most);
    }
}

#[test]
fn shapes_that_broke_other_libraries() {
    for (d_in, d_out) in [
        (5, 3),
        (3, 5),
        (7, 7),
        (1, 1),
        (1, 64),
        (64, 1),
        (13, 31),
        (20, 256),
        (192, 784),
    ] {
        let shape = LayerShape::new(d_in, d_out).unwrap();
        for (slot_kind, folding) in slot_kinds() {
            for kind in [PlanKind::Diagonal, PlanKind::DiagonalSquare] {
                for (slots, batch) in [(64, 1), (256, 3), (1024, 5)] {
                    let options = PlanOptions {
                        folding,
                        ..PlanOptions::default()
                    };
                    let program =
                        SlotProgram::choose(kind, shape, slots, slot_kind, batch, &options)
                            .unwrap();
                    let weights = dense(d_in, d_out, 11);
                    check(&program, &weights, &vectors(batch, d_in, 12));
                }
            }
        }
    }
}

/// Each baby step count gives the same products.
#[test]
fn any_number_of_baby_steps_is_right() {
    let shape = LayerShape::new(48, 40).unwrap();
    let weights = dense(48, 40, 21);
    for n1 in 1..=70 {
        let options = PlanOptions {
            baby_steps: Some(n1),
            ..PlanOptions::default()
        };
        let kind = PlanKind::Diagonal;
        let program = SlotProgram::choose(kind, shape, 128, SlotKind::Real, 2, &options).unwrap();
        check(&program, &weights, &vectors(2, 48, 22));
    }
}

#[test]
fn zero_diagonals_are_left_out() {
    let shape = LayerShape::new(64, 64).unwrap();
    let (kind, real) = (PlanKind::DiagonalSquare, SlotKind::Real);
    let program = SlotProgram::choose(kind, shape, 64, real, 1, &PlanOptions::default()).unwrap();
    let identity = matrix(64, 64, |j, k| f64::from(u8::from(j == k)));
    let diagonals = program.prepare(&identity).unwrap();
    assert_eq!((diagonals.len(), diagonals.zero_diagonals()), (1, 63));
    assert!(diagonals.rotation_steps().is_empty());
    check(&program, &identity, &vectors(1, 64, 31));
    // One diagonal away from the main one, on both sides.
    for distance in [1, 63] {
        let shifted = matrix(64, 64, |j, k| f64::from(u8::from(j == (k + distance) % 64)));
        assert_eq!(program.prepare(&shifted).unwrap().len(), 1);
        check(&program, &shifted, &vectors(1, 64, 32));
    }
    let zero = matrix(64, 64, |_, _| 0.0);
    let diagonals = program.prepare(&zero).unwrap();
    assert!(diagonals.is_empty());
    assert_eq!(diagonals.zero_diagonals(), 64);
    assert_eq!(diagonals.outputs(), [SlotOutput::Zero]);
    assert_eq!(program.slot_bound(&zero).unwrap(), 0.0);
    check(&program, &zero, &vectors(1, 64, 33));
}

/// An output all of whose weights are zero stands beside one that has some.
#[test]
fn a_zero_output_has_no_terms() {
    let shape = LayerShape::new(8, 24).unwrap();
    let (kind, real) = (PlanKind::DiagonalSquare, SlotKind::Real);
    let program = SlotProgram::choose(kind, shape, 8, real, 1, &PlanOptions::default()).unwrap();
    let weights = matrix(8, 24, |j, k| {
        if (8..16).contains(&k) {
            0.0
        } else {
            (j + k + 1) as f64
        }
    });
    let diagonals = program.prepare(&weights).unwrap();
    let zero = |output: &SlotOutput| *output == SlotOutput::Zero;
    let zeros: Vec<bool> = diagonals.outputs().iter().map(zero).collect();
    assert_eq!(zeros, [false, true, false]);
    check(&program, &weights, &vectors(1, 8, 41));
}
