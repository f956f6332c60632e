//! The JSON object of a header, before anything in it is checked.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};

/// Key of the free-form string map, which is not a tensor.
const METADATA_KEY: &str = "__metadata__";

/// A tensor as the header's JSON describes it; offsets count from the start of the data.
#[derive(Deserialize)]
pub(crate) struct Entry {
    pub(crate) dtype: String,
    pub(crate) shape: Vec<u64>,
    pub(crate) data_offsets: [u64; 2],
}

/// The members of the header's object.
pub(crate) struct Entries {
    /// In file order, repeated names included.
    pub(crate) tensors: Vec<(String, Entry)>,
    pub(crate) metadata: Option<BTreeMap<String, String>>,
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Entries {
                    tensors: Vec::new(),
                    metadata: None,
                };
                while let Some(name) = map.next_key::<String>()? {
                    if name == METADATA_KEY {
                        if entries.metadata.is_some() {
                            return Err(de::Error::custom("__metadata__ occurs twice"));
                        }
                        entries.metadata = Some(map.next_value()?);
                    } else {
                        entries.tensors.push((name, map.next_value()?));
                    }
                }
                Ok(entries)
            }
        }

        deserializer.deserialize_map(EntriesVisitor)
    }
}
