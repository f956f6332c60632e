//! The negacyclic transform against direct evaluation, the schoolbook product and itself.

use ckks::modulus::{Modulus, ntt_primes, primitive_root};
use ckks::ntt::{Kernel, NttTable};
use proptest::prelude::*;

/// A small seeded generator (SplitMix64).
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn residues(&mut self, q: u32, count: usize) -> Vec<u32> {
        (0..count)
            .map(|_| (self.next() % u64::from(q)) as u32)
            .collect()
    }
}

fn modulus(bits: u32, degree: usize) -> Modulus {
    let primes = ntt_primes(bits, degree, 1).expect("such a prime exists");
    Modulus::new(primes[0]).expect("it is prime")
}

/// Inputs at the ends of the range, and random ones.
fn inputs(q: u32, degree: usize, seed: u64) -> Vec<Vec<u32>> {
    let mut generator = Generator(seed);
    let mut all = vec![
        vec![0; degree],
        vec![1; degree],
        vec![q - 1; degree],
        (0..degree)
            .map(|i| if i % 2 == 0 { 0 } else { q - 1 })
            .collect(),
        (0..degree)
            .map(|i| if i < degree / 2 { q - 1 } else { 0 })
            .collect(),
        // Random choices of the two ends.
        (0..degree)
            .map(|_| {
                if generator.next().is_multiple_of(2) {
                    0
                } else {
                    q - 1
                }
            })
            .collect(),
    ];
    all.extend((0..3).map(|_| generator.residues(q, degree)));
    all
}

/// One table for each kernel that this machine can run.
fn tables(modulus: Modulus, degree: usize) -> Vec<NttTable> {
    let table = NttTable::new(modulus, degree).expect("the degree is supported");
    let tables: Vec<NttTable> = Kernel::available()
        .into_iter()
        .filter_map(|k| table.clone().with_kernel(k))
        .collect();
    assert_eq!(tables.len(), Kernel::available().len());
    assert!(tables.iter().any(|t| t.kernel() == Kernel::Reference));
    tables
}

fn mul(q: u32, a: u128, b: u128) -> u128 {
    a * b % u128::from(q)
}

fn power(q: u32, base: u128, exponent: u128) -> u128 {
    let mut result = 1;
    for bit in (0..u128::BITS - exponent.leading_zeros()).rev() {
        result = mul(q, result, result);
        if exponent >> bit & 1 == 1 {
            result = mul(q, result, base);
        }
    }
    result
}

#[test]
fn forward_evaluates_at_odd_powers_in_bit_reversed_order() {
    let degree = 1024usize;
    for bits in [29, 31] {
        let modulus = modulus(bits, degree);
        let q = modulus.value();
        let psi = u128::from(primitive_root(modulus, degree).unwrap());
        let coefficients = Generator(1).residues(q, degree);
        let expected: Vec<u32> = (0..degree)
            .map(|i| {
                let reversed = (0..10).fold(0, |r, bit| r | (i >> bit & 1) << (9 - bit));
                let point = power(q, psi, 2 * reversed as u128 + 1);
                let value = coefficients.iter().rev().fold(0, |sum, &c| {
                    (mul(q, sum, point) + u128::from(c)) % u128::from(q)
                });
                value as u32
            })
            .collect();
        for table in tables(modulus, degree) {
            let mut values = coefficients.clone();
            table.forward(&mut values);
            assert!(values == expected, "{:?}, {bits} bits", table.kernel());
        }
    }
}

/// `a * b mod (X^N + 1, q)` from the definition.
fn schoolbook(q: u32, a: &[u32], b: &[u32]) -> Vec<u32> {
    let degree = a.len();
    let mut sums = vec![0i128; degree];
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let product = i128::from(x) * i128::from(y);
            if i + j < degree {
                sums[i + j] += product;
            } else {
                sums[i + j - degree] -= product;
            }
        }
    }
    sums.into_iter()
        .map(|sum| sum.rem_euclid(i128::from(q)) as u32)
        .collect()
}

fn product(table: &NttTable, a: &[u32], b: &[u32]) -> Vec<u32> {
    let q = u64::from(table.modulus().value());
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    table.forward(&mut a);
    table.forward(&mut b);
    for (x, &y) in a.iter_mut().zip(&b) {
        *x = (u64::from(*x) * u64::from(y) % q) as u32;
    }
    table.inverse(&mut a);
    a
}

#[test]
fn products_agree_with_schoolbook() {
    let degree = 1024;
    for bits in [29, 31] {
        let modulus = modulus(bits, degree);
        let q = modulus.value();
        let tables = tables(modulus, degree);
        let monomial = |power: usize, coefficient: u32| {
            let mut poly = vec![0; degree];
            poly[power] = coefficient;
            poly
        };
        let mut operands = inputs(q, degree, 2);
        operands.push(monomial(0, 1));
        operands.push(monomial(1, q - 1));
        operands.push(monomial(degree - 1, q - 1));
        let fixed = Generator(3).residues(q, degree);
        for a in &operands {
            for b in [a, &operands[2], &fixed] {
                let expected = schoolbook(q, a, b);
                for table in &tables {
                    assert!(
                        product(table, a, b) == expected,
                        "{:?} {bits}",
                        table.kernel()
                    );
                }
            }
        }
    }
}

#[test]
fn kernels_give_the_bits_of_the_reference() {
    for log_degree in 10..=16 {
        let degree = 1usize << log_degree;
        for bits in [20, 26, 29, 30, 31] {
            // The largest prime of the length, just below the bound of its lazy range, and (where
            // there are enough) a smaller one.
            let primes = ntt_primes(bits, degree, 8)
                .map(|primes| vec![primes[0], primes[7]])
                .or_else(|_| ntt_primes(bits, degree, 1))
                .unwrap();
            for q in primes {
                let tables = tables(Modulus::new(q).unwrap(), degree);
                let (reference, others) = tables.split_first().unwrap();
                assert_eq!(reference.kernel(), Kernel::Reference);
                for (case, input) in inputs(q, degree, u64::from(q)).iter().enumerate() {
                    let (mut forward, mut inverse) = (input.clone(), input.clone());
                    reference.forward(&mut forward);
                    reference.inverse(&mut inverse);
                    assert!(forward.iter().chain(&inverse).all(|&v| v < q));
                    for table in others {
                        // Cache-line aligned or not: the vector starts at any multiple of 4 bytes.
                        for offset in [0, 1, 5] {
                            let context = (table.kernel(), degree, q, case, offset);
                            let mut buffer = vec![u32::MAX; degree + 16];
                            let mut check = |expected: &[u32], run: &dyn Fn(&mut [u32])| {
                                let values = &mut buffer[offset..offset + degree];
                                values.copy_from_slice(input);
                                run(values);
                                assert!(values == expected, "{context:?}");
                                assert!(buffer[..offset].iter().all(|&v| v == u32::MAX));
                                assert!(buffer[offset + degree..].iter().all(|&v| v == u32::MAX));
                            };
                            check(&forward, &|values| table.forward(values));
                            check(&inverse, &|values| table.inverse(values));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn inverse_undoes_forward() {
    for degree in [1024, 2048, 4096, 8192, 65_536] {
        for bits in [26, 29, 30, 31] {
            let modulus = modulus(bits, degree);
            for input in inputs(modulus.value(), degree, 4) {
                for table in tables(modulus, degree) {
                    let mut values = input.clone();
                    table.forward(&mut values);
                    table.inverse(&mut values);
                    assert!(values == input, "{:?} {degree} {bits}", table.kernel());
                }
            }
        }
    }
}

#[test]
fn the_default_kernel_is_the_best_available() {
    let table = NttTable::new(modulus(29, 1024), 1024).unwrap();
    assert_eq!(table.kernel(), Kernel::best());
    assert_eq!(Kernel::available().last(), Some(&Kernel::best()));
    assert_eq!(Kernel::available().first(), Some(&Kernel::Reference));
    for kernel in [Kernel::Reference, Kernel::Avx2, Kernel::Avx512] {
        let forced = table.clone().with_kernel(kernel);
        assert_eq!(
            forced.is_some(),
            Kernel::available().contains(&kernel),
            "{kernel:?}"
        );
    }
}

#[test]
#[should_panic(expected = "an NTT takes exactly N residues")]
fn forward_of_a_wrong_length_panics() {
    NttTable::new(modulus(29, 1024), 1024)
        .unwrap()
        .forward(&mut [0; 1023]);
}

#[test]
#[should_panic(expected = "an NTT takes exactly N residues")]
fn inverse_of_a_wrong_length_panics() {
    NttTable::new(modulus(29, 1024), 1024)
        .unwrap()
        .inverse(&mut [0; 2048]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any prime of any length, not only those near a bound.
    #[test]
    fn kernels_agree_for_any_prime(
        log_degree in 10u32..=12,
        bits in 18u32..=31,
        choice in any::<u64>(),
        seed in any::<u64>(),
    ) {
        let degree = 1usize << log_degree;
        let count = (1..=64).rev().find(|&n| ntt_primes(bits, degree, n).is_ok()).unwrap();
        let primes = ntt_primes(bits, degree, count).unwrap();
        let q = primes[choice as usize % count];
        let input = Generator(seed).residues(q, degree);
        let tables = tables(Modulus::new(q).unwrap(), degree);
        let (mut forward, mut inverse) = (input.clone(), input.clone());
        tables[0].forward(&mut forward);
        tables[0].inverse(&mut inverse);
        for table in &tables[1..] {
            let mut values = input.clone();
            table.forward(&mut values);
            prop_assert!(values == forward, "forward {:?} {q}", table.kernel());
            let mut values = input.clone();
            table.inverse(&mut values);
            prop_assert!(values == inverse, "inverse {:?} {q}", table.kernel());
        }
    }

    /// The inverse undoes the forward transform for any prime length.
    #[test]
    fn round_trip(seed in any::<u64>(), bits in 18u32..=31) {
        let degree = 1024;
        let modulus = modulus(bits, degree);
        let input = Generator(seed).residues(modulus.value(), degree);
        for table in tables(modulus, degree) {
            let mut values = input.clone();
            table.forward(&mut values);
            table.inverse(&mut values);
            prop_assert!(values == input, "{:?}", table.kernel());
        }
    }
}
