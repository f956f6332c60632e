//! Messages of the `gemm` plan, framed as all messages are ([`crate::wire`]).
//!
//! Uploads and answers are large, so they are neither decoded to objects nor encoded from them: a
//! received message is a view over its bytes, checked once, and a message to be sent is written in
//! place, row by row, from as many threads as the caller has.

mod answer;
mod mask_products;
mod message;
mod packing;
mod sizes;
mod tile;
mod upload;

pub use answer::{AnswerBuffer, AnswerView};
pub use mask_products::{MaskProductsBuffer, MaskProductsView};
pub use packing::{pack, packed_len, unpack};
pub use sizes::{MAX_COLUMNS, MAX_ROWS, answer_len, mask_products_len, upload_len};
pub use tile::MessageTile;
pub use upload::{UploadBuffer, UploadView};
