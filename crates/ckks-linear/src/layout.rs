//! Where the rows and columns of a complex matrix M live in the slots of ciphertexts.
//!
//! `out[p] = Σ_s P_s[p]·in[p + s]` over a set of rotation steps s: whatever row j sits at slot
//! `p + s` of the input and whatever column k sits at slot p of the output, entry `M_jk` goes to
//! slot p of plaintext `P_s`. A layout is right when, for each column, every row is met exactly
//! once over all its slots and all steps.
//!
//! **Periodic.** Rows fill a power-of-two period m (a divisor of n, zero-padded) that repeats:
//! `in[p] = z[p mod m]`. Columns fill a power-of-two width w with c = n/w copies; copy t holds
//! column `(u - h_t) mod w` at slot `t·w + u`. Column k then meets rows
//! `k + (t·w + h_t + s) mod m` (the wrap inside a copy only permutes copies). With a base B ≥ n/w,
//! run R = B·w/n and `h_t = R·⌊t·w/B⌋` (w < B) or `R·t` (w ≥ B), the offsets `t·w + h_t` are all
//! multiples of R modulo B, so the steps `0..R` meet every residue modulo B once, and the steps
//! `qB + 0..R`, `0 ≤ q < m/B`, every row of a larger period m once. One choice of copies thus
//! serves inputs of several periods, and one input serves outputs of several widths. A period
//! m < B meets its rows B/m times; only the meeting at `(p - k) mod B < m` counts.
//!
//! **Guard.** c copies of stride S; copy t of an input lays rows `t·R .. t·R + S` (modulo the row
//! count m) and works on diagonals `t·R .. (t+1)·R`; column k sits at slot `t·S + k`. Right for
//! any m and any w with `S ≥ w + R - 1`, `c·S ≤ n`, `c·R ≥ m`.

use std::ops::Range;

/// Where the rows of one input ciphertext live.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputLayout {
    /// `in[p] = z[p mod period]`.
    Periodic {
        /// Power of two, divides n, at least the number of rows.
        period: usize,
    },
    /// Copies with a guard.
    Guard {
        /// Diagonals that each copy works on, R.
        run: usize,
    },
}

/// Where the columns of one output ciphertext live.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputLayout {
    /// Columns rolled by a different amount in each copy.
    Periodic {
        /// Power of two, divides n, at least the number of columns.
        width: usize,
        /// Copies in use: n/width, or 1.
        copies: usize,
        /// Base period B.
        base: usize,
    },
    /// Copies with a guard.
    Guard {
        /// Copies c.
        copies: usize,
        /// Distance S between copies, in slots.
        stride: usize,
    },
}

/// Rows of the complex matrix in one input ciphertext.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputPiece {
    /// Rows of the complex matrix.
    pub rows: Range<usize>,
    /// Their place.
    pub layout: InputLayout,
}

/// Columns of the complex matrix in one output ciphertext.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputPiece {
    /// Columns of the complex matrix.
    pub columns: Range<usize>,
    /// Their place.
    pub layout: OutputLayout,
}

impl InputPiece {
    /// The row (relative to the piece) whose value slot `p` holds, if any. `output` tells the
    /// stride of guard layouts.
    #[inline]
    pub fn row_at(&self, output: &OutputPiece, p: usize) -> Option<usize> {
        let count = self.rows.len();
        match (self.layout, output.layout) {
            (InputLayout::Periodic { period }, _) => {
                let row = p & (period - 1);
                (row < count).then_some(row)
            }
            (InputLayout::Guard { run }, OutputLayout::Guard { copies, stride }) => {
                let (copy, u) = (p / stride, p % stride);
                (copy < copies).then(|| (copy * run + u) % count)
            }
            (InputLayout::Guard { .. }, OutputLayout::Periodic { .. }) => None,
        }
    }
}

/// What one output slot computes: the column it holds and where its rows start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotColumn {
    /// Column relative to the piece, below its column count.
    pub column: usize,
    /// Row (relative to the input piece, modulo its period) met at step 0.
    pub first_row: usize,
    /// Diagonal met at step 0: distance from the column to the first row, modulo the layout's
    /// base (periodic) or as it is (guard).
    pub first_diagonal: usize,
}

impl OutputPiece {
    /// The column (relative to the piece) that slot `p` holds, if any.
    #[inline]
    pub fn column_at(&self, p: usize) -> Option<usize> {
        let column = match self.layout {
            OutputLayout::Periodic {
                width,
                copies,
                base,
            } => {
                let (copy, u) = (p / width, p & (width - 1));
                if copy >= copies {
                    return None;
                }
                let roll = roll(width, copies, base, copy);
                u.wrapping_sub(roll) & (width - 1)
            }
            OutputLayout::Guard { copies, stride } => {
                if p / stride >= copies {
                    return None;
                }
                p % stride
            }
        };
        (column < self.columns.len()).then_some(column)
    }

    /// What slot `p` computes from one input, or `None` when it holds no column or meets no row of
    /// that input.
    #[inline]
    pub fn slot(&self, input: &InputPiece, p: usize) -> Option<SlotColumn> {
        let column = self.column_at(p)?;
        match (self.layout, input.layout) {
            (OutputLayout::Periodic { base, .. }, InputLayout::Periodic { period }) => {
                let first_diagonal = p.wrapping_sub(column) & (base - 1);
                // A period below the base is met several times; the first meeting counts.
                let counts = period >= base || first_diagonal < period;
                counts.then_some(SlotColumn {
                    column,
                    first_row: p & (period - 1),
                    first_diagonal,
                })
            }
            (OutputLayout::Guard { stride, .. }, InputLayout::Guard { run }) => {
                let first_diagonal = p / stride * run;
                let count = input.rows.len();
                let first_row = (first_diagonal + column) % count;
                (first_diagonal < count).then_some(SlotColumn {
                    column,
                    first_row,
                    first_diagonal,
                })
            }
            _ => None,
        }
    }

    /// The rotation steps that meet all rows of one input.
    pub fn steps(&self, input: &InputPiece) -> StepSet {
        match (self.layout, input.layout) {
            (OutputLayout::Periodic { copies, base, .. }, InputLayout::Periodic { period }) => {
                StepSet {
                    stride: base,
                    groups: (period / base).max(1),
                    run: base / copies,
                }
            }
            (_, InputLayout::Guard { run }) => StepSet {
                stride: run,
                groups: 1,
                run,
            },
            (OutputLayout::Guard { .. }, InputLayout::Periodic { .. }) => StepSet {
                stride: 1,
                groups: 0,
                run: 0,
            },
        }
    }
}

/// The rotation steps `g·stride + s`, `g < groups`, `s < run`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepSet {
    /// Distance between groups.
    pub stride: usize,
    /// Number of groups.
    pub groups: usize,
    /// Contiguous steps in each group.
    pub run: usize,
}

impl StepSet {
    /// Number of steps.
    pub fn len(&self) -> usize {
        self.groups * self.run
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How far copy `t` of a periodic output is rolled, h_t.
#[inline]
pub(crate) fn roll(width: usize, copies: usize, base: usize, copy: usize) -> usize {
    if copies == 1 {
        return 0;
    }
    let run = base / copies;
    if width >= base {
        run * copy
    } else {
        run * (copy * width / base)
    }
}

/// The rows of `input` that a slot meets at the steps `from..from + run`, as contiguous pieces
/// `(offset in the run, first row, length)`: cut where they wrap and without rows that do not
/// exist.
#[inline]
pub(crate) fn for_each_row_run(
    input: &InputPiece,
    slot: SlotColumn,
    from: usize,
    run: usize,
    mut visit: impl FnMut(usize, usize, usize),
) {
    let count = input.rows.len();
    let (period, run) = match input.layout {
        InputLayout::Periodic { period } => (period, run),
        // The last copy's diagonals may end before its run does.
        InputLayout::Guard { .. } => (
            count,
            run.min(count.saturating_sub(slot.first_diagonal + from)),
        ),
    };
    let mut at = (slot.first_row + from) % period;
    let mut offset = 0;
    while offset < run {
        let until_wrap = (run - offset).min(period - at);
        let inside = until_wrap.min(count.saturating_sub(at));
        if inside > 0 {
            visit(offset, at, inside);
        }
        offset += until_wrap;
        at = 0;
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{Plan, PlanKind};
    use crate::planner::{PlanOptions, candidates};
    use crate::shape::LayerShape;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// How often each (row, column) is met, and by which slots, straight from the definition:
    /// every step of every giant and baby, every slot.
    fn check_coverage(plan: &Plan) {
        let slots = plan.slots();
        let rows = plan.folding().rows(plan.shape());
        let columns = plan.folding().columns(plan.shape());
        let mut met: HashMap<(usize, usize), usize> = HashMap::new();
        for (o, output) in plan.outputs().iter().enumerate() {
            for giant in plan.giants(o) {
                for term in giant.terms {
                    let input = &plan.inputs()[term.input];
                    let step = giant.step + term.baby;
                    for p in 0..slots {
                        let Some(slot) = output.slot(input, p) else {
                            continue;
                        };
                        super::for_each_row_run(input, slot, step, 1, |_, row, _| {
                            // The value must really be there after the rotation.
                            assert_eq!(input.row_at(output, (p + step) % slots), Some(row));
                            assert_eq!(output.column_at(p), Some(slot.column));
                            let key = (input.rows.start + row, output.columns.start + slot.column);
                            *met.entry(key).or_default() += 1;
                        });
                    }
                }
            }
        }
        assert!(
            met.values().all(|&times| times == 1),
            "an entry is met twice"
        );
        assert_eq!(met.len(), rows * columns, "an entry is not met");
    }

    fn check_all(d_in: usize, d_out: usize, slots: usize, batch: usize, n1: Option<usize>) {
        let shape = LayerShape::new(d_in, d_out).unwrap();
        let options = PlanOptions {
            baby_steps: n1,
            ..PlanOptions::default()
        };
        for kind in [PlanKind::Diagonal, PlanKind::DiagonalSquare] {
            for candidate in candidates(kind, shape, slots, batch, &options).unwrap() {
                check_coverage(&candidate.plan);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn every_entry_is_met_exactly_once(
            d_in in 1usize..150,
            d_out in 1usize..150,
            log_slots in 3u32..7,
            batch in 1usize..3,
            n1 in proptest::option::of(1usize..40),
        ) {
            check_all(d_in, d_out, 1 << log_slots, batch, n1);
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
        ] {
            check_all(d_in, d_out, 32, 2, None);
            check_all(d_in, d_out, 64, 1, None);
        }
        check_all(192, 784, 512, 1, None);
    }
}
