//! Finds the cheapest plan of a shape.

use crate::cost::CostModel;
use crate::error::LinearError;
use crate::layout::{InputLayout, InputPiece, OutputLayout, OutputPiece};
use crate::plan::{Plan, PlanKind};
use crate::shape::{Folding, LayerShape};
use std::ops::Range;

/// What may be chosen by hand; `None` leaves it to the cost model.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PlanOptions {
    /// Baby steps per giant step, n1. Rounded down to what the layout allows.
    pub baby_steps: Option<usize>,
    /// Folding.
    pub folding: Option<Folding>,
    /// Costs to minimise.
    pub cost: CostModel,
}

/// A plan that was considered, with its predicted cost.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// The plan.
    pub plan: Plan,
    /// Predicted nanoseconds of evaluation and transfer, one thread.
    pub total_ns: f64,
}

/// The most pieces that the tail of a width is split into.
const MAX_SPLIT: usize = 3;

/// Plans of a kind for ciphertexts of `slots` slots and a batch, cheapest first: the best of each
/// folding and layout family. Never empty.
///
/// # Errors
/// [`LinearError::EmptyBatch`].
pub fn candidates(
    kind: PlanKind,
    shape: LayerShape,
    slots: usize,
    batch: usize,
    options: &PlanOptions,
) -> Result<Vec<Candidate>, LinearError> {
    if batch == 0 {
        return Err(LinearError::EmptyBatch);
    }
    let mut found: Vec<Candidate> = Vec::new();
    let mut offer = |plans: Vec<Plan>| {
        let best = plans
            .into_iter()
            .map(|plan| Candidate {
                total_ns: options.cost.total_ns(&plan, batch),
                plan,
            })
            .min_by(|a, b| a.total_ns.total_cmp(&b.total_ns));
        found.extend(best);
    };
    match kind {
        PlanKind::DiagonalSquare => offer(square_plans(shape, slots, options)),
        PlanKind::Diagonal => {
            let mut foldings = vec![Folding::Input, Folding::Output];
            if batch > 1 {
                foldings.push(Folding::Pair);
            }
            if let Some(folding) = options.folding {
                foldings = vec![folding];
            }
            for folding in foldings {
                offer(periodic_plans(shape, slots, folding, options));
                offer(guard_plans(shape, slots, folding, options));
            }
        }
    }
    found.sort_by(|a, b| a.total_ns.total_cmp(&b.total_ns));
    Ok(found)
}

/// The cheapest plan.
///
/// # Errors
/// [`LinearError::EmptyBatch`].
pub fn plan(
    kind: PlanKind,
    shape: LayerShape,
    slots: usize,
    batch: usize,
    options: &PlanOptions,
) -> Result<Plan, LinearError> {
    let mut all = candidates(kind, shape, slots, batch, options)?;
    if all.is_empty() {
        // Only a folding that needs a larger batch can leave nothing.
        let relaxed = PlanOptions {
            folding: None,
            ..*options
        };
        all = candidates(kind, shape, slots, batch, &relaxed)?;
    }
    Ok(all.swap_remove(0).plan)
}

/// Ways to cut `width` into pieces of at most `slots`: full ones first, then the tail padded to a
/// power of two, or cut at its leading bits.
fn splits(width: usize, slots: usize) -> Vec<Vec<Range<usize>>> {
    let full = width / slots;
    let mut head: Vec<Range<usize>> = (0..full).map(|i| i * slots..(i + 1) * slots).collect();
    let tail = width % slots;
    if tail == 0 {
        return vec![head];
    }
    let mut out = Vec::new();
    let mut start = full * slots;
    for _ in 0..MAX_SPLIT {
        let rest = width - start;
        let mut pieces = head.clone();
        pieces.push(start..width);
        out.push(pieces);
        if rest.is_power_of_two() {
            break;
        }
        let leading = 1 << rest.ilog2();
        head.push(start..start + leading);
        start += leading;
    }
    out
}

/// Baby step counts worth trying for runs of up to `longest` steps.
fn baby_choices(longest: usize, options: &PlanOptions, powers_only: bool) -> Vec<usize> {
    let fit = |n1: usize| {
        let n1 = n1.clamp(1, longest.max(1));
        if powers_only { 1 << n1.ilog2() } else { n1 }
    };
    if let Some(n1) = options.baby_steps {
        return vec![fit(n1)];
    }
    let mut choices: Vec<usize> = (0..=longest.max(1).ilog2()).map(|b| 1 << b).collect();
    if !powers_only {
        let root = (longest as f64).sqrt() as usize;
        choices.extend((root / 2).max(1)..=(root * 3).min(longest.max(1)));
    }
    choices.sort_unstable();
    choices.dedup();
    choices
}

/// The plan at each number of baby steps.
fn with_baby_steps(plan: Plan, choices: Vec<usize>) -> impl Iterator<Item = Plan> {
    choices.into_iter().map(move |baby_steps| Plan {
        baby_steps,
        ..plan.clone()
    })
}

fn periodic_plans(
    shape: LayerShape,
    slots: usize,
    folding: Folding,
    options: &PlanOptions,
) -> Vec<Plan> {
    let mut plans = Vec::new();
    for rows in splits(folding.rows(shape), slots) {
        let inputs: Vec<InputPiece> = rows
            .into_iter()
            .map(|rows| {
                let period = rows.len().next_power_of_two();
                InputPiece {
                    rows,
                    layout: InputLayout::Periodic { period },
                }
            })
            .collect();
        let smallest = inputs.iter().map(period).min().unwrap_or(1);
        for columns in splits(folding.columns(shape), slots) {
            let outputs: Vec<OutputPiece> = columns
                .into_iter()
                .map(|columns| {
                    let width = columns.len().next_power_of_two();
                    let copies = slots / width;
                    let base = smallest.max(copies);
                    OutputPiece {
                        columns,
                        layout: OutputLayout::Periodic {
                            width,
                            copies,
                            base,
                        },
                    }
                })
                .collect();
            let longest = longest_run(&inputs, &outputs);
            let plan = Plan {
                kind: PlanKind::Diagonal,
                shape,
                slots,
                folding,
                inputs: inputs.clone(),
                outputs,
                baby_steps: 1,
            };
            plans.extend(with_baby_steps(plan, baby_choices(longest, options, true)));
        }
    }
    plans
}

fn period(input: &InputPiece) -> usize {
    match input.layout {
        InputLayout::Periodic { period } => period,
        InputLayout::Guard { run } => run,
    }
}

fn longest_run(inputs: &[InputPiece], outputs: &[OutputPiece]) -> usize {
    let runs = inputs
        .iter()
        .flat_map(|i| outputs.iter().map(move |o| o.steps(i).run));
    runs.max().unwrap_or(1)
}

/// Rows in equal pieces under one choice of guarded copies; only for columns that fit one output.
fn guard_plans(
    shape: LayerShape,
    slots: usize,
    folding: Folding,
    options: &PlanOptions,
) -> Vec<Plan> {
    let (rows, columns) = (folding.rows(shape), folding.columns(shape));
    let mut plans = Vec::new();
    if columns >= slots {
        return plans;
    }
    let fewest = rows.div_ceil(slots);
    for pieces in fewest..fewest + 4 {
        let each = rows.div_ceil(pieces);
        let pieces = rows.div_ceil(each);
        for copies in 1..=slots / columns {
            let run = each.div_ceil(copies);
            let stride = columns + run - 1;
            if copies * stride > slots {
                continue;
            }
            let inputs: Vec<InputPiece> = (0..pieces)
                .map(|i| {
                    let rows = i * each..rows.min((i + 1) * each);
                    let run = rows.len().div_ceil(copies);
                    InputPiece {
                        rows,
                        layout: InputLayout::Guard { run },
                    }
                })
                .collect();
            let outputs = vec![OutputPiece {
                columns: 0..columns,
                layout: OutputLayout::Guard { copies, stride },
            }];
            let plan = Plan {
                kind: PlanKind::Diagonal,
                shape,
                slots,
                folding,
                inputs,
                outputs,
                baby_steps: 1,
            };
            plans.extend(with_baby_steps(plan, baby_choices(run, options, false)));
            // More copies only shorten the run; fewer key switches come with the longest run that
            // is no longer than needed, so the first few that fit suffice.
            if copies > 64 {
                break;
            }
        }
    }
    plans
}

/// The zero-padded power-of-two square, tiled when it exceeds the slots.
fn square_plans(shape: LayerShape, slots: usize, options: &PlanOptions) -> Vec<Plan> {
    let side = shape.d_in().max(shape.d_out()).next_power_of_two();
    let tile = side.min(slots);
    let cut =
        |width: usize| (0..width.div_ceil(tile)).map(move |i| i * tile..width.min((i + 1) * tile));
    let inputs: Vec<InputPiece> = cut(shape.d_in())
        .map(|rows| InputPiece {
            rows,
            layout: InputLayout::Periodic { period: tile },
        })
        .collect();
    let outputs: Vec<OutputPiece> = cut(shape.d_out())
        .map(|columns| OutputPiece {
            columns,
            layout: OutputLayout::Periodic {
                width: tile,
                copies: 1,
                base: tile,
            },
        })
        .collect();
    let plan = Plan {
        kind: PlanKind::DiagonalSquare,
        shape,
        slots,
        folding: Folding::None,
        inputs,
        outputs,
        baby_steps: 1,
    };
    with_baby_steps(plan, baby_choices(tile, options, true)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(d_in: usize, d_out: usize, batch: usize) -> Plan {
        let shape = LayerShape::new(d_in, d_out).unwrap();
        plan(
            PlanKind::Diagonal,
            shape,
            2048,
            batch,
            &PlanOptions::default(),
        )
        .unwrap()
    }

    #[test]
    fn splits_cover_the_width_in_order() {
        for width in [1, 2, 3, 288, 576, 768, 2047, 2048, 2049, 5000, 262_144] {
            for pieces in splits(width, 2048) {
                assert_eq!(pieces[0].start, 0);
                assert_eq!(pieces.last().unwrap().end, width);
                assert!(pieces.windows(2).all(|w| w[0].end == w[1].start));
                assert!(pieces.iter().all(|p| !p.is_empty() && p.len() <= 2048));
            }
        }
        assert_eq!(
            splits(768, 2048),
            vec![vec![0..768], vec![0..512, 512..768]]
        );
    }

    #[test]
    fn power_of_two_shapes_are_dense() {
        // d_in·d_out/2 complex weights at 2,048 to a plaintext, nothing wasted.
        for (d_in, d_out) in [
            (512, 2048),
            (2048, 512),
            (2048, 1024),
            (2048, 2048),
            (4096, 2048),
            (2048, 4096),
        ] {
            let counts = best(d_in, d_out, 1).counts();
            assert_eq!(
                counts.plaintexts,
                (d_in * d_out / 4096) as u64,
                "{d_in}x{d_out}"
            );
        }
        assert_eq!(best(2048, 2048, 1).counts().key_switches(), 62);
    }

    #[test]
    fn small_shapes_need_one_plaintext_and_no_keys() {
        for (d_in, d_out) in [(5, 3), (1, 1), (1, 2048), (2048, 1), (7, 7), (64, 64)] {
            let plan = best(d_in, d_out, 1);
            assert_eq!(plan.counts().plaintexts, 1, "{d_in}x{d_out}");
            assert!(plan.rotation_steps().is_empty());
        }
    }

    #[test]
    fn a_vocabulary_projection_is_planned_without_building_it() {
        let counts = best(2048, 248_320, 1).counts();
        assert_eq!(counts.plaintexts, 124_160);
        // Folding two outputs into one slot halves the answers that folding inputs would need.
        assert!(best(2048, 248_320, 1).outputs().len() <= 62);
        let huge = best(262_144, 262_144, 1);
        assert_eq!(huge.counts().plaintexts, (262_144u64 * 262_144) / 4096);
    }

    #[test]
    fn hidden_sizes_that_are_no_powers_of_two() {
        // Ideal: d_in·d_out/4096 plaintexts (216, 216, 135); the key switches at most those of the
        // hand-made layouts.
        for (d_in, d_out, most) in [(576, 1536, 288), (1536, 576, 288), (576, 960, 192)] {
            let counts = best(d_in, d_out, 1).counts();
            assert!(counts.plaintexts <= most, "{d_in}x{d_out}: {counts:?}");
            assert!(counts.key_switches() <= 36, "{d_in}x{d_out}: {counts:?}");
        }
    }

    #[test]
    fn counts_agree_with_the_steps_built() {
        for (d_in, d_out) in [
            (576, 1536),
            (1536, 576),
            (2048, 2048),
            (100, 5000),
            (5000, 100),
        ] {
            let plan = best(d_in, d_out, 1);
            let counts = plan.counts();
            let giants: Vec<_> = (0..plan.outputs().len()).map(|o| plan.giants(o)).collect();
            let terms: usize = giants.iter().flatten().map(|g| g.terms.len()).sum();
            assert_eq!(counts.plaintexts, terms as u64);
            let rotations = giants.iter().flatten().filter(|g| g.step != 0).count();
            assert_eq!(counts.giant_rotations, rotations as u64);
        }
    }
}
