//! Why there is no page.

use plotters::drawing::DrawingAreaErrorKind;
use thiserror::Error;

/// A page that cannot be made from its content.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A plot cannot be drawn.
    #[error("cannot draw {figure}: {reason}")]
    Draw {
        /// The title of the plot.
        figure: String,
        /// What the library said.
        reason: String,
    },
    /// The page cannot be written down.
    #[error("cannot lay out the page: {0}")]
    Layout(String),
}

impl ReportError {
    /// A plot could not be drawn; [`ReportError::about`] adds its title.
    pub(crate) fn draw(reason: impl std::fmt::Display) -> ReportError {
        ReportError::Draw {
            figure: "a plot".to_owned(),
            reason: reason.to_string(),
        }
    }

    /// The same error with the title of the plot.
    pub(crate) fn about(self, title: &str) -> ReportError {
        match self {
            ReportError::Draw { reason, .. } => ReportError::Draw {
                figure: title.to_owned(),
                reason,
            },
            other => other,
        }
    }
}

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for ReportError {
    fn from(error: DrawingAreaErrorKind<E>) -> ReportError {
        ReportError::draw(error)
    }
}
