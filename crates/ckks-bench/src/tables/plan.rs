//! The packing plan of a layer, for `plan` and at the head of every configuration.

use crate::trial::margin;
use bench_report::terminal::facts;
use bench_report::units::{bytes, count, plural, scientific, seconds};
use ckks_backend::{Counts, Delivery, Description, ParameterReport, PlanReport, TrialSpec};

/// What `ckks-bench plan` says about one layer.
#[must_use]
pub fn plan(spec: &TrialSpec, description: &Description) -> String {
    let plan = &description.plan;
    let mut text = format!(
        "{}x{}, batch {}: {} {} on {} ({})\n",
        spec.d_in,
        spec.d_out,
        spec.batch,
        description.library,
        description.version,
        description.device,
        description.kernels,
    );
    let mut rows = vec![
        ("packing", packing(plan)),
        ("parameters", parameters(&description.parameters)),
        ("work", work(&plan.counts)),
        ("keys", keys(plan)),
        ("rotation steps", steps(&plan.rotation_steps)),
        (
            "weights",
            format!("{} prepared, per copy", bytes(plan.prepared_bytes)),
        ),
        (
            "transfer",
            format!(
                "{} up, {} down for the whole batch",
                bytes(plan.upload_bytes),
                bytes(plan.download_bytes)
            ),
        ),
        (
            "peak memory",
            format!("{} predicted", bytes(plan.peak_memory_bytes)),
        ),
        (
            "error",
            match plan.predicted_rms_error {
                Some(rms) => format!(
                    "rms {} predicted for the synthetic data; gate {}",
                    scientific(rms),
                    scientific(spec.gate)
                ),
                None => format!("no prediction; gate {}", scientific(spec.gate)),
            },
        ),
        (
            "time",
            match plan.predicted_seconds {
                Some(predicted) => format!(
                    "{} predicted for the evaluation, one thread",
                    seconds(predicted)
                ),
                None => "no prediction".to_owned(),
            },
        ),
    ];
    if let Some(products) = plan.mask_products {
        let how = match products.delivery {
            Delivery::Cached => {
                "downloaded once and cached by the client; with --delivery sent \
                                 they would come with every answer"
            }
            Delivery::Sent => {
                "with every answer; with --delivery cached they would be downloaded \
                               once"
            }
        };
        let line = format!("{} at {} bits, {how}", bytes(products.bytes), products.bits);
        rows.push(("W·A", line));
    }
    rows.extend(plan.reasons.iter().map(|reason| ("reason", reason.clone())));
    rows.extend(description.notes.iter().map(|note| ("note", note.clone())));
    text.push_str(&facts(rows));
    text
}

pub(super) fn packing(plan: &PlanReport) -> String {
    let packing = &plan.packing;
    let steps = match (packing.n1, packing.n2) {
        (Some(n1), Some(n2)) => format!("n1 = {n1}, n2 = {n2}, "),
        _ => String::new(),
    };
    format!(
        "{}: {}; {steps}{} per ciphertext",
        packing.name,
        packing.layout,
        plural(packing.vectors_per_ciphertext as u64, "vector"),
    )
}

pub(super) fn parameters(set: &ParameterReport) -> String {
    let moduli = match set.q[..] {
        [power] if power.is_power_of_two() => format!("Q = 2^{}", power.ilog2()),
        _ => format!("{} + {} primes", set.q.len(), set.p.len()),
    };
    format!(
        "{}: N = {}, {moduli}, log QP = {:.2}, {:.2} below the limit of {} ({})",
        set.name,
        set.ring_degree,
        set.log_qp,
        margin(set),
        set.security_limit,
        set.security_note,
    )
}

pub(super) fn work(counts: &Counts) -> String {
    if counts.multiply_adds > 0 {
        return format!(
            "{}, no rotation",
            plural(counts.multiply_adds, "multiply-add")
        );
    }
    format!(
        "{} ({} baby, {} giant), {}, {}, {} in, {} out",
        match counts.key_switches {
            1 => "1 key switch".to_owned(),
            several => format!("{} key switches", count(several)),
        },
        count(counts.baby_steps),
        count(counts.giant_steps),
        plural(counts.plaintext_products, "plaintext product"),
        plural(counts.ntts, "transform"),
        plural(counts.input_ciphertexts, "ciphertext"),
        count(counts.output_ciphertexts),
    )
}

fn keys(plan: &PlanReport) -> String {
    match plan.counts.galois_keys {
        0 => "none needed".to_owned(),
        keys => format!(
            "{}, {} sent, {} expanded in the server's memory",
            plural(keys, "Galois key"),
            bytes(plan.key_bytes),
            bytes(plan.key_memory_bytes)
        ),
    }
}

/// Steps as runs: `1-15, 16-240 by 16`.
fn steps(steps: &[i64]) -> String {
    if steps.is_empty() {
        return "none".to_owned();
    }
    let mut parts = Vec::new();
    let mut rest = steps;
    while let [first, tail @ ..] = rest {
        let difference = tail.first().map_or(1, |next| next - first);
        let run = 1 + rest
            .windows(2)
            .take_while(|pair| pair[1] - pair[0] == difference)
            .count();
        // Two values are no run.
        let run = if run > 2 { run } else { 1 };
        let last = rest[run - 1];
        parts.push(match (run, difference) {
            (1, _) => first.to_string(),
            (_, 1) => format!("{first} to {last}"),
            _ => format!("{first} to {last} by {difference}"),
        });
        rest = &rest[run..];
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_in_words() {
        let one = Counts {
            key_switches: 1,
            baby_steps: 1,
            giant_steps: 0,
            plaintext_products: 1,
            ntts: 1,
            input_ciphertexts: 1,
            output_ciphertexts: 1,
            ..Counts::default()
        };
        assert_eq!(
            work(&one),
            "1 key switch (1 baby, 0 giant), 1 plaintext product, 1 transform, 1 ciphertext in, \
             1 out"
        );
        let several = Counts {
            key_switches: 5,
            giant_steps: 4,
            plaintext_products: 2,
            ntts: 1000,
            input_ciphertexts: 2,
            ..one
        };
        assert_eq!(
            work(&several),
            "5 key switches (1 baby, 4 giant), 2 plaintext products, 1,000 transforms, \
             2 ciphertexts in, 1 out"
        );
    }

    #[test]
    fn steps_by_hand() {
        assert_eq!(steps(&[]), "none");
        assert_eq!(steps(&[5]), "5");
        assert_eq!(steps(&[1, 2]), "1, 2");
        assert_eq!(
            steps(&[1, 2, 3, 4, 8, 12, 16, 99]),
            "1 to 4, 8 to 16 by 4, 99"
        );
        assert_eq!(steps(&[-4, -2, 0, 7]), "-4 to 0 by 2, 7");
    }
}
