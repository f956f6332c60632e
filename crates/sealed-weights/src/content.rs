//! What a publisher signs: hashes of the ciphertext's chunks and the root over them.
//!
//! A GCM tag binds its chunk only against those who do not hold the key. Whoever holds it can make
//! other ciphertexts with the same tags, so a signature over tags would not bind the content; a
//! signature over hashes does, and is checked without keys.

use crate::core_header::{HASH_BYTES, TAG_BYTES};
use crate::ids::{ContentRoot, CoreDigest};

/// Context string of BLAKE3's key derivation mode for the root.
const ROOT_CONTEXT: &str = "sealed-weights/1 content root";

/// The hash of one chunk of ciphertext: BLAKE3, 32 bytes.
pub type ChunkHash = [u8; HASH_BYTES];

/// The hash of one chunk of ciphertext.
#[must_use]
pub fn chunk_hash(ciphertext: &[u8]) -> ChunkHash {
    *blake3::hash(ciphertext).as_bytes()
}

/// BLAKE3 (derive-key mode) over H(core) ‖ commitment ‖ all tags ‖ all chunk hashes.
#[must_use]
pub fn content_root(
    core: &CoreDigest,
    commitment: &[u8],
    tags: &[[u8; TAG_BYTES]],
    hashes: &[ChunkHash],
) -> ContentRoot {
    let mut hasher = blake3::Hasher::new_derive_key(ROOT_CONTEXT);
    hasher.update(core.as_bytes());
    hasher.update(commitment);
    hasher.update(tags.as_flattened());
    hasher.update(hashes.as_flattened());
    ContentRoot::new(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod known_answers;
