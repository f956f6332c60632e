//! Rotations of c0 as moves of single blocks, so that the online part needs no rotated copies.

use crate::mac::Block;
use ckks::automorphism::{Automorphism, GaloisElement};
use ckks::simd::SimdLevel;
use std::collections::HashMap;

/// The other end of a block's move under one rotation.
#[derive(Clone, Copy, Debug)]
struct Move {
    block: u16,
    /// Number of the order of the 16 residues: `out[lane] = in[pattern[lane]]`.
    pattern: u16,
}

/// All moves of a layer's rotations, ordered by block: the online part goes block after block.
#[derive(Clone, Debug)]
pub(crate) struct BlockMoves {
    /// Rotation steps, ascending, from step 0 on.
    steps: Vec<usize>,
    /// Baby steps `0..babies`.
    babies: usize,
    /// Where a block comes from: `[block][baby]`.
    sources: Vec<Move>,
    /// Where a block goes: `[block][step]`.
    targets: Vec<Move>,
    patterns: Vec<Block>,
}

impl BlockMoves {
    /// Moves for the baby steps `0..babies` and for all `steps`, which ascend from 0 on and begin
    /// with the baby steps.
    pub(crate) fn new(steps: Vec<usize>, babies: usize, degree: usize) -> Self {
        let blocks = degree / 16;
        let nowhere = Move {
            block: 0,
            pattern: 0,
        };
        let mut sources = vec![nowhere; blocks * babies];
        let mut targets = vec![nowhere; blocks * steps.len()];
        let mut patterns = Vec::new();
        let mut known = HashMap::new();
        for (i, &step) in steps.iter().enumerate() {
            let element = GaloisElement::rotation(step as i64, degree);
            let automorphism = Automorphism::new(element, degree);
            for target in 0..blocks {
                let (source, lanes) = automorphism.block(target);
                let pattern = *known.entry(*lanes).or_insert_with(|| {
                    patterns.push(*lanes);
                    (patterns.len() - 1) as u16
                });
                let to = |block: usize| Move {
                    block: block as u16,
                    pattern,
                };
                if i < babies {
                    sources[target * babies + i] = to(source);
                }
                targets[source * steps.len() + i] = to(target);
            }
        }
        Self {
            steps,
            babies,
            sources,
            targets,
            patterns,
        }
    }

    /// Number of a rotation step among all.
    pub(crate) fn number(&self, step: usize) -> usize {
        self.steps.partition_point(|&s| s < step)
    }

    /// Writes block `block` of the first `babies` rotations of each limb of `from` to `row`, as
    /// `[baby][limb]`.
    pub(super) fn gather(
        &self,
        level: SimdLevel,
        block: usize,
        babies: usize,
        from: &[&[Block]],
        row: &mut [Block],
    ) {
        let moves = &self.sources[block * self.babies..][..babies];
        match level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level comes from run-time detection.
            SimdLevel::Avx512(_) => unsafe { x86::gather_avx512(self, moves, from, row) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level comes from run-time detection.
            SimdLevel::Avx2(_) => unsafe { x86::gather_avx2(self, moves, from, row) },
            _ => self.gather_with(moves, from, row, permute),
        }
    }

    /// Adds block `block` of each sum of `sums`, `[giant][limb]`, modulo `q` to where its rotation
    /// moves it in the limbs of `to`. `giants` are numbers of steps. All residues canonical.
    pub(super) fn scatter_add(
        &self,
        level: SimdLevel,
        q: u32,
        block: usize,
        giants: &[usize],
        sums: &[Block],
        to: &mut [&mut [Block]],
    ) {
        let moves = &self.targets[block * self.steps.len()..][..self.steps.len()];
        match level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level comes from run-time detection.
            SimdLevel::Avx512(_) => unsafe {
                x86::scatter_avx512(self, q, moves, giants, sums, to);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level comes from run-time detection.
            SimdLevel::Avx2(_) => unsafe {
                x86::scatter_avx2(self, q, moves, giants, sums, to);
            },
            _ => self.scatter_with(moves, giants, sums, to, |sum, pattern, out| {
                add(q, &permute(sum, pattern), out);
            }),
        }
    }

    #[inline(always)]
    fn gather_with(
        &self,
        moves: &[Move],
        from: &[&[Block]],
        row: &mut [Block],
        permute: impl Fn(&Block, &Block) -> Block,
    ) {
        for (m, row) in moves.iter().zip(row.chunks_exact_mut(from.len().max(1))) {
            let pattern = &self.patterns[usize::from(m.pattern)];
            for (from, out) in from.iter().zip(row) {
                *out = permute(&from[usize::from(m.block)], pattern);
            }
        }
    }

    #[inline(always)]
    fn scatter_with(
        &self,
        moves: &[Move],
        giants: &[usize],
        sums: &[Block],
        to: &mut [&mut [Block]],
        add: impl Fn(&Block, &Block, &mut Block),
    ) {
        for (&giant, sums) in giants.iter().zip(sums.chunks_exact(to.len().max(1))) {
            let m = moves[giant];
            let pattern = &self.patterns[usize::from(m.pattern)];
            for (sum, to) in sums.iter().zip(to.iter_mut()) {
                add(sum, pattern, &mut to[usize::from(m.block)]);
            }
        }
    }
}

#[inline(always)]
fn permute(values: &Block, pattern: &Block) -> Block {
    std::array::from_fn(|lane| values[(pattern[lane] & 15) as usize])
}

/// `out += values` modulo `q`, canonical.
#[inline(always)]
fn add(q: u32, values: &Block, out: &mut Block) {
    for (o, v) in out.iter_mut().zip(values) {
        let sum = *o + v;
        *o = sum.min(sum.wrapping_sub(q));
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Block, BlockMoves, Move, add};
    use ckks::automorphism::{permute_avx2, permute_avx512};
    use std::arch::x86_64::{
        __m512i, _mm512_add_epi32, _mm512_loadu_epi32, _mm512_min_epu32, _mm512_permutexvar_epi32,
        _mm512_set1_epi32, _mm512_storeu_epi32, _mm512_sub_epi32,
    };

    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn gather_avx512(
        all: &BlockMoves,
        moves: &[Move],
        from: &[&[Block]],
        row: &mut [Block],
    ) {
        all.gather_with(moves, from, row, |values, pattern| {
            permute_avx512(values, pattern)
        });
    }

    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn scatter_avx512(
        all: &BlockMoves,
        q: u32,
        moves: &[Move],
        giants: &[usize],
        sums: &[Block],
        to: &mut [&mut [Block]],
    ) {
        let q = _mm512_set1_epi32(q as i32);
        all.scatter_with(moves, giants, sums, to, |sum, pattern, out| {
            let moved = _mm512_permutexvar_epi32(load(pattern), load(sum));
            let sum = _mm512_add_epi32(load(out), moved);
            store(out, _mm512_min_epu32(sum, _mm512_sub_epi32(sum, q)));
        });
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(values: &Block) -> __m512i {
        // SAFETY: a block is 16 u32 values.
        unsafe { _mm512_loadu_epi32(values.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store(out: &mut Block, values: __m512i) {
        // SAFETY: a block is 16 u32 values.
        unsafe { _mm512_storeu_epi32(out.as_mut_ptr().cast(), values) }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn gather_avx2(
        all: &BlockMoves,
        moves: &[Move],
        from: &[&[Block]],
        row: &mut [Block],
    ) {
        all.gather_with(moves, from, row, |values, pattern| {
            permute_avx2(values, pattern)
        });
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn scatter_avx2(
        all: &BlockMoves,
        q: u32,
        moves: &[Move],
        giants: &[usize],
        sums: &[Block],
        to: &mut [&mut [Block]],
    ) {
        all.scatter_with(moves, giants, sums, to, |sum, pattern, out| {
            add(q, &permute_avx2(sum, pattern), out);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both directions give the whole-limb permutation, at every level.
    #[test]
    fn moves_agree_with_automorphisms() {
        let (degree, q) = (1024, 2_147_352_577u32);
        let steps = vec![0, 1, 2, 3, 16, 100, 511];
        let babies = 4;
        let moves = BlockMoves::new(steps.clone(), babies, degree);
        let limb = |salt: u32| -> Vec<u32> {
            (0..degree as u32)
                .map(|i| (i + salt).wrapping_mul(0x9e37_79b9) % q)
                .collect()
        };
        let limbs = [limb(1), limb(2), limb(3)];
        let from = limbs.each_ref().map(|l| l.as_chunks::<16>().0);
        let expected = |step: usize, c: usize| {
            let element = GaloisElement::rotation(step as i64, degree);
            let mut out = vec![0; degree];
            Automorphism::new(element, degree).apply(SimdLevel::Portable, &limbs[c], &mut out);
            out
        };
        let giants: Vec<usize> = [0, 16, 100, 511].map(|s| moves.number(s)).to_vec();
        for level in SimdLevel::available() {
            for block in 0..degree / 16 {
                let mut row = vec![[0; 16]; babies * 3];
                moves.gather(level, block, babies, &from, &mut row);
                for (i, found) in row.iter().enumerate() {
                    let whole = expected(i / 3, i % 3);
                    assert_eq!(found, &whole[16 * block..][..16], "{level:?}");
                }
            }
            let mut out = vec![vec![[q - 1; 16]; degree / 16]; 3];
            for block in 0..moves.sources.len() / babies {
                let of_block = from.map(|limb| limb[block]);
                let sums = of_block.repeat(giants.len());
                let mut to: Vec<&mut [Block]> = out.iter_mut().map(Vec::as_mut_slice).collect();
                moves.scatter_add(level, q, block, &giants, &sums, &mut to);
            }
            for (c, out) in out.iter().enumerate() {
                let rotated = [0, 16, 100, 511].map(|step| expected(step, c));
                for (i, &found) in out.as_flattened().iter().enumerate() {
                    let sum: u64 = rotated.iter().map(|r| u64::from(r[i])).sum();
                    let expected = (sum + u64::from(q - 1)) % u64::from(q);
                    assert_eq!(u64::from(found), expected, "{level:?}");
                }
            }
        }
    }
}
