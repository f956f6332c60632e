//! Names of errors, as the tables of attacks and of rejections have them.

use sealed_weights::error::SealError;

/// Type and variant of what is wrong.
pub(crate) fn name(error: &SealError) -> String {
    let (group, inner) = match error {
        SealError::Header { defect, .. } => ("HeaderDefect", format!("{defect:?}")),
        SealError::Document { defect, .. } => ("DocumentDefect", format!("{defect:?}")),
        SealError::Model(model) => ("ModelError", format!("{model:?}")),
        SealError::Key(key) => ("KeyError", format!("{key:?}")),
        other => ("SealError", format!("{other:?}")),
    };
    let variant: String = inner.chars().take_while(|c| c.is_alphanumeric()).collect();
    format!("{group}::{variant}")
}
