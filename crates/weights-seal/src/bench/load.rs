//! The plain or the sealed file on its way to a destination, timed.

use super::spec::{Destination, Way};
use super::subject::Paths;
use memmap2::{Advice, MmapMut};
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use sealed_weights::error::SealError;
use sealed_weights::memory::PlainBuffer;
use sealed_weights::model::SealedModel;
use sealed_weights::sealed_file::SealedFile;
use sealed_weights::work::Work;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::hint::black_box;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Bytes that a thread takes at a time: those of a chunk, so that plain and sealed files are read
/// alike.
pub(super) const PIECE: usize = 1 << 20;

/// What happens to the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// On the way.
    pub way: Way,
    /// At its end.
    pub destination: Destination,
    /// Take the file out of the page cache first.
    pub evict: bool,
}

/// Where the bytes go, at hand.
#[derive(Debug)]
pub enum Target<'a> {
    /// A buffer of the file's length that was written to before.
    Warm(&'a mut [u8]),
    /// Memory is asked for within the time.
    Fresh,
    /// A file that does not exist yet, created within the time and removed after it.
    File(PathBuf),
}

/// A file, opened in one of the ways.
enum Source {
    Plain(File, PathBuf, u64),
    Sealed(Box<SealedFile>),
}

impl Load {
    /// Does it; the seconds from opening the file, or the sealed directory with its key, to the
    /// last byte.
    ///
    /// # Errors
    /// [`SealError`]; nothing is left behind.
    pub fn run(self, paths: &Paths, target: Target<'_>, work: &Work<'_>) -> Result<f64, SealError> {
        if self.evict {
            evict(&paths.source(self.way))?;
        }
        let start = Instant::now();
        let source = self.open(paths)?;
        let seconds = match target {
            Target::Warm(buffer) => {
                source.fill(buffer, work)?;
                start.elapsed()
            }
            Target::Fresh if self.destination == Destination::FreshSmall => {
                let mut memory = small_pages(source.length())?;
                source.fill(&mut memory, work)?;
                let elapsed = start.elapsed();
                black_box(&memory);
                elapsed
            }
            Target::Fresh => {
                let mut memory = PlainBuffer::new(source.length() as usize)?;
                source.fill(&mut memory, work)?;
                let elapsed = start.elapsed();
                black_box(&memory);
                elapsed
            }
            Target::File(path) => {
                let copied = File::create_new(&path)
                    .map_err(io_error("create", &path))
                    .and_then(|file| source.copy_to(&file, &path, work));
                let elapsed = start.elapsed();
                let removed = std::fs::remove_file(&path).map_err(io_error("remove", &path));
                copied.and(removed)?;
                elapsed
            }
        };
        Ok(seconds.as_secs_f64())
    }

    fn open(self, paths: &Paths) -> Result<Source, SealError> {
        let Some(trust) = self.way.trust() else {
            let file = File::open(&paths.plain).map_err(io_error("open", &paths.plain))?;
            let length = file
                .metadata()
                .map_err(io_error("look at", &paths.plain))?
                .len();
            return Ok(Source::Plain(file, paths.plain.clone(), length));
        };
        let model = SealedModel::open(&paths.sealed, &paths.identities()?, paths.policy(trust))?;
        Ok(Source::Sealed(Box::new(model.file(&paths.logical)?)))
    }
}

impl Source {
    fn length(&self) -> u64 {
        match self {
            Source::Plain(_, _, length) => *length,
            Source::Sealed(file) => file.core().length,
        }
    }

    fn fill(&self, out: &mut [u8], work: &Work<'_>) -> Result<(), SealError> {
        match self {
            Source::Plain(file, path, _) => read_plain(file, path, out, work),
            Source::Sealed(file) => file.read_into(0, out, work),
        }
    }

    fn copy_to(&self, out: &File, out_path: &Path, work: &Work<'_>) -> Result<(), SealError> {
        match self {
            Source::Plain(file, path, length) => {
                copy_plain(file, path, *length, out, out_path, work)
            }
            Source::Sealed(file) => file.copy_to(out, out_path, work),
        }
    }
}

fn read_plain(file: &File, path: &Path, out: &mut [u8], work: &Work<'_>) -> Result<(), SealError> {
    work.for_each(
        (0u64..).zip(out.chunks_mut(PIECE)),
        || (),
        |(index, piece), ()| {
            file.read_exact_at(piece, index * PIECE as u64)
                .map_err(io_error("read", path))?;
            Ok(piece.len() as u64)
        },
    )
}

/// Copies a file through a scratch buffer for each thread, as sealing and opening do.
pub(super) fn copy_plain(
    file: &File,
    path: &Path,
    length: u64,
    out: &File,
    out_path: &Path,
    work: &Work<'_>,
) -> Result<(), SealError> {
    work.for_each(
        0..length.div_ceil(PIECE as u64),
        || vec![0; PIECE],
        |index, scratch| {
            let offset = index * PIECE as u64;
            let piece = &mut scratch[..(length - offset).min(PIECE as u64) as usize];
            file.read_exact_at(piece, offset)
                .map_err(io_error("read", path))?;
            out.write_all_at(piece, offset)
                .map_err(io_error("write", out_path))?;
            Ok(piece.len() as u64)
        },
    )
}

/// Copies one half of a buffer to the other.
pub(super) fn copy_memory(buffer: &mut [u8], work: &Work<'_>) -> Result<f64, SealError> {
    let (from, to) = buffer.split_at_mut(buffer.len() / 2);
    let start = Instant::now();
    work.for_each(
        from.chunks(PIECE).zip(to.chunks_mut(PIECE)),
        || (),
        |(from, to), ()| {
            let length = from.len().min(to.len());
            to[..length].copy_from_slice(&from[..length]);
            Ok(length as u64)
        },
    )?;
    Ok(start.elapsed().as_secs_f64())
}

/// Memory of 4 KiB pages, whatever the system does by default.
fn small_pages(length: u64) -> Result<MmapMut, SealError> {
    let refused = |source| SealError::Memory {
        bytes: length as usize,
        source,
    };
    let memory = MmapMut::map_anon(length as usize).map_err(refused)?;
    // A kernel without huge pages has no such advice, and 4 KiB pages anyway.
    let _ = memory.advise(Advice::NoHugePage);
    Ok(memory)
}

/// Takes a file out of the page cache; only pages that are on the disk can go.
fn evict(path: &Path) -> Result<(), SealError> {
    let file = File::open(path).map_err(io_error("open", path))?;
    file.sync_all().map_err(io_error("sync", path))?;
    posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)
        .map_err(|errno| io_error("evict", path)(errno.into()))
}

/// Says what could not be done with which file.
pub(super) fn io_error(action: &'static str, path: &Path) -> impl Fn(io::Error) -> SealError {
    let path = path.to_path_buf();
    move |source| SealError::Io {
        action,
        path: path.clone(),
        source,
    }
}
