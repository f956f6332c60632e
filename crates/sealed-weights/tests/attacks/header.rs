//! A bit flipped in every field of the core header.

use std::ops::Range;

use sealed_weights::error::SealError;
use sealed_weights::suite::Suite;

use crate::forge::{FIRST, SECOND};
use crate::registry::attacks;
use crate::site::{Refusals, Route, Site};

const EVERY_BIT: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Flips every bit of a field, in a file with and one without public header.
fn flip(field: Range<usize>) -> Refusals {
    let site = Site::new(Suite::Aes256Gcm);
    let routes = [Route::Keyless, Route::KeyHolders];
    [FIRST, SECOND]
        .into_iter()
        .flat_map(|file| {
            site.refused_with_flips(&site.sealed(file), field.clone(), &EVERY_BIT, &routes)
        })
        .collect()
}

attacks! { "Core header: one bit flipped",
    magic_altered {
        done: "in the magic",
        refused: ["HeaderDefect::NotSealed"],
        checked: "core header",
        run: || flip(0..8),
    }
    format_version_altered {
        done: "in the format version",
        refused: ["HeaderDefect::Version"],
        checked: "core header",
        run: || flip(8..10),
    }
    suite_altered {
        done: "in the suite",
        refused: ["HeaderDefect::Suite"],
        checked: "core header",
        run: || flip(10..12),
    }
    chunk_size_altered {
        done: "in the chunk size",
        refused: ["HeaderDefect::ChunkSize"],
        checked: "core header",
        run: || flip(12..16),
    }
    length_altered {
        done: "in the plaintext length",
        refused: ["HeaderDefect::ChunkCount", "HeaderDefect::TooLong", "SealError::Length"],
        checked: "core header, length of the file",
        run: || flip(16..24),
    }
    chunk_count_altered {
        done: "in the chunk count",
        refused: ["HeaderDefect::ChunkCount"],
        checked: "core header",
        run: || flip(24..32),
    }
    file_id_altered {
        done: "in the file id",
        refused: ["ModelError::OtherFile"],
        checked: "manifest",
        run: || flip(32..48),
    }
    model_id_altered {
        done: "in the model id",
        refused: ["ModelError::OtherFile"],
        checked: "manifest",
        run: || flip(48..64),
    }
    salt_altered {
        done: "in the salt",
        refused: ["ModelError::OtherFile"],
        checked: "manifest",
        run: || flip(64..96),
    }
    public_header_length_altered {
        done: "in the length of the public header",
        refused: ["HeaderDefect::PublicHeader", "ModelError::OtherFile", "SealError::Length"],
        checked: "core header, length of the file, manifest",
        run: || flip(96..100),
    }
    path_length_altered {
        done: "in the length of the path",
        refused: ["HeaderDefect::Path", "HeaderDefect::Truncated", "ModelError::OtherFile"],
        checked: "core header, manifest",
        run: || flip(100..102),
    }
    reserved_bytes_altered {
        done: "in the reserved bytes",
        refused: ["HeaderDefect::Reserved"],
        checked: "core header",
        run: || flip(102..104),
    }
    public_header_hash_altered {
        done: "in the hash of the public header",
        refused: ["HeaderDefect::PublicHeader", "ModelError::OtherFile"],
        checked: "core header, manifest",
        run: || flip(104..136),
    }
    path_altered {
        done: "in the path",
        refused: ["HeaderDefect::Path", "ModelError::OtherFile"],
        checked: "core header, manifest",
        run: || flip(136..136 + "model-00001.safetensors".len()),
    }
    header_altered_and_listed {
        done: "in any field that still decodes, and the manifest made and signed anew for it by a key holder who is the publisher",
        refused: ["SealError::Commitment"],
        checked: "key commitment",
        run: altered_and_listed,
    }
    other_suite_and_listed {
        done: "the other suite stated, and the manifest made and signed anew",
        refused: ["SealError::Commitment"],
        checked: "key commitment",
        run: || {
            let site = Site::new(Suite::Aes256Gcm);
            let mut parts = site.model.files[SECOND].clone();
            parts.core.suite = Suite::ChaCha20Poly1305;
            site.refused_though_listed(SECOND, parts, Route::KEYED)
        },
    }
}

fn altered_and_listed() -> Refusals {
    use sealed_weights::core_header::CoreHeader;
    let site = Site::new(Suite::Aes256Gcm);
    let parts = &site.model.files[SECOND];
    let good = parts.core.encode();
    let mut refusals = Refusals::new();
    let mut fields = std::collections::BTreeSet::new();
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        let Ok(core) = CoreHeader::decode(&bad) else {
            continue;
        };
        // A changed path or length would be found out by the file's name and size already.
        if core.path != parts.core.path || core.length != parts.core.length {
            continue;
        }
        fields.insert(match bit / 8 {
            32..48 => "file id",
            48..64 => "model id",
            64..96 => "salt",
            96..100 => "length of the public header",
            other => panic!("byte {other} is not bound by the core header's own rules"),
        });
        if bit % 8 != bit / 8 % 8 {
            continue;
        }
        let mut forged = parts.clone();
        forged.public = vec![
            0;
            core.public_header
                .map_or(0, |public| public.length as usize)
        ];
        forged.core = core;
        refusals.extend(site.refused_though_listed(SECOND, forged, &[Route::KeyHolders]));
    }
    assert_eq!(fields.len(), 4);
    refusals
}

#[test]
fn the_message_names_the_file_and_the_field() {
    let site = Site::new(Suite::Aes256Gcm);
    let mut bytes = site.model.files[FIRST].bytes();
    bytes[40] ^= 1;
    std::fs::write(site.sealed(FIRST), bytes).unwrap();
    let error: SealError = site.open(Route::Publisher).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("model-00001.safetensors.sealed"), "{text}");
    assert!(text.contains("file id"), "{text}");
}
