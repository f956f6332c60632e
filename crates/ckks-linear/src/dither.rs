//! Rounding at random by a fixed function of the place, so that preparation repeats to the bit.

/// Adds numbers uniform in ±1/2 that depend on two numbers and the index alone: rounding to the
/// nearest integer then rounds at random.
pub(crate) fn dither(values: &mut [f64], major: u64, minor: u64) {
    let key = mix(mix(major) ^ minor);
    for (i, value) in values.iter_mut().enumerate() {
        let bits = mix(key ^ i as u64) >> 11;
        *value += bits as f64 * 2f64.powi(-53) - 0.5;
    }
}

/// One step of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection that spreads every bit.
fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
