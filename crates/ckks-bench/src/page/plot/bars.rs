//! Horizontal bars with whiskers, in groups.

use super::axis::{Axis, Spread, Unit};
use super::canvas::{Align, Canvas, Key, LINE, fitted, legend_height, picture, width_of};
use super::figure::NARROW;
use super::ink::Ink;
use crate::page::error::PageError;
use crate::units;

/// Beyond this ratio of the largest to the smallest median, bars from zero hide the small ones:
/// points on a logarithmic axis take their place.
const LARGEST_RATIO: f64 = 25.0;

/// Bars with a heading.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) heading: String,
    pub(crate) bars: Vec<Bar>,
}

/// A duration with its range.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) ink: Ink,
    /// A lighter bar, for a part that nobody waits for.
    pub(crate) light: bool,
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// How the axis is spread for these bars.
pub(crate) fn spread(groups: &[Group]) -> Spread {
    let medians = || {
        groups
            .iter()
            .flat_map(|group| &group.bars)
            .map(|bar| bar.median)
    };
    let (least, most) = medians().fold((f64::INFINITY, 0.0), |(least, most), value| {
        (f64::min(least, value), f64::max(most, value))
    });
    if least > 0.0 && most > least * LARGEST_RATIO {
        Spread::Log
    } else {
        Spread::Linear
    }
}

/// Draws the bars.
pub(crate) fn bars(groups: &[Group], keys: &[Key], width: i32) -> Result<String, PageError> {
    let narrow = width <= NARROW;
    let all = || groups.iter().flat_map(|group| &group.bars);
    let widest = all().map(|bar| width_of(&bar.label)).max().unwrap_or(0);
    // Beside the bars there is room for a label, above them on a phone.
    let left = if narrow { 8 } else { widest.min(260) + 14 };
    let value = all()
        .map(|bar| width_of(&units::seconds(bar.median)))
        .max()
        .unwrap_or(0);
    let pixels = [left, width - value - 10];
    let ends = all().flat_map(|bar| [bar.min, bar.median, bar.max]);
    let axis = match spread(groups) {
        Spread::Linear => Axis::linear(ends, Unit::Seconds, pixels),
        Spread::Log => Axis::log(ends, Unit::Seconds, pixels),
    };
    let pitch = if narrow { 2 * LINE + 2 } else { LINE + 5 };
    let heading = if groups.iter().any(|group| !group.heading.is_empty()) {
        LINE + 9
    } else {
        0
    };
    let top = legend_height(keys, width);
    let rows: i32 = groups
        .iter()
        .map(|group| heading + group.bars.len() as i32 * pitch)
        .sum();
    let bottom = top + rows + 6;
    let log = matches!(spread(groups), Spread::Log);
    picture(width, bottom + 2 * LINE + 8, |canvas| {
        canvas.legend(keys, 0)?;
        for (value, label) in axis.ticks(width_of) {
            let x = axis.at(value);
            canvas.line((x, top), (x, bottom), Ink::Grid, 1)?;
            canvas.text(&label, (x, bottom + 11), Ink::Muted, Align::Centre)?;
        }
        let title = if log {
            "seconds, logarithmic axis: median, whiskers from min to max"
        } else {
            "median, whiskers from min to max"
        };
        let title = if narrow { "median, min to max" } else { title };
        canvas.text(
            title,
            ((pixels[0] + pixels[1]) / 2, bottom + LINE + 13),
            Ink::Muted,
            Align::Centre,
        )?;
        let mut y = top;
        for group in groups {
            if heading > 0 {
                canvas.text(
                    &fitted(&group.heading, width),
                    (0, y + heading / 2 + 3),
                    Ink::Text,
                    Align::Left,
                )?;
                y += heading;
            }
            for bar in &group.bars {
                let middle = if narrow {
                    canvas.text(
                        &fitted(&bar.label, width),
                        (8, y + 12),
                        Ink::Muted,
                        Align::Left,
                    )?;
                    y + LINE + 8
                } else {
                    let label = fitted(&bar.label, left - 14);
                    canvas.text(&label, (left - 8, y + pitch / 2), Ink::Text, Align::Right)?;
                    y + pitch / 2
                };
                one(canvas, bar, &axis, middle, log)?;
                y += pitch;
            }
        }
        if !log {
            canvas.line((left, top), (left, bottom), Ink::Muted, 1)?;
        }
        Ok(())
    })
}

fn one(canvas: &Canvas<'_>, bar: &Bar, axis: &Axis, y: i32, log: bool) -> Result<(), PageError> {
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
        &units::seconds(bar.median),
        (right, y),
        Ink::Text,
        Align::Left,
    )
}
