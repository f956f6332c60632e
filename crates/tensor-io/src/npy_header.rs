//! The header of a .npy file (format versions 1.0, 2.0 and 3.0).
//!
//! The format: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>. The
//! header text is a Python dictionary literal with exactly the keys `descr`, `fortran_order` and
//! `shape`. Only the values that a numeric 1-D or 2-D array has are understood.

use crate::error::{NpyDefect, shown};

/// The magic bytes at the start of the file.
pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Longest header text accepted. NumPy itself refuses more than 10 000 characters.
pub(crate) const MAX_HEADER_BYTES: u64 = 10_000;
/// Alignment of the data that NumPy writes.
const ALIGNMENT: usize = 64;
/// Most dimensions that NumPy allows.
const MAX_DIMENSIONS: usize = 64;

/// The three entries of the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NpyHeader {
    pub(crate) descr: String,
    pub(crate) fortran_order: bool,
    pub(crate) shape: Vec<u64>,
}

impl NpyHeader {
    /// Parses the header text (after the length field).
    pub(crate) fn parse(text: &[u8]) -> Result<NpyHeader, NpyDefect> {
        let text = std::str::from_utf8(text).map_err(|_| malformed("it is not text"))?;
        let mut parser = Parser { rest: text };
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        parser.expect('{')?;
        while !parser.accept('}') {
            let key = parser.string()?;
            parser.expect(':')?;
            let repeated = match key {
                "descr" => descr.replace(parser.descr()?).is_some(),
                "fortran_order" => fortran_order.replace(parser.boolean()?).is_some(),
                "shape" => shape.replace(parser.shape()?).is_some(),
                other => return Err(malformed(&format!("unknown key '{}'", shown(other)))),
            };
            if repeated {
                return Err(malformed(&format!("'{key}' occurs twice")));
            }
            if !parser.accept(',') {
                parser.expect('}')?;
                break;
            }
        }
        if !parser.rest.trim().is_empty() {
            return Err(malformed("text after the dictionary"));
        }
        match (descr, fortran_order, shape) {
            (Some(descr), Some(fortran_order), Some(shape)) => Ok(NpyHeader {
                descr,
                fortran_order,
                shape,
            }),
            _ => Err(malformed(
                "it needs the keys descr, fortran_order and shape",
            )),
        }
    }

    /// The start of a version 1.0 file with `rows` x `width` little-endian `f64` in C order,
    /// exactly as NumPy writes it.
    pub(crate) fn f64_matrix_prologue(rows: usize, width: usize) -> Vec<u8> {
        let mut text =
            format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {width}), }}");
        let preamble = MAGIC.len() + 2 + 2;
        let unpadded = preamble + text.len() + 1;
        text.extend(std::iter::repeat_n(
            ' ',
            unpadded.next_multiple_of(ALIGNMENT) - unpadded,
        ));
        text.push('\n');
        let mut out = Vec::with_capacity(preamble + text.len());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&[1, 0]);
        // Two integers of at most 20 digits each: the text is far shorter than 65 536 bytes.
        out.extend_from_slice(&(text.len() as u16).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
        out
    }
}

fn malformed(message: &str) -> NpyDefect {
    NpyDefect::MalformedHeader {
        message: message.to_owned(),
    }
}

/// Reads the small part of Python's literals that the header of a numeric array uses.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn accept(&mut self, wanted: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), NpyDefect> {
        if self.accept(wanted) {
            return Ok(());
        }
        let found: String = self.rest.chars().take(10).collect();
        Err(malformed(&format!(
            "expected '{wanted}' before '{}'",
            shown(&found)
        )))
    }

    fn string(&mut self) -> Result<&'a str, NpyDefect> {
        let quote = if self.accept('"') {
            '"'
        } else {
            self.expect('\'')?;
            '\''
        };
        let (text, rest) = self
            .rest
            .split_once(quote)
            .ok_or_else(|| malformed("a string does not end"))?;
        if text.contains('\\') {
            return Err(malformed("a string holds an escape"));
        }
        self.rest = rest;
        Ok(text)
    }

    fn descr(&mut self) -> Result<String, NpyDefect> {
        self.rest = self.rest.trim_start();
        if self.rest.starts_with(['[', '(']) {
            return Err(NpyDefect::UnsupportedDtype {
                descr: "a structured record".to_owned(),
            });
        }
        self.string().map(shown)
    }

    fn boolean(&mut self) -> Result<bool, NpyDefect> {
        self.rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(malformed("fortran_order must be True or False"))
    }

    fn shape(&mut self) -> Result<Vec<u64>, NpyDefect> {
        self.expect('(')?;
        let mut shape = Vec::new();
        while !self.accept(')') {
            self.rest = self.rest.trim_start();
            let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = self.rest.split_at(digits);
            let side = number
                .parse()
                .map_err(|_| malformed("shape must be a tuple of non-negative 64-bit integers"))?;
            self.rest = rest;
            shape.push(side);
            if shape.len() > MAX_DIMENSIONS {
                return Err(malformed("shape has more than 64 dimensions"));
            }
            if !self.accept(',') {
                if shape.len() == 1 {
                    return Err(malformed("shape must be a tuple"));
                }
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_what_numpy_and_other_writers_produce() {
        let cases: [(&str, &str, bool, &[u64]); 5] = [
            (
                "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }   \n",
                "<f8",
                false,
                &[2, 3],
            ),
            (
                "{\"shape\":(4,),\"fortran_order\":True,\"descr\":\"<f4\"}",
                "<f4",
                true,
                &[4],
            ),
            (
                "{'descr':'<f2','fortran_order':False,'shape':()}",
                "<f2",
                false,
                &[],
            ),
            (
                "{'descr':'<f2','fortran_order':False,'shape':(1,2,3,),}",
                "<f2",
                false,
                &[1, 2, 3],
            ),
            (
                "{'descr':'|S3','fortran_order':False,'shape':(0, 1)}",
                "|S3",
                false,
                &[0, 1],
            ),
        ];
        for (text, descr, fortran_order, shape) in cases {
            let header = NpyHeader::parse(text.as_bytes()).unwrap();
            assert_eq!(header.descr, descr);
            assert_eq!(header.fortran_order, fortran_order);
            assert_eq!(header.shape, shape);
        }
    }

    #[test]
    fn refuses_malformed_text() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr'}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (-2, 1)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 1)}",
            "{'descr': '<f8', 'fortran_order': no, 'shape': (2, 1)}",
            "{'descr': '<f8', 'fortran_order': False}",
            "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} x",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'extra': 1}",
            "{'descr': '<\\x66', 'fortran_order': False, 'shape': (2,)}",
        ] {
            let result = NpyHeader::parse(text.as_bytes());
            assert!(
                matches!(result, Err(NpyDefect::MalformedHeader { .. })),
                "{text}: {result:?}"
            );
        }
        assert!(matches!(
            NpyHeader::parse(b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,)}"),
            Err(NpyDefect::UnsupportedDtype { .. })
        ));
    }
}
