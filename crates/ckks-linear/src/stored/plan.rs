//! Plans as bytes, and the rules that a plan must keep to be used.

use super::cursor::Cursor;
use super::error::StoredError;
use crate::layout::{InputLayout, InputPiece, OutputLayout, OutputPiece};
use crate::plan::{Plan, PlanKind};
use crate::shape::{Folding, LayerShape};
use std::ops::Range;

/// Pieces beyond the fewest that a width needs: no plan has more.
const MOST_EXTRA_PIECES: usize = 4;

const KINDS: [PlanKind; 2] = [PlanKind::Diagonal, PlanKind::DiagonalSquare];
const FOLDINGS: [Folding; 4] = [
    Folding::Input,
    Folding::Output,
    Folding::Pair,
    Folding::None,
];
const PERIODIC: u32 = 0;
const GUARD: u32 = 1;

pub(super) fn encode(plan: &Plan, out: &mut Vec<u8>) {
    let code = |at: Option<usize>| at.map_or(u32::MAX, |at| at as u32);
    let mut put = |value: u32| out.extend_from_slice(&value.to_le_bytes());
    put(code(KINDS.iter().position(|kind| *kind == plan.kind)));
    put(code(FOLDINGS.iter().position(|f| *f == plan.folding)));
    for size in [
        plan.slots,
        plan.shape.d_in(),
        plan.shape.d_out(),
        plan.baby_steps,
        plan.inputs.len(),
        plan.outputs.len(),
    ] {
        put(size as u32);
    }
    for input in &plan.inputs {
        put(input.rows.len() as u32);
        let fields = match input.layout {
            InputLayout::Periodic { period } => [PERIODIC, period as u32],
            InputLayout::Guard { run } => [GUARD, run as u32],
        };
        fields.into_iter().for_each(&mut put);
    }
    for output in &plan.outputs {
        put(output.columns.len() as u32);
        let fields = match output.layout {
            OutputLayout::Periodic {
                width,
                copies,
                base,
            } => [PERIODIC, width as u32, copies as u32, base as u32],
            OutputLayout::Guard { copies, stride } => [GUARD, copies as u32, stride as u32, 0],
        };
        fields.into_iter().for_each(&mut put);
    }
}

/// Reads a plan for ciphertexts of `slots` slots.
pub(super) fn decode(fields: &mut Cursor<'_>, slots: usize) -> Result<Plan, StoredError> {
    let kind = one_of(&KINDS, "kind of plan", fields.u32("kind of plan")?)?;
    let folding = one_of(&FOLDINGS, "folding", fields.u32("folding")?)?;
    let found = fields.size("slots")?;
    require(found == slots, "slots", found, "the parameters have others")?;
    let (d_in, d_out) = (fields.size("input width")?, fields.size("output width")?);
    let shape = LayerShape::new(d_in, d_out)?;
    let baby_steps = fields.size("baby steps")?;
    let (rows, columns) = (folding.rows(shape), folding.columns(shape));
    let inputs = piece_count(fields, "number of inputs", rows, slots)?;
    let outputs = piece_count(fields, "number of outputs", columns, slots)?;
    let mut pieces = Pieces::default();
    let inputs = (0..inputs)
        .map(|_| input(fields, &mut pieces, slots))
        .collect::<Result<Vec<_>, _>>()?;
    pieces.check("rows of the inputs", rows)?;
    let mut pieces = Pieces::default();
    let outputs = (0..outputs)
        .map(|_| output(fields, &mut pieces, slots))
        .collect::<Result<Vec<_>, _>>()?;
    pieces.check("columns of the outputs", columns)?;
    let mut longest = 0;
    for output in &outputs {
        for input in &inputs {
            check_pair(input, output)?;
            longest = longest.max(output.steps(input).run);
        }
    }
    require(
        (1..=longest).contains(&baby_steps),
        "number of baby steps",
        baby_steps,
        "it must be from 1 to the steps of a run",
    )?;
    Ok(Plan {
        kind,
        shape,
        slots,
        folding,
        inputs,
        outputs,
        baby_steps,
    })
}

fn input(
    fields: &mut Cursor<'_>,
    pieces: &mut Pieces,
    slots: usize,
) -> Result<InputPiece, StoredError> {
    let rows = pieces.next("rows of an input", fields.size("rows of an input")?, slots)?;
    let layout = fields.u32("layout of an input")?;
    let size = fields.size("layout of an input")?;
    let layout = match layout {
        PERIODIC => {
            let fits = size.is_power_of_two() && (rows.len()..=slots).contains(&size);
            require(
                fits,
                "period",
                size,
                "it must be a power of two that holds the rows",
            )?;
            InputLayout::Periodic { period: size }
        }
        GUARD => {
            let fits = (1..=rows.len()).contains(&size);
            require(fits, "run", size, "it must be from 1 to the rows")?;
            InputLayout::Guard { run: size }
        }
        other => return Err(unknown("layout of an input", other)),
    };
    Ok(InputPiece { rows, layout })
}

fn output(
    fields: &mut Cursor<'_>,
    pieces: &mut Pieces,
    slots: usize,
) -> Result<OutputPiece, StoredError> {
    const FIELD: &str = "layout of an output";
    let columns = pieces.next("columns of an output", fields.size(FIELD)?, slots)?;
    let layout = fields.u32(FIELD)?;
    let (one, two, three) = (
        fields.size(FIELD)?,
        fields.size(FIELD)?,
        fields.size(FIELD)?,
    );
    let layout = match layout {
        PERIODIC => {
            let (width, copies, base) = (one, two, three);
            let fits = width.is_power_of_two() && (columns.len()..=slots).contains(&width);
            require(
                fits,
                "width",
                width,
                "it must be a power of two that holds the columns",
            )?;
            let fits = copies == 1 || copies == slots / width;
            require(
                fits,
                "copies",
                copies,
                "they must be one, or fill the slots",
            )?;
            let fits = base.is_power_of_two() && (copies..=slots).contains(&base);
            require(
                fits,
                "base",
                base,
                "it must be a power of two from the copies to the slots",
            )?;
            OutputLayout::Periodic {
                width,
                copies,
                base,
            }
        }
        GUARD => {
            let (copies, stride) = (one, two);
            let fits = copies >= 1 && copies.checked_mul(stride).is_some_and(|all| all <= slots);
            require(fits, "copies", copies, "they must fit the slots")?;
            let fits = stride >= columns.len();
            require(fits, "stride", stride, "it must hold the columns")?;
            require(three == 0, FIELD, three, "zero is expected")?;
            OutputLayout::Guard { copies, stride }
        }
        other => return Err(unknown(FIELD, other)),
    };
    Ok(OutputPiece { columns, layout })
}

/// Checks what the layouts of an input and an output need of each other: each column meets each
/// row once.
fn check_pair(input: &InputPiece, output: &OutputPiece) -> Result<(), StoredError> {
    match (input.layout, output.layout) {
        (InputLayout::Periodic { period }, OutputLayout::Periodic { copies, base, .. }) => {
            // With one copy nothing is rolled, and a base above the period only repeats rows.
            let fits = copies > 1 || base <= period;
            require(
                fits,
                "base",
                base,
                "it must not exceed the period of an input",
            )
        }
        (InputLayout::Guard { run }, OutputLayout::Guard { copies, stride }) => {
            let fits = run == input.rows.len().div_ceil(copies);
            require(fits, "run", run, "the copies must share the rows")?;
            let fits = stride + 1 >= output.columns.len() + run;
            require(
                fits,
                "stride",
                stride,
                "it must hold the columns and the guard",
            )
        }
        (InputLayout::Periodic { .. }, OutputLayout::Guard { .. })
        | (InputLayout::Guard { .. }, OutputLayout::Periodic { .. }) => {
            Err(unknown("layout of an output", GUARD))
        }
    }
}

/// Consecutive pieces of a width.
#[derive(Default)]
struct Pieces {
    end: usize,
}

impl Pieces {
    fn next(
        &mut self,
        field: &'static str,
        count: usize,
        slots: usize,
    ) -> Result<Range<usize>, StoredError> {
        let fits = (1..=slots).contains(&count);
        require(fits, field, count, "it must be from 1 to the slots")?;
        let start = self.end;
        self.end += count;
        Ok(start..self.end)
    }

    fn check(&self, field: &'static str, width: usize) -> Result<(), StoredError> {
        require(
            self.end == width,
            field,
            self.end,
            "they must be those of the shape",
        )
    }
}

fn piece_count(
    fields: &mut Cursor<'_>,
    field: &'static str,
    width: usize,
    slots: usize,
) -> Result<usize, StoredError> {
    let count = fields.size(field)?;
    let most = width.div_ceil(slots) + MOST_EXTRA_PIECES;
    require(
        (1..=most).contains(&count),
        field,
        count,
        "it must be about as many as the width fills",
    )?;
    Ok(count)
}

fn one_of<T: Copy>(values: &[T], field: &'static str, code: u32) -> Result<T, StoredError> {
    let value = values.get(code as usize);
    value.copied().ok_or_else(|| unknown(field, code))
}

fn unknown(field: &'static str, found: u32) -> StoredError {
    StoredError::Field {
        field,
        found: found.into(),
        expected: "this version has no such one here",
    }
}

fn require(
    fits: bool,
    field: &'static str,
    found: usize,
    expected: &'static str,
) -> Result<(), StoredError> {
    if fits {
        Ok(())
    } else {
        Err(StoredError::Field {
            field,
            found: found as u64,
            expected,
        })
    }
}
