//! Bad input is refused, with the reason.

use crate::support::dense;
use ckks::Complex64;
use ckks_linear::error::{LinearError, MAX_WIDTH};
use ckks_linear::plan::PlanKind;
use ckks_linear::planner::PlanOptions;
use ckks_linear::shape::{Folding, LayerShape};
use ckks_linear::slots::{MAX_PIECES, MAX_SLOTS, SlotKind, SlotProgram};

const KINDS: [PlanKind; 2] = [PlanKind::Diagonal, PlanKind::DiagonalSquare];

fn program(batch: usize) -> SlotProgram {
    let shape = LayerShape::new(5, 3).unwrap();
    let (kind, real) = (PlanKind::Diagonal, SlotKind::Real);
    SlotProgram::with_interleave(kind, shape, 32, real, batch, 4, &PlanOptions::default()).unwrap()
}

#[test]
fn slots_and_batches_that_cannot_be() {
    let shape = LayerShape::new(5, 3).unwrap();
    let options = PlanOptions::default();
    let real = SlotKind::Real;
    for kind in KINDS {
        for slots in [0, 3, 24, MAX_SLOTS + 1, 2 * MAX_SLOTS, usize::MAX, 1 << 63] {
            let error = SlotProgram::choose(kind, shape, slots, real, 1, &options).unwrap_err();
            assert_eq!(error, LinearError::Slots { slots });
            assert!(error.to_string().contains("power of two"), "{error}");
        }
        let error = SlotProgram::choose(kind, shape, 8, real, 0, &options).unwrap_err();
        assert_eq!(error, LinearError::EmptyBatch);
        for interleave in [0, 3, 16, usize::MAX] {
            let error = SlotProgram::with_interleave(kind, shape, 8, real, 1, interleave, &options)
                .unwrap_err();
            assert_eq!(
                error,
                LinearError::Interleave {
                    interleave,
                    slots: 8
                }
            );
        }
    }
}

#[test]
fn foldings_of_real_slots() {
    let shape = LayerShape::new(5, 3).unwrap();
    let choose = |folding| {
        let options = PlanOptions {
            folding: Some(folding),
            ..PlanOptions::default()
        };
        SlotProgram::choose(PlanKind::Diagonal, shape, 8, SlotKind::Real, 2, &options)
    };
    assert!(choose(Folding::None).is_ok());
    for folding in [Folding::Input, Folding::Output, Folding::Pair] {
        let error = choose(folding).unwrap_err();
        assert!(
            matches!(error, LinearError::ComplexFolding { .. }),
            "{error}"
        );
        assert!(error.to_string().contains("complex slots"), "{error}");
    }
}

#[test]
fn layers_too_large_for_the_slots() {
    let huge = LayerShape::new(MAX_WIDTH, MAX_WIDTH).unwrap();
    let options = PlanOptions::default();
    for kind in KINDS {
        for slots in [1, 2, 512] {
            let error =
                SlotProgram::choose(kind, huge, slots, SlotKind::Real, 1, &options).unwrap_err();
            let LinearError::Pieces { pieces, .. } = error else {
                panic!("{error}");
            };
            assert_eq!(pieces, (MAX_WIDTH / slots).pow(2));
            assert!(pieces > MAX_PIECES);
        }
    }
}

/// The largest batch does not overflow, and the largest layer and batch are planned in no time.
#[test]
fn the_largest_sizes_are_planned() {
    let options = PlanOptions::default();
    for (d_in, d_out) in [
        (MAX_WIDTH, MAX_WIDTH),
        (MAX_WIDTH, 1),
        (1, MAX_WIDTH),
        (1, 1),
    ] {
        let shape = LayerShape::new(d_in, d_out).unwrap();
        for kind in KINDS {
            for (slots, slot_kind) in [(4096, SlotKind::Complex), (MAX_SLOTS, SlotKind::Real)] {
                let batch = usize::MAX;
                let program =
                    SlotProgram::choose(kind, shape, slots, slot_kind, batch, &options).unwrap();
                assert_eq!(program.slots(), slots);
                let least = (batch / program.vectors_per_ciphertext()) as u64;
                assert!(program.ciphertexts(batch).inputs >= least);
                assert!(program.counts(batch).plaintexts >= least);
                let last = program.rotation_steps().last().copied();
                assert!(last.is_none_or(|step| step < slots));
            }
        }
    }
}

#[test]
fn vectors_that_cannot_be_packed() {
    let program = program(4);
    let good = [1.0; 5];
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut bad = good;
        bad[3] = value;
        let error = program.pack(&[&good, &good, &bad]).unwrap_err();
        let LinearError::NotFinite { vector, index, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((vector, index), (2, 3));
    }
    for vectors in [
        vec![],
        vec![&good[..]; 5],
        vec![&good[..4]],
        vec![&good[..], &[]],
    ] {
        let error = program.pack(&vectors).unwrap_err();
        assert!(matches!(error, LinearError::Count { .. }), "{error}");
    }
}

/// The index of a bad vector counts over the pairs.
#[test]
fn a_bad_vector_of_a_later_pair_is_named() {
    let shape = LayerShape::new(5, 3).unwrap();
    let options = PlanOptions {
        folding: Some(Folding::Pair),
        ..PlanOptions::default()
    };
    let (kind, complex) = (PlanKind::Diagonal, SlotKind::Complex);
    let program = SlotProgram::with_interleave(kind, shape, 32, complex, 8, 4, &options).unwrap();
    assert_eq!(program.vectors_per_ciphertext(), 8);
    let (good, bad) = ([1.0; 5], [f64::NAN; 5]);
    let vectors = [&good[..], &good, &good, &good, &good, &bad];
    let error = program.pack(&vectors).unwrap_err();
    assert!(
        matches!(
            error,
            LinearError::NotFinite {
                vector: 5,
                index: 0,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn answers_that_cannot_be_unpacked() {
    let program = program(4);
    let slots = vec![Complex64::ZERO; 32];
    assert!(program.unpack(std::slice::from_ref(&slots), 4).is_ok());
    for (answers, vectors) in [
        (vec![], 1),
        (vec![slots.clone(); 2], 1),
        (vec![slots[1..].to_vec()], 1),
        (vec![vec![]], 1),
        (vec![slots.clone()], 0),
        (vec![slots.clone()], 5),
        (vec![slots.clone()], usize::MAX),
    ] {
        let error = program.unpack(&answers, vectors).unwrap_err();
        assert!(matches!(error, LinearError::Count { .. }), "{error}");
    }
}

#[test]
fn weights_and_diagonals_of_something_else() {
    let program = program(4);
    for (d_in, d_out) in [(3, 5), (5, 4), (4, 3), (50, 3)] {
        let other = dense(d_in, d_out, 1);
        let error = program.prepare(&other).unwrap_err();
        assert!(matches!(error, LinearError::Count { .. }), "{error}");
        assert_eq!(program.slot_bound(&other).unwrap_err(), error);
    }
    let weights = dense(5, 3, 1);
    let diagonals = program.prepare(&weights).unwrap();
    let count = diagonals.len();
    let mut slots = vec![Complex64::ZERO; 32];
    for diagonal in [count, usize::MAX] {
        let error = diagonals.fill(diagonal, &mut slots).unwrap_err();
        assert_eq!(error, LinearError::NoDiagonal { diagonal, count });
    }
    for slots in [&mut [][..], &mut slots[1..]] {
        let error = diagonals.fill(0, slots).unwrap_err();
        assert!(matches!(error, LinearError::Count { .. }), "{error}");
        let error = diagonals.fill_range(0..1, slots).unwrap_err();
        assert!(matches!(error, LinearError::Count { .. }), "{error}");
    }
    let error = diagonals.fill_range(0..count + 1, &mut slots).unwrap_err();
    assert!(matches!(error, LinearError::NoDiagonal { .. }), "{error}");
    assert!(diagonals.fill_range(0..0, &mut []).is_ok());
}
