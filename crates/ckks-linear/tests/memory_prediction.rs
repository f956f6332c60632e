//! Memory is predicted before work starts, and reported after: the two agree.

mod support;

use ckks::automorphism::GaloisElement;
use ckks_linear::cost::MemoryEstimate;
use ckks_linear::plan::{Plan, PlanKind};
use ckks_linear::shape::Folding;
use ckks_secret::{SecretKey, SeededCsprng};
use support::{Trial, best, context, dense, plan_with};

fn estimate(plan: &Plan) -> MemoryEstimate {
    MemoryEstimate::of(plan, &context(), 1)
}

/// OpenMined/TenSEAL#68: a 20 × 256 product runs out of memory. Dense layouts reserve exactly what
/// was predicted; padded ones at most that.
#[test]
fn case_05_prepared_bytes_are_predicted() {
    for (d_in, d_out, dense_layout) in [
        (20, 256, false),
        (256, 20, false),
        (5, 3, true),
        (512, 512, true),
        (512, 2048, true),
        (2048, 512, true),
        (4096, 256, true),
        (576, 960, false),
        (192, 784, false),
    ] {
        let plan = best(d_in, d_out);
        let predicted = estimate(&plan);
        let trial = Trial::new(&context(), plan, &dense(d_in, d_out, 91));
        let bytes = trial.layer.memory_bytes();
        assert!(bytes <= predicted.prepared, "{d_in}x{d_out}");
        let skipped = trial.layer.zero_diagonals() as u64 * 4 * 2 * 4096;
        assert_eq!(bytes + skipped, predicted.prepared, "{d_in}x{d_out}");
        if dense_layout {
            assert_eq!(trial.layer.zero_diagonals(), 0, "{d_in}x{d_out}");
        }
        assert_eq!(
            predicted.total(),
            predicted.prepared + predicted.keys + predicted.working
        );
    }
    // The reported case itself: a few plaintexts.
    assert!(estimate(&best(20, 256)).total() < 16 << 20);
}

/// microsoft/SEAL#94, Alisah-Ozcan/HEonGPU#12: rotation keys exhaust memory. Their bytes are known
/// from the plan, and half of them travel as a seed.
#[test]
fn case_13_key_bytes_are_predicted_and_seeded() {
    let plans = [
        best(5, 3),
        best(512, 512),
        best(576, 960),
        best(4097, 40),
        plan_with(PlanKind::Diagonal, (300, 200), 2, Some(Folding::Pair), None),
        plan_with(PlanKind::DiagonalSquare, (100, 100), 1, None, None),
    ];
    for plan in plans {
        let predicted = estimate(&plan).keys;
        let shape = plan.shape();
        let steps = plan.rotation_steps();
        let switches = plan.counts().key_switches();
        assert!(steps.len() as u64 <= switches, "{shape}: a key for nothing");
        assert_eq!(steps.is_empty(), switches == 0, "{shape}");
        let trial = Trial::new(&context(), plan, &dense(shape.d_in(), shape.d_out(), 92));
        assert_eq!(trial.keys.memory_bytes() as u64, predicted, "{shape}");
        let context = context();
        let mut rng = SeededCsprng::insecure(93, 0);
        let elements: Vec<_> = steps
            .iter()
            .map(|&step| GaloisElement::rotation(step, 4096))
            .collect();
        let sent: u64 = SecretKey::generate(&context, &mut rng)
            .galois_keys(&context, &elements, &mut rng)
            .unwrap()
            .iter()
            .flat_map(|key| &key.digits)
            .map(|digit| 4 * digit.residues().len() as u64)
            .sum();
        assert_eq!(2 * sent, predicted, "{shape}");
    }
}

/// TenSEAL#68 at its extreme: the prediction itself reserves nothing, so a layer of half a
/// terabyte can be refused before it is touched.
#[test]
fn case_05_the_largest_layer_is_predicted_without_being_built() {
    let largest = estimate(&best(262_144, 262_144));
    assert_eq!(largest.prepared, 262_144 * 262_144 / 4096 * 4 * 2 * 4096);
    assert!(largest.total() > 500 << 30);
    let plan = best(2048, 2048);
    let one = estimate(&plan);
    let of = |batch| MemoryEstimate::of(&plan, &context(), batch);
    for batch in [1, 2, 16] {
        assert_eq!(of(batch).working, batch as u64 * one.working);
    }
    for batch in [17, 300, 1 << 20] {
        assert_eq!(of(batch).prepared, one.prepared, "weights are shared");
        // Beyond 16 vectors only ciphertexts are added: 16 kB for each limb of each polynomial of
        // an input and two outputs.
        let more = (batch - 16) as u64 * 3 * 2 * 2 * 4 * 4096;
        assert_eq!(of(batch).working, of(16).working + more);
    }
}

/// microsoft/SEAL#451, #365: memory blows up from 1,000 × 1,000 on. Folded and packed it is the
/// four bytes of each weight times two primes.
#[test]
fn case_12_prepared_bytes_are_eight_for_each_weight() {
    // (Row 12 is a matter of speed; only its memory half is tested here.)
    for (d_in, d_out) in [(1024, 1024), (2048, 2048), (2048, 4096)] {
        assert_eq!(
            estimate(&best(d_in, d_out)).prepared,
            (8 * d_in * d_out) as u64
        );
    }
}
