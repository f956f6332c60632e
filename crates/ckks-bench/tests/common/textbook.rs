//! A layer as textbook diagonals in baby steps and giant steps, and its product in float64.

/// A complex number: real part, imaginary part.
pub(crate) type Slot = [f64; 2];

/// Numbers in ±1 that follow from a seed (SplitMix64).
pub(crate) fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// y = xW for a matrix of inputs × outputs.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) values: Vec<Slot>,
}

impl Matrix {
    /// Entries in ±1/√inputs; without imaginary parts unless `complex`.
    pub(crate) fn random(inputs: usize, outputs: usize, complex: bool, seed: u64) -> Matrix {
        let values = random_vector(inputs * outputs, complex, seed)
            .into_iter()
            .map(|v| v.map(|part| part / (inputs as f64).sqrt()))
            .collect();
        Matrix {
            inputs,
            outputs,
            values,
        }
    }

    fn entry(&self, input: usize, output: usize) -> Slot {
        if input < self.inputs && output < self.outputs {
            self.values[input * self.outputs + output]
        } else {
            [0.0; 2]
        }
    }

    /// The product, by its definition.
    pub(crate) fn apply(&self, x: &[Slot]) -> Vec<Slot> {
        (0..self.outputs)
            .map(|output| {
                let mut sum = [0.0; 2];
                for (input, &[re, im]) in x.iter().enumerate() {
                    let [a, b] = self.entry(input, output);
                    sum[0] += a * re - b * im;
                    sum[1] += a * im + b * re;
                }
                sum
            })
            .collect()
    }
}

/// Values in ±1.
pub(crate) fn random_vector(count: usize, complex: bool, seed: u64) -> Vec<Slot> {
    let mut next = uniform(seed);
    (0..count)
        .map(|_| [next(), if complex { next() } else { 0.0 }])
        .collect()
}

/// A giant step, with terms (input, baby step, diagonal).
#[derive(Clone, Debug)]
pub(crate) struct Giant {
    pub(crate) output: u32,
    pub(crate) step: u32,
    pub(crate) terms: Vec<(u32, u32, u64)>,
}

/// A layer for ciphertexts of `slots` slots, widths cut into as many as are needed.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) slots: usize,
    /// Whether a slot is two doubles.
    pub(crate) complex: bool,
    pub(crate) inputs: u32,
    pub(crate) outputs: u32,
    pub(crate) giants: Vec<Giant>,
    /// Slot vectors.
    pub(crate) diagonals: Vec<Vec<f64>>,
}

impl Layer {
    /// Diagonal s of a block has W[p + s, p] in slot p. With s = giant + baby it is needed at
    /// q = p + giant. Diagonals of zeros are left out.
    pub(crate) fn new(matrix: &Matrix, slots: usize, complex: bool, babies: usize) -> Layer {
        let inputs = matrix.inputs.div_ceil(slots);
        let outputs = matrix.outputs.div_ceil(slots);
        let (mut giants, mut diagonals) = (Vec::new(), Vec::new());
        for output in 0..outputs {
            for step in (0..slots).step_by(babies) {
                let mut terms = Vec::new();
                for input in 0..inputs {
                    for baby in 0..babies.min(slots - step) {
                        let diagonal: Vec<Slot> = (0..slots)
                            .map(|q| {
                                let row = (q + baby) % slots;
                                let column = (q + slots - step) % slots;
                                matrix.entry(input * slots + row, output * slots + column)
                            })
                            .collect();
                        if diagonal.iter().any(|&value| value != [0.0; 2]) {
                            terms.push((input as u32, baby as u32, diagonals.len() as u64));
                            diagonals.push(doubles(&diagonal, complex));
                        }
                    }
                }
                if !terms.is_empty() {
                    giants.push(Giant {
                        output: output as u32,
                        step: step as u32,
                        terms,
                    });
                }
            }
        }
        Layer {
            slots,
            complex,
            inputs: inputs as u32,
            outputs: outputs as u32,
            giants,
            diagonals,
        }
    }

    /// The steps that need keys.
    pub(crate) fn steps(&self) -> Vec<i64> {
        let babies = self.giants.iter().flat_map(|giant| &giant.terms);
        let all = babies
            .map(|term| i64::from(term.1))
            .chain(self.giants.iter().map(|giant| i64::from(giant.step)));
        let mut steps: Vec<i64> = all.filter(|&step| step > 0).collect();
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// Doubles of a slot vector.
    pub(crate) fn width(&self) -> usize {
        self.slots * if self.complex { 2 } else { 1 }
    }

    /// A vector as slot vectors, the last filled up with zeros.
    pub(crate) fn pack(&self, x: &[Slot]) -> Vec<f64> {
        let mut padded = x.to_vec();
        padded.resize(self.inputs as usize * self.slots, [0.0; 2]);
        doubles(&padded, self.complex)
    }

    /// The vector in the slot vectors of one group.
    pub(crate) fn unpack(&self, values: &[f64], outputs: usize) -> Vec<Slot> {
        let mut found: Vec<Slot> = if self.complex {
            values.as_chunks::<2>().0.to_vec()
        } else {
            values.iter().map(|&value| [value, 0.0]).collect()
        };
        found.truncate(outputs);
        found
    }
}

fn doubles(slots: &[Slot], complex: bool) -> Vec<f64> {
    if complex {
        slots.as_flattened().to_vec()
    } else {
        slots.iter().map(|slot| slot[0]).collect()
    }
}

/// The largest difference of two vectors, in either part.
pub(crate) fn largest_error(found: &[Slot], expected: &[Slot]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let pairs = found.as_flattened().iter().zip(expected.as_flattened());
    // `max` would lose a NaN.
    pairs.fold(0.0, |largest, (a, b)| {
        let error = (a - b).abs();
        if error > largest || error.is_nan() {
            error
        } else {
            largest
        }
    })
}
