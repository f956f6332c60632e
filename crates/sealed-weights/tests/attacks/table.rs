//! The table of attacks in the documentation.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use crate::registry::Attack;
use crate::{directory, documents, header, holder, places, regions};

const GROUPS: &[&[Attack]] = &[
    header::ATTACKS,
    regions::ATTACKS,
    places::ATTACKS,
    places::files::ATTACKS,
    places::models::ATTACKS,
    directory::ATTACKS,
    directory::listing::ATTACKS,
    documents::ATTACKS,
    documents::recipients::ATTACKS,
    holder::ATTACKS,
];

const INTRODUCTION: &str = "\
# Attacks on sealed models

Made by the tests in `crates/sealed-weights/tests/attacks` from the list that they run: every row
is a test, every error in it was seen in that test, and no other was. To make it anew:
`UPDATE_DOCS=1 cargo test -p sealed-weights --test attacks`.

Each attack is tried on every way to open a model that it concerns: verifying without a key, reading
into memory against the publisher's hashes or against the tags only, extracting a directory. Each
time the output buffer must be all zeros and no output directory may exist, and no file may have
changed. Before each attack the same model, untampered, must open in every way. Where a row says
that the manifest was made and signed anew, the attacker holds the model key *and* the publisher's
key; these rows show that each inner check holds by itself.

\"Elsewhere\" is what other tools do where it was tried: CryptoTensors 0.2.3 and tensorizer 2.12, in
runs of our own; or a public report. An empty cell means that it was not tried.
[The format](sealed-format.md) says what is checked in which order.
";

fn table() -> String {
    let mut text = INTRODUCTION.to_owned();
    for attacks in GROUPS {
        write!(
            text,
            "\n## {}\n\n| done | refused with | found by | elsewhere | test |\n|---|---|---|---|---|\n",
            attacks[0].group
        )
        .unwrap();
        for attack in *attacks {
            writeln!(
                text,
                "| {} | `{}` | {} | {} | `{}` |",
                attack.done,
                attack.refused.join("`, `"),
                attack.checked,
                attack.elsewhere,
                attack.test
            )
            .unwrap();
        }
    }
    text.push_str(
        "\n## What is accepted, and what helps\n\nThe test `limits_are_as_documented` shows each.\n\n\
         | done | what helps |\n|---|---|\n",
    );
    for limit in holder::limits::LIMITS {
        writeln!(text, "| {} | {} |", limit.done, limit.instead).unwrap();
    }
    text
}

#[test]
fn the_documentation_has_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sealed-attacks.md");
    let table = table();
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &table).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == table,
        "docs/sealed-attacks.md is not what the tests say; run: \
         UPDATE_DOCS=1 cargo test -p sealed-weights --test attacks"
    );
}

#[test]
fn every_attack_is_told_once() {
    let attacks: Vec<&Attack> = GROUPS.iter().copied().flatten().collect();
    let tests: BTreeSet<_> = attacks.iter().map(|attack| attack.test).collect();
    assert_eq!(tests.len(), attacks.len());
    assert!(attacks.iter().all(|attack| !attack.refused.is_empty()));
}
