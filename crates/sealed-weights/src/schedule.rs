//! From the model key to a file's keys, and the commitment that is checked before any data.

use aws_lc_rs::constant_time;
use zeroize::Zeroizing;

use crate::cipher::ChunkCipher;
use crate::core_header::{COMMITMENT_BYTES, CoreHeader};
use crate::error::SealError;
use crate::secret::{ModelKey, derive};

const FILE_LABEL: &[u8] = b"sealed-weights/1 file key";
const SCHEDULE_LABEL: &[u8] = b"sealed-weights/1 file schedule";

/// The keys of one file.
///
/// ```text
/// file key = HKDF-SHA-512(salt: model id, secret: model key, info: label ‖ file id), 32 bytes
/// key ‖ base nonce ‖ commitment
///          = HKDF-SHA-512(salt: header's salt, secret: file key, info: label ‖ suite ‖ H(core))
/// ```
///
/// Every bit of the core header goes into all three, so a changed header or a wrong key shows in
/// the commitment. The commitment is also a binding commitment to the key (the construction of
/// C2SP chunked encryption and FLOE, ePrint 2025/2275): no file opens under two keys.
#[derive(Debug)]
pub struct FileSchedule {
    cipher: ChunkCipher,
    commitment: [u8; COMMITMENT_BYTES],
}

impl FileSchedule {
    /// Derives the keys of the file with this header.
    ///
    /// # Errors
    /// [`SealError::Cipher`] if the cryptographic library refuses the key.
    pub fn derive(key: &ModelKey, core: &CoreHeader) -> Result<FileSchedule, SealError> {
        let file_key: Zeroizing<[u8; 32]> = derive(
            core.model_id.as_bytes(),
            key.expose(),
            &[FILE_LABEL, core.file_id.as_bytes()],
        );
        let suite = core.suite.number().to_le_bytes();
        let output: Zeroizing<[u8; 76]> = derive(
            &core.salt,
            file_key.as_slice(),
            &[SCHEDULE_LABEL, &suite, core.digest().as_bytes()],
        );
        let (aead_key, rest) = output.split_at(32);
        let (base_nonce, commitment) = rest.split_at(12);
        let mut nonce = [0; 12];
        nonce.copy_from_slice(base_nonce);
        let mut committed = [0; COMMITMENT_BYTES];
        committed.copy_from_slice(commitment);
        Ok(FileSchedule {
            cipher: ChunkCipher::new(core, aead_key, nonce)?,
            commitment: committed,
        })
    }

    /// The commitment that the file carries behind its core header.
    #[must_use]
    pub fn commitment(&self) -> &[u8; COMMITMENT_BYTES] {
        &self.commitment
    }

    /// Whether the file's commitment is that of this key and header (in constant time).
    #[must_use]
    pub fn commits_to(&self, found: &[u8; COMMITMENT_BYTES]) -> bool {
        constant_time::verify_slices_are_equal(&self.commitment, found).is_ok()
    }

    /// The cipher of the file's chunks.
    #[must_use]
    pub fn cipher(&self) -> &ChunkCipher {
        &self.cipher
    }
}
