//! The colours of the plots.
//!
//! The SVG that is drawn holds a placeholder for each colour. In the page the placeholder becomes
//! a CSS variable, so that plots follow the theme; in a picture it becomes the light colour.

use plotters::style::RGBColor;

/// Series with a colour of their own; further ones start again, with another mark.
const SERIES: usize = 6;
/// Parts of a stacked bar with a colour of their own.
const PARTS: usize = 8;

/// What a colour stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ink {
    /// Text.
    Text,
    /// Ticks, notes.
    Muted,
    /// Grid lines.
    Grid,
    /// What is behind the plot.
    Surface,
    /// Limits, and what is beyond them.
    Limit,
    /// A series, the same in all plots; the colours repeat after the sixth.
    Series(usize),
    /// A part of a stacked bar; the colours repeat after the eighth.
    Part(usize),
}

impl Ink {
    /// Every colour once.
    pub(crate) fn all() -> impl Iterator<Item = Ink> {
        [Ink::Text, Ink::Muted, Ink::Grid, Ink::Surface, Ink::Limit]
            .into_iter()
            .chain((0..SERIES).map(Ink::Series))
            .chain((0..PARTS).map(Ink::Part))
    }

    fn number(self) -> u8 {
        match self {
            Ink::Text => 0,
            Ink::Muted => 1,
            Ink::Grid => 2,
            Ink::Surface => 3,
            Ink::Limit => 4,
            Ink::Series(index) => 16 + (index % SERIES) as u8,
            Ink::Part(index) => 32 + (index % PARTS) as u8,
        }
    }

    /// The placeholder that plots are drawn with.
    pub(crate) fn placeholder(self) -> RGBColor {
        RGBColor(1, 254, self.number())
    }

    /// The placeholder for a dashed line: the drawing library has no dashes.
    pub(crate) fn dashed_placeholder(self) -> RGBColor {
        RGBColor(1, 253, self.number())
    }

    /// The placeholders as the drawing library writes them.
    fn written(self) -> [String; 2] {
        ["FE", "FD"].map(|kind| format!("\"#01{kind}{:02X}\"", self.number()))
    }

    /// Name of the CSS variable.
    pub(crate) fn variable(self) -> String {
        match self {
            Ink::Text => "--text".to_owned(),
            Ink::Muted => "--muted".to_owned(),
            Ink::Grid => "--grid".to_owned(),
            Ink::Surface => "--surface".to_owned(),
            Ink::Limit => "--limit".to_owned(),
            Ink::Series(index) => format!("--series-{}", index % SERIES + 1),
            Ink::Part(index) => format!("--part-{}", index % PARTS + 1),
        }
    }

    /// In the light and in the dark theme. Series are told apart by hue (blue, orange, green,
    /// purple, ochre, grey: safe for the common colour blindnesses) and by their mark; parts by
    /// lightness and order.
    pub(crate) fn colours(self) -> [&'static str; 2] {
        const SERIES_COLOURS: [[&str; 2]; SERIES] = [
            ["#0b62a8", "#63b0f2"],
            ["#c2500a", "#f6954f"],
            ["#007d5a", "#41cd9f"],
            ["#93489a", "#d9a0de"],
            ["#806000", "#d8b83c"],
            ["#50565e", "#b4bbc4"],
        ];
        const PART_COLOURS: [[&str; 2]; PARTS] = [
            ["#c3cad3", "#59626e"],
            ["#3f4b63", "#a9b8d6"],
            ["#8492ab", "#7c89a3"],
            ["#9a7f58", "#c9a877"],
            ["#dccbae", "#7a6749"],
            ["#54706a", "#8fb3ab"],
            ["#a9c1bb", "#4d665f"],
            ["#6d5a70", "#b69fba"],
        ];
        match self {
            Ink::Text => ["#1b2026", "#e7eaee"],
            Ink::Muted => ["#555e69", "#a4adb8"],
            Ink::Grid => ["#e1e5ea", "#2d343c"],
            Ink::Surface => ["#ffffff", "#14181c"],
            Ink::Limit => ["#a8113d", "#ff8199"],
            Ink::Series(index) => SERIES_COLOURS[index % SERIES],
            Ink::Part(index) => PART_COLOURS[index % PARTS],
        }
    }
}

/// The colours as CSS variables.
pub(crate) fn css(dark: bool) -> String {
    Ink::all()
        .map(|ink| format!("{}:{};", ink.variable(), ink.colours()[usize::from(dark)]))
        .collect()
}

/// Replaces the placeholders by CSS variables.
pub(crate) fn themed(svg: &str) -> String {
    replace(svg, |ink| format!("var({})", ink.variable()))
}

/// Replaces the placeholders by the colours of the light theme.
pub(crate) fn light(svg: &str) -> String {
    replace(svg, |ink| ink.colours()[0].to_owned())
}

fn replace(svg: &str, with: impl Fn(Ink) -> String) -> String {
    Ink::all().fold(svg.to_owned(), |svg, ink| {
        let [full, dashed] = ink.written();
        let colour = with(ink);
        svg.replace(&full, &format!("\"{colour}\""))
            .replace(&dashed, &format!("\"{colour}\" stroke-dasharray=\"6 4\""))
    })
}
