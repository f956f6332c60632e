//! A plot with its names, in the two widths of the page.

use super::ink;
use crate::error::ReportError;
use crate::section::slug;
use serde::Serialize;

/// Width for desktops, print and pictures, pixels.
pub(crate) const WIDE: i32 = 720;
/// Width for phones, pixels.
pub(crate) const NARROW: i32 = 344;

/// A plot that is drawn.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// Name in addresses and of the PNG file: letters, digits, hyphens.
    pub id: String,
    /// What is plotted.
    pub title: String,
    /// What is to be seen, for those who do not see it.
    pub description: String,
    /// SVG of the wide form for inlining, colours as CSS variables.
    pub wide: String,
    /// SVG of the narrow form.
    pub narrow: String,
    /// The wide form on its own, in light colours.
    #[serde(skip)]
    pub(crate) alone: String,
}

impl Figure {
    /// Draws both forms; of the name only letters and digits are kept.
    pub(crate) fn draw(
        id: &str,
        title: &str,
        description: &str,
        paint: impl Fn(i32) -> Result<String, ReportError>,
    ) -> Result<Figure, ReportError> {
        let id = match slug(id) {
            nothing if nothing.is_empty() => "plot".to_owned(),
            id => id,
        };
        let wide = paint(WIDE).map_err(|error| error.about(title))?;
        let narrow = paint(NARROW).map_err(|error| error.about(title))?;
        Ok(Figure {
            wide: inline(&wide, &format!("{id}-wide"), title, description),
            narrow: inline(&narrow, &format!("{id}-narrow"), title, description),
            alone: ink::light(&wide),
            id,
            title: title.to_owned(),
            description: description.to_owned(),
        })
    }
}

/// The SVG without a fixed size, with a title and a description that screen readers find.
fn inline(svg: &str, id: &str, title: &str, description: &str) -> String {
    let (head, body) = svg
        .find("<svg")
        .and_then(|start| svg[start..].split_once('>'))
        .unwrap_or(("", svg));
    let view_box = head
        .split_once("viewBox=\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or("0 0 1 1", |(value, _)| value);
    let width = view_box.split(' ').nth(2).unwrap_or("1");
    format!(
        "<svg role=\"img\" aria-labelledby=\"{id}-title {id}-desc\" viewBox=\"{view_box}\" \
         style=\"max-width:{width}px\"><title id=\"{id}-title\">{}</title><desc id=\"{id}-desc\">{}\
         </desc>{}",
        escaped(title),
        escaped(description),
        ink::themed(body).trim(),
    )
}

/// Text within HTML or SVG.
pub(crate) fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
        out
    })
}
