//! Opening one sealed file: headers first, then any range of its plaintext.

use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use zeroize::{Zeroize, Zeroizing};

use crate::cipher::Tag;
use crate::content::{ChunkHash, chunk_hash, content_root};
use crate::core_header::{COMMITMENT_BYTES, CoreHeader, FIXED_BYTES, Layout};
use crate::error::{ModelError, SealError};
use crate::manifest::ManifestFile;
use crate::memory::PlainBuffer;
use crate::path::LogicalPath;
use crate::plain::PlainSource;
use crate::regular::open_regular;
use crate::schedule::FileSchedule;
use crate::secret::ModelKey;
use crate::work::Work;

/// Whom the content of a file is checked against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// The publisher: every chunk must be what the publisher signed, also against people who hold
    /// the model key. Costs a BLAKE3 hash of every byte read.
    #[default]
    Publisher,
    /// Everyone who holds the model key: authentication tags only, which nobody without the key
    /// can forge.
    KeyHolders,
}

/// The part of a sealed file before the ciphertext, readable without keys and not yet trusted.
#[derive(Debug)]
pub struct Front {
    path: PathBuf,
    file: File,
    core: CoreHeader,
    layout: Layout,
    commitment: [u8; COMMITMENT_BYTES],
}

impl Front {
    /// Reads the core header and checks it against the length of the file.
    ///
    /// # Errors
    /// [`SealError::Header`], [`SealError::Length`], [`SealError::Io`],
    /// [`ModelError::SpecialFile`] for a link or a special file.
    pub fn read(path: &Path) -> Result<Front, SealError> {
        let (file, metadata) =
            open_regular(path, false)?.ok_or_else(|| ModelError::SpecialFile {
                path: path.to_path_buf(),
            })?;
        let longest = (FIXED_BYTES + LogicalPath::MAX_BYTES) as u64;
        let mut bytes = vec![0; metadata.len().min(longest) as usize];
        read_exact(&file, path, 0, &mut bytes)?;
        let refuse = |defect| SealError::Header {
            path: path.to_path_buf(),
            defect,
        };
        let core = CoreHeader::decode(&bytes).map_err(refuse)?;
        let layout = core.layout();
        if metadata.len() != layout.end {
            return Err(SealError::Length {
                path: path.to_path_buf(),
                found: metadata.len(),
                expected: layout.end,
            });
        }
        let mut commitment = [0; COMMITMENT_BYTES];
        read_exact(&file, path, layout.commitment, &mut commitment)?;
        Ok(Front {
            path: path.to_path_buf(),
            file,
            core,
            layout,
            commitment,
        })
    }

    /// The core header.
    #[must_use]
    pub fn core(&self) -> &CoreHeader {
        &self.core
    }

    /// Where the parts lie.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Refuses a file that is not the one listed in a manifest.
    ///
    /// # Errors
    /// [`ModelError::OtherFile`] naming what differs.
    pub fn check_listed(&self, listed: &ManifestFile) -> Result<(), SealError> {
        let differs = [
            ("path", self.core.path != listed.path),
            ("file id", self.core.file_id != listed.file_id),
            ("length", self.core.length != listed.length),
            ("core header", self.core.digest() != listed.core),
        ];
        match differs.into_iter().find(|(_, differs)| *differs) {
            Some((what, _)) => Err(ModelError::OtherFile {
                path: self.path.clone(),
                what,
            }
            .into()),
            None => Ok(()),
        }
    }

    /// Reads the tags and the hashes, checks them and the commitment against the signed root, and
    /// the padding for zeros. Needs no key.
    ///
    /// # Errors
    /// [`SealError::Root`], [`SealError::Padding`], [`SealError::PublicHeader`],
    /// [`SealError::Io`].
    pub fn signed_tables(&self, listed: &ManifestFile) -> Result<Tables, SealError> {
        let tables = self.tables()?;
        let root = content_root(
            &self.core.digest(),
            &self.commitment,
            &tables.tags,
            &tables.hashes,
        );
        if root != listed.root {
            return Err(SealError::Root {
                path: self.path.clone(),
                found: root.to_string(),
                signed: listed.root.to_string(),
            });
        }
        Ok(tables)
    }

    /// The readable copy of the safetensors header, if there is one, checked against the core
    /// header.
    ///
    /// # Errors
    /// [`SealError::PublicHeader`] if it was altered, [`SealError::Io`].
    pub fn public_header(&self) -> Result<Option<Vec<u8>>, SealError> {
        let Some(public) = self.core.public_header else {
            return Ok(None);
        };
        let mut bytes = vec![0; public.length as usize];
        read_exact(
            &self.file,
            &self.path,
            self.layout.public_header,
            &mut bytes,
        )?;
        if *blake3::hash(&bytes).as_bytes() != public.hash {
            return Err(SealError::PublicHeader {
                path: self.path.clone(),
            });
        }
        Ok(Some(bytes))
    }

    fn tables(&self) -> Result<Tables, SealError> {
        let chunks = self.core.chunks() as usize;
        let mut tags: Vec<Tag> = table(chunks)?;
        let mut hashes: Vec<ChunkHash> = table(chunks)?;
        let mut padding = vec![0; (self.layout.data - self.layout.padding) as usize];
        let read = |offset, out: &mut [u8]| read_exact(&self.file, &self.path, offset, out);
        read(self.layout.tags, tags.as_flattened_mut())?;
        read(self.layout.hashes, hashes.as_flattened_mut())?;
        read(self.layout.padding, &mut padding)?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(SealError::Padding {
                path: self.path.clone(),
            });
        }
        self.public_header()?;
        Ok(Tables { tags, hashes })
    }

    /// Checks every chunk of ciphertext against the signed hashes, without a key.
    ///
    /// # Errors
    /// [`SealError::ChunkHash`] for the first chunk that differs, [`SealError::Io`],
    /// [`SealError::Cancelled`].
    pub fn check_content(&self, tables: &Tables, work: &Work<'_>) -> Result<(), SealError> {
        let chunk_size = self.core.chunk_size.bytes();
        work.holding(chunk_size).for_each(
            (0..).zip(&tables.hashes),
            || vec![0; chunk_size],
            |(index, hash), scratch| {
                let chunk = &mut scratch[..self.core.chunk_bytes(index)];
                self.read_chunk(index, chunk)?;
                self.check_hash(index, chunk, hash)?;
                Ok(chunk.len() as u64)
            },
        )
    }

    fn read_chunk(&self, index: u64, chunk: &mut [u8]) -> Result<(), SealError> {
        let offset = self.layout.data + index * self.core.chunk_size.bytes() as u64;
        read_exact(&self.file, &self.path, offset, chunk)
    }

    fn check_hash(&self, index: u64, chunk: &[u8], hash: &ChunkHash) -> Result<(), SealError> {
        if chunk_hash(chunk) == *hash {
            Ok(())
        } else {
            Err(SealError::ChunkHash {
                path: self.path.clone(),
                chunk: index,
                chunks: self.core.chunks(),
            })
        }
    }
}

/// The tags and hashes of a file's chunks.
#[derive(Debug)]
pub struct Tables {
    tags: Vec<Tag>,
    hashes: Vec<ChunkHash>,
}

/// A sealed file whose headers belong to a key and a manifest; its chunks are checked as they are
/// read. `Send + Sync`.
#[derive(Debug)]
pub struct SealedFile {
    front: Front,
    schedule: FileSchedule,
    tables: Tables,
    trust: Trust,
}

impl SealedFile {
    /// Binds a file to its place in the manifest and to the key.
    ///
    /// # Errors
    /// [`ModelError::OtherFile`], [`SealError::Commitment`], and those of
    /// [`Front::signed_tables`].
    pub fn open(
        front: Front,
        listed: &ManifestFile,
        key: &ModelKey,
        trust: Trust,
    ) -> Result<SealedFile, SealError> {
        front.check_listed(listed)?;
        let schedule = FileSchedule::derive(key, &front.core)?;
        if !schedule.commits_to(&front.commitment) {
            return Err(SealError::Commitment {
                path: front.path.clone(),
            });
        }
        let tables = front.signed_tables(listed)?;
        Ok(SealedFile {
            front,
            schedule,
            tables,
            trust,
        })
    }

    /// The core header.
    #[must_use]
    pub fn core(&self) -> &CoreHeader {
        &self.front.core
    }

    /// The sealed file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.front.path
    }

    /// The whole plaintext in fresh memory.
    ///
    /// # Errors
    /// As [`SealedFile::read_into`], and [`SealError::Memory`].
    pub fn read_all(&self, work: &Work<'_>) -> Result<PlainBuffer, SealError> {
        self.read(0..self.core().length, work)
    }

    /// A range of the plaintext in fresh memory; only its chunks are read.
    ///
    /// # Errors
    /// As [`SealedFile::read_into`], and [`SealError::Memory`].
    pub fn read(&self, range: Range<u64>, work: &Work<'_>) -> Result<PlainBuffer, SealError> {
        self.check_range(&range)?;
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut buffer = PlainBuffer::new(length)?;
        self.read_into(range.start, &mut buffer, work)?;
        Ok(buffer)
    }

    /// Fills `out` with the plaintext from `begin`. On any error `out` is all zeros.
    ///
    /// # Errors
    /// [`SealError::Range`] outside the plaintext, [`SealError::Tag`] or [`SealError::ChunkHash`]
    /// for a chunk that is not authentic, [`SealError::Io`], [`SealError::Cancelled`].
    pub fn read_into(&self, begin: u64, out: &mut [u8], work: &Work<'_>) -> Result<(), SealError> {
        let read = self
            .check_range(&(begin..begin.saturating_add(out.len() as u64)))
            .and_then(|()| {
                let chunk_size = self.core().chunk_size.bytes() as u64;
                // The first piece ends at a chunk's end, so that the others are whole chunks.
                let first = (chunk_size - begin % chunk_size).min(out.len() as u64) as usize;
                let (head, rest) = out.split_at_mut(first);
                let pieces = std::iter::once((begin, head)).chain(
                    (0..)
                        .map(|n| begin + first as u64 + n * chunk_size)
                        .zip(rest.chunks_mut(chunk_size as usize)),
                );
                work.for_each(
                    pieces.filter(|(_, piece)| !piece.is_empty()),
                    || Zeroizing::new(Vec::new()),
                    |(offset, piece), scratch| self.open_piece(offset, piece, scratch),
                )
            });
        if read.is_err() {
            out.zeroize();
        }
        read
    }

    /// Writes the whole plaintext to an empty file, for example on a tmpfs. On any error the file
    /// is truncated to nothing.
    ///
    /// # Errors
    /// As [`SealedFile::read_into`], and [`SealError::Io`] when the destination refuses.
    pub fn copy_to(
        &self,
        destination: &File,
        destination_path: &Path,
        work: &Work<'_>,
    ) -> Result<(), SealError> {
        let write_failed = |source| SealError::Io {
            action: "write",
            path: destination_path.to_path_buf(),
            source,
        };
        let chunk_size = self.core().chunk_size.bytes();
        let copied = work.holding(chunk_size).for_each(
            0..self.core().chunks(),
            || Zeroizing::new(vec![0; chunk_size]),
            |index, scratch| {
                let chunk = &mut scratch[..self.core().chunk_bytes(index)];
                self.open_chunk(index, chunk)?;
                destination
                    .write_all_at(chunk, index * chunk_size as u64)
                    .map_err(write_failed)?;
                Ok(chunk.len() as u64)
            },
        );
        if copied.is_err() {
            let _ = destination.set_len(0);
        }
        copied
    }

    /// Checks every chunk and keeps nothing.
    ///
    /// # Errors
    /// As [`SealedFile::read_into`].
    pub fn verify(&self, work: &Work<'_>) -> Result<(), SealError> {
        let chunk_size = self.core().chunk_size.bytes();
        work.holding(chunk_size).for_each(
            0..self.core().chunks(),
            || Zeroizing::new(vec![0; chunk_size]),
            |index, scratch| {
                let chunk = &mut scratch[..self.core().chunk_bytes(index)];
                self.open_chunk(index, chunk)?;
                Ok(chunk.len() as u64)
            },
        )
    }

    /// Opens the part of one chunk that `piece` wants.
    fn open_piece(
        &self,
        offset: u64,
        piece: &mut [u8],
        scratch: &mut Zeroizing<Vec<u8>>,
    ) -> Result<u64, SealError> {
        let chunk_size = self.core().chunk_size.bytes() as u64;
        let (index, within) = (offset / chunk_size, (offset % chunk_size) as usize);
        let chunk_bytes = self.core().chunk_bytes(index);
        if within == 0 && piece.len() == chunk_bytes {
            self.open_chunk(index, piece)?;
        } else {
            scratch.resize(chunk_size as usize, 0);
            let chunk = &mut scratch[..chunk_bytes];
            self.open_chunk(index, chunk)?;
            piece.copy_from_slice(&chunk[within..within + piece.len()]);
        }
        Ok(piece.len() as u64)
    }

    /// Reads, checks and decrypts one chunk in place.
    fn open_chunk(&self, index: u64, chunk: &mut [u8]) -> Result<(), SealError> {
        self.front.read_chunk(index, chunk)?;
        if self.trust == Trust::Publisher {
            self.front
                .check_hash(index, chunk, &self.tables.hashes[index as usize])?;
        }
        let tag = &self.tables.tags[index as usize];
        if self.schedule.cipher().open_in_place(index, chunk, tag) {
            return Ok(());
        }
        let begin = index * self.core().chunk_size.bytes() as u64;
        Err(SealError::Tag {
            path: self.front.path.clone(),
            chunk: index,
            chunks: self.core().chunks(),
            begin,
            end: begin + chunk.len() as u64,
        })
    }

    fn check_range(&self, range: &Range<u64>) -> Result<(), SealError> {
        let length = self.core().length;
        if range.start <= range.end && range.end <= length {
            return Ok(());
        }
        Err(SealError::Range {
            path: self.front.path.clone(),
            begin: range.start,
            end: range.end,
            length,
        })
    }
}

impl PlainSource for SealedFile {
    fn length(&self) -> u64 {
        self.core().length
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), SealError> {
        let chunk_size = self.core().chunk_size.bytes() as u64;
        let mut scratch = Zeroizing::new(Vec::new());
        let mut done = 0;
        while done < out.len() {
            let at = offset + done as u64;
            let piece = (chunk_size - at % chunk_size).min((out.len() - done) as u64) as usize;
            self.open_piece(at, &mut out[done..done + piece], &mut scratch)?;
            done += piece;
        }
        Ok(())
    }

    fn check_unchanged(&self) -> Result<(), SealError> {
        // Every chunk was authenticated as it was read.
        Ok(())
    }
}

/// Zeros for one entry a chunk. Not yet authentic headers say how many, so that the memory may not
/// be there.
fn table<const N: usize>(chunks: usize) -> Result<Vec<[u8; N]>, SealError> {
    let mut entries = Vec::new();
    entries
        .try_reserve_exact(chunks)
        .map_err(|_| SealError::Memory {
            bytes: chunks.saturating_mul(N),
            source: ErrorKind::OutOfMemory.into(),
        })?;
    entries.resize(chunks, [0; N]);
    Ok(entries)
}

fn read_exact(file: &File, path: &Path, offset: u64, out: &mut [u8]) -> Result<(), SealError> {
    file.read_exact_at(out, offset).map_err(|source| {
        if source.kind() == ErrorKind::UnexpectedEof {
            SealError::Length {
                path: path.to_path_buf(),
                found: file.metadata().map_or(0, |m| m.len()),
                expected: offset + out.len() as u64,
            }
        } else {
            SealError::Io {
                action: "read",
                path: path.to_path_buf(),
                source,
            }
        }
    })
}
