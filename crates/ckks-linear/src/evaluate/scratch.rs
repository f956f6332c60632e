//! Buffers that each thread keeps.

use ckks::Context;
use ckks::poly::AlignedResidues;
use std::cell::RefCell;

/// Buffers of one thread's key switches.
pub(super) struct SwitchScratch {
    pub(super) digits: AlignedResidues,
    pub(super) product: AlignedResidues,
    pub(super) limb: AlignedResidues,
}

thread_local! {
    /// Kept by each thread between key switches and evaluations: fresh pages cost more than the
    /// transforms. Holds public values only.
    static SCRATCH: RefCell<Option<SwitchScratch>> = const { RefCell::new(None) };
}

impl SwitchScratch {
    fn new(context: &Context) -> Self {
        Self {
            digits: context.buffer(context.qp_limbs() * context.q_limbs()),
            product: context.buffer(2 * context.qp_limbs()),
            limb: context.buffer(1),
        }
    }

    fn fits(&self, context: &Context) -> bool {
        self.limb.len() == context.degree()
            && self.digits.len() == context.decomposition_len()
            && self.product.len() == 2 * context.qp_limbs() * context.degree()
    }

    /// Runs `work` with this thread's buffers. `work` must not wait for other tasks, which could
    /// ask for the same buffers.
    pub(super) fn with<T>(context: &Context, work: impl FnOnce(&mut Self) -> T) -> T {
        SCRATCH.with_borrow_mut(|slot| {
            let scratch = slot.take().filter(|scratch| scratch.fits(context));
            work(slot.insert(scratch.unwrap_or_else(|| Self::new(context))))
        })
    }
}
