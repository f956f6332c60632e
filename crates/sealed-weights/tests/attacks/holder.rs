//! What those can do who hold the model key, but not the publisher's.

use std::fs;

use sealed_weights::suite::Suite;

use crate::forge::{CHUNK, CONFIG, FIRST, Model, Parts, SECOND, core, model_key};
use crate::gcm::{Gcm, inverse, multiply, power};
use crate::registry::attacks;
use crate::site::{Route, Site};

/// Additional data of a chunk, as the specification has it.
fn additional_data(parts: &Parts, index: u64) -> Vec<u8> {
    let chunks = parts.core.chunks();
    let mut data = parts.core.file_id.as_bytes().to_vec();
    data.extend(index.to_le_bytes());
    data.extend(chunks.to_le_bytes());
    data.push(u8::from(index + 1 == chunks));
    data
}

/// Changes one block of a chunk's plaintext and another block so that the tag stays the same.
fn forge(site: &Site) -> Parts {
    let mut parts = site.model.files[SECOND].clone();
    let (index, changed, balance) = (1, 3, 7);
    let gcm = Gcm::of_chunk(&site.model.key, &parts.core, index);
    let aad = additional_data(&parts, index);
    let range = parts.chunk(index as usize);
    let tag = u128::from_be_bytes(parts.tags[index as usize]);
    assert_eq!(gcm.tag(&aad, &parts.data[range.clone()]), tag);
    let difference: u128 = 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10;
    let balanced = multiply(difference, power(gcm.h, balance - changed));
    for (block, difference) in [(changed, difference), (balance, balanced)] {
        let begin = range.start + 16 * block as usize;
        for (byte, flip) in parts.data[begin..].iter_mut().zip(difference.to_be_bytes()) {
            *byte ^= flip;
        }
    }
    assert_eq!(gcm.tag(&aad, &parts.data[range]), tag);
    parts
}

/// A file of one chunk of four blocks that AES-GCM opens under both models' keys.
fn two_key_file(one: &Model, two: &Model) -> Parts {
    let core = core(Suite::Aes256Gcm, one.id, [0x77; 16], "config.json");
    let mut parts = Parts::seal(&one.key, core, &[0x20; 64]);
    let aad = additional_data(&parts, 0);
    let keys = [&one.key, &two.key].map(|key| Gcm::of_chunk(key, &parts.core, 0));
    parts.data[48..].fill(0);
    // The last block counts H² in the tag: solve tag₁ = tag₂ for it.
    let difference = keys[0].tag(&aad, &parts.data) ^ keys[1].tag(&aad, &parts.data);
    let squares = power(keys[0].h, 2) ^ power(keys[1].h, 2);
    let block = multiply(difference, inverse(squares));
    parts.data[48..].copy_from_slice(&block.to_be_bytes());
    let tag = keys[0].tag(&aad, &parts.data).to_be_bytes();
    let plains = keys.map(|key| key.open(&aad, &parts.data, &tag));
    assert!(
        plains.iter().all(Option::is_some),
        "AES-GCM accepts it under both keys"
    );
    assert_ne!(plains[0], plains[1]);
    parts.tags = vec![tag];
    parts.rehash();
    parts
}

attacks! { "Key holders",
    two_key_ciphertext {
        done: "a ciphertext that AES-GCM opens to different plaintexts under two keys, listed and signed by a key holder who is the publisher",
        refused: ["SealError::Commitment"],
        checked: "key commitment",
        run: || {
            let mut one = Model::standard(Suite::Aes256Gcm);
            let mut two = one.clone();
            two.key = model_key(2);
            for (number, file) in (0xa0..).zip(&mut two.files) {
                let core = core(Suite::Aes256Gcm, two.id, [number; 16], file.core.path.as_str());
                *file = Parts::seal(&two.key, core, b"\x02\0\0\0\0\0\0\0{}");
            }
            let parts = two_key_file(&one, &two);
            one.files[CONFIG] = parts.clone();
            // The reader of the one opens it, the reader of the other does not.
            let one = Site::with(one);
            one.accepted(Route::ALL);
            let two = Site::with(two);
            two.refused_though_listed(CONFIG, parts, Route::KEYED)
        },
    }
    forgery_with_the_publishers_signature {
        done: "a shard's ciphertext changed so that tags, root and signature stay valid (GHASH solved for one block)",
        refused: ["SealError::ChunkHash"],
        checked: "chunk hash",
        elsewhere: "accepted by CryptoTensors 0.2.3",
        run: || {
            let site = Site::new(Suite::Aes256Gcm);
            let forged = forge(&site).bytes();
            site.refused_with_file(SECOND, &forged, Route::SIGNED)
        },
    }
    forgery_signed_by_rotating {
        done: "the same forgery, and the publisher rotates the key while trusting all key holders",
        refused: ["SealError::ChunkHash"],
        checked: "chunk hash",
        run: || {
            let site = Site::new(Suite::Aes256Gcm);
            fs::write(site.sealed(SECOND), forge(&site).bytes()).unwrap();
            site.accepted(&[Route::KeyHolders]);
            site.refuses_to_rotate(Route::KeyHolders)
        },
    }
    resealed_by_a_key_holder {
        done: "a shard sealed anew by a key holder",
        refused: ["ModelError::OtherFile"],
        checked: "manifest",
        run: || {
            let site = Site::new(Suite::Aes256Gcm);
            let plain = vec![1; 3 * CHUNK];
            let core = site.model.files[FIRST].core.clone();
            let parts = Parts::seal(&site.model.key, core, &plain);
            site.refused_with_file(FIRST, &parts.bytes(), Route::ALL)
        },
    }
    resealed_and_signed_by_a_key_holder {
        done: "the same, manifest made anew and signed with the key holder's own key",
        refused: ["ModelError::UntrustedPublisher"],
        checked: "policy: publisher",
        run: || {
            let mut site = Site::new(Suite::Aes256Gcm);
            let publisher = site.model.publisher().id();
            site.model.seed = 6;
            assert_ne!(site.model.publisher().id(), publisher);
            let parts = site.model.files[FIRST].clone();
            site.refused_though_listed(FIRST, parts, Route::ALL)
        },
    }
    signed_without_the_key {
        done: "a directory of the publisher's under another key, with this model's recipients",
        refused: ["ModelError::ContextDiffers"],
        checked: "manifest against recipients section",
        run: || {
            let site = Site::new(Suite::Aes256Gcm);
            let mut other = site.model.clone();
            other.key = model_key(2);
            for file in &mut other.files {
                let plain = vec![0; file.core.length as usize];
                let mut core = file.core.clone();
                core.public_header = None;
                *file = Parts::seal(&other.key, core, &plain);
            }
            other.write_files(&site.directory());
            other.write_manifest(&site.directory());
            site.refused(Route::ALL)
        },
    }
}

/// What the format does not protect from, shown to be so.
pub(crate) mod limits {
    use super::*;
    use crate::registry::Limit;
    use sealed_weights::manifest::MANIFEST_NAME;
    use sealed_weights::recipients::RECIPIENTS_NAME;

    /// Each opens.
    pub(crate) const LIMITS: &[Limit] = &[
        Limit {
            done: "a key holder's forgery as above, read with `Trust::KeyHolders`",
            instead: "read with `Trust::Publisher`, the default",
            run: || {
                let site = Site::new(Suite::Aes256Gcm);
                let before = site.plain(SECOND, Route::KeyHolders).unwrap();
                fs::write(site.sealed(SECOND), forge(&site).bytes()).unwrap();
                let after = site.plain(SECOND, Route::KeyHolders).unwrap();
                assert_ne!(before, after);
                site.accepted(&[Route::KeyHolders]);
            },
        },
        Limit {
            done: "an older version or another model of the same publisher and readers, where nothing is pinned",
            instead: "ask for a model, a least version or a digest",
            run: || {
                let site = Site::new(Suite::Aes256Gcm);
                let other = Model::of("other", 2, Suite::Aes256Gcm);
                other.write(&site.directory(), &[&site.key_file("reader")]);
                site.accepted(Route::ALL);
            },
        },
        Limit {
            done: "an older recipients section of the same key put back: a recipient who was dropped opens again",
            instead: "rotate the key, which shuts out also those who kept it",
            run: || {
                let mut site = Site::new(Suite::Aes256Gcm);
                let old = site.document(RECIPIENTS_NAME);
                site.rewrap(&["reader"]);
                fs::write(site.at(RECIPIENTS_NAME), old).unwrap();
                site.read_as("other");
                site.accepted(Route::ALL);
            },
        },
        Limit {
            done: "the manifest signed by any other key holder, where anybody's signature is accepted",
            instead: "name the publisher",
            run: || {
                let mut site = Site::new(Suite::Aes256Gcm);
                site.policy.any_publisher = true;
                site.model.seed = 6;
                fs::write(site.at(MANIFEST_NAME), site.model.signed()).unwrap();
                site.accepted(Route::ALL);
            },
        },
    ];

    #[test]
    fn limits_are_as_documented() {
        for limit in LIMITS {
            (limit.run)();
        }
    }
}

#[test]
fn the_field_is_that_of_gcm() {
    // Test case 2 of McGrew and Viega's GCM specification: H, one ciphertext block, its GHASH.
    let h = 0x66e9_4bd4_ef8a_2c3b_884c_fa59_ca34_2b2e;
    let block = 0x0388_dace_60b6_a392_f328_c2b9_71b2_fe78;
    let hash = multiply(multiply(block, h) ^ 128, h);
    assert_eq!(hash, 0xf38c_bb1a_d692_23dc_c345_7ae5_b6b0_f885);
    assert_eq!(multiply(h, inverse(h)), 1 << 127);
}
