//! Genuine pieces in wrong places: chunks, headers, files, models, versions.

use std::fs;

use sealed_weights::manifest::MANIFEST_NAME;
use sealed_weights::recipients::RECIPIENTS_NAME;
use sealed_weights::suite::Suite;

use crate::forge::{CHUNK, EMPTY, FIRST, Model, Parts, SECOND};
use crate::registry::attacks;
use crate::site::{Refusals, Route, Site};

fn both(attack: fn(&Site) -> Refusals) -> Refusals {
    Suite::ALL
        .into_iter()
        .flat_map(|suite| attack(&Site::new(suite)))
        .collect()
}

/// Puts an altered first shard in place.
fn altered(routes: &[Route], change: fn(&Site, &mut Parts)) -> Refusals {
    Suite::ALL
        .into_iter()
        .flat_map(|suite| {
            let site = Site::new(suite);
            let mut parts = site.model.files[FIRST].clone();
            change(&site, &mut parts);
            site.refused_with_file(FIRST, &parts.bytes(), routes)
        })
        .collect()
}

/// The same, with hashes and manifest made and signed anew.
fn altered_and_listed(change: fn(&Site, &mut Parts)) -> Refusals {
    Suite::ALL
        .into_iter()
        .flat_map(|suite| {
            let site = Site::new(suite);
            let mut parts = site.model.files[FIRST].clone();
            change(&site, &mut parts);
            parts.rehash();
            site.refused_though_listed(FIRST, parts, Route::KEYED)
        })
        .collect()
}

fn swap(_: &Site, parts: &mut Parts) {
    parts.swap_data(1, 2);
}

fn swap_with_tables(_: &Site, parts: &mut Parts) {
    parts.swap_data(1, 2);
    parts.tags.swap(1, 2);
    parts.hashes.swap(1, 2);
}

fn duplicate(_: &Site, parts: &mut Parts) {
    let chunk = parts.chunk(1);
    parts.data.copy_within(chunk, 2 * CHUNK);
    parts.tags[2] = parts.tags[1];
    parts.hashes[2] = parts.hashes[1];
}

fn splice(site: &Site, parts: &mut Parts) {
    splice_from(&site.model.files[SECOND], parts);
}

fn splice_other_model(site: &Site, parts: &mut Parts) {
    splice_from(&other_model(site).files[FIRST], parts);
}

fn splice_from(other: &Parts, parts: &mut Parts) {
    let chunk = parts.chunk(1);
    parts.data[chunk.clone()].copy_from_slice(&other.data[chunk]);
    parts.tags[1] = other.tags[1];
    parts.hashes[1] = other.hashes[1];
}

fn other_model(site: &Site) -> Model {
    Model::of("other", 2, site.model.files[FIRST].core.suite)
}

/// The same model, sealed again with the same key by its holder, as an older version.
fn older(site: &Site) -> Model {
    let mut old = site.model.clone();
    old.version = 6;
    for (number, file) in (0x80..).zip(&mut old.files) {
        let core = crate::forge::core(
            file.core.suite,
            old.id,
            [number; 16],
            file.core.path.as_str(),
        );
        let plain = vec![number; file.core.length as usize];
        *file = Parts::seal(&old.key, core, &plain);
    }
    // What is not safetensors would be found out by its name.
    old.files[FIRST] = site.model.files[FIRST].clone();
    old.files[SECOND] = site.model.files[SECOND].clone();
    old
}

fn with_file(site: &Site, bytes: &[u8]) -> Refusals {
    site.refused_with_file(FIRST, bytes, Route::ALL)
}

attacks! { "Chunks moved",
    chunks_swapped {
        done: "the ciphertext of two chunks exchanged",
        refused: ["SealError::ChunkHash", "SealError::Tag"],
        checked: "chunk hash; authentication tag",
        run: || altered(Route::ALL, swap),
    }
    chunks_swapped_with_tables {
        done: "two chunks exchanged with their tags and hashes",
        refused: ["SealError::Root"],
        checked: "content root",
        elsewhere: "reordering accepted by tensorizer 2.12",
        run: || altered(Route::ALL, swap_with_tables),
    }
    chunks_swapped_and_listed {
        done: "the same, manifest made and signed anew",
        refused: ["SealError::Tag"],
        checked: "authentication tag (nonce and index)",
        run: || altered_and_listed(swap_with_tables),
    }
    chunk_duplicated {
        done: "a chunk with tag and hash in place of another one",
        refused: ["SealError::Root"],
        checked: "content root",
        run: || altered(Route::ALL, duplicate),
    }
    chunk_duplicated_and_listed {
        done: "the same, manifest made and signed anew",
        refused: ["SealError::Tag"],
        checked: "authentication tag (nonce and index)",
        run: || altered_and_listed(duplicate),
    }
    chunk_of_another_file {
        done: "a chunk with tag and hash from the same place in another file",
        refused: ["SealError::Root"],
        checked: "content root",
        run: || altered(Route::ALL, splice),
    }
    chunk_of_another_file_and_listed {
        done: "the same, manifest made and signed anew",
        refused: ["SealError::Tag"],
        checked: "authentication tag (keys of each file)",
        run: || altered_and_listed(splice),
    }
    chunk_of_another_model {
        done: "a chunk with tag and hash from the same file of another model",
        refused: ["SealError::Root"],
        checked: "content root",
        run: || altered(Route::ALL, splice_other_model),
    }
    chunk_of_another_model_and_listed {
        done: "the same, manifest made and signed anew",
        refused: ["SealError::Tag"],
        checked: "authentication tag (keys of each file)",
        run: || altered_and_listed(splice_other_model),
    }
}

/// Attacks with whole headers and files.
pub(crate) mod files {
    use super::*;

    attacks! { "Headers, files and tensors moved",
        header_of_another_file {
            done: "the header and commitment of another file of the model",
            refused: ["ModelError::OtherFile"],
            checked: "manifest",
            run: || altered(Route::ALL, |site, parts| {
                let other = &site.model.files[SECOND];
                parts.core = other.core.clone();
                parts.commitment = other.commitment;
                parts.public.clear();
            }),
        }
        header_of_another_file_and_listed {
            done: "the keys of another file (its id, salt and commitment), manifest made and signed anew",
            refused: ["SealError::Commitment"],
            checked: "key commitment",
            run: || altered_and_listed(|site, parts| {
                let other = &site.model.files[SECOND];
                parts.core.file_id = other.core.file_id;
                parts.core.salt = other.core.salt;
                parts.commitment = other.commitment;
            }),
        }
        shards_swapped {
            done: "two shards exchange their names",
            refused: ["ModelError::OtherFile"],
            checked: "manifest",
            elsewhere: "shard names swapped: sigstore/model-transparency#49",
            run: || both(|site| {
                fs::write(site.sealed(FIRST), site.model.files[SECOND].bytes()).unwrap();
                fs::write(site.sealed(SECOND), site.model.files[FIRST].bytes()).unwrap();
                site.refused(Route::ALL)
            }),
        }
        shard_renamed {
            done: "a shard under a new name",
            refused: ["ModelError::Unlisted"],
            checked: "listing of the directory",
            run: || both(|site| {
                fs::rename(site.sealed(FIRST), site.at("model-3.safetensors.sealed")).unwrap();
                site.refused(Route::ALL)
            }),
        }
        emptied_by_another_file {
            done: "a sealed empty file in place of a shard",
            refused: ["ModelError::OtherFile"],
            checked: "manifest",
            run: || both(|site| with_file(site, &site.model.files[EMPTY].bytes())),
        }
        tensors_renamed {
            done: "the names of two tensors exchanged in the public header",
            refused: ["SealError::PublicHeader"],
            checked: "hash in the core header",
            elsewhere: "renamed tensors accepted by tensorizer 2.12",
            run: || altered(Route::ALL, |_, parts| {
                let text = String::from_utf8_lossy(&parts.public[8..]).into_owned();
                let text = text.replace("\"a\"", "\"x\"").replace("\"b\"", "\"a\"");
                parts.public.splice(8.., text.replace("\"x\"", "\"b\"").into_bytes());
            }),
        }
        tensors_renamed_and_listed {
            done: "the same with its hash in the header, manifest made and signed anew",
            refused: ["SealError::Commitment"],
            checked: "key commitment",
            run: || altered_and_listed(|_, parts| {
                let place = parts.public.iter().position(|byte| *byte == b'a').unwrap();
                parts.public[place] = b'z';
                let hash = *blake3::hash(&parts.public).as_bytes();
                parts.core.public_header.as_mut().unwrap().hash = hash;
            }),
        }
        tensors_renamed_by_a_key_holder {
            done: "a public header that names other tensors than the sealed one, all else made anew by a key holder who is the publisher",
            refused: ["SealError::PublicHeader"],
            checked: "comparison of the two headers",
            run: other_names,
        }
    }

    fn other_names() -> Refusals {
        let site = Site::new(Suite::Aes256Gcm);
        let plain = site.plain(FIRST, Route::Publisher).unwrap();
        let mut core = site.model.files[FIRST].core.clone();
        let mut lie = plain[..core.public_header.unwrap().length as usize].to_vec();
        let place = lie.iter().position(|byte| *byte == b'a').unwrap();
        lie[place] = b'z';
        core.public_header.as_mut().unwrap().hash = *blake3::hash(&lie).as_bytes();
        let mut parts = Parts::seal(&site.model.key, core, &plain);
        parts.public = lie;
        // Only who reads tensors can know.
        site.refused_though_listed(FIRST, parts, &[Route::Publisher, Route::KeyHolders])
    }
}

/// Attacks with whole models and versions.
pub(crate) mod models {
    use super::*;

    attacks! { "Models and versions replaced",
        file_of_another_model {
            done: "the whole file of the same path from another model",
            refused: ["ModelError::OtherFile"],
            checked: "manifest",
            elsewhere: "accepted by CryptoTensors 0.2.3",
            run: || both(|site| with_file(site, &other_model(site).files[FIRST].bytes())),
        }
        file_of_another_model_same_key {
            done: "the same, where the key holder gave both models one key",
            refused: ["ModelError::OtherFile"],
            checked: "manifest",
            elsewhere: "accepted by CryptoTensors 0.2.3",
            run: || both(|site| with_file(site, &same_key(site).files[FIRST].bytes())),
        }
        file_of_another_model_same_key_and_listed {
            done: "the same with the model id in the header changed, manifest made and signed anew",
            refused: ["SealError::Commitment"],
            checked: "key commitment",
            run: || both(|site| {
                let mut parts = same_key(site).files[FIRST].clone();
                parts.core.model_id = site.model.id;
                site.refused_though_listed(FIRST, parts, Route::KEYED)
            }),
        }
        directory_of_another_publisher {
            done: "a whole directory signed by somebody else for the same readers",
            refused: ["ModelError::UntrustedPublisher"],
            checked: "policy: publisher",
            run: || both(|site| {
                let mut other = other_model(site);
                other.seed = 6;
                other.write(&site.directory(), &[&site.key_file("reader")]);
                site.refused(Route::ALL)
            }),
        }
        directory_of_another_model {
            done: "a whole directory of another model of the same publisher and readers, where one model is asked for",
            refused: ["ModelError::OtherModel"],
            checked: "policy: model",
            run: || both(|site| {
                let mut site = Site::with(site.model.clone());
                site.policy.model_id = Some(site.model.id);
                site.accepted(Route::ALL);
                other_model(&site).write(&site.directory(), &[&site.key_file("reader")]);
                site.refused(Route::ALL)
            }),
        }
        manifest_of_another_model {
            done: "the manifest of another model of the same publisher",
            refused: ["ModelError::ContextDiffers"],
            checked: "manifest against recipients section",
            run: || both(|site| {
                fs::write(site.at(MANIFEST_NAME), other_model(site).signed()).unwrap();
                site.refused(Route::ALL)
            }),
        }
        recipients_of_another_model {
            done: "the recipients section of another model of the same readers",
            refused: ["ModelError::ContextDiffers"],
            checked: "manifest against recipients section",
            run: || both(|site| {
                let text = other_model(site).recipients(&[&site.key_file("reader")]);
                fs::write(site.at(RECIPIENTS_NAME), text).unwrap();
                site.refused(Route::ALL)
            }),
        }
        older_directory {
            done: "the whole directory of an older version, where a least version is asked for",
            refused: ["ModelError::OldVersion"],
            checked: "policy: least version",
            elsewhere: "no rollback protection in either tool",
            run: || both(|site| {
                let mut site = Site::with(site.model.clone());
                site.policy.min_version = Some(site.model.version);
                site.accepted(Route::ALL);
                older(&site).write(&site.directory(), &[&site.key_file("reader")]);
                site.refused(Route::ALL)
            }),
        }
        older_directory_pinned {
            done: "the same, where a manifest's digest is asked for",
            refused: ["ModelError::OtherDigest"],
            checked: "policy: digest",
            elsewhere: "no rollback protection in either tool",
            run: || both(|site| {
                let mut site = Site::with(site.model.clone());
                let opened = site.unlock(Route::Publisher).unwrap();
                site.policy.expect_digest = Some(opened.signed().signed().digest());
                site.accepted(Route::ALL);
                older(&site).write(&site.directory(), &[&site.key_file("reader")]);
                site.refused(Route::ALL)
            }),
        }
        older_file {
            done: "one file of an older version, sealed with the same key",
            refused: ["ModelError::OtherFile"],
            checked: "manifest",
            elsewhere: "no rollback protection in either tool",
            run: || both(|site| {
                let old = older(site).files[crate::forge::CONFIG].bytes();
                site.refused_with_file(crate::forge::CONFIG, &old, Route::ALL)
            }),
        }
        older_manifest {
            done: "the manifest of an older version over the new files",
            refused: ["ModelError::OtherFile"],
            checked: "manifest",
            run: || both(|site| {
                fs::write(site.at(MANIFEST_NAME), older(site).signed()).unwrap();
                site.refused(Route::ALL)
            }),
        }
    }

    fn same_key(site: &Site) -> Model {
        let mut other = other_model(site);
        other.key = site.model.key.clone();
        for (original, file) in site.model.files.iter().zip(&mut other.files) {
            let plain = vec![0x11; original.core.length as usize];
            let mut core = file.core.clone();
            core.public_header = None;
            *file = Parts::seal(&other.key, core, &plain);
        }
        other
    }
}
