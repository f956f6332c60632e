//! Run-time choice of vector instructions.
//!
//! Element-wise kernels are one plain Rust loop compiled three times, for the baseline, AVX2 and
//! AVX-512; integer arithmetic gives the same bits on all. Kernels that need explicit shuffles
//! have their own implementations next to a plain one.

use std::sync::OnceLock;

/// Proof that this machine has the instructions: only detection makes one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Detected(());

/// A set of vector instructions that kernels are compiled for. Levels above portable cannot be
/// made by hand, so that safe code cannot ask for instructions that are not there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SimdLevel {
    /// Whatever every machine of the architecture has.
    Portable,
    /// AVX2 on x86-64.
    Avx2(Detected),
    /// AVX-512 F, BW, DQ and VL on x86-64.
    Avx512(Detected),
}

impl SimdLevel {
    /// The best level of this machine, detected once.
    pub fn detect() -> Self {
        static LEVEL: OnceLock<SimdLevel> = OnceLock::new();
        *LEVEL.get_or_init(|| *Self::available().last().unwrap_or(&Self::Portable))
    }

    /// All levels that this machine can run, ascending.
    pub fn available() -> Vec<Self> {
        #[allow(
            unused_mut,
            reason = "other architectures have the portable level only"
        )]
        let mut levels = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                levels.push(Self::Avx2(Detected(())));
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                {
                    levels.push(Self::Avx512(Detected(())));
                }
            }
        }
        levels
    }

    /// Lower-case name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2(_) => "avx2",
            Self::Avx512(_) => "avx512",
        }
    }
}

/// Compiles one plain function for every level and dispatches on a [`SimdLevel`] given as first
/// argument. The level must come from [`SimdLevel::available`].
#[macro_export]
macro_rules! multiversion {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        $vis fn $name(level: $crate::simd::SimdLevel, $($arg: $ty),*) {
            #[inline(always)]
            fn plain($($arg: $ty),*) $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2($($arg: $ty),*) {
                plain($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
            fn avx512($($arg: $ty),*) {
                plain($($arg),*)
            }

            match level {
                $crate::simd::SimdLevel::Portable => plain($($arg),*),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: levels above portable come from run-time detection only.
                $crate::simd::SimdLevel::Avx2(_) => unsafe { avx2($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                $crate::simd::SimdLevel::Avx512(_) => unsafe { avx512($($arg),*) },
                #[cfg(not(target_arch = "x86_64"))]
                _ => plain($($arg),*),
            }
        }
    };
}
pub use multiversion;
