//! Encrypted linear layers: packing plans, weight preparation and evaluation of `y = xW` for an
//! encrypted `x` and plaintext `W`, with closed forms for noise and overflow. Nothing here holds a
//! secret: the client half ([`client`]) packs, scales, encodes and decodes; encryption is elsewhere.
pub mod client;
pub mod cost;
mod dither;
mod encode;
pub mod error;
pub mod evaluate;
pub mod gemm;
mod lanes;
pub mod layout;
mod mac;
pub mod manifest;
mod memory;
pub mod noise;
pub mod norm;
pub mod pack;
pub mod plan;
pub mod planner;
pub mod prepared;
pub mod shape;
pub mod slots;
pub mod stored;
mod workspace;
