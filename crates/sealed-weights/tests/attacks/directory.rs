//! Plaintext and links in place of sealed files; files removed and added.

use std::fs;
use std::os::unix::fs::symlink;

use sealed_weights::manifest::MANIFEST_NAME;
use sealed_weights::recipients::RECIPIENTS_NAME;
use sealed_weights::suite::Suite;

use crate::forge::{CONFIG, EMPTY, FIRST};
use crate::registry::attacks;
use crate::site::{DOCUMENTS, Refusals, Route, Site};

/// Does something to the directory.
fn after(change: fn(&Site)) -> Refusals {
    let site = Site::new(Suite::Aes256Gcm);
    change(&site);
    site.refused(Route::ALL)
}

fn without(name: &str) -> Refusals {
    let site = Site::new(Suite::Aes256Gcm);
    fs::remove_file(site.at(name)).unwrap();
    site.refused(Route::ALL)
}

/// Replaces a file by a link to a copy of it outside the directory.
fn link(site: &Site, name: &str) {
    let outside = site.directory().with_file_name("outside");
    fs::rename(site.at(name), &outside).unwrap();
    symlink(&outside, site.at(name)).unwrap();
}

attacks! { "Plaintext and stripped files",
    plaintext_in_place {
        done: "the plaintext of each file in place of its sealed file",
        refused: ["HeaderDefect::NotSealed", "HeaderDefect::Truncated"],
        checked: "core header",
        elsewhere: "accepted by CryptoTensors 0.2.3",
        run: || {
            let site = Site::new(Suite::Aes256Gcm);
            [CONFIG, EMPTY, FIRST]
                .into_iter()
                .flat_map(|file| {
                    let plain = site.plain(file, Route::Publisher).unwrap();
                    site.refused_with_file(file, &plain, Route::ALL)
                })
                .collect()
        },
    }
    plaintext_beside {
        done: "a plaintext shard beside the sealed one",
        refused: ["ModelError::Unlisted"],
        checked: "listing of the directory",
        run: || after(|site| {
            let plain = site.plain(FIRST, Route::Publisher).unwrap();
            fs::write(site.at("model-00001.safetensors"), plain).unwrap();
        }),
    }
    metadata_stripped {
        done: "header and tables cut off, or zeroed",
        refused: ["HeaderDefect::NotSealed"],
        checked: "core header",
        elsewhere: "stripped metadata accepted by CryptoTensors 0.2.3",
        run: || {
            let site = Site::new(Suite::Aes256Gcm);
            let parts = &site.model.files[FIRST];
            let mut zeroed = parts.bytes();
            zeroed[..parts.core.layout().data as usize].fill(0);
            let mut refusals = site.refused_with_file(FIRST, &parts.data, Route::ALL);
            refusals.extend(site.refused_with_file(FIRST, &zeroed, Route::ALL));
            refusals
        },
    }
}

/// Attacks on the set of files.
pub(crate) mod listing {
    use super::*;

    attacks! { "Files removed, added, linked",
        manifest_removed {
            done: "the manifest removed",
            refused: ["ModelError::NoManifest"],
            checked: "listing of the directory",
            run: || without(MANIFEST_NAME),
        }
        recipients_removed {
            done: "the recipients section removed",
            refused: ["ModelError::NoRecipients"],
            checked: "listing of the directory",
            run: || without(RECIPIENTS_NAME),
        }
        listed_file_removed {
            done: "a listed file removed",
            refused: ["ModelError::Missing"],
            checked: "listing of the directory",
            run: || without("config.json.sealed"),
        }
        unlisted_file_added {
            done: "a file added: sealed or not, hidden, in a new directory",
            refused: ["ModelError::Unlisted"],
            checked: "listing of the directory",
            run: || {
                let mut refusals = Refusals::new();
                for name in ["new.safetensors.sealed", ".hidden", "code.py", "sub/x.sealed"] {
                    let site = Site::new(Suite::Aes256Gcm);
                    fs::create_dir_all(site.at(name).parent().unwrap()).unwrap();
                    fs::write(site.at(name), site.model.files[FIRST].bytes()).unwrap();
                    refusals.extend(site.refused(Route::ALL));
                }
                refusals
            },
        }
        file_made_a_link {
            done: "a sealed file replaced by a symbolic link to it",
            refused: ["ModelError::SpecialFile"],
            checked: "opening without following links",
            run: || after(|site| link(site, "config.json.sealed")),
        }
        document_made_a_link {
            done: "manifest or recipients section replaced by a symbolic link to it",
            refused: ["ModelError::SpecialFile"],
            checked: "opening without following links",
            run: || DOCUMENTS
                .into_iter()
                .flat_map(|name| {
                    let site = Site::new(Suite::Aes256Gcm);
                    link(&site, name);
                    site.refused(Route::ALL)
                })
                .collect(),
        }
        directory_linked_in {
            done: "a symbolic link to a directory added",
            refused: ["ModelError::Unlisted"],
            checked: "listing of the directory",
            run: || after(|site| symlink("..", site.at("sub")).unwrap()),
        }
        file_made_a_directory {
            done: "a sealed file replaced by a directory, a socket or a pipe",
            refused: ["ModelError::Missing", "ModelError::SpecialFile", "SealError::Io"],
            checked: "listing of the directory, opening",
            run: || {
                let mut refusals = after(|site| {
                    fs::remove_file(site.sealed(CONFIG)).unwrap();
                    fs::create_dir(site.sealed(CONFIG)).unwrap();
                });
                refusals.extend(after(|site| {
                    use rustix::fs::{CWD, Mode, mkfifoat};
                    fs::remove_file(site.sealed(CONFIG)).unwrap();
                    mkfifoat(CWD, site.sealed(CONFIG), Mode::RUSR).unwrap();
                }));
                refusals.extend(after(|site| {
                    fs::remove_file(site.sealed(CONFIG)).unwrap();
                    std::os::unix::net::UnixListener::bind(site.sealed(CONFIG)).unwrap();
                }));
                refusals
            },
        }
    }
}
