//! BLAKE3 against published values: test_vectors.json of the BLAKE3 team, whose inputs are the
//! bytes 0 to 250 over and over.

use super::*;

const CONTEXT: &str = "BLAKE3 2019-12-27 16:29:52 test vectors context";

/// Length of the input, its hash, and its derived key, of 32 bytes each.
const PUBLISHED: [(usize, &str, &str); 6] = [
    (
        0,
        "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
        "2cc39783c223154fea8dfb7c1b1660f2ac2dcbd1c1de8277b0b0dd39b7e50d7d",
    ),
    (
        1,
        "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
        "b3e2e340a117a499c6cf2398a19ee0d29cca2bb7404c73063382693bf66cb06c",
    ),
    (
        1023,
        "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11",
        "74a16c1c3d44368a86e1ca6df64be6a2f64cce8f09220787450722d85725dea5",
    ),
    (
        1025,
        "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444",
        "effaa245f065fbf82ac186839a249707c3bddf6d3fdda22d1b95a3c970379bcb",
    ),
    (
        4097,
        "9b4052b38f1c5fc8b1f9ff7ac7b27cd242487b3d890d15c96a1c25b8aa0fb995",
        "aca51029626b55fda7117b42a7c211f8c6e9ba4fe5b7a8ca922f34299500ead8",
    ),
    (
        6145,
        "f1323a8631446cc50536a9f705ee5cb619424d46887f3c376c695b70e0f0507f",
        "379bcc61d0051dd489f686c13de00d5b14c505245103dc040d9e4dd1facab8e5",
    ),
];

#[test]
fn blake3_gives_the_published_values() {
    for (length, hash, derived) in PUBLISHED {
        let input: Vec<u8> = (0..=250).cycle().take(length).collect();
        assert_eq!(hex::encode(chunk_hash(&input)), hash);
        assert_eq!(hex::encode(blake3::derive_key(CONTEXT, &input)), derived);
    }
}

#[test]
fn the_root_is_the_derivation_over_all_parts() {
    let (core, commitment) = (CoreDigest::new([1; 32]), [2; 32]);
    let (tags, hashes) = ([[3; 16], [4; 16]], [[5; 32], [6; 32]]);
    let text = [
        vec![1; 32],
        vec![2; 32],
        vec![3; 16],
        vec![4; 16],
        vec![5; 32],
        vec![6; 32],
    ]
    .concat();
    assert_eq!(
        content_root(&core, &commitment, &tags, &hashes).as_bytes(),
        &blake3::derive_key("sealed-weights/1 content root", &text)
    );
}
