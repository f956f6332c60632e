//! Buffers of one evaluation, kept between evaluations: fresh pages would cost more than the work.

use crate::error::LinearError;
use ckks::memory::BlockBuffer;
use std::sync::Mutex;

/// Buffers of one evaluation.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Baby-step polynomials, `[limb][block][baby][column]`, rows padded.
    pub(crate) babies: BlockBuffer,
    /// Inner sums, `[giant][column][limb][block]`, polynomials padded.
    pub(crate) sums: BlockBuffer,
}

/// Workspaces that are not in use.
#[derive(Debug, Default)]
pub(crate) struct WorkspacePool(Mutex<Vec<Workspace>>);

impl WorkspacePool {
    /// Lends a workspace with at least these many blocks.
    pub(crate) fn take(&self, babies: usize, sums: usize) -> Result<Workspace, LinearError> {
        let mut workspace = self.lock().pop().map_or_else(
            || {
                Ok(Workspace {
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

    /// Takes a workspace back.
    pub(crate) fn give_back(&self, workspace: Workspace) {
        self.lock().push(workspace);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Workspace>> {
        // A panic elsewhere leaves the list as it was.
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
