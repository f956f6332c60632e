//! A `gemm` layer on the server: integer weights and W·A.

use crate::error::{LinearError, expect_count};
use crate::gemm::client::GemmManifest;
use crate::gemm::kernel::{COLUMNS, GemmKernel};
use crate::gemm::multiply::{BAND, Columns, Tile, multiply};
use crate::gemm::scales::AnswerLength;
use crate::gemm::weights::PackedWeights;
use crate::shape::LayerShape;
use ckks::gemm::{
    AnswerBuffer, Epoch, GemmParameters, LOG_Q, MaskExpander, MaskProductsBuffer, MessageTile,
    UploadView, packed_len, round_all,
};
use ckks::memory::BlockBuffer;
use ckks::upcoming::prefetch;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tensor_io::WeightMatrix;

/// A layer that is ready to evaluate batches of any size. Shared freely between threads.
#[derive(Debug)]
pub struct GemmLayer {
    parameters: GemmParameters,
    manifest: GemmManifest,
    kernel: GemmKernel,
    weights: PackedWeights,
    mask_products: Arc<[u8]>,
}

/// Where the time of an evaluation went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GemmTimes {
    /// Checking the upload and reserving the answer.
    pub open: Duration,
    /// Unpacking, multiplying, rounding and packing, which are done block by block.
    pub product: Duration,
}

impl GemmLayer {
    /// Rounds the weights and multiplies them with the public masks of an epoch, W·A, with the
    /// fastest kernel of this machine. `progress` is told a fraction from 0 to 1.
    ///
    /// Takes `d_in·d_out·N` multiply-adds, and `8·N·d_in` bytes besides the layer while it works.
    ///
    /// # Errors
    /// [`LinearError::Magnitude`] for weights whose norm double precision does not carry;
    /// [`LinearError::Wire`] and [`LinearError::Ckks`] for answer lengths out of range and when
    /// memory runs out.
    pub fn prepare(
        parameters: &GemmParameters,
        weights: &WeightMatrix,
        epoch: Epoch,
        length: AnswerLength,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<Self, LinearError> {
        Self::prepare_with(
            GemmKernel::best(),
            parameters,
            weights,
            epoch,
            length,
            progress,
        )
    }

    /// As [`GemmLayer::prepare`], with a kernel of choice.
    ///
    /// # Errors
    /// As [`GemmLayer::prepare`].
    pub fn prepare_with(
        kernel: GemmKernel,
        parameters: &GemmParameters,
        weights: &WeightMatrix,
        epoch: Epoch,
        length: AnswerLength,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<Self, LinearError> {
        let shape = LayerShape::new(weights.d_in(), weights.d_out())?;
        let (weights, scales) = PackedWeights::new(weights)?;
        progress(0.05);
        let masks = Masks::expand(parameters, epoch, shape.d_in())?;
        progress(0.1);
        let mut products = MaskProductsBuffer::new(
            parameters,
            epoch,
            shape.d_out() as u32,
            length.mask_products,
        )?;
        let bits = length.mask_products;
        let tiles = products.tiles(BAND, COLUMNS);
        let (total, count) = (tiles.len() as f64, AtomicUsize::new(0));
        let begun = || {
            let begun = count.fetch_add(1, Ordering::Relaxed);
            progress(0.1 + 0.9 * begun as f64 / total);
        };
        let mut tiles: Vec<_> = tiles
            .into_iter()
            .map(|tile| Rounded {
                tile,
                bits,
                begun: &begun,
            })
            .collect();
        multiply(kernel, &weights, &masks, &mut tiles);
        drop(tiles);
        progress(1.0);
        Ok(Self {
            parameters: parameters.clone(),
            manifest: GemmManifest {
                shape,
                digest: parameters.digest(),
                epoch,
                weights: scales,
                length,
            },
            kernel,
            weights,
            mask_products: products.into_bytes().into(),
        })
    }

    /// A layer of parts that belong together.
    pub(crate) fn assemble(
        parameters: &GemmParameters,
        manifest: GemmManifest,
        weights: PackedWeights,
        mask_products: Arc<[u8]>,
    ) -> Self {
        Self {
            parameters: parameters.clone(),
            manifest,
            kernel: GemmKernel::best(),
            weights,
            mask_products,
        }
    }

    pub(crate) fn weights(&self) -> &PackedWeights {
        &self.weights
    }

    /// What the client must know.
    pub fn manifest(&self) -> &GemmManifest {
        &self.manifest
    }

    /// The message with W·A, for the client to cache, or to be sent beside every answer.
    pub fn mask_products(&self) -> &Arc<[u8]> {
        &self.mask_products
    }

    /// The kernel that evaluates.
    pub fn kernel(&self) -> GemmKernel {
        self.kernel
    }

    /// Bytes of weights and W·A in memory.
    pub fn memory_bytes(&self) -> u64 {
        self.weights.memory_bytes() + self.mask_products.len() as u64
    }

    /// A copy whose weights are elsewhere in memory.
    ///
    /// # Errors
    /// [`LinearError::Ckks`] when memory runs out.
    pub fn duplicate(&self) -> Result<Self, LinearError> {
        Ok(Self {
            parameters: self.parameters.clone(),
            manifest: self.manifest.clone(),
            kernel: self.kernel,
            weights: self.weights.duplicate()?,
            mask_products: Arc::clone(&self.mask_products),
        })
    }

    /// Evaluates a received batch: upload message in, answer message out. Each batch costs
    /// `B·d_in·d_out` multiply-adds modulo 2^52.
    ///
    /// # Errors
    /// [`LinearError::Wire`] for bytes that are no upload under these parameters,
    /// [`LinearError::Count`] for another input width, [`LinearError::Epoch`] for other masks.
    pub fn evaluate(&self, upload: &[u8]) -> Result<(Vec<u8>, GemmTimes), LinearError> {
        let start = Instant::now();
        let upload = UploadView::parse(&self.parameters, upload)?;
        let shape = self.manifest.shape;
        expect_count("rows of an upload", shape.d_in(), upload.features())?;
        if upload.epoch() != self.manifest.epoch {
            return Err(LinearError::Epoch {
                expected: self.manifest.epoch.0,
                found: upload.epoch().0,
            });
        }
        let bits = self.manifest.length.answer;
        let columns = upload.columns() as u32;
        let mut answer = AnswerBuffer::new(&self.parameters, shape.d_out() as u32, columns, bits)?;
        let opened = start.elapsed();
        let mut tiles: Vec<_> = answer
            .tiles(BAND, COLUMNS)
            .into_iter()
            .map(|tile| Rounded {
                tile,
                bits,
                begun: &|| (),
            })
            .collect();
        multiply(self.kernel, &self.weights, &upload, &mut tiles);
        drop(tiles);
        let times = GemmTimes {
            open: opened,
            product: start.elapsed() - opened,
        };
        Ok((answer.into_bytes(), times))
    }
}

impl Columns for UploadView<'_> {
    fn count(&self) -> usize {
        self.columns()
    }

    fn unpack(&self, input: usize, first: usize, out: &mut [u64]) {
        UploadView::unpack(self, input, first, out);
    }

    fn prefetch(&self, input: usize, first: usize, len: usize) {
        if input < self.features() {
            let start = packed_len(first, LOG_Q);
            prefetch(&self.row(input)[start..start + packed_len(len, LOG_Q)]);
        }
    }
}

/// The public masks a_j, all their coefficients.
struct Masks {
    degree: usize,
    /// `[mask][coefficient]`.
    coefficients: BlockBuffer,
}

impl Masks {
    fn expand(parameters: &GemmParameters, epoch: Epoch, d_in: usize) -> Result<Self, LinearError> {
        let degree = parameters.ring_degree();
        let expander = MaskExpander::new(parameters, epoch);
        // Ring degrees are multiples of the 8 words of a block.
        let mut coefficients = BlockBuffer::zeroed(d_in * degree / 8)?;
        coefficients
            .words_mut()
            .par_chunks_mut(degree)
            .enumerate()
            .for_each(|(j, mask)| expander.expand(j as u32, mask));
        Ok(Self {
            degree,
            coefficients,
        })
    }
}

impl Columns for Masks {
    fn count(&self) -> usize {
        self.degree
    }

    fn unpack(&self, input: usize, first: usize, out: &mut [u64]) {
        let start = input * self.degree + first;
        out.copy_from_slice(&self.coefficients.words()[start..start + out.len()]);
    }

    fn prefetch(&self, input: usize, first: usize, len: usize) {
        let start = 8 * (input * self.degree + first);
        if let Some(bytes) = self.coefficients.bytes().get(start..start + 8 * len) {
            prefetch(bytes);
        }
    }
}

/// A tile of a message whose coefficients are rounded.
struct Rounded<'a> {
    tile: MessageTile<'a>,
    bits: u32,
    /// Told that a tile is under way.
    begun: &'a (dyn Fn() + Sync),
}

impl Tile for Rounded<'_> {
    fn rows(&self) -> usize {
        self.tile.rows()
    }

    fn take(&mut self, row: usize, residues: &mut [u64]) {
        if row == 0 {
            (self.begun)();
        }
        round_all(residues, self.bits);
        self.tile.pack(row, residues);
    }
}
