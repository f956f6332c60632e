//! The six published shapes: error against float64 and against the prediction.

mod support;

use ckks::Context;
use ckks_linear::plan::PlanKind;
use ckks_linear::planner::{PlanOptions, plan};
use ckks_linear::shape::LayerShape;
use support::{Trial, dense, errors, vectors};

#[test]
fn errors_stay_below_2e_5_and_match_the_prediction() {
    let context = Context::named("diagonal-4096").unwrap();
    for (d_in, d_out) in [
        (512, 2048),
        (2048, 512),
        (2048, 1024),
        (2048, 2048),
        (4096, 2048),
        (2048, 4096),
    ] {
        let shape = LayerShape::new(d_in, d_out).unwrap();
        let plan = plan(PlanKind::Diagonal, shape, 2048, 1, &PlanOptions::default()).unwrap();
        println!(
            "{shape}: {} n1={} {:?}",
            plan.describe(),
            plan.baby_steps(),
            plan.counts()
        );
        let weights = dense(d_in, d_out, 3);
        let mut trial = Trial::new(&context, plan, &weights);
        let batch = vectors(1, d_in, 5);
        let (found, predicted) = trial.run(&batch).unwrap();
        let (worst, rms) = errors(&weights, &batch, &found);
        println!("{shape}: max {worst:.2e}, rms {rms:.2e}, predicted {predicted:.2e}");
        assert!(worst <= 2.0e-5, "{shape}: {worst:.3e}");
        assert!(
            rms <= 1.5 * predicted && predicted <= 1.5 * rms,
            "{shape}: {rms:.2e} {predicted:.2e}"
        );
    }
}
