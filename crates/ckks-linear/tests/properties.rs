//! Random shapes, layouts and baby steps: every answer within the prediction of float64.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use ckks_linear::plan::{Plan, PlanKind};
use ckks_linear::planner::{PlanOptions, candidates};
use ckks_linear::shape::{Folding, LayerShape};
use proptest::prelude::*;
use support::{Trial, check_dense, context, dense, plan_with, vectors};

fn folding() -> impl Strategy<Value = Option<Folding>> {
    proptest::option::of(prop_oneof![
        Just(Folding::Input),
        Just(Folding::Output),
        Just(Folding::Pair),
        Just(Folding::None),
    ])
}

/// Widths of all kinds up to a little above 2^8, and some beyond the slots.
fn width() -> impl Strategy<Value = usize> {
    prop_oneof![
        4 => 1usize..=300,
        2 => (0u32..=8, 0usize..3).prop_map(|(log, off)| ((1usize << log) + off).saturating_sub(1).max(1)),
        1 => prop_oneof![Just(2047), Just(2048), Just(2049), Just(4097)],
    ]
}

fn run(plan: Plan, batch: usize, seed: u64) {
    let shape = plan.shape();
    let weights = dense(shape.d_in(), shape.d_out(), seed);
    let mut trial = Trial::with_seed(&context(), plan, &weights, seed);
    check_dense(
        &mut trial,
        &weights,
        &vectors(batch, shape.d_in(), seed ^ 1),
    );
}

/// Counts that costs and memory are predicted from, against the steps themselves.
fn counts_are_exact(plan: &Plan) {
    let counts = plan.counts();
    let giants: Vec<_> = (0..plan.outputs().len()).map(|o| plan.giants(o)).collect();
    let terms: usize = giants.iter().flatten().map(|g| g.terms.len()).sum();
    assert_eq!(counts.plaintexts, terms as u64);
    let rotations = giants.iter().flatten().filter(|g| g.step != 0).count();
    assert_eq!(counts.giant_rotations, rotations as u64);
    let inner: usize = giants.iter().map(Vec::len).sum();
    assert_eq!(counts.inner_sums, inner as u64);
    let most = giants.iter().map(Vec::len).max().unwrap();
    assert_eq!(counts.most_giants, most as u64);
    let mut steps: Vec<i64> = giants.iter().flatten().map(|g| g.step as i64).collect();
    steps.extend(
        giants
            .iter()
            .flatten()
            .flat_map(|g| &g.terms)
            .map(|t| t.baby as i64),
    );
    steps.retain(|&s| s != 0);
    steps.sort_unstable();
    steps.dedup();
    assert_eq!(plan.rotation_steps(), steps);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn diagonal_plans_are_right(
        d_in in width(),
        d_out in 1usize..=300,
        turned in any::<bool>(),
        folding in folding(),
        n1 in proptest::option::of(1usize..80),
        batch in 1usize..=3,
        seed in 0u64..1 << 32,
    ) {
        let shape = if turned { (d_out, d_in) } else { (d_in, d_out) };
        let plan = plan_with(PlanKind::Diagonal, shape, batch, folding, n1);
        counts_are_exact(&plan);
        run(plan, batch, seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Not only the cheapest plan: every family's best.
    #[test]
    fn all_candidates_are_right(
        d_in in width(),
        d_out in 1usize..=300,
        batch in 1usize..=2,
        seed in 0u64..1 << 32,
    ) {
        let shape = LayerShape::new(d_in, d_out).unwrap();
        let options = PlanOptions::default();
        let all = candidates(PlanKind::Diagonal, shape, 2048, batch, &options).unwrap();
        prop_assert!(all.windows(2).all(|w| w[0].total_ns <= w[1].total_ns));
        for candidate in all {
            counts_are_exact(&candidate.plan);
            run(candidate.plan, batch, seed);
        }
    }

    #[test]
    fn square_plans_are_right(
        d_in in 1usize..=300,
        d_out in 1usize..=300,
        n1 in proptest::option::of(1usize..80),
        batch in 1usize..=2,
        seed in 0u64..1 << 32,
    ) {
        let plan = plan_with(PlanKind::DiagonalSquare, (d_in, d_out), batch, None, n1);
        counts_are_exact(&plan);
        run(plan, batch, seed);
    }
}
