//! Sealing one file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use zeroize::Zeroizing;

use crate::cipher::Tag;
use crate::content::{ChunkHash, chunk_hash, content_root};
use crate::core_header::{ChunkSize, CoreHeader, HASH_BYTES, MAX_CHUNKS, PublicHeader, TAG_BYTES};
use crate::error::{HeaderDefect, SealError};
use crate::ids::{self, FileId, ModelId};
use crate::manifest::ManifestFile;
use crate::path::LogicalPath;
use crate::plain::PlainSource;
use crate::schedule::FileSchedule;
use crate::secret::ModelKey;
use crate::suite::Suite;
use crate::work::Work;

/// What each file of a model is sealed with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileSettings<'a> {
    pub(crate) key: &'a ModelKey,
    pub(crate) model_id: ModelId,
    pub(crate) suite: Suite,
    pub(crate) chunk_size: ChunkSize,
    /// Wait until the bytes are on the disk.
    pub(crate) sync: bool,
}

/// Seals `source` into the empty file `destination`.
///
/// `public_bytes` is the length of the safetensors header to leave readable, 0 for none.
pub(crate) fn seal_file(
    settings: &FileSettings<'_>,
    path: LogicalPath,
    source: &dyn PlainSource,
    public_bytes: u32,
    destination: &File,
    destination_path: &Path,
    work: &Work<'_>,
) -> Result<ManifestFile, SealError> {
    let write_failed = |source| SealError::Io {
        action: "write",
        path: destination_path.to_path_buf(),
        source,
    };
    let length = source.length();
    if length.div_ceil(settings.chunk_size.bytes() as u64) > MAX_CHUNKS {
        return Err(SealError::Header {
            path: destination_path.to_path_buf(),
            defect: HeaderDefect::TooLong { length },
        });
    }
    let mut public = vec![0; public_bytes as usize];
    source.read_at(0, &mut public)?;
    let core = CoreHeader {
        suite: settings.suite,
        chunk_size: settings.chunk_size,
        length,
        file_id: FileId::random()?,
        model_id: settings.model_id,
        salt: ids::random()?,
        path,
        public_header: (public_bytes > 0).then(|| PublicHeader {
            length: public_bytes,
            hash: *blake3::hash(&public).as_bytes(),
        }),
    };
    let layout = core.layout();
    let schedule = FileSchedule::derive(settings.key, &core)?;
    let chunks = core.chunks() as usize;
    let mut tags: Vec<Tag> = vec![[0; TAG_BYTES]; chunks];
    let mut hashes: Vec<ChunkHash> = vec![[0; HASH_BYTES]; chunks];
    let chunk_size = settings.chunk_size.bytes();
    work.holding(chunk_size).for_each(
        (0..).zip(tags.iter_mut().zip(&mut hashes)),
        || Zeroizing::new(vec![0; chunk_size]),
        |(index, (tag, hash)), scratch| {
            let chunk = &mut scratch[..core.chunk_bytes(index)];
            let offset = index * chunk_size as u64;
            source.read_at(offset, chunk)?;
            *tag = schedule.cipher().seal_in_place(index, chunk)?;
            *hash = chunk_hash(chunk);
            destination
                .write_all_at(chunk, layout.data + offset)
                .map_err(write_failed)?;
            Ok(chunk.len() as u64)
        },
    )?;
    source.check_unchanged()?;
    // Last: a file that is cut short has no header.
    let mut front = core.encode();
    front.extend_from_slice(schedule.commitment());
    front.extend_from_slice(&public);
    front.extend_from_slice(tags.as_flattened());
    front.extend_from_slice(hashes.as_flattened());
    front.resize(layout.data as usize, 0);
    destination.write_all_at(&front, 0).map_err(write_failed)?;
    if settings.sync {
        destination.sync_all().map_err(write_failed)?;
    }
    Ok(ManifestFile {
        length,
        file_id: core.file_id,
        core: core.digest(),
        root: content_root(&core.digest(), schedule.commitment(), &tags, &hashes),
        path: core.path,
    })
}
