//! The library that stretches passphrases, against RFC 9106.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use argon2::{Algorithm, Argon2, AssociatedData, ParamsBuilder, Version};

#[test]
fn argon2id_gives_the_tag_of_rfc_9106() {
    // RFC 9106, section 5.3: 32 KiB, 3 passes, 4 lanes.
    let params = ParamsBuilder::new()
        .m_cost(32)
        .t_cost(3)
        .p_cost(4)
        .output_len(32)
        .data(AssociatedData::new(&[4; 12]).unwrap())
        .build()
        .unwrap();
    let secret = [3; 8];
    let argon2 =
        Argon2::new_with_secret(&secret, Algorithm::Argon2id, Version::V0x13, params).unwrap();
    let mut tag = [0; 32];
    argon2
        .hash_password_into(&[1; 32], &[2; 16], &mut tag)
        .unwrap();
    assert_eq!(
        hex::encode(tag),
        "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659"
    );
}
