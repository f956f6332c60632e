//! One row for each measurement, all numbers as in the JSON.

use super::error::PageError;
use super::input::Inputs;
use super::measurement::Measurement;
use crate::gate::ErrorSummary;
use crate::report::{Bytes, Configuration, Report, Stage};
use ckks_backend::ParameterReport;

/// The stages with columns of their own.
const STAGES: [(Stage, &str); 8] = [
    (Stage::KeyGeneration, "key_generation"),
    (Stage::WeightPreparation, "weight_preparation"),
    (Stage::Encryption, "encryption"),
    (Stage::AheadOfTimeEvaluation, "ahead_of_time_evaluation"),
    (Stage::Evaluation, "evaluation"),
    (Stage::OnlineEvaluation, "online_evaluation"),
    (Stage::Decryption, "decryption"),
    (Stage::PlainProductF32, "plain_product_f32"),
];

/// Gives the value of a column; `None` is an empty field.
type Value = Box<dyn Fn(&Measurement) -> Option<String>>;

/// The measurements as CSV (RFC 4180), in the order of the inputs, after a row of names. Empty
/// fields are values that there are none of; what was rejected or failed has no durations.
///
/// # Errors
/// [`PageError::Csv`] where the writer fails.
pub fn csv(inputs: &Inputs) -> Result<String, PageError> {
    let columns = columns();
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer
        .write_record(columns.iter().map(|(name, _)| name))
        .map_err(csv_error)?;
    for measurement in &inputs.measurements {
        let fields = columns
            .iter()
            .map(|(_, value)| value(measurement).unwrap_or_default());
        writer.write_record(fields).map_err(csv_error)?;
    }
    let bytes = writer.into_inner().map_err(csv_error)?;
    String::from_utf8(bytes).map_err(csv_error)
}

fn csv_error(error: impl ToString) -> PageError {
    PageError::Csv(error.to_string())
}

fn columns() -> Vec<(String, Value)> {
    let mut columns: Vec<(String, Value)> = Vec::new();
    let mut add = |name: &str, value: Value| columns.push((name.to_owned(), value));
    add("source", Box::new(|m| Some(m.source.file.clone())));
    add("date", Box::new(|m| of_report(m, |r| r.date.clone())));
    add(
        "commit",
        Box::new(|m| m.report.as_ref()?.build.commit.clone()),
    );
    add("library", Box::new(|m| Some(m.setting.library.clone())));
    add("device", Box::new(|m| Some(m.setting.device.clone())));
    add("d_in", Box::new(|m| Some(m.setting.shape.0.to_string())));
    add("d_out", Box::new(|m| Some(m.setting.shape.1.to_string())));
    add("batch", Box::new(|m| Some(m.setting.batch.to_string())));
    add("plan", Box::new(|m| Some(m.setting.plan.clone())));
    add("threads", Box::new(|m| Some(m.setting.threads.to_string())));
    add("ahead", Box::new(|m| of_report(m, |r| r.settings.ahead)));
    add("cold", Box::new(|m| of_report(m, |r| r.settings.cold)));
    add("seed", Box::new(|m| of_report(m, |r| r.settings.seed)));
    add("verdict", Box::new(|m| Some(m.verdict_word().to_owned())));
    add(
        "failed_at",
        Box::new(|m| Some(m.failure.as_ref()?.stage.clone())),
    );
    add(
        "reason",
        Box::new(|m| Some(m.failure.as_ref()?.reason.clone())),
    );
    for (stage, name) in STAGES {
        let summary = move |m: &Measurement| m.stage(stage).cloned();
        add(
            &format!("{name}_samples"),
            Box::new(move |m| Some(summary(m)?.samples.to_string())),
        );
        add(
            &format!("{name}_median_seconds"),
            Box::new(move |m| Some(summary(m)?.duration.median_seconds.to_string())),
        );
        add(
            &format!("{name}_min_seconds"),
            Box::new(move |m| Some(summary(m)?.duration.min_seconds.to_string())),
        );
        add(
            &format!("{name}_max_seconds"),
            Box::new(move |m| Some(summary(m)?.duration.max_seconds.to_string())),
        );
    }
    add(
        "evaluation_vectors_per_second",
        configured(|c| Some(c.throughput?.evaluation.to_string())),
    );
    add(
        "end_to_end_vectors_per_second",
        configured(|c| Some(c.throughput?.end_to_end.to_string())),
    );
    add("key_bytes", bytes(|b| b.keys));
    add("layer_download_bytes", bytes(|b| b.layer_download));
    add("upload_bytes", bytes(|b| b.upload));
    add("download_bytes", bytes(|b| b.download));
    add("prepared_weights_bytes", bytes(|b| b.prepared_weights));
    add("peak_resident_bytes", bytes(|b| b.peak_resident));
    add("peak_device_bytes", bytes(|b| b.peak_device));
    add("weights_f32_bytes", bytes(|b| Some(b.weights_f32)));
    add("weights_bf16_bytes", bytes(|b| Some(b.weights_bf16)));
    add("gate", errors(|e| Some(e.limit)));
    add("max_abs_error", errors(|e| e.max_abs));
    add("max_relative_error", errors(|e| e.max_relative));
    add("rms_error", errors(|e| e.rms));
    add("predicted_rms_error", errors(|e| e.predicted_rms));
    add("precision_bits", errors(|e| e.precision_bits));
    add("max_abs_reference", errors(|e| Some(e.max_abs_reference)));
    add(
        "not_finite_outputs",
        configured(|c| Some(c.error_histogram.as_ref()?.not_finite.to_string())),
    );
    add("parameters", parameters(|p| p.name.clone()));
    add("ring_degree", parameters(|p| p.ring_degree.to_string()));
    add("log_qp", parameters(|p| p.log_qp.to_string()));
    add(
        "security_limit",
        parameters(|p| p.security_limit.to_string()),
    );
    add(
        "security_margin",
        configured(|c| Some(c.security_margin?.to_string())),
    );
    add("parameters_digest", parameters(|p| p.digest.clone()));
    columns
}

fn of_report<T: ToString>(measurement: &Measurement, of: fn(&Report) -> T) -> Option<String> {
    Some(of(measurement.report.as_ref()?).to_string())
}

fn configured(of: fn(&Configuration) -> Option<String>) -> Value {
    Box::new(move |m| of(m.configuration.as_ref()?))
}

fn bytes(of: fn(&Bytes) -> Option<u64>) -> Value {
    Box::new(move |m| Some(of(&m.configuration.as_ref()?.bytes)?.to_string()))
}

fn errors(of: fn(&ErrorSummary) -> Option<f64>) -> Value {
    Box::new(move |m| Some(of(m.configuration.as_ref()?.errors.as_ref()?)?.to_string()))
}

fn parameters(of: fn(&ParameterReport) -> String) -> Value {
    Box::new(move |m| {
        let description = m.configuration.as_ref()?.description.as_ref()?;
        Some(of(&description.parameters))
    })
}
