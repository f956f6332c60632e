//! What a layer's client must know about it.

use crate::norm::max_or_nan;
use crate::plan::Plan;
use ckks::ParameterDigest;

/// What the server publishes about a layer, and the client needs: no weight is in it, norms are.
#[derive(Clone, PartialEq, Debug)]
pub struct LayerManifest {
    /// The packing; both sides derive it from shape and options.
    pub plan: Plan,
    /// Scale of the weights, Δw.
    pub weight_scale: f64,
    /// Bound of the slot operator's norm, the largest over all output ciphertexts.
    pub operator_norm: f64,
    /// Norms of the columns of the complex matrix.
    pub column_norms: Vec<f64>,
    /// Parameters.
    pub digest: ParameterDigest,
}

impl LayerManifest {
    /// The largest column norm.
    pub fn largest_column_norm(&self) -> f64 {
        self.column_norms.iter().copied().fold(0.0, max_or_nan)
    }
}
