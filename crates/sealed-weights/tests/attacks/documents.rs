//! The manifest and the recipients section altered, and keys that do not fit.

use std::fs;
use std::ops::Add;

use sealed_weights::ids::KeyId;
use sealed_weights::manifest::MANIFEST_NAME;
use sealed_weights::recipient::{Recipient, WrapContext};
use sealed_weights::recipients::RECIPIENTS_NAME;
use sealed_weights::signing::PublisherKey;
use sealed_weights::suite::Suite;
use zeroize::Zeroizing;

use crate::forge::model_key;
use crate::registry::attacks;
use crate::site::{Refusals, Route, Site};

/// Flips a bit in every character of one line of a document.
fn flip_line(name: &str, line: usize, routes: &[Route]) -> Refusals {
    let site = Site::new(Suite::Aes256Gcm);
    let text = site.document(name);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let begin: usize = lines[..line].iter().map(|line| line.len()).sum();
    let places = begin..begin + lines[line].len();
    let mut refusals = Refusals::new();
    for bit in [0, 5, 7] {
        refusals.extend(site.refused_with_flips(&site.at(name), places.clone(), &[bit], routes));
    }
    refusals
}

/// Puts the manifest in place that `change` makes of its lines.
fn manifest(routes: &[Route], change: fn(&Site, Vec<String>) -> String) -> Refusals {
    document(MANIFEST_NAME, routes, change)
}

fn document(name: &str, routes: &[Route], change: fn(&Site, Vec<String>) -> String) -> Refusals {
    let site = Site::new(Suite::Aes256Gcm);
    let lines = site.document(name);
    let lines = lines.split_inclusive('\n').map(str::to_owned).collect();
    let changed = change(&site, lines);
    site.refused_with_document(name, changed.as_bytes(), routes)
}

/// Replaces the last line by a signature of somebody else over the others.
fn sign_as(seed: u8, lines: &[String]) -> String {
    let publisher = PublisherKey::from_seed(&Zeroizing::new([seed; 32])).unwrap();
    let signed = lines[..3].concat();
    let signature = hex::encode(publisher.sign(signed.as_bytes()));
    format!("{signed}ed25519 {} {signature}\n", publisher.id())
}

attacks! { "Manifest",
    manifest_title_altered {
        done: "a bit of its first line flipped",
        refused: ["DocumentDefect::NotText", "DocumentDefect::Title"],
        checked: "form",
        run: || flip_line(MANIFEST_NAME, 0, Route::ALL),
    }
    manifest_json_altered {
        done: "a bit of its content flipped",
        refused: ["DocumentDefect::Line", "DocumentDefect::NotText", "DocumentDefect::Signature"],
        checked: "signature",
        run: || flip_line(MANIFEST_NAME, 1, Route::ALL),
    }
    manifest_mac_altered {
        done: "a bit of its MAC flipped",
        refused: ["DocumentDefect::Line", "DocumentDefect::NotText", "DocumentDefect::Signature"],
        checked: "form, signature",
        run: || flip_line(MANIFEST_NAME, 2, Route::ALL),
    }
    manifest_signature_altered {
        done: "a bit of the signature or of the publisher's key flipped",
        refused: ["DocumentDefect::Line", "DocumentDefect::NotText", "DocumentDefect::Signature"],
        checked: "form, signature",
        run: || flip_line(MANIFEST_NAME, 3, Route::ALL),
    }
    manifest_cut {
        done: "cut after each line, or something appended",
        refused: ["DocumentDefect::Line", "DocumentDefect::Truncated"],
        checked: "form",
        run: || {
            let mut refusals = manifest(Route::ALL, |_, lines| lines[..3].concat());
            refusals.extend(manifest(Route::ALL, |_, lines| lines[..2].concat()));
            refusals.extend(manifest(Route::ALL, |_, lines| lines[..1].concat()));
            refusals.extend(manifest(Route::ALL, |_, _| String::new()));
            refusals.extend(manifest(Route::ALL, |_, lines| lines.concat() + "\n"));
            refusals.extend(manifest(Route::ALL, |_, lines| lines.concat() + &lines[3]));
            refusals
        },
    }
    manifest_signed_by_somebody_else {
        done: "signed by somebody else",
        refused: ["ModelError::UntrustedPublisher"],
        checked: "policy: publisher",
        run: || manifest(Route::ALL, |_, lines| sign_as(9, &lines)),
    }
    manifest_without_trusted_publisher {
        done: "read without naming a publisher",
        refused: ["ModelError::NoPublisher"],
        checked: "policy: publisher",
        run: || {
            let mut site = Site::new(Suite::Aes256Gcm);
            site.policy.publishers.clear();
            site.refused(Route::ALL)
        },
    }
    manifest_without_the_key {
        done: "altered and signed by somebody without the model key, where anybody's signature is accepted",
        refused: ["ModelError::ManifestMac"],
        checked: "MAC under the model key",
        run: || {
            let mut site = Site::new(Suite::Aes256Gcm);
            site.policy.any_publisher = true;
            let text = site.document(MANIFEST_NAME).replace("\"version\":7", "\"version\":8");
            let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
            let forged = sign_as(9, &lines);
            site.refused_with_document(MANIFEST_NAME, forged.as_bytes(), Route::KEYED)
        },
    }
    manifest_written_differently {
        done: "a second form of the same content (spaces, order, escapes, arrays), signed by the publisher",
        refused: ["DocumentDefect::Json"],
        checked: "form",
        run: || {
            let mut refusals = Refusals::new();
            for (one, two) in [
                ("{\"model\":", "{ \"model\":"),
                ("\"standard\"", "\"\\u0073tandard\""),
                ("\"version\":7", "\"version\":7,\"version\":7"),
                ("\"version\":7", "\"version\":7,\"extra\":0"),
                ("\"version\":7,\"created\":1700000000", "\"created\":1700000000,\"version\":7"),
                ("{\"model\":\"standard\",\"model_id\":", "[\"standard\","),
            ] {
                let site = Site::new(Suite::Aes256Gcm);
                let text = site.document(MANIFEST_NAME).replace(one, two);
                let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
                let forged = sign_as(site.model.seed, &lines);
                refusals.extend(site.refused_with_document(
                    MANIFEST_NAME,
                    forged.as_bytes(),
                    Route::ALL,
                ));
            }
            refusals
        },
    }
}

/// Attacks on the recipients section and with other keys.
pub(crate) mod recipients {
    use super::*;

    /// The JSON of the entries, one after the other.
    fn entries(text: &str) -> Vec<serde_json::Value> {
        let json: serde_json::Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
        json["recipients"].as_array().unwrap().clone()
    }

    /// The section with an entry's text replaced.
    fn replaced(site: &Site, text: &str, entry: usize, field: &str, by: &str) -> String {
        let entries = entries(text);
        let old = entries[entry].pointer(field).unwrap().as_str().unwrap();
        assert!(old != by && site.document(RECIPIENTS_NAME) == text);
        text.replacen(old, by, 1)
    }

    /// Changes one field of the reader's entry.
    fn field(field: &'static str, by: &str) -> Refusals {
        let site = Site::new(Suite::Aes256Gcm);
        let text = site.document(RECIPIENTS_NAME);
        let changed = replaced(&site, &text, 0, field, by);
        site.refused_with_document(RECIPIENTS_NAME, changed.as_bytes(), Route::KEYED)
    }

    /// The section with the entries that `change` leaves, in its order.
    fn rearranged(change: fn(&mut Vec<String>)) -> Refusals {
        let site = Site::new(Suite::Aes256Gcm);
        let text = site.document(RECIPIENTS_NAME);
        let (head, rest) = text.split_once("\"recipients\":[").unwrap();
        let (list, tail) = rest.split_once("]}\n").unwrap();
        let mut entries: Vec<String> = list.split("},{").map(str::to_owned).collect();
        assert_eq!(entries.len(), 2);
        entries[0].remove(0);
        entries[1].pop();
        change(&mut entries);
        let list: Vec<String> = entries.iter().map(|entry| format!("{{{entry}}}")).collect();
        let changed = format!("{head}\"recipients\":[{}]}}\n{tail}", list.join(","));
        site.refused_with_document(RECIPIENTS_NAME, changed.as_bytes(), Route::KEYED)
    }

    attacks! { "Recipients section and keys",
        recipients_title_altered {
            done: "a bit of its first line flipped",
            refused: ["DocumentDefect::NotText", "DocumentDefect::Title"],
            checked: "form",
            run: || flip_line(RECIPIENTS_NAME, 0, Route::KEYED),
        }
        recipients_json_altered {
            done: "a bit of its content flipped",
            refused: [
                "DocumentDefect::Json",
                "DocumentDefect::NotText",
                "DocumentDefect::Truncated",
                "KeyError::Malformed",
                "KeyError::NoMatch",
                "KeyError::Refused",
                "ModelError::ContextDiffers",
                "ModelError::RecipientsMac",
            ],
            checked: "form, manifest, unwrapping, MAC under the model key",
            run: || flip_line(RECIPIENTS_NAME, 1, Route::KEYED),
        }
        recipients_mac_altered {
            done: "a bit of its MAC flipped",
            refused: ["DocumentDefect::Line", "DocumentDefect::NotText", "DocumentDefect::Truncated", "ModelError::RecipientsMac"],
            checked: "form, MAC under the model key",
            run: || flip_line(RECIPIENTS_NAME, 2, Route::KEYED),
        }
        recipients_cut {
            done: "cut after each line, or something appended",
            refused: ["DocumentDefect::Line", "DocumentDefect::Truncated"],
            checked: "form",
            run: || {
                let mut refusals = Refusals::new();
                let changes: [fn(&Site, Vec<String>) -> String; 5] = [
                    |_, lines| lines[..2].concat(),
                    |_, lines| lines[..1].concat(),
                    |_, _| String::new(),
                    |_, lines| lines.concat() + "\n",
                    |_, lines| lines.concat() + &lines[2],
                ];
                for change in changes {
                    refusals.extend(document(RECIPIENTS_NAME, Route::ALL, change));
                }
                refusals
            },
        }
        entries_swapped {
            done: "two entries exchanged",
            refused: ["ModelError::RecipientsMac"],
            checked: "MAC under the model key",
            run: || rearranged(|entries| entries.swap(0, 1)),
        }
        other_entry_removed {
            done: "another recipient's entry removed",
            refused: ["ModelError::RecipientsMac"],
            checked: "MAC under the model key",
            run: || rearranged(|entries| drop(entries.pop())),
        }
        own_entry_removed {
            done: "the reader's own entry removed",
            refused: ["KeyError::NoMatch"],
            checked: "unwrapping",
            run: || rearranged(|entries| drop(entries.remove(0))),
        }
        entry_added {
            done: "an entry added",
            refused: ["ModelError::RecipientsMac"],
            checked: "MAC under the model key",
            run: || rearranged(|entries| entries.push(entries[1].clone())),
        }
        salt_replaced {
            done: "a parameter of the reader's entry (its salt) replaced",
            refused: ["KeyError::Refused"],
            checked: "commitment of the wrapping",
            run: || field("/wrap/salt", &"A".repeat(43).add("=")),
        }
        wrap_commitment_replaced {
            done: "the commitment of the reader's entry replaced",
            refused: ["KeyError::Refused"],
            checked: "commitment of the wrapping",
            run: || field("/wrap/commitment", &"A".repeat(43).add("=")),
        }
        wrapped_key_replaced {
            done: "the wrapped key of the reader's entry replaced",
            refused: ["KeyError::Refused"],
            checked: "tag of the wrapping",
            run: || field("/wrap/wrapped", &"A".repeat(64)),
        }
        entry_of_another_model {
            done: "the reader's entry from another model",
            refused: ["KeyError::Refused"],
            checked: "wrapping context",
            run: || {
                let site = Site::new(Suite::Aes256Gcm);
                let text = site.document(RECIPIENTS_NAME);
                let context = WrapContext::new("other", site.model.id, KeyId::new([3; 32]));
                with_entry_for(&site, &text, &context, 1)
            },
        }
        another_key_wrapped {
            done: "another key wrapped for the reader under the model's name and key id",
            refused: ["KeyError::WrongModelKey"],
            checked: "key id",
            run: || {
                let site = Site::new(Suite::Aes256Gcm);
                let text = site.document(RECIPIENTS_NAME);
                with_entry_for(&site, &text, &site.model.context(), 9)
            },
        }
        another_key_wrapped_and_authenticated {
            done: "a whole recipients section for another key, with that key's id",
            refused: ["ModelError::ContextDiffers"],
            checked: "manifest against recipients section",
            run: || {
                let site = Site::new(Suite::Aes256Gcm);
                let mut other = site.model.clone();
                other.key = model_key(9);
                let text = other.recipients(&[&site.key_file("reader")]);
                site.refused_with_document(RECIPIENTS_NAME, text.as_bytes(), Route::KEYED)
            },
        }
        wrong_key {
            done: "opened with a key that is no recipient's",
            refused: ["KeyError::NoMatch"],
            checked: "unwrapping",
            run: || {
                let mut site = Site::new(Suite::Aes256Gcm);
                site.read_as("stranger");
                site.refused(Route::KEYED)
            },
        }
        wrong_key_of_that_name {
            done: "opened with a wrong key, whose name the entry is given",
            refused: ["KeyError::Refused"],
            checked: "commitment of the wrapping",
            run: || {
                let mut site = Site::new(Suite::Aes256Gcm);
                let stranger = site.model.recipients(&[&site.key_file("stranger")]);
                let name = entries(&stranger)[0]["fingerprint"].as_str().unwrap().to_owned();
                let text = site.document(RECIPIENTS_NAME);
                let changed = replaced(&site, &text, 0, "/fingerprint", &name);
                fs::write(site.at(RECIPIENTS_NAME), changed).unwrap();
                site.read_as("stranger");
                site.refused(Route::KEYED)
            },
        }
        recipient_dropped {
            done: "opened by a recipient whom rewrapping has dropped and who kept no key",
            refused: ["KeyError::NoMatch"],
            checked: "unwrapping",
            run: || {
                let mut site = Site::new(Suite::Aes256Gcm);
                site.read_as("other");
                site.accepted(Route::ALL);
                site.rewrap(&["reader"]);
                site.refused(Route::KEYED)
            },
        }
    }

    /// Puts an entry for the reader in place that wraps the key of that number.
    fn with_entry_for(site: &Site, text: &str, context: &WrapContext, number: u8) -> Refusals {
        let entry = site
            .key_file("reader")
            .wrap(&model_key(number), context)
            .unwrap();
        let old = text.split_once("\"recipients\":[").unwrap().1;
        let old = old.split_once(",{\"kind\"").unwrap().0;
        let changed = text.replacen(old, &serde_json::to_string(&entry).unwrap(), 1);
        site.refused_with_document(RECIPIENTS_NAME, changed.as_bytes(), Route::KEYED)
    }
}
