//! Names of tensors in messages.

use crate::shown;

/// Tensors listed when the user named none.
const LISTED: usize = 20;
/// Close names offered when the user's name is unknown.
const SUGGESTED: usize = 5;
/// Names longer than this are not compared with the user's (the comparison is quadratic).
const COMPARED_CHARS: usize = 256;
/// Least Jaro-Winkler similarity of a name worth offering.
const SIMILAR: f64 = 0.75;

/// The first 20 of `count` items, as the end of a sentence: "a, b and 3 more", or "no tensors". The
/// items are shown as they are: escape names with [`shown`] first.
#[must_use]
pub fn listing(count: usize, items: impl Iterator<Item = String>) -> String {
    if count == 0 {
        return "no tensors".to_owned();
    }
    let mut text = items.take(LISTED).collect::<Vec<_>>().join(", ");
    if count > LISTED {
        text.push_str(&format!(" and {} more", count - LISTED));
    }
    text
}

/// The names closest to `wanted` (at most 5), or some of those there are, as the end of a sentence.
#[must_use]
pub fn close_names<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> String {
    let mut count = 0usize;
    let mut first: Vec<&str> = Vec::new();
    let mut scored: Vec<(f64, &str)> = Vec::new();
    let comparable = |text: &str| !text.is_empty() && text.len() <= COMPARED_CHARS;
    for name in names {
        count += 1;
        if first.len() < SUGGESTED {
            first.push(name);
        }
        if comparable(wanted) && comparable(name) {
            let contained = name.contains(wanted) || wanted.contains(name);
            let score = strsim::jaro_winkler(wanted, name) + if contained { 1.0 } else { 0.0 };
            if score >= SIMILAR {
                scored.push((score, name));
            }
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let join = |names: &mut dyn Iterator<Item = &str>| {
        names
            .map(|n| format!("'{}'", shown(n)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    if count == 0 {
        "it holds no tensors".to_owned()
    } else if scored.is_empty() {
        format!(
            "it holds {count} others, for example {}",
            join(&mut first.into_iter())
        )
    } else {
        format!(
            "did you mean {}?",
            join(&mut scored.iter().take(SUGGESTED).map(|s| s.1))
        )
    }
}
