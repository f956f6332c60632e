//! Plots as pictures.

use super::figure::Figure;
use super::ink::Ink;
use crate::error::ReportError;
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use std::sync::Arc;

/// DejaVu Sans, the characters of European languages, Greek and mathematics: pictures look the
/// same on every machine, also on one without fonts.
const FONT: &[u8] = include_bytes!("../font/DejaVuSans-subset.ttf");

/// Pixels of the picture for each pixel of the plot.
const SCALE: f32 = 2.0;

/// The plot as a PNG file, on the light theme's background.
pub(crate) fn png(figure: &Figure) -> Result<Vec<u8>, ReportError> {
    let failed = |reason: String| ReportError::draw(reason).about(&figure.title);
    let mut options = Options::default();
    let fonts = Arc::make_mut(&mut options.fontdb);
    fonts.load_font_data(FONT.to_vec());
    // The SVG asks for the generic family, which has no face until it is given one.
    let family = fonts
        .faces()
        .next()
        .and_then(|face| face.families.first())
        .map(|(name, _)| name.clone())
        .ok_or_else(|| failed("the font of the pictures is not readable".to_owned()))?;
    fonts.set_sans_serif_family(family);
    let tree =
        Tree::from_str(&figure.alone, &options).map_err(|error| failed(error.to_string()))?;
    let size = tree.size();
    let margin = 8.0;
    let pixels = |length: f32| ((length + 2.0 * margin) * SCALE).ceil() as u32;
    let mut picture = Pixmap::new(pixels(size.width()), pixels(size.height()))
        .ok_or_else(|| failed("the picture has no size".to_owned()))?;
    let [red, green, blue] = background();
    picture.fill(Color::from_rgba8(red, green, blue, 255));
    let place = Transform::from_scale(SCALE, SCALE).pre_translate(margin, margin);
    resvg::render(&tree, place, &mut picture.as_mut());
    picture
        .encode_png()
        .map_err(|error| failed(error.to_string()))
}

/// The light theme's background.
fn background() -> [u8; 3] {
    let digits = Ink::Surface.colours()[0].trim_start_matches('#');
    let number = u32::from_str_radix(digits, 16).unwrap_or(0xff_ffff);
    let [_, red, green, blue] = number.to_be_bytes();
    [red, green, blue]
}
