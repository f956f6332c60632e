//! The shape of a layer, as given to `--shape`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Largest width that is accepted, either way (twice the largest vocabulary in use today).
pub const MAX_WIDTH: usize = 262_144;

/// Input and output width of a layer `y = xW`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Shape {
    /// Input width (rows of W).
    pub d_in: usize,
    /// Output width (columns of W).
    pub d_out: usize,
}

impl Shape {
    /// Checks both widths.
    ///
    /// # Errors
    /// A sentence that names the width and the limit.
    pub fn new(d_in: usize, d_out: usize) -> Result<Shape, String> {
        for (name, width) in [("input", d_in), ("output", d_out)] {
            if width == 0 {
                return Err(format!("the {name} width is 0; it must be at least 1"));
            }
            if width > MAX_WIDTH {
                return Err(format!(
                    "the {name} width {width} is above the limit of {MAX_WIDTH}; split the layer \
                     into several"
                ));
            }
        }
        Ok(Shape { d_in, d_out })
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Shape, String> {
        let form = "expected INxOUT, for example 2048x1024";
        let (d_in, d_out) = text.split_once(['x', 'X']).ok_or(form)?;
        let width = |name: &str, digits: &str| {
            // `parse` alone would accept a leading plus.
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(format!(
                    "the {name} width \"{digits}\" is not a number; {form}"
                ));
            }
            // Only digits are left, so the one failure is a number too large for the type.
            Ok(digits.parse().unwrap_or(usize::MAX))
        };
        Shape::new(width("input", d_in)?, width("output", d_out)?)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.d_in, self.d_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_shapes() {
        assert_eq!(
            "2048x1024".parse(),
            Ok(Shape {
                d_in: 2048,
                d_out: 1024
            })
        );
        assert_eq!(
            "1X262144".parse(),
            Ok(Shape {
                d_in: 1,
                d_out: 262_144
            })
        );
    }

    #[test]
    fn refuses_what_is_not_a_shape() {
        let cases = [
            ("0x5", "input width is 0"),
            ("5x0", "output width is 0"),
            ("5x", "output width \"\""),
            ("x5", "input width \"\""),
            ("axb", "input width \"a\""),
            ("5", "expected INxOUT"),
            ("", "expected INxOUT"),
            ("5x5x5", "output width \"5x5\""),
            ("+5x5", "input width \"+5\""),
            ("-5x5", "input width \"-5\""),
            ("5 x5", "input width \"5 \""),
            ("262145x1", "above the limit of 262144"),
            ("1x99999999999999999999999999", "above the limit of 262144"),
        ];
        for (text, part) in cases {
            let message = text.parse::<Shape>().expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn display_and_parse_agree(d_in in 1..=MAX_WIDTH, d_out in 1..=MAX_WIDTH) {
            let shape = Shape { d_in, d_out };
            prop_assert_eq!(shape.to_string().parse(), Ok(shape));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = text.parse::<Shape>();
        }
    }
}
