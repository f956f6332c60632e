//! Buffers of one evaluation, kept between evaluations: fresh pages would cost more than the work.
//!
//! All layers of a process share them, so that a model of many layers holds as many as evaluations
//! ran at once, each as large as its largest needed. They hold ciphertexts, nothing secret.

use crate::error::LinearError;
use ckks::memory::BlockBuffer;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Buffers of one evaluation.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Baby-step polynomials, `[limb][block]`, each row ordered by [`crate::mac::place`], padded.
    pub(crate) babies: BlockBuffer,
    /// Inner sums, `[giant][column][limb][block]`, polynomials padded.
    pub(crate) sums: BlockBuffer,
}

/// Workspaces that are not in use.
static UNUSED: Mutex<Vec<Workspace>> = Mutex::new(Vec::new());

impl Workspace {
    /// A workspace with at least these many blocks.
    pub(crate) fn take(babies: usize, sums: usize) -> Result<Self, LinearError> {
        let mut workspace = unused().pop().map_or_else(
            || {
                Ok(Self {
                    babies: BlockBuffer::zeroed(0)?,
                    sums: BlockBuffer::zeroed(0)?,
                })
            },
            Ok::<_, LinearError>,
        )?;
        for (buffer, len) in [(&mut workspace.babies, babies), (&mut workspace.sums, sums)] {
            if buffer.len() < len {
                *buffer = BlockBuffer::zeroed(len)?;
            }
        }
        Ok(workspace)
    }

    /// Gives it back for another evaluation.
    pub(crate) fn give_back(self) {
        unused().push(self);
    }
}

fn unused() -> MutexGuard<'static, Vec<Workspace>> {
    // A panic elsewhere leaves the list as it was.
    UNUSED.lock().unwrap_or_else(PoisonError::into_inner)
}
