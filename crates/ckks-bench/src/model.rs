//! The token budget of a whole model: every linear layer measured once, summed per token.
//!
//! * [`Description`] says which matrices a model has and how a token uses them, from a TOML file or
//!   from the `config.json` of a model on the Hugging Face Hub;
//! * [`Demand`] is what a phase, decoding a token or reading a prompt, asks of them;
//! * [`Measurement`] is one shape and batch, measured;
//! * [`Budget`] is the sum, the source of the tables and of the JSON file (`docs/models.md`).

mod budget;
mod demand;
mod description;
mod hub_config;
mod measure;

pub use budget::{
    Budget, LayerBudget, Memory, Phase, PublishedBudget, SCHEMA, Settings, TARGET_SECONDS, Totals,
    budget_phase, memory, published,
};
pub use demand::{Demand, LayerDemand};
pub use description::{Description, Inputs, Layer, Prefill, Published};
pub use measure::{Measurement, Measurer};
