//! Where and with what it was measured, as rows of a [`Table::facts`](crate::Table::facts).

use crate::host::Host;
use crate::program::Build;
use crate::statistics::range;
use crate::table::Cell;
use crate::units::bytes;

/// A name and its value.
pub type Fact = (&'static str, Cell);

/// What the system did not say.
const NOT_STATED: &str = "not stated by the system";

/// Processor, caches, memory, operating system.
#[must_use]
pub fn machine(host: &Host) -> Vec<Fact> {
    let system = [&host.os, &host.kernel].into_iter().flatten();
    let system: Vec<&str> = system.map(String::as_str).collect();
    vec![
        (
            "CPU",
            Cell::words(host.cpu_model.as_deref().unwrap_or(NOT_STATED)),
        ),
        ("cores", Cell::exact(host.cores.to_string(), host.cores)),
        (
            "instruction sets",
            Cell::words(host.cpu_features.join(", ")),
        ),
        ("third-level cache", Cell::of(host.l3_bytes, bytes)),
        ("memory", Cell::of(host.memory_bytes, bytes)),
        ("system", Cell::words(system.join(", kernel "))),
    ]
}

/// The load averages over one minute at the start and the end of some runs.
pub fn load<'a>(hosts: impl IntoIterator<Item = &'a Host>) -> Fact {
    let loads = hosts
        .into_iter()
        .flat_map(|host| [host.load_at_start, host.load_at_end]);
    let cell = match range(loads.flatten().map(|load| load[0])) {
        Some((low, high)) if low == high => Cell::exact(format!("{low:.2}"), low),
        Some((low, high)) => Cell::words(format!("{low:.2} to {high:.2}")),
        None => Cell::words(NOT_STATED),
    };
    ("load, 1 minute, at start and end", cell)
}

/// The program of that name, and its commit.
#[must_use]
pub fn program(name: &str, build: &Build) -> [Fact; 2] {
    let program = format!(
        "{name} {}, {} build for {}",
        build.version, build.profile, build.target
    );
    [
        ("program", Cell::words(program)),
        ("commit", Cell::words(build.commit_words())),
    ]
}

/// The first and the last of some dates (UTC, RFC 3339, and so in the order of their letters).
pub fn dates<'a>(dates: impl IntoIterator<Item = &'a str>) -> Fact {
    let ends = dates.into_iter().fold(None, |ends, date| match ends {
        None => Some((date, date)),
        Some((from, to)) => Some((date.min(from), date.max(to))),
    });
    let (from, to) = ends.unwrap_or(("", ""));
    let text = if from == to {
        from.to_owned()
    } else {
        format!("{from} to {to}")
    };
    ("date (UTC)", Cell::words(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Host {
        Host {
            cpu_model: None,
            cores: 2,
            l3_bytes: Some(32 << 20),
            cpu_features: vec!["avx2".to_owned(), "aes".to_owned()],
            memory_bytes: None,
            os: Some("Linux 13".to_owned()),
            kernel: Some("6.12".to_owned()),
            load_at_start: Some([0.25, 0.0, 0.0]),
            load_at_end: None,
        }
    }

    #[test]
    fn what_the_system_does_not_say_is_said() {
        let facts = machine(&host());
        let text = |name: &str| {
            let fact = facts.iter().find(|fact| fact.0 == name).unwrap();
            fact.1.text.as_str()
        };
        assert_eq!(text("CPU"), "not stated by the system");
        assert_eq!(text("memory"), "–");
        assert_eq!(text("third-level cache"), "33.6 MB");
        assert_eq!(text("system"), "Linux 13, kernel 6.12");
        assert_eq!(load([]).1.text, "not stated by the system");
    }

    #[test]
    fn loads_and_dates_have_ends() {
        let mut later = host();
        assert_eq!(load([&later]).1, Cell::exact("0.25", 0.25));
        later.load_at_end = Some([1.5, 0.0, 0.0]);
        assert_eq!(load([&host(), &later]).1.text, "0.25 to 1.50");
        assert_eq!(
            dates(["2026-02", "2026-01", "2026-03"]).1.text,
            "2026-01 to 2026-03"
        );
        assert_eq!(dates(["2026-02"]).1.text, "2026-02");
    }
}
