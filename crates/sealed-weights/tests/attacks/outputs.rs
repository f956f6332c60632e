//! What is left of an output after a failure: nothing, however much of it was good.

use std::fs;
use std::num::NonZeroUsize;

use sealed_weights::model::{ExtractOptions, Extraction};
use sealed_weights::suite::Suite;
use sealed_weights::work::{Silent, Work};

use crate::forge::{CHUNK, SECOND};
use crate::site::{Route, Site, name};

fn threads(count: usize) -> Work<'static> {
    Work {
        threads: NonZeroUsize::new(count).unwrap(),
        progress: &Silent,
    }
}

/// A site whose second shard has a damaged last chunk.
fn damaged(suite: Suite) -> Site {
    let site = Site::new(suite);
    let mut bytes = site.model.files[SECOND].bytes();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(site.sealed(SECOND), bytes).unwrap();
    site
}

#[test]
fn a_buffer_is_zero_after_any_number_of_threads() {
    for suite in Suite::ALL {
        let site = damaged(suite);
        for route in [Route::Publisher, Route::KeyHolders] {
            let model = site.unlock(route).unwrap();
            let file = model.file("model-00002.safetensors").unwrap();
            for count in 1..=4 {
                let mut out = vec![0xaa; file.core().length as usize];
                assert!(file.read_into(0, &mut out, &threads(count)).is_err());
                assert!(out.iter().all(|byte| *byte == 0));
                assert!(file.verify(&threads(count)).is_err());
            }
        }
    }
}

#[test]
fn only_ranges_that_touch_the_damage_are_refused() {
    let good = Site::new(Suite::Aes256Gcm)
        .plain(SECOND, Route::Publisher)
        .unwrap();
    let site = damaged(Suite::Aes256Gcm);
    let model = site.unlock(Route::Publisher).unwrap();
    let file = model.file("model-00002.safetensors").unwrap();
    let last = 4 * CHUNK;
    for (begin, end) in [(0, last), (CHUNK - 1, CHUNK + 1), (last - 1, last)] {
        let read = file.read(begin as u64..end as u64, &threads(2)).unwrap();
        assert_eq!(&*read, &good[begin..end]);
    }
    for (begin, end) in [(0, last + 1), (last, last + 1), (last + 7, good.len())] {
        let mut out = vec![0xaa; end - begin];
        let error = file.read_into(begin as u64, &mut out, &threads(2));
        assert_eq!(name(&error.unwrap_err()), "SealError::ChunkHash");
        assert!(out.iter().all(|byte| *byte == 0));
    }
}

#[test]
fn a_range_outside_the_file_leaves_zeros() {
    let site = Site::new(Suite::Aes256Gcm);
    let model = site.unlock(Route::Publisher).unwrap();
    let file = model.file("config.json").unwrap();
    for begin in [1, 1 << 40, u64::MAX] {
        let mut out = vec![0xaa; file.core().length as usize];
        let error = file.read_into(begin, &mut out, &threads(1)).unwrap_err();
        assert_eq!(name(&error), "SealError::Range");
        assert!(out.iter().all(|byte| *byte == 0));
    }
}

#[test]
fn a_directory_that_was_empty_is_empty_again() {
    let site = damaged(Suite::Aes256Gcm);
    let model = site.unlock(Route::Publisher).unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let options = ExtractOptions { allow_disk: true };
    let extraction = Extraction::prepare(&model, folder.path(), options).unwrap();
    let error = extraction.run(&threads(2)).unwrap_err();
    assert_eq!(name(&error), "SealError::ChunkHash");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_tensor_of_a_damaged_chunk_is_refused_and_others_are_not() {
    let site = damaged(Suite::ChaCha20Poly1305);
    let model = site.unlock(Route::Publisher).unwrap();
    assert_eq!(model.tensor("c", &threads(1)).unwrap().data.len(), 10_000);
    let error = model.tensor("d", &threads(1)).unwrap_err();
    assert_eq!(name(&error), "SealError::ChunkHash");
}
