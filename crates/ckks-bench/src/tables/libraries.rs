//! The libraries under test, for `libs`.

use crate::open::Library;
use bench_report::terminal::{self, facts, numbers, text, words};
use ckks_backend::vendor::{Defect, Pinned, Preset, PrimeGroup};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement};
use std::fmt::Write;

/// Each library, whether it is available, and what to set where it is not.
#[must_use]
pub fn libraries(libraries: &[Library]) -> String {
    let mut table = words(&["library", "available", "pin", "what it is"]);
    for library in libraries {
        let available = if library.available { "yes" } else { "no" };
        let pin = library.pinned.map_or("-".to_owned(), |p| p.pin.short());
        table.add_row([library.name, available, &pin, library.description]);
    }
    if let Some(pins) = table.column_mut(2) {
        pins.set_constraint(ColumnConstraint::ContentWidth);
    }
    let mut out = text(&table);
    for library in libraries {
        let _ = write!(out, "\n{}\n", library.name);
        out.push_str(&facts(state(library)));
    }
    out.push_str("\n`ckks-bench libs --lib NAME` says all that is known of one.\n");
    out
}

/// Everything about one library.
#[must_use]
pub fn library(library: &Library) -> String {
    let mut out = format!("{}\n", library.name);
    let mut rows = vec![("what it is", library.description.to_owned())];
    if let Some(pinned) = library.pinned {
        rows.extend(identity(pinned));
    }
    rows.push(("devices", library.devices.join(", ")));
    out.push_str(&facts(rows));
    section(&mut out, "here", state(library));
    section(&mut out, "looked for", looked_for(library));
    let Some(pinned) = library.pinned else {
        return out;
    };
    let variables = pinned.variables.iter().map(|variable| {
        let needed = if variable.needed {
            ""
        } else {
            " (may be left out)"
        };
        (&*variable.name, format!("{}{needed}", variable.meaning))
    });
    section(&mut out, "to set", variables.collect());
    let modes = pinned.modes.iter();
    let modes = modes.map(|mode| (&*mode.name, mode.meaning.clone()));
    section(&mut out, "modes", modes.collect());
    for preset in &pinned.presets {
        out.push_str(&parameters(preset));
    }
    for one in &pinned.defects {
        section(&mut out, &format!("defect {}", one.id), defect(one));
    }
    out
}

fn section(out: &mut String, title: &str, rows: Vec<(&str, String)>) {
    if !rows.is_empty() {
        let _ = write!(out, "\n{title}\n{}", facts(rows));
    }
}

fn identity(pinned: &Pinned) -> Vec<(&'static str, String)> {
    let words: Vec<_> = pinned.words.iter().map(u32::to_string).collect();
    vec![
        ("pin", pinned.pin.long()),
        ("repository", format!("{} on GitHub", pinned.repository)),
        ("licence", pinned.licence.clone()),
        ("language", pinned.language.clone()),
        ("words", format!("{} bits", words.join(" or "))),
        ("install", pinned.install.trim().to_owned()),
    ]
}

/// How it stands on this machine.
fn state(library: &Library) -> Vec<(&'static str, String)> {
    let mut rows: Vec<_> = library
        .missing
        .iter()
        .map(|missing| ("missing", missing.clone()))
        .collect();
    if let Some(shim) = &library.shim {
        let path = shim.path.display();
        rows.push(("shim", format!("{path}: {}", shim.origin)));
    }
    if let Some(headers) = &library.headers {
        rows.push(("headers", headers.summary()));
        rows.extend(headers.complaints().into_iter().map(|text| ("", text)));
    }
    rows.extend(library.notes.iter().map(|note| ("note", note.clone())));
    rows
}

fn looked_for(library: &Library) -> Vec<(&str, String)> {
    let search = |search: &ckks_backend::discovery::Search| match &search.found {
        Some(path) => format!("found: {}", path.display()),
        None => format!("not found: {}", search.looked_in.join(", ")),
    };
    let searches = library.searches.iter();
    searches.map(|one| (&*one.what, search(one))).collect()
}

fn parameters(preset: &Preset) -> String {
    let mut table = numbers(&["modulus", "group", "primes", "bits", "values"]);
    for group in &preset.groups {
        table.add_row([
            group.modulus.name().to_owned(),
            group.group.clone(),
            group.count().to_string(),
            format!("{:.2}", group.log2()),
            values(group),
        ]);
    }
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(terminal::WIDTH);
    if let Some(values) = table.column_mut(4) {
        values.set_cell_alignment(CellAlignment::Left);
    }
    let mut rows = vec![
        ("source", preset.source.trim().to_owned()),
        (
            "N",
            format!("{}, {} slots", preset.ring_degree, preset.slots),
        ),
        (
            "level",
            format!("{}, {} digits", preset.level, preset.digits),
        ),
        ("scale", format!("2^{}", preset.scale_bits)),
        ("secret", preset.secret.describe()),
        (
            "error",
            format!("{}, σ = {}", preset.error, preset.error_sigma),
        ),
    ];
    // A set beyond the table does not get past the reading of the file.
    if let Ok(row) = preset.security() {
        let (log_qp, limit) = (preset.log_qp, row.limit);
        let margin = row.margin_bits();
        let security =
            format!("128-bit classical: log QP {log_qp:.2}, limit {limit}, margin {margin:.2}");
        rows.push(("security", security));
    }
    for (name, text) in [("departure", &preset.departure), ("note", &preset.note)] {
        rows.extend(text.iter().map(|text| (name, text.trim().to_owned())));
    }
    format!(
        "\nparameters {}\n{}{}",
        preset.name,
        facts(rows),
        text(&table)
    )
}

fn values(group: &PrimeGroup) -> String {
    if group.values.is_empty() {
        let bits: Vec<_> = group.bits.iter().map(u32::to_string).collect();
        return format!("chosen by the library: {} bits", bits.join(", "));
    }
    let values: Vec<_> = group.values.iter().map(u64::to_string).collect();
    values.join(", ")
}

fn defect(defect: &Defect) -> Vec<(&'static str, String)> {
    vec![
        ("when", defect.condition.trim().to_owned()),
        ("then", defect.consequence.trim().to_owned()),
        ("we", defect.remedy.trim().to_owned()),
        (
            "source",
            format!("{} ({})", defect.source.trim(), defect.evidence.name()),
        ),
    ]
}
