use super::*;

fn text(name: &str) -> &'static str {
    FILES.iter().find(|(file, _)| *file == name).unwrap().1
}

/// The message with which a changed description is refused.
fn refusal(name: &str, from: &str, to: &str) -> String {
    let original = text(name);
    assert!(original.contains(from), "{name} has no {from}");
    parse(name, &original.replacen(from, to, 1))
        .unwrap_err()
        .to_string()
}

#[test]
fn every_file_is_read() {
    let names: Vec<_> = all().iter().map(|pinned| &*pinned.name).collect();
    assert_eq!(names, ["cheddar", "fideslib", "openfhe", "seal", "lattigo"]);
    for (name, text) in FILES {
        parse(name, text).unwrap();
        assert_eq!(find(name).unwrap().name, name);
    }
    assert!(find("nope").is_none());
}

#[test]
fn pins_are_those_of_the_comparison() {
    let commit = |name: &str| match &find(name).unwrap().pin {
        Pin::Commit { commit, .. } => commit.clone(),
        Pin::PythonPackage { .. } => panic!("{name} is no commit"),
    };
    assert_eq!(
        commit("cheddar"),
        "8df8b26ce5411a68b68f0e7c2fb7e9a2f05f3e94"
    );
    assert_eq!(
        commit("fideslib"),
        "80f04b473554d3bd1a725d27de357a9647294fb3"
    );
    assert_eq!(find("seal").unwrap().pin.short(), "tenseal 0.3.18");
}

#[test]
fn published_presets_are_there() {
    let preset = |library: &str, name: &str| {
        let presets = &find(library).unwrap().presets;
        presets
            .iter()
            .find(|preset| preset.name == name)
            .unwrap()
            .clone()
    };
    let cheddar = preset("cheddar", "cheddar-bootparam40-level2");
    assert_eq!((cheddar.ring_degree, cheddar.level), (65_536, 2));
    let counts: Vec<_> = cheddar.groups.iter().map(PrimeGroup::count).collect();
    assert_eq!(counts, [43, 4, 12]);
    assert_eq!(cheddar.security().unwrap().limit, 1747);
    let fideslib = preset("fideslib", "fideslib-16384-depth2");
    assert_eq!(fideslib.ring_degree, 16_384);
    assert_eq!(fideslib.security().unwrap().limit, 430);
}

/// Trial division up to the square root: the oracle for numbers below 2^32.
fn is_prime(number: u64) -> bool {
    number > 1
        && (2..)
            .take_while(|divisor| divisor * divisor <= number)
            .all(|divisor| !number.is_multiple_of(divisor))
}

#[test]
fn fixed_primes_are_distinct_primes() {
    for pinned in all() {
        for preset in &pinned.presets {
            let mut primes: Vec<u64> = preset
                .groups
                .iter()
                .flat_map(|group| group.values.clone())
                .collect();
            for &prime in primes.iter().filter(|&&prime| prime < 1 << 32) {
                assert!(is_prime(prime), "{}: {prime}", preset.name);
            }
            let all = primes.len();
            primes.sort_unstable();
            primes.dedup();
            assert_eq!(primes.len(), all, "{}", preset.name);
        }
    }
}

#[test]
fn descriptions_that_contradict_themselves_are_refused() {
    let pin = "8df8b26ce5411a68b68f0e7c2fb7e9a2f05f3e94";
    let digest = &find("cheddar").unwrap().files[0].sha256;
    let cases = [
        (
            "cheddar",
            "name = \"cheddar\"",
            "name = \"other\"",
            "not the file's name",
        ),
        ("cheddar", pin, "8df8b26", "40 hex digits"),
        ("cheddar", digest, "1234", "64 hex digits"),
        (
            "cheddar",
            "words = [32, 64]",
            "words = [16]",
            "32, 64 or both",
        ),
        (
            "cheddar",
            "devices = [\"cuda\"]",
            "devices = [\"tpu\"]",
            "cpu, cuda or both",
        ),
        (
            "cheddar",
            "ring_degree = 65_536",
            "ring_degree = 65_535",
            "no power of two",
        ),
        (
            "cheddar",
            "30539777",
            "30539779",
            "30539779 is not 1 modulo 131072",
        ),
        (
            "cheddar",
            "log_qp = 1745.42",
            "log_qp = 501.76",
            "is not the sum 1745.42",
        ),
        ("cheddar", "level = 2", "level = 29", "there is no level 29"),
        (
            "cheddar",
            "[43, 4]",
            "[44, 4]",
            "more primes than its groups",
        ),
        (
            "cheddar",
            "{library}",
            "{librarie}",
            "{librarie} has no meaning",
        ),
        (
            "cheddar",
            "\"{output}\"",
            "\"-o{output}\"",
            "{output} on its own",
        ),
        (
            "cheddar",
            "places = [\"include/",
            "places = [\"../include/",
            "relative paths",
        ),
        (
            "cheddar",
            "id = \"fused-one-baby-step\"",
            "id = \"fused-single-digit\"",
            "there twice",
        ),
        (
            "fideslib",
            "evidence = \"read\"",
            "evidence = \"guessed\"",
            "guessed",
        ),
        (
            "fideslib",
            "values = [1152921504606683137, ",
            "values = [",
            "is not the sum",
        ),
        (
            "openfhe",
            "root = \"OPENFHE_PREFIX\"",
            "root = \"PREFIX\"",
            "PREFIX is no variable",
        ),
        ("openfhe", "licence =", "license =", "license"),
        (
            "seal",
            "kind = \"uniform-ternary\"",
            "kind = \"fixed-weight-ternary\"\nweight = 64",
            "departure",
        ),
        (
            "seal",
            "ring_degree = 8_192\nslots = 4_096",
            "ring_degree = 4_096\nslots = 2_048",
            "140",
        ),
        ("seal", "tenseal.sealapi", "os; import", "Python modules"),
        (
            "seal",
            "kind = \"python\"",
            "kind = \"c-abi\"",
            "unknown field",
        ),
        (
            "seal",
            "condition = ",
            "condition = \"\" #",
            "must not be empty",
        ),
    ];
    for (name, from, to, part) in cases {
        let message = refusal(name, from, to);
        assert!(message.contains(part), "{to}: {message}");
    }
}

#[test]
fn defects_say_what_is_done_about_them() {
    for pinned in all() {
        for defect in &pinned.defects {
            for text in [
                &defect.condition,
                &defect.consequence,
                &defect.remedy,
                &defect.source,
            ] {
                assert!(!text.trim().is_empty(), "{}: {}", pinned.name, defect.id);
            }
        }
    }
    let ids = |name: &str| {
        find(name)
            .unwrap()
            .defects
            .iter()
            .map(|d| d.id.clone())
            .collect::<Vec<_>>()
    };
    assert!(ids("cheddar").contains(&"fused-single-digit".to_owned()));
    assert!(ids("fideslib").contains(&"exit-zero".to_owned()));
}

/// The sources in a description are those in the repository.
#[test]
fn sources_of_shims_are_all_named() {
    let shims = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cuda/shims");
    for pinned in all() {
        let Some(build) = &pinned.build else { continue };
        let Ok(entries) = std::fs::read_dir(shims.join(&pinned.name)) else {
            continue;
        };
        let mut files: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|file| file.ends_with(".cpp"))
            .collect();
        let mut named = build.sources.clone();
        files.sort();
        named.sort();
        assert_eq!(named, files, "{}", pinned.name);
    }
}

/// Pip installs what the descriptions pin.
#[test]
fn requirements_of_workers_are_the_pins() {
    let workers = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workers");
    for pinned in all() {
        let Reach::Python { requirements, .. } = &pinned.reach else {
            continue;
        };
        let Ok(text) = std::fs::read_to_string(workers.join(requirements)) else {
            continue;
        };
        for Package { package, version } in pinned.packages() {
            let line = format!("{package}=={version}");
            assert!(
                text.lines().any(|one| one == line),
                "{requirements}: no {line}"
            );
        }
    }
}
