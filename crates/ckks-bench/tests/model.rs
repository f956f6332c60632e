//! `model`: budgets by hand on a made-up model, and the models that are shipped.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod common;

use ckks_backend::{Backend, TrialSpec};
use ckks_bench::cli::{Cli, Command};
use ckks_bench::commands::cost::{CostArgs, cost};
use ckks_bench::commands::model::model;
use ckks_bench::cost::Costs;
use ckks_bench::error::{BenchError, Outcome};
use ckks_bench::interrupt::Interrupt;
use ckks_bench::model::{Budget, Demand, Description, SCHEMA, budget_phase, published};
use ckks_bench::report::Stage;
use clap::Parser;
use common::{Fault, Plain, Step, stage};
use std::fs;
use std::path::{Path, PathBuf};

const TINY: &str = r#"
name = "tiny"
source = "made up"
[[layer]]
name = "q"
component = "attention"
d_in = 4
d_out = 6
layers = 2
input_group = "a"
[[layer]]
name = "k"
component = "attention"
d_in = 4
d_out = 2
layers = 2
input_group = "a"
[[layer]]
name = "up"
component = "experts"
d_in = 4
d_out = 3
layers = 2
instances = 8
used_per_token = 2
input_group = "e"
[[layer]]
name = "down"
component = "experts"
d_in = 3
d_out = 4
layers = 2
instances = 8
used_per_token = 2
input_group = "d"
inputs = "own"
[[layer]]
name = "head"
component = "head"
d_in = 4
d_out = 10
layers = 1
input_group = "h"
prefill = "last"
[[published]]
source = "someone"
what = "experts"
seconds = 3.0
layers = ["up", "down"]
"#;

type Run = (
    Result<(Budget, Outcome), BenchError>,
    String,
    Option<String>,
);

fn run(
    toml: &str,
    line: &[&str],
    interrupt: &Interrupt,
    open: impl Fn(&TrialSpec) -> Plain,
) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let [config, json] = ["m.toml", "out.json"].map(|name| folder.path().join(name));
    fs::write(&config, toml).unwrap();
    let (config, json_text) = (config.to_str().unwrap(), json.to_str().unwrap());
    let start = [
        "ckks-bench",
        "model",
        "--quiet",
        "--config",
        config,
        "--json",
        json_text,
        "--trials",
        "2",
    ];
    let Command::Model(args) = Cli::try_parse_from(start.iter().chain(line))
        .unwrap()
        .command
    else {
        panic!("not a model");
    };
    let opener = |_: &str, _: &str, spec: &TrialSpec| Ok(Box::new(open(spec)) as Box<dyn Backend>);
    let mut out = Vec::new();
    let result = model(&args, Vec::new(), &opener, interrupt, &mut out);
    let printed = String::from_utf8(out).unwrap();
    (result, printed, fs::read_to_string(json).ok())
}

fn good(spec: &TrialSpec) -> Plain {
    Plain::new(spec, &[])
}

#[test]
fn bytes_and_counts_by_hand() {
    // The backend in the clear uploads 41 bytes, downloads 51, prepares 31, has 11 bytes of keys.
    let (result, printed, json) = run(TINY, &["--prefill", "6"], &Interrupt::new(), good);
    let (budget, outcome) = result.unwrap();
    assert_eq!(outcome, Outcome::Passed);
    let value: serde_json::Value = serde_json::from_str(&json.unwrap()).unwrap();
    assert_eq!(value["schema"], SCHEMA);
    assert!(value == serde_json::to_value(&budget).unwrap());
    assert!(
        value
            == serde_json::to_value(serde_json::from_value::<Budget>(value.clone()).unwrap())
                .unwrap()
    );

    // 2·24 + 2·8 + 16·12 + 16·12 + 40.
    assert_eq!(budget.weights, 488);
    // Decoding needs five shapes, prefill two of them and 4x3, 3x4 in batches of its own.
    assert_eq!(budget.measurements.len(), 9);
    let total = &budget.decode.total;
    // q 2, k 2, up 2·2, down 2·2, head 1.
    assert_eq!(total.evaluations, 13);
    // q and k share 2, the up of all experts 2, each down its own 4, head 1.
    assert_eq!(total.uploads, 9);
    assert_eq!(total.upload_bytes, 9 * 41);
    assert_eq!(total.unshared_upload_bytes, 13 * 41);
    assert_eq!(total.download_bytes, 13 * 51);
    // Three groups in two layers, and the head.
    assert_eq!(total.round_trips, 7);
    // 2 + 2 + 16 + 16 + 1 matrices.
    assert_eq!(total.prepared_bytes, 37 * 31);
    let names: Vec<&str> = budget
        .decode
        .components
        .iter()
        .map(|c| c.name.as_str())
        .collect();
    assert_eq!(names, ["attention", "experts", "head"]);
    let experts = &budget.decode.components[1];
    assert_eq!(
        (experts.evaluations, experts.uploads, experts.round_trips),
        (8, 6, 4)
    );

    assert_eq!(budget.memory.prepared_bytes, 37 * 31);
    assert_eq!(budget.memory.weights_bf16_bytes, 976);
    assert_eq!(budget.memory.key_bytes_per_shape, 5 * 11);
    // Steps 1 and 2, 11 bytes for two keys, rounded up: 6 each.
    assert_eq!(budget.memory.key_bytes_shared, Some(12));

    // 6 tokens × 2 uses over 8 experts: 2 each, all 8 evaluated.
    let prefill = budget.prefill.as_ref().unwrap();
    let batches: Vec<usize> = prefill.layers.iter().map(|layer| layer.batch).collect();
    assert_eq!(batches, [6, 6, 2, 2, 1]);
    assert_eq!(prefill.total.evaluations, 2 + 2 + 16 + 16 + 1);
    assert_eq!(prefill.total.uploads, 2 + 16 + 16 + 1);
    for part in [
        "Decoding",
        "Prefill, 6 tokens",
        "not included",
        "fits a GPU of 80.0 GB",
    ] {
        assert!(printed.contains(part), "no \"{part}\" in:\n{printed}");
    }
    assert!(
        printed.lines().all(|line| line.chars().count() <= 100),
        "{printed}"
    );
}

/// A budget whose stages are set: encryption 1 s, decryption 0.5 s, evaluation by the output width.
fn timed(ahead: bool) -> Budget {
    let line = if ahead {
        &["--prefill", "0", "--ahead"][..]
    } else {
        &["--prefill", "0"]
    };
    let (result, ..) = run(TINY, line, &Interrupt::new(), good);
    let mut budget = result.unwrap().0;
    for measurement in &mut budget.measurements {
        let seconds = match measurement.d_out {
            6 => 2.0,
            2 => 4.0,
            3 => 8.0,
            4 => 16.0,
            _ => 32.0,
        };
        let mut stages = vec![
            stage(Stage::Encryption, &[1.0]),
            stage(Stage::Decryption, &[0.5]),
        ];
        if ahead {
            stages.push(stage(Stage::AheadOfTimeEvaluation, &[seconds * 0.75]));
            stages.push(stage(Stage::OnlineEvaluation, &[seconds * 0.25]));
        } else {
            stages.push(stage(Stage::Evaluation, &[seconds, 0.0, 100.0]));
        }
        measurement.configuration.as_mut().unwrap().stages = Some(stages);
    }
    let demand = Demand::decode(&budget.model);
    budget.decode = budget_phase(&budget.model, &demand, &budget.measurements);
    budget.published = published(&budget.model, &demand, &budget.measurements);
    budget
}

#[test]
fn seconds_by_hand() {
    let budget = timed(false);
    let total = &budget.decode.total;
    // 2·2 + 2·4 + 4·8 + 4·16 + 32.
    assert_eq!((total.server_seconds, total.ahead_seconds), (140.0, 0.0));
    // 9 uploads of 1 s, 13 answers of half a second.
    assert_eq!(total.client_seconds, 15.5);
    assert_eq!(budget.published[0].server_seconds, Some(96.0));
    assert_eq!(budget.published[0].online_seconds, None);
    assert_eq!(budget.published[0].published_seconds, 3.0);

    let budget = timed(true);
    let total = &budget.decode.total;
    assert_eq!((total.server_seconds, total.ahead_seconds), (35.0, 105.0));
    assert_eq!(budget.published[0].server_seconds, Some(96.0));
    assert_eq!(budget.published[0].online_seconds, Some(24.0));
}

#[test]
fn the_cost_of_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let [budget, json] = ["budget", "cost"].map(|name| folder.path().join(name));
    fs::write(&budget, serde_json::to_string(&timed(true)).unwrap()).unwrap();
    let args = CostArgs {
        reports: vec![budget],
        price: 3.6,
        currency: "USD".into(),
        per_hour_of: None,
        price_per_gb: Some(1.0),
        json: Some(json.clone()),
    };
    cost(&args, &mut Vec::new()).unwrap();
    let costs: Costs = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let [decode] = &costs.models[..] else {
        panic!("decode alone")
    };
    // 0.001 a second: 140 s and 155.5 s a token, times a million.
    assert!((decode.evaluation - 140_000.0).abs() < 1e-6);
    assert!((decode.end_to_end - 155_500.0).abs() < 1e-6);
    // 9·41 + 13·51 bytes.
    assert!((decode.transfer.unwrap() - 1.032).abs() < 1e-12);
}

const WIDE: &str = "name = \"w\"\nsource = \"s\"\n[[layer]]\nname = \"head\"\ncomponent = \"c\"\n\
                    d_in = 2\nd_out = 4000\nlayers = 1\ninput_group = \"h\"\n";

#[test]
fn what_does_not_fit_is_measured_in_slices() {
    let open = |spec: &TrialSpec| {
        let peak = if spec.d_out > 1500 {
            u64::MAX / 2
        } else {
            1000
        };
        Plain::needing(spec, peak)
    };
    let (result, printed, _) = run(WIDE, &["--prefill", "0"], &Interrupt::new(), open);
    let (budget, outcome) = result.unwrap();
    assert_eq!(outcome, Outcome::Passed);
    let measurement = &budget.measurements[0];
    // 2 × 2000 does not fit, 4 × 1000 is below the narrowest slice that is measured.
    assert_eq!(measurement.slices, 1);
    assert!(measurement.configuration.is_none());
    assert_eq!(budget.decode.missing, ["head"]);
    assert!(
        printed.contains("LEFT OUT") && printed.contains("at least"),
        "{printed}"
    );

    let wide = WIDE.replace("4000", "5000");
    let (result, printed, _) = run(&wide, &["--prefill", "0"], &Interrupt::new(), open);
    let budget = result.unwrap().0;
    // 4 × 1250.
    let measurement = &budget.measurements[0];
    assert_eq!(measurement.slices, 4);
    assert_eq!(measurement.configuration.as_ref().unwrap().d_out, 1250);
    assert_eq!(budget.decode.extrapolated, ["head"]);
    let total = &budget.decode.total;
    assert_eq!((total.upload_bytes, total.download_bytes), (41, 4 * 51));
    assert_eq!(total.prepared_bytes, 4 * 31);
    assert!(printed.contains("extrapolated: head"), "{printed}");
}

#[test]
fn a_rejected_shape_has_no_part_in_the_sums() {
    let open = |spec: &TrialSpec| {
        let fault = Fault::Add {
            trial: 1,
            at: 0,
            error: 1.0,
        };
        Plain::new(
            spec,
            if spec.d_out == 6 {
                std::slice::from_ref(&fault)
            } else {
                &[]
            },
        )
    };
    let (result, printed, _) = run(TINY, &["--prefill", "0"], &Interrupt::new(), open);
    let (budget, outcome) = result.unwrap();
    assert_eq!(outcome, Outcome::Rejected);
    assert_eq!(budget.decode.missing, ["q"]);
    assert_eq!(budget.decode.total.evaluations, 11);
    assert_eq!(budget.decode.total.weights, 488);
    assert!(
        printed.contains("LEFT OUT of the sums: q: rejected"),
        "{printed}"
    );
}

#[test]
fn an_interrupted_budget_says_so() {
    let interrupt = Interrupt::new();
    let open = |spec: &TrialSpec| {
        let fault = Fault::Interrupted {
            trial: 0,
            step: Step::Encrypt,
            flag: interrupt.clone(),
        };
        Plain::new(
            spec,
            if spec.d_out == 3 {
                std::slice::from_ref(&fault)
            } else {
                &[]
            },
        )
    };
    let (result, printed, _) = run(TINY, &["--prefill", "0"], &interrupt, open);
    let (budget, outcome) = result.unwrap();
    assert_eq!((outcome, budget.partial), (Outcome::Interrupted, true));
    assert!(printed.contains("INTERRUPTED"), "{printed}");
    assert!(budget.decode.missing.contains(&"up".to_owned()));
}

fn shipped(name: &str) -> Description {
    let path = models().join(name);
    Description::from_toml(&fs::read_to_string(path).unwrap()).unwrap()
}

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/models")
}

#[test]
fn every_shipped_model_is_read() {
    let mut count = 0;
    for entry in fs::read_dir(models()).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        Description::from_toml(&text).unwrap();
        count += 1;
    }
    assert!(count >= 3);
}

#[test]
fn the_weights_of_the_shipped_models() {
    // 30 · (2048·12288 + 2048·64 + 4096·2048)               1,010,565,120
    // 10 · (2048·8192 + 2 · 2048·512 + 4096·2048)             272,629,760
    // 40 · (2048·256 + 257 · 3 · 2048·512)                 32,359,055,360
    // 2048·248320                                             508,559,360
    let large = shipped("qwen3.6-35b-a3b.toml");
    assert_eq!(large.weights(), 34_150_809_600);
    // Together with the embedding, which is as large as the head, the 35 B of its name.
    let named = (large.weights() + 508_559_360) as f64;
    assert!((named / 35e9 - 1.0).abs() < 0.01, "{named}");
    // A token goes through 3 B of them: 1,283,194,880 of attention, 40 · (524,288 + 9 · 3,145,728),
    // and the head.
    let used: u64 = large
        .layers
        .iter()
        .map(|l| l.layers * l.used() * l.weights_each())
        .sum();
    assert_eq!(used, 1_283_194_880 + 1_153_433_600 + 508_559_360);

    // 28 · (2 · 1024·2048 + 2 · 1024·1024 + 3 · 1024·3072) + 1024·151936
    assert_eq!(
        shipped("qwen3-0.6b.toml").weights(),
        440_401_920 + 155_582_464
    );
    // 30 · (2 · 576·576 + 2 · 576·192 + 3 · 576·1536) + 576·49152: the tied head counts once.
    assert_eq!(
        shipped("smollm2-135m.toml").weights(),
        106_168_320 + 28_311_552
    );
}

#[test]
fn groups_of_the_large_model() {
    let model = shipped("qwen3.6-35b-a3b.toml");
    let phase = budget_phase(&model, &Demand::decode(&model), &[]);
    // In, out: 2 · 30 + 2 · 10; router, experts in, experts out: 3 · 40; the head.
    assert_eq!(phase.total.round_trips, 60 + 20 + 120 + 1);
    let demand = Demand::prefill(&model, 512);
    let expert = model
        .layers
        .iter()
        .position(|l| l.name == "experts.up_proj")
        .unwrap();
    assert_eq!(
        (demand.layers[expert].batch, demand.layers[expert].matrices),
        (16, 256)
    );
    let head = model
        .layers
        .iter()
        .position(|l| l.name == "lm_head")
        .unwrap();
    assert_eq!(demand.layers[head].batch, 1);
}

const SMOL: &str = r#"{"model_type": "llama", "hidden_size": 576, "intermediate_size": 1536,
    "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3,
    "vocab_size": 49152, "tie_word_embeddings": true, "rms_norm_eps": 1e-05}"#;

#[test]
fn hub_configs_of_dense_models() {
    let smol = Description::from_hub_config("SmolLM2-135M", SMOL).unwrap();
    assert_eq!(smol.layers, shipped("smollm2-135m.toml").layers);
    let qwen = r#"{"model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072,
        "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
        "head_dim": 128, "vocab_size": 151936}"#;
    let qwen = Description::from_hub_config("Qwen3-0.6B", qwen).unwrap();
    assert_eq!(qwen.layers, shipped("qwen3-0.6b.toml").layers);
}

#[test]
fn hub_configs_of_mixtures_of_experts() {
    let text = r#"{"model_type": "qwen2_moe", "hidden_size": 8, "intermediate_size": 20,
        "num_hidden_layers": 6, "num_attention_heads": 2, "vocab_size": 100, "num_experts": 16,
        "num_experts_per_tok": 4, "moe_intermediate_size": 5, "decoder_sparse_step": 2,
        "mlp_only_layers": [3], "shared_expert_intermediate_size": 7}"#;
    let model = Description::from_hub_config("m", text).unwrap();
    // Layers 1, 3, 5 would have experts, 3 is named: 2 with experts, 4 dense.
    // Attention 6 · 4 · 64, dense 4 · 3 · 160, router 2 · 128, experts 2 · 16 · 3 · 40,
    // shared 2 · 3 · 56, head 800.
    assert_eq!(model.weights(), 1536 + 1920 + 256 + 3840 + 336 + 800);
    let down = model
        .layers
        .iter()
        .find(|l| l.name == "experts.down_proj")
        .unwrap();
    assert_eq!((down.layers, down.instances, down.used()), (2, 16, 4));
    let phase = budget_phase(&model, &Demand::decode(&model), &[]);
    // Attention 2 · 6, dense 2 · 4, router and experts 3 · 2, head.
    assert_eq!(phase.total.round_trips, 12 + 8 + 6 + 1);
}

#[test]
fn hub_configs_that_are_refused() {
    let cases = [
        (SMOL.replace("llama", "mixtral"), "\"mixtral\" is not known"),
        (SMOL.replace("llama", "qwen3_moe"), "num_experts"),
        (SMOL.replace("\"hidden_size\": 576, ", ""), "hidden_size"),
        (SMOL.replace("576", "577"), "no multiple"),
        (SMOL.replace("49152", "300000"), "300000"),
        ("{}".to_owned(), "model_type"),
        ("x".to_owned(), "expected value"),
    ];
    for (text, part) in cases {
        let message = Description::from_hub_config("m", &text).unwrap_err();
        assert!(message.contains(part), "no \"{part}\" in: {message}");
    }
}
