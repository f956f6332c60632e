//! Horizontal bars with whiskers, in groups.

use super::axis::Axis;
use super::canvas::{Align, Canvas, LINE, fitted, picture, width_of};
use super::figure::{Figure, NARROW};
use super::ink::Ink;
use super::scale::{Scale, Spread};
use crate::error::ReportError;
use crate::statistics::Summary;
use crate::units::Unit;

/// Beyond this ratio of the largest to the smallest median, bars from zero hide the small ones:
/// points on a logarithmic axis take their place.
const LARGEST_RATIO: f64 = 25.0;

/// Horizontal bars in groups.
///
/// Bars start at zero. Where the largest is more than 25 times the smallest, bars would hide the
/// small ones, and points on a logarithmic axis take their place.
#[derive(Clone, Debug)]
pub struct BarPlot {
    groups: Vec<BarGroup>,
    unit: Unit,
    /// Below the axis, in the wide and in the narrow form.
    captions: [String; 2],
}

/// Bars with a heading.
#[derive(Clone, Debug)]
pub struct BarGroup {
    /// Above the bars; empty for none.
    pub heading: String,
    /// From top to bottom.
    pub bars: Vec<Bar>,
}

/// A value with its range.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Beside the bar; on phones above it.
    pub label: String,
    /// Its colour.
    pub ink: Ink,
    /// A lighter bar or a hollow point, for what counts less: a part that nobody waits for, a
    /// value that was computed and not measured.
    pub light: bool,
    /// The length of the bar.
    pub median: f64,
    /// The lower end of the whisker.
    pub min: f64,
    /// The upper end of the whisker; there is no whisker where it is not above `min`.
    pub max: f64,
}

impl Bar {
    /// A bar for durations in seconds.
    #[must_use]
    pub fn durations(label: impl Into<String>, ink: Ink, summary: &Summary) -> Bar {
        Bar {
            median: summary.median_seconds,
            min: summary.min_seconds,
            max: summary.max_seconds,
            ..Bar::value(label, ink, 0.0)
        }
    }

    /// A bar without a whisker.
    #[must_use]
    pub fn value(label: impl Into<String>, ink: Ink, value: f64) -> Bar {
        Bar {
            label: label.into(),
            ink,
            light: false,
            median: value,
            min: value,
            max: value,
        }
    }
}

impl BarPlot {
    /// Bars that are medians, with whiskers over the range.
    #[must_use]
    pub fn medians(unit: Unit, groups: Vec<BarGroup>) -> BarPlot {
        BarPlot {
            groups,
            unit,
            captions: ["median, whiskers from min to max", "median, min to max"].map(str::to_owned),
        }
    }

    /// Bars that are what the caption says.
    #[must_use]
    pub fn values(unit: Unit, caption: &str, groups: Vec<BarGroup>) -> BarPlot {
        BarPlot {
            groups,
            unit,
            captions: [caption, caption].map(str::to_owned),
        }
    }

    /// How the axis is spread for these bars.
    #[must_use]
    pub fn spread(&self) -> Spread {
        let medians = self.bars().map(|bar| bar.median);
        let (least, most) = medians.fold((f64::INFINITY, 0.0), |(least, most), value| {
            (f64::min(least, value), f64::max(most, value))
        });
        if least > 0.0 && most > least * LARGEST_RATIO {
            Spread::Log
        } else {
            Spread::Linear
        }
    }

    /// Draws the bars.
    ///
    /// `id` is the name in addresses and of the picture's file, of which letters and digits are
    /// kept; no other plot of the page has it.
    ///
    /// # Errors
    /// [`ReportError::Draw`].
    pub fn figure(&self, id: &str, title: &str, description: &str) -> Result<Figure, ReportError> {
        Figure::draw(id, title, description, |width| self.svg(width))
    }

    fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.groups.iter().flat_map(|group| &group.bars)
    }

    /// What stands below the axis.
    fn caption(&self, narrow: bool) -> String {
        match (self.spread(), self.unit.name()) {
            _ if narrow => self.captions[1].clone(),
            (Spread::Linear, _) => self.captions[0].clone(),
            (Spread::Log, Some(unit)) => format!("{unit}, logarithmic axis: {}", self.captions[0]),
            (Spread::Log, None) => format!("logarithmic axis: {}", self.captions[0]),
        }
    }

    fn svg(&self, width: i32) -> Result<String, ReportError> {
        let narrow = width <= NARROW;
        let widest = self.bars().map(|bar| width_of(&bar.label)).max();
        // Beside the bars there is room for a label, above them on a phone.
        let left = if narrow {
            8
        } else {
            widest.unwrap_or(0).min(260) + 14
        };
        let value = self.bars().map(|bar| width_of(&self.unit.text(bar.median)));
        let pixels = [left, width - value.max().unwrap_or(0) - 10];
        let ends = self.bars().flat_map(|bar| [bar.min, bar.median, bar.max]);
        let log = self.spread() == Spread::Log;
        let caption = self.caption(narrow);
        let scale = Scale {
            label: String::new(),
            unit: self.unit,
            spread: self.spread(),
        };
        let axis = Axis::new(&scale, ends, pixels);
        let pitch = if narrow { 2 * LINE + 2 } else { LINE + 5 };
        let heading = if self.groups.iter().any(|group| !group.heading.is_empty()) {
            LINE + 9
        } else {
            0
        };
        let rows = self
            .groups
            .iter()
            .map(|group| heading + group.bars.len() as i32 * pitch);
        let bottom = rows.sum::<i32>() + 6;
        picture(width, bottom + 2 * LINE + 8, |canvas| {
            for (value, label) in axis.ticks(width_of) {
                let x = axis.at(value);
                canvas.line((x, 0), (x, bottom), Ink::Grid, 1)?;
                canvas.text(&label, (x, bottom + 11), Ink::Muted, Align::Centre)?;
            }
            let centre = (pixels[0] + pixels[1]) / 2;
            canvas.text(
                &caption,
                (centre, bottom + LINE + 13),
                Ink::Muted,
                Align::Centre,
            )?;
            let mut y = 0;
            for group in &self.groups {
                if heading > 0 {
                    let text = fitted(&group.heading, width);
                    canvas.text(&text, (0, y + heading / 2 + 3), Ink::Text, Align::Left)?;
                    y += heading;
                }
                for bar in &group.bars {
                    let middle = if narrow {
                        let label = fitted(&bar.label, width);
                        canvas.text(&label, (8, y + 12), Ink::Muted, Align::Left)?;
                        y + LINE + 8
                    } else {
                        let label = fitted(&bar.label, left - 14);
                        canvas.text(&label, (left - 8, y + pitch / 2), Ink::Text, Align::Right)?;
                        y + pitch / 2
                    };
                    self.one(canvas, bar, &axis, middle)?;
                    y += pitch;
                }
            }
            if !log {
                canvas.line((left, 0), (left, bottom), Ink::Muted, 1)?;
            }
            Ok(())
        })
    }

    fn one(&self, canvas: &Canvas<'_>, bar: &Bar, axis: &Axis, y: i32) -> Result<(), ReportError> {
        let log = self.spread() == Spread::Log;
        let [median, min, max] = [bar.median, bar.min, bar.max].map(|value| axis.at(value));
        let whisker = if log { bar.ink } else { Ink::Text };
        if !log {
            let opacity = if bar.light { 0.45 } else { 1.0 };
            canvas.block((axis.at(0.0), y - 7), (median, y + 7), bar.ink, opacity)?;
        }
        if bar.max > bar.min {
            canvas.line((min, y), (max, y), whisker, 1)?;
            canvas.line((min, y - 4), (min, y + 4), whisker, 1)?;
            canvas.line((max, y - 4), (max, y + 4), whisker, 1)?;
        }
        if log {
            canvas.point((median, y), bar.ink, !bar.light)?;
        }
        let right = max.max(median) + 8;
        canvas.text(
            &self.unit.text(bar.median),
            (right, y),
            Ink::Text,
            Align::Left,
        )
    }
}
