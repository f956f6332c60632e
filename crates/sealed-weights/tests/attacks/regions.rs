//! Bits flipped behind the core header, and files cut short or made longer.

use std::collections::BTreeSet;

use sealed_weights::suite::Suite;

use crate::forge::{CHUNK, EMPTY, FIRST, SECOND};
use crate::registry::attacks;
use crate::site::{Refusals, Route, Site};

/// Flips one bit in every `step`-th byte of a region of the first shard, under both suites.
fn flip(region: fn(&Site) -> [u64; 2], step: usize, routes: &[Route]) -> Refusals {
    Suite::ALL
        .into_iter()
        .flat_map(|suite| {
            let site = Site::new(suite);
            let [begin, end] = region(&site).map(|offset| offset as usize);
            assert!(begin < end);
            let places: BTreeSet<usize> = (begin..end).step_by(step).chain([end - 1]).collect();
            let bit = [(begin % 8) as u8];
            site.refused_with_flips(&site.sealed(FIRST), places.into_iter(), &bit, routes)
        })
        .collect()
}

fn layout(site: &Site) -> sealed_weights::core_header::Layout {
    site.model.files[FIRST].core.layout()
}

/// Every place where a part of the file ends, and one inside each part.
fn cuts(site: &Site, file: usize) -> Vec<usize> {
    let core = &site.model.files[file].core;
    let at = core.layout();
    let parts = [
        0,
        core.encoded_bytes() as u64,
        at.commitment + 32,
        at.tags,
        at.hashes,
        at.padding,
        at.data,
    ];
    let chunks = (1..=core.chunks()).map(|n| at.data + n * CHUNK as u64);
    let mut cuts: BTreeSet<u64> = parts.into_iter().chain(chunks).collect();
    cuts.extend(cuts.clone().into_iter().flat_map(|cut| [cut + 1, cut + 17]));
    cuts.retain(|cut| *cut < at.end);
    cuts.insert(at.end - 1);
    cuts.into_iter().map(|cut| cut as usize).collect()
}

attacks! { "Parts of a sealed file",
    commitment_altered {
        done: "a bit of the key commitment flipped",
        refused: ["SealError::Commitment", "SealError::Root"],
        checked: "key commitment; content root where there is no key",
        run: || flip(|s| [layout(s).commitment, layout(s).public_header], 1, Route::ALL),
    }
    public_header_altered {
        done: "a bit of the public header flipped",
        refused: ["SealError::PublicHeader"],
        checked: "hash in the core header",
        run: || flip(|s| [layout(s).public_header, layout(s).tags], 7, Route::ALL),
    }
    tags_altered {
        done: "a bit of the tags flipped",
        refused: ["SealError::Root"],
        checked: "content root",
        run: || flip(|s| [layout(s).tags, layout(s).hashes], 1, Route::ALL),
    }
    hashes_altered {
        done: "a bit of the chunk hashes flipped",
        refused: ["SealError::Root"],
        checked: "content root",
        run: || flip(|s| [layout(s).hashes, layout(s).padding], 3, Route::ALL),
    }
    padding_altered {
        done: "a bit of the padding flipped",
        refused: ["SealError::Padding"],
        checked: "padding",
        run: || flip(|s| [layout(s).padding, layout(s).data], 101, Route::ALL),
    }
    ciphertext_altered {
        done: "a bit of the ciphertext flipped",
        refused: ["SealError::ChunkHash"],
        checked: "chunk hash",
        run: || flip(|s| [layout(s).data, layout(s).end], 211, Route::SIGNED),
    }
    ciphertext_altered_tags_only {
        done: "a bit of the ciphertext flipped, read without the publisher's hashes",
        refused: ["SealError::Tag"],
        checked: "authentication tag",
        run: || flip(|s| [layout(s).data, layout(s).end], 211, &[Route::KeyHolders]),
    }
    ciphertext_altered_and_listed {
        done: "a bit of the ciphertext flipped, hashes and manifest made and signed anew",
        refused: ["SealError::Tag"],
        checked: "authentication tag",
        run: || {
            let mut refusals = Refusals::new();
            for suite in Suite::ALL {
                let site = Site::new(suite);
                let mut parts = site.model.files[SECOND].clone();
                parts.data[CHUNK + 5] ^= 1;
                parts.rehash();
                refusals.extend(site.refused_though_listed(SECOND, parts, Route::KEYED));
            }
            refusals
        },
    }
    truncated {
        done: "cut at every boundary of a part or chunk, and inside each",
        refused: ["HeaderDefect::Truncated", "SealError::Length"],
        checked: "core header, length of the file",
        elsewhere: "truncation accepted by tensorizer 2.12",
        run: || {
            let site = Site::new(Suite::Aes256Gcm);
            let mut refusals = Refusals::new();
            for file in [FIRST, SECOND] {
                let bytes = site.model.files[file].bytes();
                for cut in cuts(&site, file) {
                    refusals.extend(site.refused_with_file(file, &bytes[..cut], Route::ALL));
                }
            }
            refusals
        },
    }
    extended {
        done: "a byte, a chunk or zeros appended",
        refused: ["SealError::Length"],
        checked: "length of the file",
        run: || {
            let site = Site::new(Suite::Aes256Gcm);
            let mut refusals = Refusals::new();
            for file in [EMPTY, FIRST] {
                for more in [1, 16, CHUNK, 3 * CHUNK] {
                    let mut bytes = site.model.files[file].bytes();
                    bytes.resize(bytes.len() + more, 0);
                    refusals.extend(site.refused_with_file(file, &bytes, Route::ALL));
                }
            }
            refusals
        },
    }
    shortened_and_listed {
        done: "the last chunk dropped, header, tables and manifest made and signed anew",
        refused: ["SealError::Commitment"],
        checked: "key commitment",
        run: || resized(|parts| {
            parts.core.length = 4 * CHUNK as u64;
            parts.data.truncate(4 * CHUNK);
            parts.tags.truncate(4);
        }),
    }
    shortened_with_its_commitment {
        done: "the same with a commitment that a key holder computed",
        refused: ["SealError::Tag"],
        checked: "authentication tag (keys, number of chunks and last flag differ)",
        run: || resized(|parts| {
            parts.core.length = 4 * CHUNK as u64;
            parts.data.truncate(4 * CHUNK);
            parts.tags.truncate(4);
            let key = crate::forge::model_key(1);
            let schedule = sealed_weights::schedule::FileSchedule::derive(&key, &parts.core);
            parts.commitment = *schedule.unwrap().commitment();
        }),
    }
}

fn resized(change: fn(&mut crate::forge::Parts)) -> Refusals {
    let site = Site::new(Suite::ChaCha20Poly1305);
    let mut parts = site.model.files[SECOND].clone();
    change(&mut parts);
    parts.rehash();
    site.refused_though_listed(SECOND, parts, Route::KEYED)
}
