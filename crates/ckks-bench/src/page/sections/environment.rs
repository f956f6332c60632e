//! Where and with what it was measured.

use crate::page::section::{Content, Section};
use crate::page::table::{Cell, Table};
use crate::report::Report;
use crate::units::{bytes, bytes_per_second, plural, scientific};

pub(super) fn section(content: &Content) -> Section {
    let mut section = Section::new("environment", "Environment");
    let mut groups: Vec<Vec<&Report>> = Vec::new();
    for report in &content.reports {
        match groups.iter_mut().find(|group| alike(group[0], report)) {
            Some(group) => group.push(report),
            None => groups.push(vec![report]),
        }
    }
    for group in &groups {
        let reports = plural(group.len() as u64, "report");
        let mut table = Table::facts(format!("Machine and program of {reports}"));
        for (name, value) in facts(group) {
            table.push(vec![Cell::words(name), value]);
        }
        section.tables.push(table);
    }
    section
}

/// The same program on the same machine with the same gate.
fn alike(a: &Report, b: &Report) -> bool {
    let still = |report: &Report| {
        let mut host = report.host.clone();
        host.load_at_start = None;
        host.load_at_end = None;
        host
    };
    a.build == b.build
        && a.gpu == b.gpu
        && still(a) == still(b)
        && a.settings.gate == b.settings.gate
}

/// Commit, and whether the sources differed from it.
pub(super) fn commit(report: &Report) -> String {
    let build = &report.build;
    match (&build.commit, build.dirty) {
        (None, _) => "unknown: built outside a git repository".to_owned(),
        (Some(commit), Some(true)) => format!("{commit}, with uncommitted changes"),
        (Some(commit), _) => commit.clone(),
    }
}

fn facts(group: &[&Report]) -> Vec<(&'static str, Cell)> {
    let first = group[0];
    let host = &first.host;
    let known = |text: &Option<String>| match text {
        Some(text) => Cell::words(text.clone()),
        None => Cell::words("not stated by the system"),
    };
    let mut facts = vec![
        ("CPU", known(&host.cpu_model)),
        ("cores", Cell::exact(host.cores.to_string(), host.cores)),
        (
            "instruction sets",
            Cell::words(host.cpu_features.join(", ")),
        ),
        ("third-level cache", Cell::of(host.l3_bytes, bytes)),
        ("memory", Cell::of(host.memory_bytes, bytes)),
        (
            "system",
            Cell::words(
                [&host.os, &host.kernel]
                    .into_iter()
                    .flatten()
                    .cloned()
                    .collect::<Vec<_>>()
                    .join(", kernel "),
            ),
        ),
    ];
    if let Some(gpu) = &first.gpu {
        let text = format!("{}, driver {}", gpu.name, gpu.driver);
        facts.push(("GPU", Cell::words(text)));
    }
    let mut threads: Vec<usize> = group.iter().map(|r| r.settings.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    for count in &threads {
        let rates = group
            .iter()
            .filter(|r| r.settings.threads == *count)
            .filter_map(|r| Some(r.streaming_read?.bytes_per_second));
        let name = "streaming read";
        let of = plural(*count as u64, "thread");
        match range(rates) {
            Some((low, high)) if low == high => {
                facts.push((
                    name,
                    Cell::exact(format!("{}, {of}", bytes_per_second(low)), low),
                ));
            }
            Some((low, high)) => facts.push((
                name,
                Cell::words(format!(
                    "{} to {}, {of}",
                    bytes_per_second(low),
                    bytes_per_second(high)
                )),
            )),
            None => facts.push((name, Cell::words(format!("not measured, {of}")))),
        }
    }
    let loads = group
        .iter()
        .flat_map(|r| [r.host.load_at_start, r.host.load_at_end]);
    let load = match range(loads.flatten().map(|load| load[0])) {
        Some((low, high)) if low == high => Cell::exact(format!("{low:.2}"), low),
        Some((low, high)) => Cell::words(format!("{low:.2} to {high:.2}")),
        None => Cell::words("not stated by the system"),
    };
    facts.push(("load, 1 minute, at start and end", load));
    let list: Vec<String> = threads.iter().map(usize::to_string).collect();
    facts.push(("threads", Cell::words(list.join(", "))));
    let build = &first.build;
    facts.push((
        "program",
        Cell::words(format!(
            "ckks-bench {}, {} build for {}",
            build.version, build.profile, build.target
        )),
    ));
    facts.push(("commit", Cell::words(commit(first))));
    facts.push(("libraries", Cell::words(libraries(group))));
    let gate = first.settings.gate;
    let scaled = if gate.scaled {
        " × max(1, max |y|)"
    } else {
        ""
    };
    facts.push((
        "gate, absolute error",
        Cell::exact(format!("{}{scaled}", scientific(gate.limit)), gate.limit),
    ));
    let dates = || group.iter().map(|r| r.date.as_str());
    let (from, to) = (dates().min().unwrap_or(""), dates().max().unwrap_or(""));
    facts.push((
        "date (UTC)",
        Cell::words(if from == to {
            from.to_owned()
        } else {
            format!("{from} to {to}")
        }),
    ));
    facts
}

/// Libraries under test with version, device and kernels.
fn libraries(group: &[&Report]) -> String {
    let mut libraries: Vec<String> = Vec::new();
    for configuration in group.iter().flat_map(|report| &report.configurations) {
        if let Some(d) = &configuration.description {
            let text = format!(
                "{} {} on {} ({})",
                d.library, d.version, d.device, d.kernels
            );
            if !libraries.contains(&text) {
                libraries.push(text);
            }
        }
    }
    if libraries.is_empty() {
        "none opened".to_owned()
    } else {
        libraries.join("; ")
    }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| {
        let (low, high) = range.unwrap_or((value, value));
        Some((f64::min(low, value), f64::max(high, value)))
    })
}
