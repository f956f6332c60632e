//! `ckks-bench plan`.

use super::document::{check_json, write_json};
use super::print;
use crate::cli::PlanArgs;
use crate::error::{BenchError, Outcome};
use crate::open::Opener;
use crate::options::plan_specs;
use crate::tables;
use ckks_backend::{BackendError, Calibration, Description, TrialSpec};
use serde::{Deserialize, Serialize};
use std::io::Write;

/// Name and version of the format of `plan --json`.
pub const PLAN_SCHEMA: &str = "ckks-bench-plan/2";

/// The file of `plan --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanDocument {
    /// [`PLAN_SCHEMA`].
    pub schema: String,
    /// One plan per shape, in order.
    pub plans: Vec<LayerPlan>,
}

/// The plan of one layer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LayerPlan {
    /// What was asked.
    pub spec: TrialSpec,
    /// The plan with its parameters; `None` where the backend refuses the layer.
    pub description: Option<Description>,
    /// Why it was refused; `None` where there is a plan.
    pub refusal: Option<String>,
}

pub(super) fn plan(
    args: &PlanArgs,
    calibration: Option<Calibration>,
    opener: &Opener<'_>,
    out: &mut dyn Write,
) -> Result<Outcome, BenchError> {
    check_json(args.json.as_deref())?;
    let mut plans = Vec::new();
    for mut spec in plan_specs(&args.spec) {
        spec.calibration = calibration;
        let separator = if plans.is_empty() { "" } else { "\n" };
        let (text, plan) = match opener(&args.spec.lib, &args.spec.device, &spec) {
            Ok(backend) => {
                let description = backend.describe();
                let text = tables::plan(&spec, &description);
                (
                    text,
                    LayerPlan {
                        spec,
                        description: Some(description),
                        refusal: None,
                    },
                )
            }
            Err(BackendError::Refused(reason)) => {
                let text = format!("{}x{}: REFUSED: {reason}\n", spec.d_in, spec.d_out);
                (
                    text,
                    LayerPlan {
                        spec,
                        description: None,
                        refusal: Some(reason),
                    },
                )
            }
            Err(error) => return Err(error.into()),
        };
        print(out, &format!("{separator}{text}"))?;
        plans.push(plan);
    }
    let refused = plans.iter().any(|plan| plan.refusal.is_some());
    if let Some(path) = &args.json {
        write_json(
            path,
            &PlanDocument {
                schema: PLAN_SCHEMA.to_owned(),
                plans,
            },
        )?;
    }
    Ok(if refused {
        Outcome::Rejected
    } else {
        Outcome::Passed
    })
}
