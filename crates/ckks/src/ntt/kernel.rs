//! Run-time choice of the implementation.

#[cfg(target_arch = "x86_64")]
use super::packed::{Packed, Roots};
use super::{NttTable, reference};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
#[cfg(target_arch = "x86_64")]
use crate::modulus::Modulus;
use crate::upcoming::Upcoming;

/// An implementation of the transform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kernel {
    /// Plain code, on every machine.
    Reference,
    /// 8-lane vectors, on x86-64 with AVX2.
    Avx2,
    /// 16-lane vectors, on x86-64 with AVX-512F.
    Avx512,
}

impl Kernel {
    /// The kernels that this machine can run, slowest first.
    pub fn available() -> Vec<Self> {
        [Self::Reference, Self::Avx2, Self::Avx512]
            .into_iter()
            .filter(|kernel| kernel.is_available())
            .collect()
    }

    /// The fastest kernel that this machine can run.
    pub fn best() -> Self {
        *Self::available().last().unwrap_or(&Self::Reference)
    }

    /// Lower-case name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    fn is_available(self) -> bool {
        match self {
            Self::Reference => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => is_x86_feature_detected!("avx512f"),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }
}

/// A kernel with its tables. A vector variant exists only where the instructions do.
#[derive(Clone, Debug)]
pub(super) enum Backend {
    Reference,
    #[cfg(target_arch = "x86_64")]
    Avx2(Packed),
    #[cfg(target_arch = "x86_64")]
    Avx512(Packed),
}

/// Calls a kernel for the largest range, in multiples of `q`, that fits 32 bits. Halving `q`
/// leaves room for one more doubling: 29-bit primes have `8q < 2^32`.
#[cfg(target_arch = "x86_64")]
macro_rules! by_range {
    ($modulus:expr, $kernel:ident::$direction:ident, $($argument:expr),*) => {
        match $modulus.bits() {
            ..=29 => $kernel::$direction::<8>($modulus, $($argument),*),
            30 => $kernel::$direction::<4>($modulus, $($argument),*),
            _ => $kernel::$direction::<2>($modulus, $($argument),*),
        }
    };
}

impl Backend {
    /// `None` when this machine cannot run the kernel.
    pub(super) fn new(kernel: Kernel, table: &NttTable) -> Option<Self> {
        if !kernel.is_available() {
            return None;
        }
        #[cfg(target_arch = "x86_64")]
        let packed = |build: fn(Modulus, Roots<'_>, Roots<'_>) -> Packed| {
            build(
                table.modulus,
                (&table.roots, &table.roots_shoup),
                (&table.inv_roots, &table.inv_roots_shoup),
            )
        };
        #[cfg(not(target_arch = "x86_64"))]
        let _ = table;
        match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => Some(Self::Avx2(packed(Packed::lanes8))),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => Some(Self::Avx512(packed(Packed::lanes16))),
            _ => Some(Self::Reference),
        }
    }

    pub(super) fn kernel(&self) -> Kernel {
        match self {
            Self::Reference => Kernel::Reference,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => Kernel::Avx2,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => Kernel::Avx512,
        }
    }

    pub(super) fn forward(
        &self,
        table: &NttTable,
        values: &mut [u32],
        upcoming: &mut Upcoming<'_>,
    ) {
        match self {
            Self::Reference => reference::forward(table, values),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `new` makes this variant only after detecting AVX2.
            Self::Avx2(tables) => unsafe {
                by_range!(table.modulus, avx2::forward, tables, values);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `new` makes this variant only after detecting AVX-512F.
            Self::Avx512(tables) => unsafe {
                by_range!(table.modulus, avx512::forward, tables, values, upcoming);
            },
        }
    }

    pub(super) fn inverse(
        &self,
        table: &NttTable,
        values: &mut [u32],
        upcoming: &mut Upcoming<'_>,
    ) {
        match self {
            Self::Reference => reference::inverse(table, values),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `new` makes this variant only after detecting AVX2.
            Self::Avx2(tables) => unsafe {
                by_range!(table.modulus, avx2::inverse, tables, values);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `new` makes this variant only after detecting AVX-512F.
            Self::Avx512(tables) => unsafe {
                by_range!(table.modulus, avx512::inverse, tables, values, upcoming);
            },
        }
    }
}
