//! Which program is chosen.

use ckks_linear::cost::CostModel;
use ckks_linear::plan::PlanKind;
use ckks_linear::planner::PlanOptions;
use ckks_linear::shape::LayerShape;
use ckks_linear::slots::{CiphertextCounts, SlotKind, SlotProgram};
use proptest::prelude::*;

fn choose(
    kind: PlanKind,
    (d_in, d_out): (usize, usize),
    slots: usize,
    slot_kind: SlotKind,
    batch: usize,
) -> SlotProgram {
    let shape = LayerShape::new(d_in, d_out).unwrap();
    let options = PlanOptions::default();
    SlotProgram::choose(kind, shape, slots, slot_kind, batch, &options).unwrap()
}

#[test]
fn sixteen_vectors_share_a_ciphertext_as_published() {
    let real = SlotKind::Real;
    for kind in [PlanKind::Diagonal, PlanKind::DiagonalSquare] {
        let program = choose(kind, (2048, 1024), 32_768, real, 16);
        assert_eq!(program.vectors_per_ciphertext(), 16);
        assert_eq!(program.inputs().len(), 1);
        let one = CiphertextCounts {
            inputs: 1,
            outputs: 1,
        };
        assert_eq!(program.ciphertexts(16), one);
    }
}

#[test]
fn one_vector_is_dense() {
    let program = choose(PlanKind::Diagonal, (2048, 1024), 32_768, SlotKind::Real, 1);
    assert_eq!(program.diagonals(), 64);
    assert_eq!(program.interleave(), 1);
    let complex = choose(PlanKind::Diagonal, (2048, 1024), 4096, SlotKind::Complex, 1);
    assert_eq!(complex.diagonals(), 2048 * 1024 / (2 * 4096));
}

/// The square holds as many vectors as fit, and no fewer virtual slots than its side.
#[test]
fn the_square_is_filled_with_vectors() {
    let square = |slots, batch| {
        choose(
            PlanKind::DiagonalSquare,
            (100, 200),
            slots,
            SlotKind::Real,
            batch,
        )
    };
    for (slots, batch, vectors) in [
        (128, 16, 1),
        (256, 16, 1),
        (512, 16, 2),
        (4096, 16, 16),
        (4096, 9, 16),
        (4096, 3, 4),
        (4096, 1, 1),
        (8192, 1000, 32),
    ] {
        let program = square(slots, batch);
        assert_eq!(program.vectors_per_ciphertext(), vectors, "{slots} {batch}");
        // One square of side 256, or the two tiles of side 128 that hold columns.
        assert_eq!(program.diagonals(), 256);
    }
}

/// When every program costs the same.
#[test]
fn of_equal_costs_the_smaller_interleave_wins() {
    let nothing = CostModel {
        key_switch_ns: 0.0,
        plaintext_stream_ns: 0.0,
        plaintext_compute_ns: 0.0,
        inner_sum_ns: 0.0,
        input_ns: 0.0,
        output_ns: 0.0,
        link_bytes_per_second: f64::INFINITY,
    };
    let options = PlanOptions {
        cost: nothing,
        ..PlanOptions::default()
    };
    let shape = LayerShape::new(7, 7).unwrap();
    let (kind, real) = (PlanKind::Diagonal, SlotKind::Real);
    let program = SlotProgram::choose(kind, shape, 64, real, 8, &options).unwrap();
    assert_eq!(program.interleave(), 1);
}

/// Vectors in a ciphertext, plaintexts, and key switches of the whole batch.
type Needs = (usize, usize, u64);
/// A shape and its needs.
type Row = ((usize, usize), [[Needs; 2]; 2]);

/// As in `docs/packing.md`: for a batch of 1 and of 16, with 4,096 complex or 8,192 real slots and
/// with 32,768 real slots.
const PUBLISHED: [Row; 6] = [
    (
        (512, 2048),
        [[(1, 128, 22), (16, 2048, 91)], [(1, 32, 10), (16, 512, 46)]],
    ),
    (
        (2048, 512),
        [[(1, 128, 22), (16, 2048, 91)], [(1, 32, 10), (16, 512, 46)]],
    ),
    (
        (2048, 1024),
        [
            [(1, 256, 30), (16, 4096, 122)],
            [(1, 64, 14), (16, 1024, 62)],
        ],
    ),
    (
        (2048, 2048),
        [
            [(1, 512, 46), (8, 4096, 248)],
            [(1, 128, 22), (16, 2048, 94)],
        ],
    ),
    (
        (4096, 2048),
        [
            [(1, 1024, 62), (8, 8192, 372)],
            [(1, 256, 30), (16, 4096, 125)],
        ],
    ),
    (
        (2048, 4096),
        [
            [(1, 1024, 62), (8, 8192, 372)],
            [(1, 256, 30), (16, 4096, 125)],
        ],
    ),
];

#[test]
fn published_shapes_need_what_the_page_on_packing_says() {
    let libraries = [
        (4096, SlotKind::Complex, 0),
        (8192, SlotKind::Real, 0),
        (32_768, SlotKind::Real, 1),
    ];
    for (shape, needs) in PUBLISHED {
        for (slots, slot_kind, column) in libraries {
            for (batch, expected) in [1, 16].into_iter().zip(needs[column]) {
                let program = choose(PlanKind::Diagonal, shape, slots, slot_kind, batch);
                let found = (
                    program.vectors_per_ciphertext(),
                    program.diagonals(),
                    program.counts(batch).key_switches(),
                );
                assert_eq!(found, expected, "{shape:?}, {slots} {slot_kind:?}, {batch}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// No interleave is cheaper, and of equals none is smaller; choosing again gives the same.
    #[test]
    fn the_cheapest_interleave_is_chosen(
        d_in in 1usize..150,
        d_out in 1usize..150,
        log_slots in 0u32..=8,
        batch in 1usize..=9,
        real in any::<bool>(),
    ) {
        let slot_kind = if real { SlotKind::Real } else { SlotKind::Complex };
        let slots = 1usize << log_slots;
        let kind = PlanKind::Diagonal;
        let chosen = choose(kind, (d_in, d_out), slots, slot_kind, batch);
        prop_assert_eq!(&chosen, &choose(kind, (d_in, d_out), slots, slot_kind, batch));
        let options = PlanOptions::default();
        let cost = |program: &SlotProgram| {
            let groups = batch.div_ceil(program.interleave());
            options.cost.total_ns(program.plan(), groups) * program.interleave() as f64
        };
        let shape = LayerShape::new(d_in, d_out).unwrap();
        let mut interleave = 1;
        while interleave <= batch.next_power_of_two().min(slots) {
            let other = SlotProgram::with_interleave(
                kind, shape, slots, slot_kind, batch, interleave, &options,
            ).unwrap();
            prop_assert!(cost(&chosen) <= cost(&other));
            prop_assert!(cost(&chosen) < cost(&other) || chosen.interleave() <= interleave);
            interleave *= 2;
        }
    }
}
