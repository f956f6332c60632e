//! Axes: range, ticks, and where a value lies.

use super::scale::{Scale, Spread};
use crate::units::{Unit, short};

/// An axis in pixels.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    spread: Spread,
    /// Ends of the axis, as spread.
    ends: [f64; 2],
    /// Pixels of the ends.
    pixels: [i32; 2],
    unit: Unit,
}

impl Axis {
    /// For the values that the scale shows.
    pub(crate) fn new(scale: &Scale, values: impl Iterator<Item = f64>, pixels: [i32; 2]) -> Axis {
        match scale.spread {
            Spread::Linear => Axis::linear(values, scale.unit, pixels),
            Spread::Log => Axis::log(values, scale.unit, pixels),
        }
    }

    /// From zero to a little above the largest value.
    pub(crate) fn linear(values: impl Iterator<Item = f64>, unit: Unit, pixels: [i32; 2]) -> Axis {
        let largest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let end = if largest > 0.0 { largest * 1.04 } else { 1.0 };
        Axis {
            spread: Spread::Linear,
            ends: [0.0, end],
            pixels,
            unit,
        }
    }

    /// Around the positive values, with a margin.
    pub(crate) fn log(values: impl Iterator<Item = f64>, unit: Unit, pixels: [i32; 2]) -> Axis {
        let ends = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .map(f64::log10)
            .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
                [low.min(value), high.max(value)]
            });
        let [low, high] = if ends[0] <= ends[1] { ends } else { [0.0, 1.0] };
        let margin = ((high - low) * 0.05).max(0.08);
        Axis {
            spread: Spread::Log,
            ends: [low - margin, high + margin],
            pixels,
            unit,
        }
    }

    fn spread(&self, value: f64) -> f64 {
        match self.spread {
            Spread::Linear => value,
            Spread::Log => value.log10(),
        }
    }

    /// The pixel of a value, kept within the axis.
    pub(crate) fn at(&self, value: f64) -> i32 {
        let part = (self.spread(value) - self.ends[0]) / (self.ends[1] - self.ends[0]);
        let part = if part.is_finite() {
            part.clamp(0.0, 1.0)
        } else {
            0.0
        };
        let [from, to] = self.pixels.map(f64::from);
        (from + (to - from) * part).round() as i32
    }

    /// Whether a value is within the axis.
    pub(crate) fn holds(&self, value: f64) -> bool {
        let value = self.spread(value);
        self.ends[0] <= value && value <= self.ends[1]
    }

    /// Round values on the axis with labels, so far apart that no labels touch: `needed` gives the
    /// pixels that a label takes along the axis.
    pub(crate) fn ticks(&self, needed: impl Fn(&str) -> i32) -> Vec<(f64, String)> {
        let mut best = Vec::new();
        let candidates = self.candidates();
        for values in &candidates {
            let ticks: Vec<(f64, String)> = self.within(values);
            if self.fit(&ticks, &needed) && ticks.len() > best.len() {
                best = ticks;
            }
        }
        if best.is_empty() {
            // Even the fewest are too close on a short axis of many decades, or none is round:
            // those that fit are better than none.
            let all = candidates.iter().map(|values| self.within(values));
            if let Some(few) = all.into_iter().find(|ticks| !ticks.is_empty()) {
                let values: Vec<f64> = few.iter().map(|tick| tick.0).collect();
                best = self.ticks_at(&values, needed);
            }
        }
        best
    }

    /// Those values that are on the axis, with their labels.
    fn within(&self, values: &[f64]) -> Vec<(f64, String)> {
        let held = values.iter().filter(|value| self.holds(**value));
        held.map(|&value| (value, self.label(value))).collect()
    }

    /// The given values as ticks, without those that do not fit.
    pub(crate) fn ticks_at(
        &self,
        values: &[f64],
        needed: impl Fn(&str) -> i32,
    ) -> Vec<(f64, String)> {
        let mut ticks: Vec<(f64, String)> = Vec::new();
        for &value in values {
            let tick = (value, self.label(value));
            let free = ticks
                .last()
                .is_none_or(|last| self.fit(&[last.clone(), tick.clone()], &needed));
            if free {
                ticks.push(tick);
            }
        }
        ticks
    }

    fn fit(&self, ticks: &[(f64, String)], needed: &impl Fn(&str) -> i32) -> bool {
        ticks.len() <= 9
            && ticks.windows(2).all(|pair| {
                let room = (self.at(pair[1].0) - self.at(pair[0].0)).abs();
                room >= (needed(&pair[0].1) + needed(&pair[1].1)) / 2 + 6
            })
    }

    /// Sets of round values, from few to many.
    fn candidates(&self) -> Vec<Vec<f64>> {
        match self.spread {
            Spread::Linear => {
                let decade = 10f64.powf(self.ends[1].log10().floor());
                [2.0, 1.0, 0.5, 0.25, 0.2, 0.1]
                    .iter()
                    .map(|part| {
                        let step = decade * part;
                        let last = (self.ends[1] / step).floor().min(200.0) as usize;
                        (0..=last).map(|i| i as f64 * step).collect()
                    })
                    .collect()
            }
            Spread::Log => {
                let decades = self.ends[0].floor() as i32..=self.ends[1].ceil() as i32;
                let every = |step: i32, digits: &[f64]| -> Vec<f64> {
                    decades
                        .clone()
                        .filter(|decade| decade.rem_euclid(step) == 0)
                        .flat_map(|decade| digits.iter().map(move |d| scaled(*d, decade)))
                        .collect()
                };
                vec![
                    every(4, &[1.0]),
                    every(3, &[1.0]),
                    every(2, &[1.0]),
                    every(1, &[1.0]),
                    every(1, &[1.0, 3.0]),
                    every(1, &[1.0, 2.0, 5.0]),
                    every(1, &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0]),
                ]
            }
        }
    }

    fn label(&self, value: f64) -> String {
        if value == 0.0 {
            "0".to_owned()
        } else {
            short(&self.unit.text(value))
        }
    }
}

fn scaled(digit: f64, decade: i32) -> f64 {
    // Division by a power of ten is exact where its multiplication is not: 1e-4, not 1.0000001e-4.
    if decade < 0 {
        digit / 10f64.powi(-decade)
    } else {
        digit * 10f64.powi(decade)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_linear_axis_starts_at_zero() {
        let axis = Axis::linear([0.25, 0.5].into_iter(), Unit::Seconds, [100, 620]);
        assert_eq!(axis.at(0.0), 100);
        assert_eq!(axis.at(0.5), 600);
        assert_eq!(axis.at(0.25), 350);
        assert_eq!(axis.at(f64::NAN), 100);
    }

    proptest! {
        #[test]
        fn labels_of_ticks_do_not_touch(
            low in -9.0..4.0f64,
            decades in 0.5..12.0f64,
            from in 0..60i32,
            length in 150..700i32,
            down: bool,
            log: bool,
        ) {
            let ends = [10f64.powf(low), 10f64.powf(low + decades)].into_iter();
            let pixels = if down { [from + length, from] } else { [from, from + length] };
            let axis = if log {
                Axis::log(ends, Unit::Seconds, pixels)
            } else {
                Axis::linear(ends, Unit::Seconds, pixels)
            };
            let width = |text: &str| text.chars().count() as i32 * 8;
            let ticks = axis.ticks(width);
            prop_assert!(!ticks.is_empty());
            for pair in ticks.windows(2) {
                let room = (axis.at(pair[1].0) - axis.at(pair[0].0)).abs();
                prop_assert!(2 * room >= width(&pair[0].1) + width(&pair[1].1));
            }
        }
    }
}
