//! The choice of an interleave and of the plan that is spread.

use super::{SlotKind, SlotProgram};
use crate::error::LinearError;
use crate::plan::{Plan, PlanKind};
use crate::planner::{PlanOptions, plan};
use crate::shape::{Folding, LayerShape};

/// The most slots a ciphertext may have.
pub const MAX_SLOTS: usize = 1 << 20;
/// The most pairs of an input and an output ciphertext that a program may have, before the planner
/// cuts the ends of widths.
pub const MAX_PIECES: usize = 1 << 16;

impl SlotProgram {
    /// The program with the least predicted cost of a whole batch, for ciphertexts of `slots`
    /// slots. Tries every power of two up to `batch`, rounded up, as interleave, except those that
    /// cut the layer into more than [`MAX_PIECES`]; of equal costs the smaller interleave wins.
    ///
    /// [`PlanKind::DiagonalSquare`] takes the largest of them whose virtual slots hold the whole
    /// square, or 1.
    ///
    /// # Errors
    /// [`LinearError::EmptyBatch`]; [`LinearError::Slots`] for slots that are no power of two in
    /// 1..=[`MAX_SLOTS`]; [`LinearError::ComplexFolding`] for real slots with another folding than
    /// [`Folding::None`] asked for; [`LinearError::Pieces`] for a layer too large for the slots.
    pub fn choose(
        kind: PlanKind,
        shape: LayerShape,
        slots: usize,
        slot_kind: SlotKind,
        batch: usize,
        options: &PlanOptions,
    ) -> Result<Self, LinearError> {
        let planner = Planner::new(kind, shape, slots, slot_kind, batch, options)?;
        let largest = batch.min(slots).next_power_of_two();
        match kind {
            PlanKind::DiagonalSquare => {
                let side = shape.d_in().max(shape.d_out()).next_power_of_two();
                planner.program(largest.min((slots / side).max(1)))
            }
            PlanKind::Diagonal => planner.cheapest(largest),
        }
    }

    /// The cheapest program with an interleave fixed by hand: a power of two up to `slots`.
    ///
    /// # Errors
    /// As [`choose`](Self::choose); [`LinearError::Interleave`].
    pub fn with_interleave(
        kind: PlanKind,
        shape: LayerShape,
        slots: usize,
        slot_kind: SlotKind,
        batch: usize,
        interleave: usize,
        options: &PlanOptions,
    ) -> Result<Self, LinearError> {
        let planner = Planner::new(kind, shape, slots, slot_kind, batch, options)?;
        if !interleave.is_power_of_two() || interleave > slots {
            return Err(LinearError::Interleave { interleave, slots });
        }
        planner.program(interleave)
    }
}

/// What a program is chosen from.
struct Planner {
    kind: PlanKind,
    shape: LayerShape,
    slots: usize,
    slot_kind: SlotKind,
    batch: usize,
    options: PlanOptions,
}

impl Planner {
    fn new(
        kind: PlanKind,
        shape: LayerShape,
        slots: usize,
        slot_kind: SlotKind,
        batch: usize,
        options: &PlanOptions,
    ) -> Result<Self, LinearError> {
        if batch == 0 {
            return Err(LinearError::EmptyBatch);
        }
        if !slots.is_power_of_two() || slots > MAX_SLOTS {
            return Err(LinearError::Slots { slots });
        }
        let mut options = *options;
        if slot_kind == SlotKind::Real {
            match options.folding.replace(Folding::None) {
                None | Some(Folding::None) => {}
                Some(folding) => {
                    let folding = folding.describe();
                    return Err(LinearError::ComplexFolding { folding });
                }
            }
        }
        Ok(Self {
            kind,
            shape,
            slots,
            slot_kind,
            batch,
            options,
        })
    }

    /// The program with the given interleave.
    fn program(&self, interleave: usize) -> Result<SlotProgram, LinearError> {
        let plan = self.plan(interleave)?;
        Ok(SlotProgram::spread(plan, interleave, self.slot_kind))
    }

    /// The cheapest program with an interleave of up to `largest`.
    fn cheapest(&self, largest: usize) -> Result<SlotProgram, LinearError> {
        let mut interleave = 1;
        let mut plan = self.plan(interleave)?;
        let mut least = self.cost(&plan, interleave);
        let others = (1..=largest.ilog2()).map(|log| 1 << log);
        for other in others.filter(|&other| self.pieces(other) <= MAX_PIECES) {
            let candidate = self.plan(other)?;
            let cost = self.cost(&candidate, other);
            if cost.total_cmp(&least).is_lt() {
                (interleave, plan, least) = (other, candidate, cost);
            }
        }
        Ok(SlotProgram::spread(plan, interleave, self.slot_kind))
    }

    fn plan(&self, interleave: usize) -> Result<Plan, LinearError> {
        let virtual_slots = self.slots / interleave;
        let pieces = self.pieces(interleave);
        if pieces > MAX_PIECES {
            return Err(LinearError::Pieces {
                d_in: self.shape.d_in(),
                d_out: self.shape.d_out(),
                slots: virtual_slots,
                pieces,
            });
        }
        let groups = self.batch.div_ceil(interleave);
        plan(self.kind, self.shape, virtual_slots, groups, &self.options)
    }

    /// Pairs of an input and an output, at least. Widths are bounded, so this does not overflow.
    fn pieces(&self, interleave: usize) -> usize {
        let virtual_slots = self.slots / interleave;
        self.shape.d_in().div_ceil(virtual_slots) * self.shape.d_out().div_ceil(virtual_slots)
    }

    /// Predicted nanoseconds for the batch. A plan's cost is proportional to its slots, and the
    /// library works on all n.
    fn cost(&self, plan: &Plan, interleave: usize) -> f64 {
        let groups = self.batch.div_ceil(interleave);
        self.options.cost.total_ns(plan, groups) * interleave as f64
    }
}
