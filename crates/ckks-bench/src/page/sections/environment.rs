//! Where and with what it was measured.

use crate::page::content::Content;
use crate::report::Report;
use bench_report::environment::{self, Fact};
use bench_report::statistics::range;
use bench_report::units::{bytes_per_second, plural, scientific};
use bench_report::{Cell, Section, Table};

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
            table.fact(name, value);
        }
        section.tables.push(table);
    }
    section
}

/// The same program on the same machine with the same gate.
fn alike(a: &Report, b: &Report) -> bool {
    a.build == b.build
        && a.gpu == b.gpu
        && a.host.is_same_machine(&b.host)
        && a.settings.gate == b.settings.gate
}

fn facts(group: &[&Report]) -> Vec<Fact> {
    let first = group[0];
    let mut facts = environment::machine(&first.host);
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
    facts.push(environment::load(group.iter().map(|r| &r.host)));
    let list: Vec<String> = threads.iter().map(usize::to_string).collect();
    facts.push(("threads", Cell::words(list.join(", "))));
    facts.extend(environment::program("ckks-bench", &first.build));
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
    facts.push(environment::dates(group.iter().map(|r| r.date.as_str())));
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
