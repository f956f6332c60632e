//! The integer matrix product, blocked for the caches and spread over threads.
//!
//! Up to 128 columns form a block. A thread unpacks 512 KiB of a block, which stay in the
//! second-level cache, and multiplies them with one panel of 8 outputs after the other, whose
//! weights stream from memory. Threads take different blocks; where fewer blocks than threads are
//! left, they share a block and take different panels.

use crate::gemm::kernel::{
    COLUMNS, GROUPS, GemmKernel, LANES, Lanes, MASK, PANEL, Sums, Widened, panel,
};
use crate::gemm::weights::PackedWeights;
use rayon::prelude::*;
use std::cell::RefCell;
use std::ops::Range;

/// Vectors of a block that are unpacked together: 512 KiB.
const VECTORS: usize = 8192;
/// Rows that are fetched ahead of the one that is unpacked.
const ROWS_AHEAD: usize = 8;
/// Inputs that one task unpacks where threads share a block.
const ROWS_PER_TASK: usize = 128;
/// Panels of a band, which one task multiplies where threads share a block.
const PANELS_PER_BAND: usize = 4;
/// Panels whose sums are kept at once: at most 4 MiB for each thread. A multiple of a band.
const PANELS_PER_ROUND: usize = 512;
/// Outputs of a tile.
pub(crate) const BAND: usize = PANELS_PER_BAND * PANEL;

const NO_SUMS: Sums = [[Lanes([0; LANES]); GROUPS]; PANEL];

/// Residues that weights are multiplied with, `[input][column]`.
pub(crate) trait Columns: Sync {
    /// Number of columns.
    fn count(&self) -> usize;

    /// Writes `out.len()` residues of one input, from a column that is a multiple of 128 on.
    fn unpack(&self, input: usize, first: usize, out: &mut [u64]);

    /// Fetches what [`Columns::unpack`] would read for `len` columns of an input, if there is such
    /// an input. Only a hint.
    fn prefetch(&self, input: usize, first: usize, len: usize) {
        let _ = (input, first, len);
    }
}

/// A rectangle of the product, [`BAND`] outputs (fewer at the end) by 128 columns (fewer at the end).
pub(crate) trait Tile: Send {
    /// Its rows.
    fn rows(&self) -> usize;

    /// Takes one row of the rectangle, counted from its first: residues below 2^52. Called once for
    /// each row.
    fn take(&mut self, row: usize, residues: &mut [u64]);
}

/// Multiplies all columns with all weights modulo 2^52. `tiles` are all rectangles of the product,
/// those of a block of columns after each other.
pub(crate) fn multiply<T: Tile>(
    kernel: GemmKernel,
    weights: &PackedWeights,
    columns: &impl Columns,
    tiles: &mut [T],
) {
    let product = Product {
        kernel,
        weights,
        columns,
    };
    let blocks = columns.count().div_ceil(COLUMNS);
    let bands = weights.d_out().div_ceil(BAND);
    assert_eq!(tiles.len(), blocks * bands, "a tile for each rectangle");
    let threads = rayon::current_num_threads().max(1);
    let (alone, together) = tiles.split_at_mut(blocks / threads * threads * bands);
    alone
        .par_chunks_mut(bands)
        .with_max_len(1)
        .enumerate()
        .for_each(|(block, tiles)| product.alone(block, tiles));
    for (i, tiles) in together.chunks_mut(bands).enumerate() {
        product.together(blocks / threads * threads + i, tiles);
    }
}

/// Buffers of one thread. They hold ciphertexts and weights, nothing secret.
struct Scratch {
    columns: Vec<Lanes>,
    sums: Vec<Sums>,
    widened: Widened,
}

thread_local! {
    /// Kept between products: fresh pages cost time.
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch {
        columns: Vec::new(),
        sums: Vec::new(),
        widened: Widened::new(),
    });
}

struct Product<'a, C> {
    kernel: GemmKernel,
    weights: &'a PackedWeights,
    columns: &'a C,
}

/// A block of columns.
#[derive(Clone, Copy)]
struct Block {
    /// Its first column.
    first: usize,
    /// Its columns.
    len: usize,
    /// Vectors that hold them.
    groups: usize,
}

impl<C: Columns> Product<'_, C> {
    fn block(&self, block: usize) -> Block {
        let first = block * COLUMNS;
        let len = COLUMNS.min(self.columns.count() - first);
        Block {
            first,
            len,
            groups: len.div_ceil(LANES),
        }
    }

    /// Parts of the input width.
    fn depths(&self, block: Block) -> impl ExactSizeIterator<Item = Range<usize>> {
        let (d_in, depth) = (self.weights.d_in(), VECTORS / block.groups);
        (0..d_in.div_ceil(depth)).map(move |i| i * depth..d_in.min((i + 1) * depth))
    }

    /// Panels whose sums are kept at once, one range after the other.
    fn rounds(&self) -> impl Iterator<Item = Range<usize>> {
        let panels = self.weights.panels();
        (0..panels)
            .step_by(PANELS_PER_ROUND)
            .map(move |first| first..panels.min(first + PANELS_PER_ROUND))
    }

    /// One block, by this thread.
    fn alone(&self, block: usize, tiles: &mut [impl Tile]) {
        let block = self.block(block);
        SCRATCH.with_borrow_mut(|scratch| {
            let Scratch {
                columns,
                sums,
                widened,
            } = scratch;
            let parts = self.depths(block).len();
            for panels in self.rounds() {
                // Sums stay in the first-level cache unless the input width is cut.
                sums.clear();
                sums.resize(if parts > 1 { panels.len() } else { 0 }, NO_SUMS);
                for (part, inputs) in self.depths(block).enumerate() {
                    columns.resize(inputs.len() * block.groups, Lanes([0; LANES]));
                    self.unpack(block, inputs.start, columns);
                    for at in panels.clone() {
                        let mut own = NO_SUMS;
                        let sums = sums.get_mut(at - panels.start).unwrap_or(&mut own);
                        self.panel(at, inputs.start, block, columns, widened, sums);
                        if part + 1 == parts {
                            let tile = &mut tiles[at / PANELS_PER_BAND];
                            finish(tile, at % PANELS_PER_BAND, block, sums);
                        }
                    }
                }
            }
        });
    }

    /// One block, by all threads.
    fn together(&self, block: usize, tiles: &mut [impl Tile]) {
        let block = self.block(block);
        let parts = self.depths(block).len();
        let mut columns = Vec::new();
        for panels in self.rounds() {
            let mut sums = vec![NO_SUMS; panels.len()];
            let tiles = &mut tiles[panels.start / PANELS_PER_BAND..];
            for (part, inputs) in self.depths(block).enumerate() {
                columns.resize(inputs.len() * block.groups, Lanes([0; LANES]));
                columns
                    .par_chunks_mut(ROWS_PER_TASK * block.groups)
                    .enumerate()
                    .for_each(|(task, columns)| {
                        self.unpack(block, inputs.start + task * ROWS_PER_TASK, columns);
                    });
                sums.par_chunks_mut(PANELS_PER_BAND)
                    .zip(tiles.par_iter_mut())
                    .enumerate()
                    .for_each(|(band, (sums, tile))| {
                        SCRATCH.with_borrow_mut(|scratch| {
                            let widened = &mut scratch.widened;
                            for (i, sums) in sums.iter_mut().enumerate() {
                                let at = panels.start + band * PANELS_PER_BAND + i;
                                self.panel(at, inputs.start, block, &columns, widened, sums);
                                if part + 1 == parts {
                                    finish(tile, i, block, sums);
                                }
                            }
                        });
                    });
            }
        }
    }

    /// Unpacks as many inputs as `columns` holds, from `input` on.
    fn unpack(&self, block: Block, input: usize, columns: &mut [Lanes]) {
        let mut row = [0; COLUMNS];
        for (i, lanes) in columns.chunks_exact_mut(block.groups).enumerate() {
            self.columns
                .prefetch(input + i + ROWS_AHEAD, block.first, block.len);
            self.columns
                .unpack(input + i, block.first, &mut row[..block.len]);
            for (lanes, values) in lanes.iter_mut().zip(row.as_chunks().0) {
                *lanes = Lanes(*values);
            }
        }
    }

    fn panel(
        &self,
        at: usize,
        first_input: usize,
        block: Block,
        columns: &[Lanes],
        widened: &mut Widened,
        sums: &mut Sums,
    ) {
        let weights = self.weights.panel(at, first_input);
        panel(self.kernel, weights, columns, block.groups, widened, sums);
    }
}

/// Hands the sums of one panel of a band to the band's tile.
fn finish(tile: &mut impl Tile, panel: usize, block: Block, sums: &Sums) {
    let mut row = [0; COLUMNS];
    for (output, sums) in sums.iter().enumerate() {
        let at = panel * PANEL + output;
        if at >= tile.rows() {
            break;
        }
        for (values, lanes) in row.as_chunks_mut().0.iter_mut().zip(sums) {
            *values = lanes.0.map(|sum| sum & MASK);
        }
        tile.take(at, &mut row[..block.len]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::weights::tests::matrix;
    use proptest::prelude::*;

    struct Table {
        columns: usize,
        residues: Vec<u64>,
    }

    impl Columns for Table {
        fn count(&self) -> usize {
            self.columns
        }

        fn unpack(&self, input: usize, first: usize, out: &mut [u64]) {
            out.copy_from_slice(&self.residues[input * self.columns + first..][..out.len()]);
        }
    }

    /// A tile that keeps what it takes.
    #[derive(Clone)]
    struct Kept {
        rows: Vec<Vec<u64>>,
    }

    impl Tile for Kept {
        fn rows(&self) -> usize {
            self.rows.len()
        }

        fn take(&mut self, row: usize, residues: &mut [u64]) {
            assert!(self.rows[row].is_empty(), "each row is taken once");
            self.rows[row] = residues.to_vec();
        }
    }

    fn mixed(state: &mut u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        match *state >> 61 {
            0 => MASK,
            1 => 0,
            _ => *state >> 9 & MASK,
        }
    }

    /// Compares every kernel with sums in 128 bits.
    fn check(d_in: usize, d_out: usize, columns: usize, threads: usize) {
        #![allow(clippy::unwrap_used, reason = "a helper of tests")]
        let rows: Vec<Vec<f32>> = (0..d_out)
            .map(|k| {
                (0..d_in)
                    .map(|j| ((j * 31 + k * 17) as f32).sin())
                    .collect()
            })
            .collect();
        let (weights, _) = PackedWeights::new(&matrix(&rows)).unwrap();
        let mut state = (d_in * 1000 + columns) as u64;
        let table = Table {
            columns,
            residues: (0..d_in * columns).map(|_| mixed(&mut state)).collect(),
        };
        let exact = |k: usize, i: usize| {
            let products = (0..d_in).map(|j| {
                i128::from(weights.get(j, k)) * i128::from(table.residues[j * columns + i])
            });
            products.sum::<i128>().rem_euclid(1 << 52)
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        for kernel in GemmKernel::available() {
            let bands = d_out.div_ceil(BAND);
            let blocks = columns.div_ceil(COLUMNS);
            let mut tiles: Vec<_> = (0..blocks * bands)
                .map(|i| Kept {
                    rows: vec![Vec::new(); BAND.min(d_out - i % bands * BAND)],
                })
                .collect();
            pool.install(|| multiply(kernel, &weights, &table, &mut tiles));
            for k in 0..d_out {
                for i in 0..columns {
                    let tile = &tiles[i / COLUMNS * bands + k / BAND];
                    let found = tile.rows[k % BAND][i % COLUMNS];
                    assert_eq!(
                        i128::from(found),
                        exact(k, i),
                        "{kernel:?} {d_in}x{d_out}, {columns} columns, {threads} threads"
                    );
                }
            }
        }
    }

    #[test]
    fn edges_of_blocks_panels_and_depths() {
        for (d_in, d_out, columns) in [
            (1, 1, 1),
            (3, 8, 7),
            (576, 9, 8),
            (2047, 3, 31),
            (2048, 33, 32),
            (2049, 3, 33),
            (4100, 65, 9),
            (5, 64, 100),
            (520, 65, 129),
            (8200, 4100, 1),
        ] {
            check(d_in, d_out, columns, 1);
            check(d_in, d_out, columns, 3);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn any_shape(d_in in 1usize..90, d_out in 1usize..80, columns in 1usize..140, threads in 1usize..5) {
            check(d_in, d_out, columns, threads);
        }
    }
}
