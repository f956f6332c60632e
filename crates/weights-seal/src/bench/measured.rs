//! One row of the results, and what it is compared with.

use super::spec::Spec;
use bench_report::statistics::Summary;
use serde::{Deserialize, Serialize};

/// A case, after it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// What was measured.
    #[serde(flatten)]
    pub spec: Spec,
    /// Why it was not measured.
    pub skipped: Option<String>,
    /// One duration for each round, the first round first.
    pub seconds: Vec<f64>,
    /// Of the rounds after the first; of the first where there is no other.
    pub summary: Option<Summary>,
    /// Payload over the median duration.
    pub bytes_per_second: Option<f64>,
    /// Median duration of the floor over that of this case: 1 is as fast as without cryptography.
    pub of_floor: Option<f64>,
    /// Time that the parts take one after the other, at their own measured rates, over the median
    /// duration of this case; above 1 where parts overlap or share caches.
    pub of_parts: Option<f64>,
}

impl Measured {
    /// From the durations; the ratios come later.
    #[must_use]
    pub fn new(spec: Spec, skipped: Option<String>, seconds: Vec<f64>) -> Measured {
        let warm = if seconds.len() > 1 {
            &seconds[1..]
        } else {
            &seconds[..]
        };
        let summary = Summary::of(warm);
        Measured {
            bytes_per_second: summary
                .filter(|s| s.median_seconds > 0.0)
                .map(|s| spec.bytes as f64 / s.median_seconds),
            summary,
            spec,
            skipped,
            seconds,
            of_floor: None,
            of_parts: None,
        }
    }

    /// The median duration.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        self.summary.map(|s| s.median_seconds)
    }
}

/// Compares every case with its floor and its parts.
pub fn compare(cases: &mut [Measured]) {
    let known: Vec<(String, f64, Option<f64>)> = cases
        .iter()
        .filter_map(|c| Some((c.spec.id.clone(), c.median()?, c.bytes_per_second)))
        .collect();
    let find = |id: &str| known.iter().find(|(known, ..)| known == id);
    for case in cases {
        let Some(median) = case.median().filter(|m| *m > 0.0) else {
            continue;
        };
        let floor = case.spec.floor.as_deref().and_then(find);
        case.of_floor = floor.map(|(_, floor, _)| floor / median);
        let parts: Option<Vec<f64>> = case
            .spec
            .parts
            .iter()
            .map(|part| {
                let (_, _, rate) = find(part.case.as_deref()?)?;
                Some(part.bytes as f64 / (*rate)?)
            })
            .collect();
        case.of_parts = parts
            .filter(|parts| !parts.is_empty())
            .map(|parts| parts.iter().sum::<f64>() / median);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::spec::{Group, Part};

    #[test]
    fn ratios_by_hand() {
        let case = |id: &str, seconds: &[f64], parts: Vec<Part>, floor: Option<&str>| {
            let mut spec = Spec::new(id.to_owned(), Group::Open, id, 100);
            (spec.parts, spec.floor) = (parts, floor.map(str::to_owned));
            Measured::new(spec, None, seconds.to_vec())
        };
        let part = |bytes, case: &str| Part::measured("x", bytes, case.to_owned());
        let mut cases = [
            case("plain", &[9.0, 2.0], vec![Part::named("x", 100)], None),
            case("cipher", &[1.0], Vec::new(), None),
            case(
                "open",
                &[9.0, 4.0, 4.0, 5.0],
                vec![part(100, "plain"), part(200, "cipher")],
                Some("plain"),
            ),
            case("lost", &[1.0], vec![part(1, "none")], Some("none")),
            case("not run", &[], Vec::new(), Some("plain")),
        ];
        compare(&mut cases);
        assert_eq!(cases[0].bytes_per_second, Some(50.0));
        assert_eq!((cases[0].of_floor, cases[0].of_parts), (None, None));
        assert_eq!(cases[1].bytes_per_second, Some(100.0));
        assert_eq!(cases[2].summary.unwrap().max_seconds, 5.0);
        assert_eq!(cases[2].of_floor, Some(0.5));
        // 100 bytes at 50 and 200 bytes at 100 bytes per second take 4 s.
        assert_eq!(cases[2].of_parts, Some(1.0));
        assert_eq!((cases[3].of_floor, cases[3].of_parts), (None, None));
        assert_eq!((cases[4].median(), cases[4].of_floor), (None, None));
    }
}
