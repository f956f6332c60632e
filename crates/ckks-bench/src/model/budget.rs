//! Sums over the layers of a model.

use super::description::{Description, Inputs, Layer};
use super::measure::Figures;
use super::{Demand, LayerDemand, Measurement};
use crate::gate::Gate;
use bench_report::host::Host;
use bench_report::program::Build;
use ckks_backend::{Circumstances, PlanChoice};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of the format.
pub const SCHEMA: &str = "ckks-bench-model/1";
/// Seconds per token at the target of 10 tokens a second.
pub const TARGET_SECONDS: f64 = 0.1;

/// The budget of a model, with everything that it was computed from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Budget {
    /// [`SCHEMA`].
    pub schema: String,
    /// Interrupted: some shapes were not measured.
    pub partial: bool,
    /// Start, UTC, RFC 3339.
    pub date: String,
    /// The arguments.
    pub command_line: Vec<String>,
    /// The program.
    pub build: Build,
    /// The machine.
    pub host: Host,
    /// The options.
    pub settings: Settings,
    /// The model.
    pub model: Description,
    /// Weights of all matrices of the model.
    pub weights: u64,
    /// Each shape and batch, measured once.
    pub measurements: Vec<Measurement>,
    /// Decoding: one token.
    pub decode: Phase,
    /// Reading a prompt in one batch; `None` with `--prefill 0`.
    pub prefill: Option<Phase>,
    /// What the server holds and the client fetches once.
    pub memory: Memory,
    /// Published figures beside the measured ones.
    pub published: Vec<PublishedBudget>,
}

/// The options of a budget.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Name given to `--lib`.
    pub library: String,
    /// Name given to `--device`.
    pub device: String,
    /// Packing plan asked for.
    pub plan: PlanChoice,
    /// Parameter set asked for; `None` for the backend's default.
    pub params: Option<String>,
    /// Worker threads.
    pub threads: usize,
    /// Measured trials per shape.
    pub trials: usize,
    /// Warm-ups per shape.
    pub warmup: usize,
    /// Seed of data and randomness.
    pub seed: u64,
    /// The error gate.
    pub gate: Gate,
    /// Evaluation split into an ahead-of-time and an online part.
    pub ahead: bool,
    /// What `--plan auto` decides by.
    pub circumstances: Circumstances,
    /// Round-trip time of the network in seconds; `None` where it was not given.
    pub rtt_seconds: Option<f64>,
}

/// The budget of a phase, for all its vectors together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Phase {
    /// Vectors (tokens) of the phase.
    pub vectors: usize,
    /// One entry per layer of the description, in its order.
    pub layers: Vec<LayerBudget>,
    /// Sums per component; uploads and round trips of an input group count where its first layer is.
    pub components: Vec<Totals>,
    /// The sum of all.
    pub total: Totals,
    /// Layers without figures, which the sums leave out.
    pub missing: Vec<String>,
    /// Layers of which one slice was measured and multiplied.
    pub extrapolated: Vec<String>,
}

/// One layer of the description in a phase.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LayerBudget {
    /// Name of the layer.
    pub name: String,
    /// Vectors per evaluation.
    pub batch: usize,
    /// Evaluations in the whole model.
    pub evaluations: u64,
    /// Name of the packing; `None` where it is not known.
    pub packing: Option<String>,
    /// Server seconds of all evaluations; `None` where it has no figures.
    pub server_seconds: Option<f64>,
    /// Why it has no figures.
    pub reason: Option<String>,
}

/// Sums. Layers without figures count in `weights` alone.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Name of the component; `total` for all.
    pub name: String,
    /// Weights of all matrices.
    pub weights: u64,
    /// Matrices evaluated.
    pub evaluations: u64,
    /// Evaluation, or its online part with `--ahead`.
    pub server_seconds: f64,
    /// Ahead-of-time part of the evaluation; 0 without `--ahead`.
    pub ahead_seconds: f64,
    /// Encryption of every upload and decryption of every answer.
    pub client_seconds: f64,
    /// Uploads.
    pub uploads: u64,
    /// Bytes of all uploads, one for all matrices that read the same vector.
    pub upload_bytes: u64,
    /// Bytes of all uploads if every matrix had its own.
    pub unshared_upload_bytes: u64,
    /// Bytes of all answers.
    pub download_bytes: u64,
    /// Round trips, one for each input group of each layer of the model.
    pub round_trips: u64,
    /// Prepared weights of all matrices, used or not.
    pub prepared_bytes: u64,
}

impl Totals {
    fn add(&mut self, other: &Totals) {
        self.weights = self.weights.saturating_add(other.weights);
        self.evaluations = self.evaluations.saturating_add(other.evaluations);
        self.server_seconds += other.server_seconds;
        self.ahead_seconds += other.ahead_seconds;
        self.client_seconds += other.client_seconds;
        self.uploads = self.uploads.saturating_add(other.uploads);
        self.upload_bytes = self.upload_bytes.saturating_add(other.upload_bytes);
        self.unshared_upload_bytes = self
            .unshared_upload_bytes
            .saturating_add(other.unshared_upload_bytes);
        self.download_bytes = self.download_bytes.saturating_add(other.download_bytes);
        self.round_trips = self.round_trips.saturating_add(other.round_trips);
        self.prepared_bytes = self.prepared_bytes.saturating_add(other.prepared_bytes);
    }
}

/// What is held and sent once, for decoding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Memory {
    /// Prepared weights of all matrices.
    pub prepared_bytes: u64,
    /// The plain weights as bf16.
    pub weights_bf16_bytes: u64,
    /// Evaluation keys if every distinct shape has its own set.
    pub key_bytes_per_shape: u64,
    /// Evaluation keys of one secret for all shapes, each rotation step once; `None` where the
    /// shapes have different parameters.
    pub key_bytes_shared: Option<u64>,
    /// What the client downloads once (W·A of `gemm` layers).
    pub layer_download_bytes: u64,
}

/// A published time and the measured one of the same layers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PublishedBudget {
    /// Who measured it on what.
    pub source: String,
    /// What it covers.
    pub what: String,
    /// The published seconds per token.
    pub published_seconds: f64,
    /// Ours: evaluation of the same layers, its ahead-of-time part included; `None` where one has
    /// no figures.
    pub server_seconds: Option<f64>,
    /// Of these, what is left after the ahead-of-time part; `None` without a split.
    pub online_seconds: Option<f64>,
}

/// Sums a phase.
#[must_use]
pub fn budget_phase(model: &Description, demand: &Demand, measured: &[Measurement]) -> Phase {
    let mut phase = Phase {
        vectors: usize::try_from(demand.vectors).unwrap_or(usize::MAX),
        layers: Vec::new(),
        components: Vec::new(),
        total: Totals {
            name: "total".to_owned(),
            ..Totals::default()
        },
        missing: Vec::new(),
        extrapolated: Vec::new(),
    };
    let mut components: Vec<Totals> = model
        .components()
        .into_iter()
        .map(|name| Totals {
            name: name.to_owned(),
            ..Totals::default()
        })
        .collect();
    let mut add = |component: &str, totals: &Totals| {
        if let Some(sum) = components.iter_mut().find(|sum| sum.name == component) {
            sum.add(totals);
        }
    };
    for (layer, of_layer) in model.layers.iter().zip(&demand.layers) {
        let measurement = find(measured, layer, of_layer);
        let figures = measurement.and_then(Measurement::figures);
        let evaluations = layer.layers.saturating_mul(of_layer.matrices);
        add(&layer.component, &totals_of(layer, evaluations, figures));
        if figures.is_none() {
            phase.missing.push(layer.name.clone());
        } else if measurement.is_some_and(|m| m.slices > 1) {
            phase.extrapolated.push(layer.name.clone());
        }
        phase.layers.push(LayerBudget {
            name: layer.name.clone(),
            batch: of_layer.batch,
            evaluations,
            packing: measurement
                .and_then(|m| m.configuration.as_ref()?.description.as_ref())
                .map(|d| d.plan.packing.name.clone()),
            server_seconds: figures.map(|f| f.server_seconds * evaluations as f64),
            reason: match measurement {
                Some(measurement) => measurement.reason(),
                None => Some("interrupted".to_owned()),
            },
        });
    }
    for (component, totals) in groups(model, demand, measured) {
        add(component, &totals);
    }
    for component in &components {
        phase.total.add(component);
    }
    phase.components = components;
    phase
}

fn find<'a>(
    measured: &'a [Measurement],
    layer: &Layer,
    demand: &LayerDemand,
) -> Option<&'a Measurement> {
    measured.iter().find(|measurement| {
        (measurement.d_in, measurement.d_out, measurement.batch)
            == (layer.d_in, layer.d_out, demand.batch)
    })
}

/// What each matrix costs by itself; uploads are counted by group.
fn totals_of(layer: &Layer, evaluations: u64, figures: Option<Figures>) -> Totals {
    let weights = layer.matrices().saturating_mul(layer.weights_each());
    let Some(figures) = figures else {
        return Totals {
            weights,
            ..Totals::default()
        };
    };
    let times = evaluations as f64;
    Totals {
        weights,
        evaluations,
        server_seconds: figures.server_seconds * times,
        ahead_seconds: figures.ahead_seconds * times,
        client_seconds: figures.decryption_seconds * times,
        unshared_upload_bytes: figures.upload_bytes.saturating_mul(evaluations),
        download_bytes: figures.download_bytes.saturating_mul(evaluations),
        prepared_bytes: figures.prepared_bytes.saturating_mul(layer.matrices()),
        ..Totals::default()
    }
}

/// Uploads and round trips of every input group, with the component of its first layer.
fn groups<'a>(
    model: &'a Description,
    demand: &Demand,
    measured: &[Measurement],
) -> Vec<(&'a str, Totals)> {
    let mut names: Vec<&str> = Vec::new();
    for layer in &model.layers {
        if !names.contains(&layer.input_group.as_str()) {
            names.push(&layer.input_group);
        }
    }
    let mut groups = Vec::new();
    for name in names {
        let members = || {
            let all = model.layers.iter().zip(&demand.layers);
            all.filter(|(layer, _)| layer.input_group == name)
        };
        let Some((first, _)) = members().next() else {
            continue;
        };
        // Tokens of a prompt go to different routed matrices, so these share no upload with the
        // others; gate and up of the same expert still share theirs.
        let apart = |layer: &Layer| demand.vectors > 1 && layer.routed();
        let mut totals = Totals::default();
        for routed in [false, true] {
            let class = members().filter(|(layer, _)| apart(layer) == routed);
            let known = class.filter_map(|(layer, of_layer)| {
                let figures = find(measured, layer, of_layer)?.figures()?;
                Some((of_layer.matrices, figures))
            });
            let known: Vec<(u64, Figures)> = known.collect();
            let uploads: Vec<(u64, Figures)> = match (first.inputs, routed) {
                (Inputs::Own, _) => known,
                // The largest upload serves all that read the same vector.
                (Inputs::Shared, _) => {
                    let count = known.iter().map(|(matrices, _)| *matrices).max();
                    let largest = known
                        .into_iter()
                        .map(|(_, figures)| figures)
                        .max_by_key(|figures| figures.upload_bytes);
                    let count = if routed { count } else { count.map(|_| 1) };
                    count.zip(largest).into_iter().collect()
                }
            };
            for (count, figures) in uploads {
                let count = count.saturating_mul(first.layers);
                totals.add(&Totals {
                    uploads: count,
                    upload_bytes: figures.upload_bytes.saturating_mul(count),
                    client_seconds: figures.encryption_seconds * count as f64,
                    ..Totals::default()
                });
            }
        }
        totals.round_trips = first.layers;
        groups.push((first.component.as_str(), totals));
    }
    groups
}

/// Sums what is held and sent once, from the measurements of decoding.
#[must_use]
pub fn memory(model: &Description, decode: &Demand, measured: &[Measurement]) -> Memory {
    let mut prepared_bytes = 0u64;
    let mut layer_download_bytes = 0u64;
    let mut keys: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    // Bytes of each step's key, under the digest of its parameters.
    let mut steps: BTreeMap<i64, u64> = BTreeMap::new();
    let mut digests: Vec<&str> = Vec::new();
    for (layer, of_layer) in model.layers.iter().zip(&decode.layers) {
        let Some(measurement) = find(measured, layer, of_layer) else {
            continue;
        };
        let (Some(figures), Some(configuration)) =
            (measurement.figures(), &measurement.configuration)
        else {
            continue;
        };
        prepared_bytes =
            prepared_bytes.saturating_add(figures.prepared_bytes.saturating_mul(layer.matrices()));
        layer_download_bytes = layer_download_bytes.saturating_add(
            figures
                .layer_download_bytes
                .saturating_mul(layer.matrices()),
        );
        if let (Some(report), Some(description)) = (&configuration.keys, &configuration.description)
        {
            keys.insert((layer.d_in, layer.d_out), report.key_bytes);
            digests.push(&description.parameters.digest);
            if let Some(each) =
                (report.galois_keys > 0).then(|| report.key_bytes.div_ceil(report.galois_keys))
            {
                for &step in &description.plan.rotation_steps {
                    let bytes = steps.entry(step).or_default();
                    *bytes = each.max(*bytes);
                }
            }
        }
    }
    digests.sort_unstable();
    digests.dedup();
    Memory {
        prepared_bytes,
        weights_bf16_bytes: model.weights().saturating_mul(2),
        key_bytes_per_shape: keys
            .values()
            .fold(0u64, |sum, bytes| sum.saturating_add(*bytes)),
        key_bytes_shared: (digests.len() == 1).then(|| {
            steps
                .values()
                .fold(0u64, |sum, bytes| sum.saturating_add(*bytes))
        }),
        layer_download_bytes,
    }
}

/// The published figures beside those of the same layers.
#[must_use]
pub fn published(
    model: &Description,
    decode: &Demand,
    measured: &[Measurement],
) -> Vec<PublishedBudget> {
    let seconds = |names: &[String]| {
        let layers = model.layers.iter().zip(&decode.layers);
        let mut sum = (0.0, 0.0);
        for (layer, of_layer) in layers.filter(|(layer, _)| names.contains(&layer.name)) {
            let figures = find(measured, layer, of_layer)?.figures()?;
            let times = layer.layers.saturating_mul(of_layer.matrices) as f64;
            sum.0 += figures.server_seconds * times;
            sum.1 += figures.ahead_seconds * times;
        }
        Some(sum)
    };
    let one = |published: &super::Published| {
        let sums = seconds(&published.layers);
        PublishedBudget {
            source: published.source.clone(),
            what: published.what.clone(),
            published_seconds: published.seconds,
            server_seconds: sums.map(|(online, ahead)| online + ahead),
            online_seconds: sums
                .filter(|(_, ahead)| *ahead > 0.0)
                .map(|(online, _)| online),
        }
    };
    model.published.iter().map(one).collect()
}
