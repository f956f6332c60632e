//! A weight matrix of a published model (sentence-transformers/all-MiniLM-L6-v2, Apache-2.0).

use tensor_io::{LoadOptions, WeightSource};

const TENSOR: &str = "encoder.layer.0.intermediate.dense.weight";

/// Bit patterns that NumPy reads from the same file: (output, input, bits).
const NUMPY_BITS: [(usize, usize, u32); 6] = [
    (0, 0, 0xbceb_5290),
    (0, 383, 0xbd4e_1afe),
    (1, 0, 0xbc40_cf29),
    (777, 123, 0xbcfe_7dc6),
    (1535, 0, 0xbd3c_cfcd),
    (1535, 383, 0xbd23_5c7b),
];

#[test]
#[ignore = "needs MINILM_SAFETENSORS (scripts/fetch-minilm.sh)"]
fn a_feed_forward_layer_of_minilm() {
    let path = std::env::var("MINILM_SAFETENSORS")
        .expect("set MINILM_SAFETENSORS to the file that scripts/fetch-minilm.sh prints");
    let source: WeightSource = format!("{path}#{TENSOR}").parse().unwrap();
    let loaded = source.load(&LoadOptions::default()).unwrap();
    let matrix = &loaded.matrix;
    assert_eq!((matrix.d_in(), matrix.d_out()), (384, 1536));
    assert_eq!(loaded.shape, [1536, 384]);
    assert_eq!(loaded.dtype.name(), "F32");
    for (output, input, bits) in NUMPY_BITS {
        assert_eq!(
            matrix.row(output)[input].to_bits(),
            bits,
            "W[{input},{output}]"
        );
    }
    // Sums that NumPy gives in double precision; the order of addition differs.
    let sum: f64 = matrix.data().iter().map(|v| f64::from(*v)).sum();
    let magnitude: f64 = matrix.data().iter().map(|v| f64::from(v.abs())).sum();
    assert!((sum - -1_197.985_557_305_913_5).abs() < 1e-6, "{sum}");
    assert!(
        (magnitude - 29_375.954_333_596_044).abs() < 1e-6,
        "{magnitude}"
    );
    // Length field, header, and that one tensor of a file of 90 868 376 bytes.
    assert_eq!(loaded.bytes_read, 8 + 11_408 + 4 * 384 * 1536);
}
