//! The two products of the power iteration, for a few vectors at a time, in single precision.
//!
//! A lane array holds one complex entry of each vector, real parts first, so that one row of
//! weights serves all of them. Products and sums are in one fixed order on every machine: no fused
//! multiply-adds, no reassociation.

use ckks::simd::{SimdLevel, multiversion};

/// Vectors iterated together.
pub(crate) const STARTS: usize = 8;

/// One complex entry of each vector: real parts, then imaginary parts.
pub(crate) type Lane = [f32; 2 * STARTS];

/// `value += Σ_j (re_j·scale + i·im_j·im_scale)·x_j`; `im` may be shorter than `re`.
pub(crate) fn dot(
    level: SimdLevel,
    re: &[f32],
    im: &[f32],
    im_scale: f32,
    scale: f32,
    x: &[Lane],
    value: &mut Lane,
) {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: levels above portable come from run-time detection only.
        SimdLevel::Avx512(_) => unsafe { avx512::dot(re, im, im_scale, scale, x, value) },
        _ => plain_dot(level, re, im, im_scale, scale, x, value),
    }
}

/// `sum_j += conj(re_j·scale + i·im_j·im_scale)·value`; `im` may be shorter than `re`.
pub(crate) fn scatter(
    level: SimdLevel,
    re: &[f32],
    im: &[f32],
    im_scale: f32,
    scale: f32,
    value: &Lane,
    sum: &mut [Lane],
) {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: levels above portable come from run-time detection only.
        SimdLevel::Avx512(_) => unsafe { avx512::scatter(re, im, im_scale, scale, value, sum) },
        _ => plain_scatter(level, re, im, im_scale, scale, value, sum),
    }
}

/// The entry times i, up to the sign of the conjugate: `conj(i·w)·v = w·turn(v)` for real w.
#[inline(always)]
fn turn(value: &Lane) -> Lane {
    std::array::from_fn(|s| {
        if s < STARTS {
            value[s + STARTS]
        } else {
            -value[s - STARTS]
        }
    })
}

/// Adds `real + i·imaginary` to `value`.
#[inline(always)]
fn combine(real: &Lane, imaginary: &Lane, value: &mut Lane) {
    for s in 0..STARTS {
        value[s] += real[s] - imaginary[s + STARTS];
        value[s + STARTS] += real[s + STARTS] + imaginary[s];
    }
}

multiversion! {
    /// `value += Σ_j (re_j·scale + i·im_j·im_scale)·x_j`; `im` may be shorter than `re`.
    fn plain_dot(re: &[f32], im: &[f32], im_scale: f32, scale: f32, x: &[Lane], value: &mut Lane) {
        // Sums over the real and over the imaginary parts, so that all lanes do the same.
        let mut real = [0.0f32; 2 * STARTS];
        let mut imaginary = [0.0f32; 2 * STARTS];
        for ((&wr, &wi), lane) in re.iter().zip(im).zip(x) {
            let (wr, wi) = (wr * scale, wi * im_scale);
            for s in 0..2 * STARTS {
                real[s] += wr * lane[s];
                imaginary[s] += wi * lane[s];
            }
        }
        for (&wr, lane) in re.iter().zip(x).skip(im.len()) {
            let wr = wr * scale;
            for s in 0..2 * STARTS {
                real[s] += wr * lane[s];
            }
        }
        combine(&real, &imaginary, value);
    }
}

multiversion! {
    /// `sum_j += conj(re_j·scale + i·im_j·im_scale)·value`; `im` may be shorter than `re`.
    fn plain_scatter(re: &[f32], im: &[f32], im_scale: f32, scale: f32, value: &Lane, sum: &mut [Lane]) {
        let (value, turned) = (*value, turn(value));
        for ((&wr, &wi), lane) in re.iter().zip(im).zip(&mut *sum) {
            let (wr, wi) = (wr * scale, wi * im_scale);
            for s in 0..2 * STARTS {
                lane[s] += wr * value[s] + wi * turned[s];
            }
        }
        for (&wr, lane) in re.iter().zip(sum).skip(im.len()) {
            let wr = wr * scale;
            for s in 0..2 * STARTS {
                lane[s] += wr * value[s];
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    //! One vector register holds a lane array.

    use super::{Lane, combine, turn};
    use std::arch::x86_64::{
        __m512, _mm512_add_ps, _mm512_loadu_ps, _mm512_mul_ps, _mm512_set1_ps, _mm512_setzero_ps,
        _mm512_storeu_ps,
    };

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(lane: &Lane) -> __m512 {
        // SAFETY: a lane array is 16 f32 values.
        unsafe { _mm512_loadu_ps(lane.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store(lane: &mut Lane, v: __m512) {
        // SAFETY: a lane array is 16 f32 values.
        unsafe { _mm512_storeu_ps(lane.as_mut_ptr(), v) };
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn dot(
        re: &[f32],
        im: &[f32],
        im_scale: f32,
        scale: f32,
        x: &[Lane],
        value: &mut Lane,
    ) {
        let (mut real, mut imaginary) = (_mm512_setzero_ps(), _mm512_setzero_ps());
        for ((&wr, &wi), lane) in re.iter().zip(im).zip(x) {
            let lane = load(lane);
            real = _mm512_add_ps(real, _mm512_mul_ps(_mm512_set1_ps(wr * scale), lane));
            let wi = _mm512_set1_ps(wi * im_scale);
            imaginary = _mm512_add_ps(imaginary, _mm512_mul_ps(wi, lane));
        }
        for (&wr, lane) in re.iter().zip(x).skip(im.len()) {
            let wr = _mm512_set1_ps(wr * scale);
            real = _mm512_add_ps(real, _mm512_mul_ps(wr, load(lane)));
        }
        let (mut sums, mut turned) = ([0.0; 16], [0.0; 16]);
        store(&mut sums, real);
        store(&mut turned, imaginary);
        combine(&sums, &turned, value);
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn scatter(
        re: &[f32],
        im: &[f32],
        im_scale: f32,
        scale: f32,
        value: &Lane,
        sum: &mut [Lane],
    ) {
        let (turned, value) = (load(&turn(value)), load(value));
        for ((&wr, &wi), lane) in re.iter().zip(im).zip(&mut *sum) {
            let real = _mm512_mul_ps(_mm512_set1_ps(wr * scale), value);
            let imaginary = _mm512_mul_ps(_mm512_set1_ps(wi * im_scale), turned);
            let added = _mm512_add_ps(load(lane), _mm512_add_ps(real, imaginary));
            store(lane, added);
        }
        for (&wr, lane) in re.iter().zip(sum).skip(im.len()) {
            let added = _mm512_add_ps(load(lane), _mm512_mul_ps(_mm512_set1_ps(wr * scale), value));
            store(lane, added);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ckks::Complex64;

    fn values(count: usize, salt: u32) -> Vec<f32> {
        (0..count as u32)
            .map(|i| {
                (i.wrapping_mul(2_654_435_761)
                    .wrapping_add(salt.wrapping_mul(0x9e37_79b9))
                    >> 8) as f32
                    / (1 << 23) as f32
                    - 1.0
            })
            .map(|v| if v.abs() < 0.05 { 0.0 } else { v })
            .collect()
    }

    fn lanes(count: usize, salt: u32) -> Vec<Lane> {
        let flat = values(count * 16, salt);
        flat.as_chunks::<16>().0.to_vec()
    }

    fn entry(lane: &Lane, s: usize) -> Complex64 {
        Complex64::new(lane[s].into(), lane[s + STARTS].into())
    }

    #[test]
    fn levels_agree_to_the_bit_and_with_complex_arithmetic() {
        for (len, im_len) in [(1, 0), (1, 1), (7, 3), (64, 64), (65, 64), (300, 0)] {
            let (re, im) = (values(len, 1), values(im_len, 2));
            let (x, start) = (lanes(len, 3), lanes(1, 4)[0]);
            let (scale, im_scale) = (0.5f32, -0.5f32);
            let weight = |j: usize| {
                let wi = im.get(j).map_or(0.0, |w| f64::from(w * im_scale));
                Complex64::new(f64::from(re[j] * scale), wi)
            };
            let mut reference = start;
            plain_dot(
                SimdLevel::Portable,
                &re,
                &im,
                im_scale,
                scale,
                &x,
                &mut reference,
            );
            let mut sums = x.clone();
            plain_scatter(
                SimdLevel::Portable,
                &re,
                &im,
                im_scale,
                scale,
                &start,
                &mut sums,
            );
            for s in 0..STARTS {
                let exact: Complex64 = entry(&start, s)
                    + (0..len)
                        .map(|j| weight(j) * entry(&x[j], s))
                        .sum::<Complex64>();
                // Single-precision sums of `len` terms of at most 2.
                assert!((entry(&reference, s) - exact).norm() < 1e-6 * (len as f64 + 1.0) * 2.0);
                for j in 0..len {
                    let exact = entry(&x[j], s) + weight(j).conj() * entry(&start, s);
                    assert!((entry(&sums[j], s) - exact).norm() < 1e-6);
                }
            }
            for level in SimdLevel::available() {
                let mut value = start;
                dot(level, &re, &im, im_scale, scale, &x, &mut value);
                assert_eq!(
                    value.map(f32::to_bits),
                    reference.map(f32::to_bits),
                    "{level:?}"
                );
                let mut out = x.clone();
                scatter(level, &re, &im, im_scale, scale, &start, &mut out);
                assert!(
                    out.iter()
                        .flatten()
                        .map(|v| v.to_bits())
                        .eq(sums.iter().flatten().map(|v| v.to_bits()))
                );
            }
        }
    }
}
