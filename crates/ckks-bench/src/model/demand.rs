//! What one phase asks of the layers: how many evaluations of which batch.

use super::description::{Description, Layer, Prefill};
use serde::{Deserialize, Serialize};

/// What a phase asks of every layer, in the order of the description.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Demand {
    /// Vectors that the phase brings: 1 for a token, the length of the prompt for prefill.
    pub vectors: u64,
    /// One entry per layer of the description.
    pub layers: Vec<LayerDemand>,
}

/// What a phase asks of one layer of the description.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LayerDemand {
    /// Vectors per evaluation.
    pub batch: usize,
    /// Matrices that are evaluated in each layer of the model.
    pub matrices: u64,
}

impl Demand {
    /// Decoding: one vector through every used matrix.
    #[must_use]
    pub fn decode(model: &Description) -> Demand {
        let of = |layer: &Layer| LayerDemand {
            batch: 1,
            matrices: layer.used(),
        };
        Demand {
            vectors: 1,
            layers: model.layers.iter().map(of).collect(),
        }
    }

    /// Prefill: a prompt of `vectors` tokens in one batch.
    ///
    /// Tokens are taken to spread evenly over routed matrices: `vectors × used` uses over
    /// `instances` matrices, rounded up for each. With fewer uses than matrices each use has a
    /// matrix of its own.
    #[must_use]
    pub fn prefill(model: &Description, vectors: usize) -> Demand {
        let of = |layer: &Layer| {
            if layer.prefill == Prefill::Last {
                return LayerDemand {
                    batch: 1,
                    matrices: layer.used(),
                };
            }
            if !layer.routed() {
                return LayerDemand {
                    batch: vectors,
                    matrices: layer.used(),
                };
            }
            let uses = (vectors as u64).saturating_mul(layer.used());
            let share = uses.div_ceil(layer.instances);
            LayerDemand {
                batch: usize::try_from(share).unwrap_or(usize::MAX),
                matrices: uses.min(layer.instances),
            }
        };
        Demand {
            vectors: vectors as u64,
            layers: model.layers.iter().map(of).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn routed(instances: u64, used: u64) -> Description {
        let text = format!(
            "name = \"m\"\nsource = \"s\"\n[[layer]]\nname = \"e\"\ncomponent = \"x\"\nd_in = 3\n\
             d_out = 5\nlayers = 2\ninput_group = \"x\"\ninstances = {instances}\n\
             used_per_token = {used}\n"
        );
        Description::from_toml(&text).unwrap()
    }

    fn of(model: &Description, vectors: usize) -> (usize, u64) {
        let demand = Demand::prefill(model, vectors).layers[0];
        (demand.batch, demand.matrices)
    }

    #[test]
    fn by_hand() {
        // 512 tokens × 8 uses over 256 experts: 16 each.
        assert_eq!(of(&routed(256, 8), 512), (16, 256));
        assert_eq!(of(&routed(256, 8), 33), (2, 256));
        assert_eq!(of(&routed(256, 8), 4), (1, 32));
        assert_eq!(of(&routed(8, 8), 100), (100, 8));
        assert_eq!(Demand::decode(&routed(256, 8)).layers[0].matrices, 8);
    }

    proptest! {
        #[test]
        fn every_use_has_a_place(instances in 1..300u64, share in 1..300u64, vectors in 1..2000usize) {
            let used = share.min(instances);
            let (batch, matrices) = of(&routed(instances, used), vectors);
            prop_assert!(batch as u64 * matrices >= vectors as u64 * used);
            prop_assert!(matrices <= instances && batch <= vectors);
        }
    }
}
