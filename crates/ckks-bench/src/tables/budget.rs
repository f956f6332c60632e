//! The token budget of a model.

use crate::memory::Available;
use crate::model::{Budget, Memory, Phase, TARGET_SECONDS, Totals};
use bench_report::terminal::facts;
use bench_report::terminal::{numbers, text};
use bench_report::units::{bytes, count, number, plural, seconds};

/// Memory of one GPU, bytes.
const GPUS: [u64; 2] = [80_000_000_000, 141_000_000_000];

/// The whole budget.
#[must_use]
pub fn budget(budget: &Budget, available: Option<Available>) -> String {
    let settings = &budget.settings;
    let cpu = budget.host.cpu_model.as_deref().unwrap_or("unknown CPU");
    let mut out = format!(
        "{}: {} weights in linear layers, {} on {}, {}\n{cpu}, {}\n",
        budget.model.name,
        count(budget.weights),
        settings.library,
        settings.device,
        plural(settings.threads as u64, "thread"),
        plural(budget.host.cores as u64, "core"),
    );
    if budget.partial {
        out.push_str("INTERRUPTED: shapes are missing, all sums are too small\n");
    }
    out.push_str("\nDecoding, one token\n");
    out.push_str(&phase(&budget.decode, settings.ahead));
    out.push_str(&facts(per_token(budget)));
    if let Some(prefill) = &budget.prefill {
        out.push_str(&format!(
            "\nPrefill, {} in one batch\n",
            plural(prefill.vectors as u64, "token")
        ));
        out.push_str(&phase(prefill, settings.ahead));
        out.push_str(&facts(per_prompt(prefill, settings.rtt_seconds)));
    }
    out.push_str("\nMemory and one-time transfer\n");
    out.push_str(&facts(held(&budget.memory, &budget.decode, available)));
    for published in &budget.published {
        let ours = match (published.server_seconds, published.online_seconds) {
            (Some(whole), Some(online)) => format!(
                "{} here, of which {} online",
                seconds(whole),
                seconds(online)
            ),
            (Some(whole), None) => format!("{} here", seconds(whole)),
            (None, _) => "no figure here, because a layer has none".to_owned(),
        };
        out.push_str(&format!(
            "\n{}\n",
            facts([(
                "published",
                format!(
                    "{}: {} by {}; {ours}",
                    published.what,
                    seconds(published.published_seconds),
                    published.source
                )
            )])
            .trim_end()
        ));
    }
    out.push('\n');
    out.push_str(&facts([
        (
            "not included",
            "attention, norms, activations, routing, embeddings and sampling, which run at the \
             client; the network, but for --rtt"
                .to_owned(),
        ),
        (
            "how",
            "each shape measured once with synthetic weights, warm; medians times the number of \
             evaluations, one after the other; end to end is server + client"
                .to_owned(),
        ),
    ]));
    out
}

fn phase(phase: &Phase, ahead: bool) -> String {
    let mut header = vec!["component", "weights", "matrices", "server"];
    if ahead {
        header[3] = "online";
        header.push("ahead");
    }
    header.extend(["client", "up", "down", "trips", "prepared"]);
    let mut table = numbers(&header);
    for sums in phase.components.iter().chain([&phase.total]) {
        let mut row = vec![
            sums.name.clone(),
            millions(sums.weights),
            count(sums.evaluations),
            seconds(sums.server_seconds),
        ];
        if ahead {
            row.push(seconds(sums.ahead_seconds));
        }
        row.extend([
            seconds(sums.client_seconds),
            bytes(sums.upload_bytes),
            bytes(sums.download_bytes),
            count(sums.round_trips),
            bytes(sums.prepared_bytes),
        ]);
        table.add_row(row);
    }
    let mut out = text(&table);
    for layer in &phase.layers {
        if let Some(reason) = &layer.reason {
            out.push_str(&format!("LEFT OUT of the sums: {}: {reason}\n", layer.name));
        }
    }
    if !phase.extrapolated.is_empty() {
        out.push_str(&format!(
            "extrapolated: {}: too large for the memory here, so one slice of the outputs was \
             measured and multiplied\n",
            phase.extrapolated.join(", ")
        ));
    }
    out
}

fn millions(weights: u64) -> String {
    format!("{} M", number(weights as f64 / 1e6))
}

fn end_to_end(total: &Totals) -> f64 {
    total.server_seconds + total.client_seconds
}

fn per_token(budget: &Budget) -> Vec<(&'static str, String)> {
    let phase = &budget.decode;
    let total = &phase.total;
    let at_least = if phase.missing.is_empty() {
        ""
    } else {
        "at least "
    };
    let against = |time: f64| {
        format!(
            "{at_least}{} a token, {} × the target of {} (10 tokens/s)",
            seconds(time),
            number(time / TARGET_SECONDS),
            seconds(TARGET_SECONDS)
        )
    };
    let mut rows = Vec::new();
    if budget.settings.ahead {
        rows.push(("online", against(total.server_seconds)));
        rows.push((
            "whole server",
            against(total.server_seconds + total.ahead_seconds),
        ));
    } else {
        rows.push(("server", against(total.server_seconds)));
    }
    rows.push((
        "end to end",
        against(end_to_end(total))
            + if budget.settings.ahead {
                ", online part"
            } else {
                ""
            },
    ));
    if let Some(rtt) = budget.settings.rtt_seconds {
        rows.push(("with network", with_network(total, rtt)));
    }
    rows.push(("transfer", transfer(total)));
    rows
}

fn per_prompt(phase: &Phase, rtt: Option<f64>) -> Vec<(&'static str, String)> {
    let total = &phase.total;
    let at_least = if phase.missing.is_empty() {
        ""
    } else {
        "at least "
    };
    let both = |time: f64| {
        format!(
            "{at_least}{} for the prompt, {} a token",
            seconds(time),
            seconds(time / phase.vectors.max(1) as f64)
        )
    };
    let mut rows = vec![
        ("server", both(total.server_seconds)),
        ("end to end", both(end_to_end(total))),
    ];
    if let Some(rtt) = rtt {
        rows.push(("with network", with_network(total, rtt)));
    }
    rows.push(("transfer", transfer(total)));
    rows
}

fn with_network(total: &Totals, rtt: f64) -> String {
    let waiting = rtt * total.round_trips as f64;
    format!(
        "{} × {} = {} of waiting, {} in all, bandwidth not counted",
        plural(total.round_trips, "round trip"),
        seconds(rtt),
        seconds(waiting),
        seconds(end_to_end(total) + waiting)
    )
}

fn transfer(total: &Totals) -> String {
    format!(
        "{} up in {} (without sharing {}), {} down, {}",
        bytes(total.upload_bytes),
        plural(total.uploads, "upload"),
        bytes(total.unshared_upload_bytes),
        bytes(total.download_bytes),
        plural(total.round_trips, "round trip"),
    )
}

fn held(
    memory: &Memory,
    decode: &Phase,
    available: Option<Available>,
) -> Vec<(&'static str, String)> {
    let prepared = memory.prepared_bytes;
    let at_least = if decode.missing.is_empty() {
        ""
    } else {
        "at least "
    };
    let weights = memory.weights_bf16_bytes / 2;
    let mut line = format!(
        "{at_least}{} for decoding, {} bytes a weight",
        bytes(prepared),
        number(prepared as f64 / weights.max(1) as f64)
    );
    for gpu in GPUS {
        line.push_str(&match prepared.div_ceil(gpu) {
            0 | 1 => format!("; fits a GPU of {}", bytes(gpu)),
            several => format!("; needs {several} GPUs of {}", bytes(gpu)),
        });
    }
    if let Some(available) = available {
        let fits = if prepared <= available.bytes {
            "fits"
        } else {
            "does NOT fit"
        };
        line.push_str(&format!(
            "; {fits} this machine ({} {})",
            available.source,
            bytes(available.bytes)
        ));
    }
    let mut keys = format!(
        "{} with a set for every shape",
        bytes(memory.key_bytes_per_shape)
    );
    if let Some(shared) = memory.key_bytes_shared {
        keys.push_str(&format!(", {} with one set for all", bytes(shared)));
    }
    let mut rows = vec![
        ("prepared", line),
        (
            "plain weights",
            format!("{} as bf16", bytes(memory.weights_bf16_bytes)),
        ),
        ("keys", keys),
    ];
    if memory.layer_download_bytes > 0 {
        rows.push((
            "once per layer",
            format!("{} down (W·A)", bytes(memory.layer_download_bytes)),
        ));
    }
    rows
}
