//! The linear layers of a model, and how a token uses them.

use crate::shape::Shape;
use serde::{Deserialize, Serialize};

/// Most of anything that is counted: layers of a model, matrices of a layer.
const MAX_COUNT: u64 = 1_000_000;

/// The linear layers of a model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Name of the model.
    pub name: String,
    /// Where the facts come from.
    pub source: String,
    /// The matrices; those of the same name in several layers of the model are one entry.
    #[serde(rename = "layer")]
    pub layers: Vec<Layer>,
    /// Published times of parts of the model, to be shown beside the measured ones.
    #[serde(default, rename = "published")]
    pub published: Vec<Published>,
}

/// Matrices of one shape that play the same part.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Name, unique in the model.
    pub name: String,
    /// The part of the model that it is summed under, for example `attention`.
    pub component: String,
    /// Input width.
    pub d_in: usize,
    /// Output width.
    pub d_out: usize,
    /// Layers of the model that have it.
    pub layers: u64,
    /// Matrices in each of these layers, all held in memory.
    #[serde(default = "one")]
    pub instances: u64,
    /// Of these, how many every token goes through; all where it is left out.
    #[serde(default)]
    pub used_per_token: Option<u64>,
    /// Matrices of a layer of the model with the same group are asked for together: one round trip.
    pub input_group: String,
    /// Whether the used matrices of the group read the same vector, sent once, or each its own.
    #[serde(default)]
    pub inputs: Inputs,
    /// Which vectors of a prompt go through it.
    #[serde(default)]
    pub prefill: Prefill,
}

/// The vectors that the used matrices of an input group read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inputs {
    /// All the same: one upload.
    #[default]
    Shared,
    /// Each its own: an upload for each used matrix.
    Own,
}

/// The vectors of a prompt that a layer sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prefill {
    /// All; of routed matrices (`used_per_token` below `instances`) each sees its share.
    #[default]
    All,
    /// The last one: the head of the vocabulary, of which a prompt needs the next token only.
    Last,
}

/// A published time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Who measured it on what.
    pub source: String,
    /// What of the model it covers.
    pub what: String,
    /// Seconds per token.
    pub seconds: f64,
    /// Names of the layers that it covers.
    pub layers: Vec<String>,
}

fn one() -> u64 {
    1
}

impl Layer {
    /// Matrices of each layer of the model that every token goes through.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used_per_token.unwrap_or(self.instances)
    }

    /// Matrices in the whole model.
    #[must_use]
    pub fn matrices(&self) -> u64 {
        self.layers.saturating_mul(self.instances)
    }

    /// Weights of one matrix.
    #[must_use]
    pub fn weights_each(&self) -> u64 {
        (self.d_in as u64).saturating_mul(self.d_out as u64)
    }

    /// Whether a token goes through some of the matrices only, chosen for it.
    #[must_use]
    pub fn routed(&self) -> bool {
        self.used() < self.instances
    }
}

impl Description {
    /// Reads a TOML file's text.
    ///
    /// # Errors
    /// A message for people: what is wrong, with its name.
    pub fn from_toml(text: &str) -> Result<Description, String> {
        let description: Description = toml::from_str(text).map_err(|error| error.to_string())?;
        description.checked()
    }

    /// Weights of all matrices: what the server holds. Embeddings, norms and biases are none.
    #[must_use]
    pub fn weights(&self) -> u64 {
        self.layers
            .iter()
            .map(|layer| layer.matrices().saturating_mul(layer.weights_each()))
            .fold(0, u64::saturating_add)
    }

    /// Components in the order in which they first appear.
    #[must_use]
    pub fn components(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for layer in &self.layers {
            if !names.contains(&layer.component.as_str()) {
                names.push(&layer.component);
            }
        }
        names
    }

    pub(super) fn checked(self) -> Result<Description, String> {
        if self.layers.is_empty() {
            return Err("there is no [[layer]]; describe at least one".to_owned());
        }
        for (index, layer) in self.layers.iter().enumerate() {
            let wrong = |what: String| format!("layer \"{}\": {what}", layer.name);
            Shape::new(layer.d_in, layer.d_out).map_err(wrong)?;
            let counts = [
                ("layers", layer.layers),
                ("instances", layer.instances),
                ("used_per_token", layer.used()),
            ];
            for (name, value) in counts {
                if value == 0 || value > MAX_COUNT {
                    return Err(wrong(format!("{name} is {value}; give 1 to {MAX_COUNT}")));
                }
            }
            if layer.used() > layer.instances {
                return Err(wrong(format!(
                    "used_per_token is {}, but there are only {} instances",
                    layer.used(),
                    layer.instances
                )));
            }
            let earlier = &self.layers[..index];
            if earlier.iter().any(|other| other.name == layer.name) {
                return Err(wrong(
                    "another layer has this name; names are unique".to_owned(),
                ));
            }
            if let Some(other) = earlier
                .iter()
                .find(|other| other.input_group == layer.input_group)
                && (other.layers, other.inputs, other.prefill)
                    != (layer.layers, layer.inputs, layer.prefill)
            {
                return Err(wrong(format!(
                    "it is in the input group \"{}\" with \"{}\", but differs in layers, inputs or \
                     prefill; give it a group of its own",
                    layer.input_group, other.name
                )));
            }
            if layer.inputs == Inputs::Shared
                && let Some(other) = earlier.iter().find(|other| {
                    other.input_group == layer.input_group && other.d_in != layer.d_in
                })
            {
                return Err(wrong(format!(
                    "d_in is {}, but \"{}\" of the same input group reads vectors of width {}; \
                     give it a group of its own",
                    layer.d_in, other.name, other.d_in
                )));
            }
        }
        for published in &self.published {
            if !(published.seconds.is_finite() && published.seconds > 0.0) {
                return Err(format!(
                    "published \"{}\": seconds is {}; give a finite number above 0",
                    published.what, published.seconds
                ));
            }
            let known = |name: &String| self.layers.iter().any(|layer| layer.name == *name);
            if let Some(name) = published.layers.iter().find(|name| !known(name)) {
                return Err(format!(
                    "published \"{}\": there is no layer \"{name}\"",
                    published.what
                ));
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYER: &str = "name = \"m\"\nsource = \"s\"\n[[layer]]\nname = \"q\"\ncomponent = \"a\"\n\
                         d_in = 3\nd_out = 5\nlayers = 2\ninput_group = \"x\"\n";

    fn refused(text: &str, part: &str) {
        let message = Description::from_toml(text).unwrap_err();
        assert!(message.contains(part), "no \"{part}\" in: {message}");
    }

    #[test]
    fn defaults() {
        let model = Description::from_toml(LAYER).unwrap();
        let layer = &model.layers[0];
        assert_eq!((layer.instances, layer.used()), (1, 1));
        assert_eq!(
            (layer.inputs, layer.prefill),
            (Inputs::Shared, Prefill::All)
        );
        assert_eq!(model.weights(), 30);
        assert!(!layer.routed());
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        refused(&format!("{LAYER}experts = 3\n"), "experts");
        refused(&format!("color = 1\n{LAYER}"), "color");
        refused("name = \"m\"\nsource = \"s\"\nlayer = []\n", "[[layer]]");
        refused(&LAYER.replace("d_in = 3", "d_in = 0"), "input width is 0");
        refused(&LAYER.replace("d_out = 5", "d_out = 262145"), "split");
        refused(&LAYER.replace("layers = 2", "layers = 0"), "layers is 0");
        refused(&LAYER.replace("layers = 2", "layers = -1"), "-1");
        refused(&LAYER.replace("d_in = 3\n", ""), "d_in");
        refused(&format!("{LAYER}used_per_token = 2\n"), "only 1 instances");
        refused(&format!("{LAYER}inputs = \"both\"\n"), "both");
        let second = &LAYER[LAYER.find("[[layer]]").unwrap()..];
        refused(&format!("{LAYER}{second}"), "names are unique");
        let other = second.replace("\"q\"", "\"k\"");
        refused(
            &format!("{LAYER}{}", other.replace("d_in = 3", "d_in = 4")),
            "vectors of width 3",
        );
        refused(
            &format!("{LAYER}{}", other.replace("layers = 2", "layers = 3")),
            "differs in layers",
        );
        let published = "[[published]]\nsource = \"s\"\nwhat = \"w\"\n";
        refused(
            &format!("{LAYER}{published}seconds = 1.0\nlayers = [\"z\"]\n"),
            "no layer \"z\"",
        );
        refused(
            &format!("{LAYER}{published}seconds = -1.0\nlayers = []\n"),
            "seconds is -1",
        );
    }
}
