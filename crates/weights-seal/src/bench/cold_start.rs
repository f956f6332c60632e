//! How long loading takes by model size, computed from the measured rates.

use super::cases::{disk_id, transfer_id};
use super::spec::{Destination, Way};
use serde::{Deserialize, Serialize};

/// Parameters of models, in billions; two bytes each in bf16.
pub const PARAMETERS: [f64; 6] = [0.6, 1.7, 4.0, 8.0, 32.0, 70.0];

/// A way of loading, at a measured rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColdStart {
    /// The case that the rate is from.
    pub case: String,
    /// For people.
    pub label: String,
    /// Threads of the case.
    pub threads: usize,
    /// Its rate.
    pub bytes_per_second: f64,
    /// One for each size.
    pub models: Vec<Loading>,
}

/// A model of some size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loading {
    /// Parameters, in billions.
    pub billions: f64,
    /// Bytes in bf16.
    pub bytes: f64,
    /// Computed: bytes over the rate.
    pub seconds: f64,
}

/// The ways worth telling apart: identifier and label.
pub(super) fn ways(threads: usize) -> Vec<(String, String)> {
    let mut ways = Vec::new();
    for destination in [
        Destination::FreshHuge,
        Destination::Shm,
        Destination::HugeTmpfs,
    ] {
        for way in [Way::Plain, Way::Publisher] {
            ways.push((
                transfer_id(way, destination, threads),
                format!("{}, to {}", way.label(), destination.label()),
            ));
        }
    }
    for way in [Way::Plain, Way::Publisher] {
        ways.push((
            disk_id(way, threads),
            format!("{}, from the disk to fresh memory", way.label()),
        ));
    }
    ways
}

/// A row of the table.
pub(super) fn row(case: String, label: String, threads: usize, rate: f64) -> ColdStart {
    ColdStart {
        case,
        label,
        threads,
        bytes_per_second: rate,
        models: PARAMETERS
            .map(|billions| {
                let bytes = billions * 2e9;
                Loading {
                    billions,
                    bytes,
                    seconds: bytes / rate,
                }
            })
            .to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_of_70_billion_parameters_has_140_gb() {
        let row = row("x".into(), "x".into(), 2, 2e9);
        assert_eq!(row.models.len(), 6);
        let last = row.models[5];
        assert_eq!((last.bytes, last.seconds), (140e9, 70.0));
        assert_eq!(row.models[0].seconds, 0.6);
    }
}
