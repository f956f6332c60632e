//! What can go wrong on the way from JSON to a page.

use plotters::drawing::DrawingAreaErrorKind;
use std::path::PathBuf;
use thiserror::Error;

/// Why there is no page.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PageError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file, or one of its lines, is not what it should be.
    #[error("{place}: {reason}")]
    Input {
        /// File, and line where there is one.
        place: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The file is no readable sweep; the message names it and the line.
    #[error("{0}")]
    Sweep(String),
    /// A plot cannot be drawn.
    #[error("cannot draw {figure}: {reason}")]
    Draw {
        /// The name of the plot.
        figure: String,
        /// What the library said.
        reason: String,
    },
    /// The page or a table cannot be written down.
    #[error("cannot lay out the page: {0}")]
    Layout(String),
}

impl PageError {
    /// A plot could not be drawn; [`PageError::about`] adds its name.
    pub(crate) fn draw(reason: impl std::fmt::Display) -> PageError {
        PageError::Draw {
            figure: "a plot".to_owned(),
            reason: reason.to_string(),
        }
    }

    /// The same error with the name of the plot.
    pub(crate) fn about(self, name: &str) -> PageError {
        match self {
            PageError::Draw { reason, .. } => PageError::Draw {
                figure: name.to_owned(),
                reason,
            },
            other => other,
        }
    }
}

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for PageError {
    fn from(error: DrawingAreaErrorKind<E>) -> PageError {
        PageError::draw(error)
    }
}
