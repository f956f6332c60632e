//! The `config.json` of a model on the Hugging Face Hub.

use super::description::{Description, Inputs, Layer, Prefill};
use serde::Deserialize;

/// The fields that decide the linear layers. Others are ignored.
#[derive(Debug, Deserialize)]
struct HubConfig {
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: u64,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    vocab_size: usize,
    #[serde(alias = "num_local_experts")]
    num_experts: Option<u64>,
    num_experts_per_tok: Option<u64>,
    moe_intermediate_size: Option<usize>,
    shared_expert_intermediate_size: Option<usize>,
    decoder_sparse_step: Option<u64>,
    mlp_only_layers: Option<Vec<u64>>,
}

const DENSE: [&str; 4] = ["llama", "mistral", "qwen2", "qwen3"];
const EXPERTS: [&str; 2] = ["qwen2_moe", "qwen3_moe"];

impl Description {
    /// Reads a `config.json` of the dense LLaMA, Mistral, Qwen2 and Qwen3 families, or of Qwen2-MoE
    /// and Qwen3-MoE.
    ///
    /// # Errors
    /// A message for people: the architecture that is not known, or the field that is wrong.
    pub fn from_hub_config(name: &str, text: &str) -> Result<Description, String> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let kind = value
            .get("model_type")
            .and_then(serde_json::Value::as_str)
            .ok_or("there is no \"model_type\"; is it the config.json of a model?")?;
        let experts = EXPERTS.contains(&kind);
        if !experts && !DENSE.contains(&kind) {
            return Err(format!(
                "the architecture \"{kind}\" is not known, only {} and {}; describe its layers in a \
                 TOML file as in configs/models and give it to --config",
                DENSE.join(", "),
                EXPERTS.join(", ")
            ));
        }
        let config = HubConfig::deserialize(&value).map_err(|error| error.to_string())?;
        let mut layers = config.attention()?;
        layers.extend(if experts {
            config.experts()?
        } else {
            config.dense(config.num_hidden_layers)
        });
        layers.push(Layer {
            prefill: Prefill::Last,
            ..layer(
                "lm_head",
                "head",
                config.hidden_size,
                config.vocab_size,
                1,
                "head",
            )
        });
        let description = Description {
            name: name.to_owned(),
            source: format!("config.json, {kind}"),
            layers,
            published: Vec::new(),
        };
        description.checked()
    }
}

/// One matrix in each of `layers` layers, the vector shared in its group.
fn layer(
    name: &str,
    component: &str,
    d_in: usize,
    d_out: usize,
    layers: u64,
    group: &str,
) -> Layer {
    Layer {
        name: name.to_owned(),
        component: component.to_owned(),
        d_in,
        d_out,
        layers,
        instances: 1,
        used_per_token: None,
        input_group: group.to_owned(),
        inputs: Inputs::Shared,
        prefill: Prefill::All,
    }
}

impl HubConfig {
    fn attention(&self) -> Result<Vec<Layer>, String> {
        let (hidden, heads) = (self.hidden_size, self.num_attention_heads);
        let head = match self.head_dim {
            Some(head) => head,
            None if heads > 0 && hidden.is_multiple_of(heads) => hidden / heads,
            None => {
                return Err(format!(
                    "hidden_size {hidden} is no multiple of num_attention_heads {heads}, and there \
                     is no head_dim"
                ));
            }
        };
        let width = |heads: usize| {
            heads
                .checked_mul(head)
                .ok_or_else(|| format!("{heads} heads of width {head} are too many"))
        };
        let queries = width(heads)?;
        let keys = width(self.num_key_value_heads.unwrap_or(heads))?;
        let of = |name, d_in, d_out, group| {
            layer(
                name,
                "attention",
                d_in,
                d_out,
                self.num_hidden_layers,
                group,
            )
        };
        Ok(vec![
            of("q_proj", hidden, queries, "attention in"),
            of("k_proj", hidden, keys, "attention in"),
            of("v_proj", hidden, keys, "attention in"),
            of("o_proj", queries, hidden, "attention out"),
        ])
    }

    fn dense(&self, layers: u64) -> Vec<Layer> {
        let (hidden, inner) = (self.hidden_size, self.intermediate_size);
        let of = |name, d_in, d_out, group| layer(name, "mlp", d_in, d_out, layers, group);
        vec![
            of("gate_proj", hidden, inner, "mlp in"),
            of("up_proj", hidden, inner, "mlp in"),
            of("down_proj", inner, hidden, "mlp out"),
        ]
    }

    fn experts(&self) -> Result<Vec<Layer>, String> {
        let missing =
            |name: &str| format!("there is no \"{name}\", which a mixture of experts has");
        let instances = self.num_experts.ok_or_else(|| missing("num_experts"))?;
        let used = self
            .num_experts_per_tok
            .ok_or_else(|| missing("num_experts_per_tok"))?;
        let inner = self
            .moe_intermediate_size
            .ok_or_else(|| missing("moe_intermediate_size"))?;
        let sparse = self.sparse_layers()?;
        let (hidden, dense) = (self.hidden_size, self.num_hidden_layers - sparse);
        let mut layers = Vec::new();
        if dense > 0 {
            layers.extend(self.dense(dense));
        }
        if sparse == 0 {
            return Ok(layers);
        }
        layers.push(layer(
            "router",
            "router",
            hidden,
            instances_width(instances)?,
            sparse,
            "router",
        ));
        let of = |name, d_in, d_out, group, inputs| Layer {
            instances,
            used_per_token: Some(used),
            inputs,
            ..layer(name, "experts", d_in, d_out, sparse, group)
        };
        layers.extend([
            of(
                "experts.gate_proj",
                hidden,
                inner,
                "experts in",
                Inputs::Shared,
            ),
            of(
                "experts.up_proj",
                hidden,
                inner,
                "experts in",
                Inputs::Shared,
            ),
            of(
                "experts.down_proj",
                inner,
                hidden,
                "experts out",
                Inputs::Own,
            ),
        ]);
        if let Some(inner) = self
            .shared_expert_intermediate_size
            .filter(|&inner| inner > 0)
        {
            let of = |name, d_in, d_out, group, inputs| Layer {
                inputs,
                ..layer(name, "shared expert", d_in, d_out, sparse, group)
            };
            layers.extend([
                of(
                    "shared_expert.gate_proj",
                    hidden,
                    inner,
                    "experts in",
                    Inputs::Shared,
                ),
                of(
                    "shared_expert.up_proj",
                    hidden,
                    inner,
                    "experts in",
                    Inputs::Shared,
                ),
                of(
                    "shared_expert.down_proj",
                    inner,
                    hidden,
                    "experts out",
                    Inputs::Own,
                ),
            ]);
        }
        Ok(layers)
    }

    /// Layers with experts: every `decoder_sparse_step`-th that `mlp_only_layers` does not name.
    fn sparse_layers(&self) -> Result<u64, String> {
        let step = self.decoder_sparse_step.unwrap_or(1);
        if step == 0 {
            return Err("decoder_sparse_step is 0; it must be at least 1".to_owned());
        }
        let named = self.mlp_only_layers.as_deref().unwrap_or_default();
        let count = (0..self.num_hidden_layers.min(1_000_000))
            .filter(|layer| (layer + 1).is_multiple_of(step) && !named.contains(layer))
            .count();
        Ok(count as u64)
    }
}

fn instances_width(instances: u64) -> Result<usize, String> {
    usize::try_from(instances).map_err(|_| format!("num_experts {instances} is too many"))
}
