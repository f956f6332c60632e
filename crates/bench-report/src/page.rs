//! All that there is to show, independent of a format.

use crate::error::ReportError;
use crate::plot::{Figure, png};
use crate::section::Section;
use serde::Serialize;

/// Everything that there is to show.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// Heading.
    pub title: String,
    /// How it went, below the heading; `None` where nothing can pass or fail.
    pub status: Option<Status>,
    /// What is missing, in words.
    pub partial: Vec<String>,
    /// The parts in order.
    pub sections: Vec<Section>,
}

/// How it went.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Status {
    /// Decides the colour.
    pub kind: StatusKind,
    /// A sentence.
    pub text: String,
}

/// How it went, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatusKind {
    /// Everything was measured and passed.
    Passed,
    /// Something was rejected or failed.
    Rejected,
    /// Something is missing.
    Partial,
    /// There is nothing to show.
    Empty,
}

/// A picture of a plot.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Name of the file: letters, digits, hyphens, `.png`.
    pub name: String,
    /// Content of the file.
    pub png: Vec<u8>,
}

impl Page {
    /// A page without parts.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Page {
        Page {
            title: title.into(),
            status: None,
            partial: Vec::new(),
            sections: Vec::new(),
        }
    }

    /// All plots.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.sections.iter().flat_map(|section| &section.figures)
    }

    /// All plots as PNG files.
    ///
    /// # Errors
    /// [`ReportError::Draw`].
    pub fn pictures(&self) -> Result<Vec<Picture>, ReportError> {
        self.figures()
            .map(|figure| {
                Ok(Picture {
                    name: format!("{}.png", figure.id),
                    png: png(figure)?,
                })
            })
            .collect()
    }
}
