//! The drawing area: text, lines and legends in pixels.

use super::ink::Ink;
use crate::error::ReportError;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Size of all text, pixels.
pub(crate) const TEXT: f64 = 12.5;
/// Height of a line of text, pixels.
pub(crate) const LINE: i32 = 19;

/// Where a text hangs on its point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Align {
    Left,
    Centre,
    Right,
}

/// The mark of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    /// An area or a bar.
    Bar,
    /// A full line with filled points.
    Line,
    /// A dashed line with hollow points.
    Dashes,
}

/// An entry of a legend.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) label: String,
    pub(crate) ink: Ink,
    pub(crate) mark: Mark,
}

/// The whole picture.
pub(crate) struct Canvas<'a> {
    pub(crate) root: DrawingArea<SVGBackend<'a>, Shift>,
    pub(crate) width: i32,
}

/// Width of a text in pixels, on the safe side: the page uses the reader's own font.
pub(crate) fn width_of(text: &str) -> i32 {
    (text.chars().count() as f64 * TEXT * 0.58).ceil() as i32 + 2
}

/// The text, cut to a width.
pub(crate) fn fitted(text: &str, width: i32) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let room = (f64::from(width - 2) / (TEXT * 0.58)).max(2.0) as usize;
    text.chars().take(room - 1).chain(['…']).collect()
}

/// Draws a picture and gives its SVG.
pub(crate) fn picture(
    width: i32,
    height: i32,
    paint: impl FnOnce(&Canvas<'_>) -> Result<(), ReportError>,
) -> Result<String, ReportError> {
    let mut svg = String::new();
    {
        let size = (width.max(1) as u32, height.max(1) as u32);
        let canvas = Canvas {
            root: SVGBackend::with_string(&mut svg, size).into_drawing_area(),
            width,
        };
        paint(&canvas)?;
        canvas.root.present()?;
    }
    Ok(svg)
}

/// The style of all text.
pub(crate) fn style(ink: Ink, align: Align, centred: bool) -> TextStyle<'static> {
    let (h, v) = (
        match align {
            Align::Left => HPos::Left,
            Align::Centre => HPos::Center,
            Align::Right => HPos::Right,
        },
        if centred { VPos::Center } else { VPos::Bottom },
    );
    // The SVG backend divides by this factor.
    ("sans-serif", TEXT * 1.24)
        .into_font()
        .color(&ink.placeholder())
        .pos(Pos::new(h, v))
}

impl Canvas<'_> {
    /// A line of text, centred on `at` vertically.
    pub(crate) fn text(
        &self,
        text: &str,
        at: (i32, i32),
        ink: Ink,
        align: Align,
    ) -> Result<(), ReportError> {
        let style = style(ink, align, true);
        self.root.draw(&Text::new(text.to_owned(), at, style))?;
        Ok(())
    }

    /// A straight line.
    pub(crate) fn line(
        &self,
        from: (i32, i32),
        to: (i32, i32),
        ink: Ink,
        width: u32,
    ) -> Result<(), ReportError> {
        let style = ink.placeholder().stroke_width(width);
        self.root.draw(&PathElement::new([from, to], style))?;
        Ok(())
    }

    /// A straight dashed line.
    pub(crate) fn dashes(
        &self,
        from: (i32, i32),
        to: (i32, i32),
        ink: Ink,
        width: u32,
    ) -> Result<(), ReportError> {
        let style = ink.dashed_placeholder().stroke_width(width);
        self.root.draw(&PathElement::new([from, to], style))?;
        Ok(())
    }

    /// A text with the background behind, so that no line runs through it.
    pub(crate) fn label(
        &self,
        text: &str,
        centre: (i32, i32),
        ink: Ink,
    ) -> Result<(), ReportError> {
        let (half, (x, y)) = (width_of(text) / 2, centre);
        self.block((x - half, y - 8), (x + half, y + 8), Ink::Surface, 1.0)?;
        self.text(text, centre, ink, Align::Centre)
    }

    /// A filled rectangle.
    pub(crate) fn block(
        &self,
        from: (i32, i32),
        to: (i32, i32),
        ink: Ink,
        opacity: f64,
    ) -> Result<(), ReportError> {
        let style = ink.placeholder().mix(opacity).filled();
        self.root.draw(&Rectangle::new([from, to], style))?;
        Ok(())
    }

    /// A point, hollow or filled.
    pub(crate) fn point(&self, at: (i32, i32), ink: Ink, filled: bool) -> Result<(), ReportError> {
        let inner = if filled { ink } else { Ink::Surface };
        self.root
            .draw(&Circle::new(at, 4, inner.placeholder().filled()))?;
        self.root
            .draw(&Circle::new(at, 4, ink.placeholder().stroke_width(2)))?;
        Ok(())
    }

    /// Draws a legend in rows from `top`.
    pub(crate) fn legend(&self, keys: &[Key], top: i32) -> Result<(), ReportError> {
        for (key, (x, row)) in keys.iter().zip(places(keys, self.width)) {
            let y = top + row * LINE + LINE / 2;
            match key.mark {
                Mark::Bar => self.block((x, y - 5), (x + 18, y + 5), key.ink, 1.0)?,
                Mark::Line => {
                    self.line((x, y), (x + 18, y), key.ink, 2)?;
                    self.point((x + 9, y), key.ink, true)?;
                }
                Mark::Dashes => {
                    self.dashes((x, y), (x + 18, y), key.ink, 2)?;
                    self.point((x + 9, y), key.ink, false)?;
                }
            }
            let room = self.width - x - 24;
            self.text(
                &fitted(&key.label, room),
                (x + 24, y),
                Ink::Text,
                Align::Left,
            )?;
        }
        Ok(())
    }
}

/// Height of a legend, pixels.
pub(crate) fn legend_height(keys: &[Key], width: i32) -> i32 {
    places(keys, width)
        .last()
        .map_or(0, |&(_, row)| (row + 1) * LINE + 8)
}

/// Left edge and row of each entry.
fn places(keys: &[Key], width: i32) -> Vec<(i32, i32)> {
    let (mut x, mut row) = (0, 0);
    keys.iter()
        .map(|key| {
            let needed = 24 + width_of(&key.label);
            if x > 0 && x + needed > width {
                (x, row) = (0, row + 1);
            }
            let place = (x, row);
            x += needed + 16;
            place
        })
        .collect()
}
