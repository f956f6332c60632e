//! The trusted side of the `gemm` plan ([`ckks::gemm`]): batches encrypted under secrets that live
//! for one batch.
//!
//! ```
//! use ckks::gemm::{Epoch, GemmParameters, GemmRing};
//! use ckks_secret::{OsCsprng, gemm};
//!
//! let ring = GemmRing::new(GemmParameters::named("gemm-2048")?)?;
//! // Public, and good for every batch of the epoch: 3 features, batches of about 2 vectors.
//! let masks = gemm::GemmMasks::new(&ring, Epoch(1), 3, 2)?;
//! let vectors: [&[f64]; 2] = [&[0.5, -1.0, 2.0], &[1.0, 0.0, -0.25]];
//! let (upload, secret) =
//!     gemm::encrypt(&masks, &vectors, &[1048576.0, 1048576.0], &mut OsCsprng::new()?)?;
//! // Send `upload`, the same bytes again when that fails, and keep `secret` for the answer:
//! // `secret.decrypt(&mask_products, answer_bits, &answer)`.
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # One secret, one batch
//!
//! All batches use the same masks, so two batches under one secret would show the difference of
//! their messages. [`encrypt`] draws the secrets itself and gives them out only as a
//! [`BatchSecret`], which decrypts once. There is no way to encrypt under it:
//!
//! ```compile_fail,E0308
//! # use ckks_secret::{OsCsprng, gemm::{self, BatchSecret, GemmMasks}};
//! fn again(masks: &GemmMasks, secret: BatchSecret, rng: &mut OsCsprng) {
//!     let _ = gemm::encrypt(masks, &[], &[], secret);
//! }
//! ```
//!
//! nor to decrypt twice, which would let a server learn from what a client does with a second,
//! forged answer:
//!
//! ```compile_fail,E0382
//! # use ckks_secret::gemm::{BatchSecret, CachedMaskProducts};
//! fn twice(secret: BatchSecret, products: &CachedMaskProducts, answer: &[u8]) {
//!     let _ = secret.decrypt(products, 24, answer);
//!     let _ = secret.decrypt(products, 24, answer);
//! }
//! ```
//!
//! nor to copy it:
//!
//! ```compile_fail,E0599
//! # use ckks_secret::gemm::BatchSecret;
//! fn copy(secret: &BatchSecret) -> BatchSecret {
//!     BatchSecret::clone(secret)
//! }
//! ```

mod decrypt;
mod encrypt;
mod masks;
mod products;
mod rows;
mod secret;

pub use encrypt::{MESSAGE_LIMIT, encrypt};
pub use masks::GemmMasks;
pub use products::{CachedMaskProducts, ExpectedProducts};
pub use secret::BatchSecret;
