//! What a plan costs: time, traffic and memory.

use crate::evaluate::QUERIES_AT_ONCE;
use crate::plan::Plan;
use ckks::Context;

/// Nanoseconds of the engine's operations on one core at N = 4096, and the link.
///
/// Only ratios matter for the choice of a plan; the defaults were measured on one AVX-512 core.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CostModel {
    /// One key switch: decomposition or division by P, key product, permutations.
    pub key_switch_ns: f64,
    /// Streaming one prepared plaintext from memory (two primes, N = 4096: 32 KiB).
    pub plaintext_stream_ns: f64,
    /// Multiply-accumulate of one plaintext with one ciphertext from cache.
    pub plaintext_compute_ns: f64,
    /// Ending one inner sum: reduction, storing, reading back.
    pub inner_sum_ns: f64,
    /// Fixed work on an input ciphertext.
    pub input_ns: f64,
    /// Fixed work on an output ciphertext, with its rounding.
    pub output_ns: f64,
    /// Link speed for the tie between fewer ciphertexts and less work, in bytes per second.
    pub link_bytes_per_second: f64,
}

impl Default for CostModel {
    fn default() -> Self {
        Self {
            key_switch_ns: 42_000.0,
            plaintext_stream_ns: 1_300.0,
            plaintext_compute_ns: 900.0,
            inner_sum_ns: 6_000.0,
            input_ns: 45_000.0,
            output_ns: 75_000.0,
            link_bytes_per_second: 1.25e9,
        }
    }
}

impl CostModel {
    /// Nanoseconds for a batch on one thread, evaluation only.
    pub fn evaluation_ns(&self, plan: &Plan, batch: usize) -> f64 {
        let counts = plan.counts();
        let groups = plan.groups(batch) as f64;
        let scale = plan.slots() as f64 / 2048.0;
        let compute = self.plaintext_compute_ns * groups;
        let plaintexts = counts.plaintexts as f64 * compute.max(self.plaintext_stream_ns);
        let key_switches = counts.key_switches() as f64 * self.key_switch_ns * groups;
        let ends = plan.inputs().len() as f64 * self.input_ns
            + plan.outputs().len() as f64 * self.output_ns;
        let sums = counts.inner_sums as f64 * self.inner_sum_ns * groups;
        scale * (plaintexts + key_switches + sums + ends * groups)
    }

    /// Evaluation plus the time on the link: what the planner minimises.
    pub fn total_ns(&self, plan: &Plan, batch: usize) -> f64 {
        let groups = plan.groups(batch) as f64;
        let ring = 2.0 * plan.slots() as f64;
        // Four bytes for each of two limbs up; 40 bits for each of two polynomials down.
        let bytes =
            groups * ring * (8.0 * plan.inputs().len() as f64 + 10.0 * plan.outputs().len() as f64);
        self.evaluation_ns(plan, batch) + bytes / self.link_bytes_per_second * 1e9
    }
}

/// Predicted memory, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryEstimate {
    /// Prepared weights.
    pub prepared: u64,
    /// Expanded Galois keys.
    pub keys: u64,
    /// Working memory of one evaluation.
    pub working: u64,
}

impl MemoryEstimate {
    /// Predicts a plan's memory before any of it is reserved.
    pub fn of(plan: &Plan, context: &Context, batch: usize) -> Self {
        let (n, limbs) = (context.degree() as u64, context.q_limbs() as u64);
        let counts = plan.counts();
        let poly = 4 * n * limbs;
        let key = 4 * n * 2 * limbs * (limbs + 1);
        let babies: u64 = (0..plan.inputs().len())
            .map(|i| plan.babies_of(i) as u64)
            .sum();
        let groups = plan.groups(batch) as u64;
        let ciphertexts = (plan.inputs().len() + 2 * plan.outputs().len()) as u64 * 2;
        Self {
            prepared: counts.plaintexts * poly,
            keys: if counts.key_switches() == 0 {
                0
            } else {
                plan.rotation_steps().len() as u64 * key
            },
            // Queries beyond those evaluated together share the same buffers.
            working: poly
                * (groups.min(QUERIES_AT_ONCE as u64) * 2 * (babies + counts.most_giants)
                    + groups * ciphertexts),
        }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.prepared + self.keys + self.working
    }
}
