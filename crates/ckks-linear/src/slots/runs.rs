//! Diagonals as runs of entries that follow one another in both rows and columns.

use crate::layout::{InputLayout, InputPiece, OutputLayout, OutputPiece, roll};

/// Slots from `slot` on that hold the columns from `column` on, `len` of each.
#[derive(Clone, Copy)]
struct ColumnRun {
    slot: usize,
    column: usize,
    len: usize,
}

/// The slots of an output that hold columns, cut where the columns wrap.
fn for_each_column_run(output: &OutputPiece, mut visit: impl FnMut(ColumnRun)) {
    let count = output.columns.len();
    let mut clipped = |slot: usize, column: usize, len: usize| {
        let len = len.min(count.saturating_sub(column));
        if len > 0 {
            visit(ColumnRun { slot, column, len });
        }
    };
    match output.layout {
        OutputLayout::Periodic {
            width,
            copies,
            base,
        } => {
            for copy in 0..copies {
                let rolled = roll(width, copies, base, copy) & (width - 1);
                clipped(copy * width, width - rolled, rolled);
                clipped(copy * width + rolled, 0, width - rolled);
            }
        }
        OutputLayout::Guard { copies, stride } => {
            for copy in 0..copies {
                clipped(copy * stride, 0, count);
            }
        }
    }
}

/// The entries of the diagonal that one output and one input meet at a rotation step of the
/// output's step set, as `(slot, column, row, length)`: slot + i holds the entry of row + i and
/// column + i, for i below length. Rows and columns are relative to their pieces. What no run
/// covers is zero.
pub(super) fn for_each_diagonal_run(
    output: &OutputPiece,
    input: &InputPiece,
    step: usize,
    mut visit: impl FnMut(usize, usize, usize, usize),
) {
    let count = input.rows.len();
    for_each_column_run(output, |run| {
        // Along a run the first row grows by one with each slot, and the diagonal stays.
        let Some(first) = output.slot(input, run.slot) else {
            return;
        };
        let period = match input.layout {
            InputLayout::Periodic { period } => period,
            // The last copy's diagonals may end before its run of steps does.
            InputLayout::Guard { .. } if first.first_diagonal + step >= count => return,
            InputLayout::Guard { .. } => count,
        };
        let mut row = (first.first_row + step) % period;
        let mut offset = 0;
        while offset < run.len {
            let until_wrap = (run.len - offset).min(period - row);
            let inside = until_wrap.min(count.saturating_sub(row));
            if inside > 0 {
                visit(run.slot + offset, run.column + offset, row, inside);
            }
            offset += until_wrap;
            row = 0;
        }
    });
}
