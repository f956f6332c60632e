//! Input batches from .npy files, and results into them.

use std::io::{ErrorKind, Read};
use std::path::Path;

use half::f16;

use crate::atomic::write_atomically;
use crate::error::{NpyDefect, TensorError};
use crate::matrix::transposed;
use crate::npy_header::{MAGIC, MAX_HEADER_BYTES, NpyHeader};
use crate::regular::open_regular;

/// A batch of input vectors of equal width. All values are finite.
#[derive(Debug, Clone, PartialEq)]
pub struct InputBatch {
    rows: usize,
    width: usize,
    data: Vec<f64>,
}

impl InputBatch {
    /// Takes `rows` vectors of `width` values each, one after the other.
    ///
    /// # Errors
    ///
    /// [`TensorError::Empty`] if a size is 0, [`TensorError::SizeOverflow`] or
    /// [`TensorError::WrongLength`] if `data` does not have `rows * width` values, and
    /// [`TensorError::NonFiniteInput`] naming the first NaN or infinity.
    pub fn new(rows: usize, width: usize, data: Vec<f64>) -> Result<InputBatch, TensorError> {
        check_length("an input batch (vectors x width)", rows, width, data.len())?;
        if let Some(at) = data.iter().position(|value| !value.is_finite()) {
            return Err(TensorError::NonFiniteInput {
                row: at / width,
                index: at % width,
                value: data[at],
            });
        }
        Ok(InputBatch { rows, width, data })
    }

    /// Number of vectors.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Values in each vector.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// All values, vector after vector.
    #[must_use]
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// The vectors in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.data.chunks_exact(self.width)
    }
}

/// Reads a batch of input vectors from a .npy file.
///
/// Accepted are arrays of little-endian `f2`, `f4` or `f8`, in C or Fortran order, of shape
/// `(width,)` (one vector) or `(rows, width)`.
///
/// # Errors
///
/// [`TensorError::Io`] or [`TensorError::NotAFile`] if the file cannot be read,
/// [`TensorError::Npy`] if it is not such an array or its size does not match its shape, and the
/// refusals of [`InputBatch::new`].
pub fn read_npy(path: &Path) -> Result<InputBatch, TensorError> {
    let (mut file, size) = open_regular(path)?;
    let defect = |defect| TensorError::Npy {
        path: path.to_path_buf(),
        defect,
    };
    let read = |file: &mut std::fs::File, buffer: &mut [u8]| match file.read_exact(buffer) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => {
            Err(defect(NpyDefect::TruncatedHeader { size }))
        }
        Err(source) => Err(TensorError::Io {
            action: "read",
            path: path.to_path_buf(),
            source,
        }),
    };

    let mut magic = [0u8; 6];
    if size < magic.len() as u64 {
        return Err(defect(NpyDefect::NotNpy));
    }
    read(&mut file, &mut magic)?;
    if &magic != MAGIC {
        return Err(defect(NpyDefect::NotNpy));
    }
    let mut version = [0u8; 2];
    read(&mut file, &mut version)?;
    let (length, preamble) = match version {
        [1, 0] => {
            let mut field = [0u8; 2];
            read(&mut file, &mut field)?;
            (u64::from(u16::from_le_bytes(field)), 10)
        }
        [2 | 3, 0] => {
            let mut field = [0u8; 4];
            read(&mut file, &mut field)?;
            (u64::from(u32::from_le_bytes(field)), 12)
        }
        [major, minor] => return Err(defect(NpyDefect::UnknownVersion { major, minor })),
    };
    if length > MAX_HEADER_BYTES {
        return Err(defect(NpyDefect::HeaderTooLong {
            length,
            limit: MAX_HEADER_BYTES,
        }));
    }
    let data_start = preamble + length;
    if data_start > size {
        return Err(defect(NpyDefect::TruncatedHeader { size }));
    }
    let mut text = vec![0u8; length as usize];
    read(&mut file, &mut text)?;
    let layout = NpyHeader::parse(&text)
        .and_then(|header| Layout::new(header, size - data_start))
        .map_err(defect)?;

    // The size was checked against the file, so this reserves no more than the file holds.
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(layout.bytes)
        .map_err(|_| TensorError::OutOfMemory {
            values: layout.rows * layout.width,
        })?;
    bytes.resize(layout.bytes, 0);
    read(&mut file, &mut bytes)?;
    let values = layout.element.decode(&bytes);
    // An empty array may claim a huge side; InputBatch::new refuses it.
    let values = if layout.fortran_order && !values.is_empty() {
        transposed(layout.width, layout.rows, &values)
    } else {
        values
    };
    InputBatch::new(layout.rows, layout.width, values)
}

/// Writes `rows` vectors of `width` values each as a 2-D `<f8` .npy file, whole or not at all.
///
/// The bytes are those that `numpy.save` writes for the same array.
///
/// # Errors
///
/// [`TensorError::WrongLength`], [`TensorError::Empty`] or [`TensorError::SizeOverflow`] if the
/// sizes do not fit, and the refusals of [`write_atomically`].
pub fn write_npy_f64(
    path: &Path,
    rows: usize,
    width: usize,
    values: &[f64],
) -> Result<(), TensorError> {
    check_length("an output array (rows x width)", rows, width, values.len())?;
    write_atomically(path, |writer| {
        writer.write_all(&NpyHeader::f64_matrix_prologue(rows, width))?;
        values
            .iter()
            .try_for_each(|value| writer.write_all(&value.to_le_bytes()))
    })
}

fn check_length(
    what: &'static str,
    rows: usize,
    width: usize,
    actual: usize,
) -> Result<(), TensorError> {
    if rows == 0 || width == 0 {
        return Err(TensorError::Empty { what, rows, width });
    }
    let Some(expected) = rows.checked_mul(width) else {
        return Err(TensorError::SizeOverflow {
            what,
            rows: rows as u64,
            width: width as u64,
        });
    };
    if actual != expected {
        return Err(TensorError::WrongLength {
            what,
            rows,
            width,
            expected,
            actual,
        });
    }
    Ok(())
}

/// Element types of the arrays that are read.
#[derive(Debug, Clone, Copy)]
enum Element {
    F2,
    F4,
    F8,
}

impl Element {
    fn from_descr(descr: &str) -> Option<Element> {
        match descr {
            "<f2" => Some(Element::F2),
            "<f4" => Some(Element::F4),
            "<f8" => Some(Element::F8),
            _ => None,
        }
    }

    fn bytes(self) -> u64 {
        match self {
            Element::F2 => 2,
            Element::F4 => 4,
            Element::F8 => 8,
        }
    }

    fn decode(self, bytes: &[u8]) -> Vec<f64> {
        match self {
            Element::F2 => bytes
                .as_chunks()
                .0
                .iter()
                .map(|c| f16::from_le_bytes(*c).to_f64())
                .collect(),
            Element::F4 => bytes
                .as_chunks()
                .0
                .iter()
                .map(|c| f64::from(f32::from_le_bytes(*c)))
                .collect(),
            Element::F8 => bytes
                .as_chunks()
                .0
                .iter()
                .map(|c| f64::from_le_bytes(*c))
                .collect(),
        }
    }
}

/// A header that was checked against the size of its file.
struct Layout {
    element: Element,
    rows: usize,
    width: usize,
    fortran_order: bool,
    /// Size of the data.
    bytes: usize,
}

impl Layout {
    fn new(header: NpyHeader, actual: u64) -> Result<Layout, NpyDefect> {
        let NpyHeader {
            descr,
            fortran_order,
            shape,
        } = header;
        let Some(element) = Element::from_descr(&descr) else {
            return Err(NpyDefect::UnsupportedDtype { descr });
        };
        let (rows, width) = match shape[..] {
            [width] => (1, width),
            [rows, width] => (rows, width),
            _ => return Err(NpyDefect::WrongRank { shape }),
        };
        let expected = rows
            .checked_mul(width)
            .and_then(|count| count.checked_mul(element.bytes()));
        let sizes = (
            usize::try_from(rows),
            usize::try_from(width),
            actual.try_into(),
        );
        let (Some(expected), (Ok(rows), Ok(width), Ok(bytes))) = (expected, sizes) else {
            return Err(NpyDefect::ShapeOverflow { shape });
        };
        if actual != expected {
            return Err(NpyDefect::WrongLength {
                shape,
                expected,
                actual,
            });
        }
        Ok(Layout {
            element,
            rows,
            width,
            fortran_order,
            bytes,
        })
    }
}
