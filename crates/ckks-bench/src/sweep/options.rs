//! The options of a sweep: flags over the file of `--config` over the defaults, validated once.

use crate::cli::{self, MAX_TRIALS, MaskDelivery, Plan};
use crate::commands::sweep::{SweepArgs, Values, batches, threads};
use crate::error::BenchError;
use crate::open;
use crate::shape::Shape;
use crate::sweep::point::report_path;
use crate::sweep::record::{Point, SweepSettings};
use bench_report::host;
use bench_report::output::check_distinct;
use bench_report::units::parse_rate;
use ckks_backend::Circumstances;
use clap::ValueEnum;
use serde::Deserialize;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most points of a sweep.
pub const MAX_POINTS: usize = 100_000;

/// A sweep that is ready to run.
#[derive(Debug)]
pub struct SweepOptions {
    /// All combinations of the axes, each once, in the order in which they are measured: plans
    /// vary fastest, so that what is compared is measured close together.
    pub points: Vec<Point>,
    /// What is common to them.
    pub settings: SweepSettings,
    /// Longest time of a worker process.
    pub timeout: Duration,
    /// The file of the results; `None` for `--dry-run`.
    pub output: Option<PathBuf>,
    /// Measure again what did not finish.
    pub retry_failed: bool,
    /// Continue a file that does not match.
    pub force: bool,
}

impl SweepOptions {
    /// Reads the configuration, if any, and expands the axes.
    ///
    /// # Errors
    /// [`BenchError::Usage`], naming the file and the key.
    pub fn new(mut args: SweepArgs) -> Result<SweepOptions, BenchError> {
        let report = args.output.as_deref().map(report_path);
        check_distinct(
            &[
                ("--output", args.output.as_deref()),
                ("the report beside --output", report.as_deref()),
            ],
            &[("--config", args.config.as_deref())],
        )?;
        if let Some(path) = args.config.take() {
            let text = fs::read_to_string(&path).map_err(|error| {
                BenchError::usage(format!("--config {}: {error}", path.display()))
            })?;
            fill(&mut args, &path, &text)?;
        }
        let default = Circumstances::default();
        let settings = SweepSettings {
            trials: args.trials.unwrap_or(3),
            warmup: args.warmup.unwrap_or(1),
            seed: args.seed.unwrap_or(1),
            gate: args.gate.unwrap_or(1e-4),
            ahead: args.ahead.unwrap_or(false),
            cold: args.cold.unwrap_or(false),
            circumstances: Circumstances {
                link_bytes_per_second: args.link.unwrap_or(default.link_bytes_per_second),
                reuse: args.reuse.unwrap_or(default.reuse),
                delivery: args.delivery.map_or(default.delivery, Into::into),
            },
            point_seconds: args.point_seconds.unwrap_or(20.0),
        };
        Ok(SweepOptions {
            points: points(&args)?,
            settings,
            timeout: Duration::from_secs_f64(args.timeout.unwrap_or(600.0)),
            output: args.output.filter(|_| !args.dry_run),
            retry_failed: args.retry_failed,
            force: args.force,
        })
    }
}

fn or_default<T: Clone>(given: &[T], default: T) -> Vec<T> {
    if given.is_empty() {
        vec![default]
    } else {
        given.to_vec()
    }
}

/// All combinations, each once.
fn points(args: &SweepArgs) -> Result<Vec<Point>, BenchError> {
    let libraries = or_default(&args.lib, "native".to_owned());
    let default_shape = Shape {
        d_in: 2048,
        d_out: 1024,
    };
    let shapes = or_default(&args.shape, default_shape);
    let plans = or_default(&args.plan, Plan::Auto);
    let values = |given: &Option<Values>, default| match given {
        Some(Values(values)) => values.clone(),
        None => vec![default],
    };
    let batches = values(&args.batch, 1);
    let threads = values(&args.threads, host::cores());
    let count = [
        libraries.len(),
        args.device.len().max(1),
        shapes.len(),
        plans.len(),
        batches.len(),
        threads.len(),
    ]
    .iter()
    .try_fold(1usize, |product, &length| product.checked_mul(length))
    .filter(|&count| count <= MAX_POINTS);
    if count.is_none() {
        return Err(BenchError::usage(format!(
            "the axes have more than {MAX_POINTS} combinations; give fewer values"
        )));
    }

    let mut points = Vec::new();
    let mut seen = HashSet::new();
    for library in &libraries {
        let first = open::first_device(library).to_owned();
        for device in &or_default(&args.device, first) {
            for shape in &shapes {
                for &threads in &threads {
                    for &batch in &batches {
                        for plan in &plans {
                            let point = Point {
                                library: library.clone(),
                                device: device.clone(),
                                d_in: shape.d_in,
                                d_out: shape.d_out,
                                batch,
                                plan: name(*plan),
                                threads,
                            };
                            if seen.insert(point.clone()) {
                                points.push(point);
                            }
                        }
                    }
                }
            }
        }
    }
    Ok(points)
}

/// The name on the command line.
pub(crate) fn name(value: impl ValueEnum) -> String {
    value
        .to_possible_value()
        .map(|value| value.get_name().to_owned())
        .unwrap_or_default()
}

/// The file of `--config`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ConfigFile {
    lib: Option<Texts>,
    device: Option<Texts>,
    shape: Option<Texts>,
    batch: Option<Numbers>,
    plan: Option<Texts>,
    threads: Option<Numbers>,
    trials: Option<u64>,
    warmup: Option<u64>,
    seed: Option<u64>,
    gate: Option<f64>,
    link: Option<String>,
    reuse: Option<u64>,
    delivery: Option<String>,
    ahead: Option<bool>,
    cold: Option<bool>,
    point_seconds: Option<f64>,
    timeout: Option<f64>,
}

/// One text or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Many(Vec<String>),
}

/// One number, several, or a list as on the command line.
#[derive(Deserialize)]
#[serde(untagged)]
enum Numbers {
    One(u64),
    Many(Vec<u64>),
    List(String),
}

impl Texts {
    fn parts(&self) -> Vec<&str> {
        match self {
            Texts::One(text) => text.split(',').collect(),
            Texts::Many(texts) => texts.iter().map(String::as_str).collect(),
        }
    }
}

impl Numbers {
    fn text(&self) -> String {
        match self {
            Numbers::One(number) => number.to_string(),
            Numbers::Many(numbers) => numbers
                .iter()
                .map(u64::to_string)
                .collect::<Vec<_>>()
                .join(","),
            Numbers::List(text) => text.clone(),
        }
    }
}

/// Takes from the file what the flags do not give. The parsers are those of the flags.
fn fill(args: &mut SweepArgs, path: &Path, text: &str) -> Result<(), BenchError> {
    let wrong = |key: &str, reason: String| {
        BenchError::usage(format!("--config {}: {key}: {reason}", path.display()))
    };
    let file: ConfigFile = toml::from_str(text)
        .map_err(|error| BenchError::usage(format!("--config {}: {error}", path.display())))?;

    /// Parses the value of a key where the flag is not given.
    fn take<T, V: ToString + ?Sized>(
        flag: &mut Option<T>,
        value: Option<&V>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<(), String> {
        if flag.is_none()
            && let Some(value) = value
        {
            *flag = Some(parse(&value.to_string())?);
        }
        Ok(())
    }
    fn take_all<T>(
        flag: &mut Vec<T>,
        values: Option<&Texts>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<(), String> {
        if flag.is_empty()
            && let Some(values) = values
        {
            let parts = values.parts().into_iter();
            *flag = parts
                .map(|part| parse(part.trim()))
                .collect::<Result<_, _>>()?;
            if flag.is_empty() {
                return Err("the list is empty; give a value or leave the key out".to_owned());
            }
        }
        Ok(())
    }
    let text = |text: &str| Ok(text.to_owned());
    let reuse = |text: &str| {
        let value = text.parse::<u64>().ok().filter(|&value| value > 0);
        value.ok_or_else(|| "it must be at least 1".to_owned())
    };
    let batch = file.batch.as_ref().map(Numbers::text);
    let thread_counts = file.threads.as_ref().map(Numbers::text);

    take_all(&mut args.lib, file.lib.as_ref(), text).map_err(|e| wrong("lib", e))?;
    take_all(&mut args.device, file.device.as_ref(), text).map_err(|e| wrong("device", e))?;
    take_all(&mut args.shape, file.shape.as_ref(), |text| text.parse())
        .map_err(|e| wrong("shape", e))?;
    take_all(&mut args.plan, file.plan.as_ref(), named::<Plan>).map_err(|e| wrong("plan", e))?;
    take(&mut args.batch, batch.as_ref(), batches).map_err(|e| wrong("batch", e))?;
    take(&mut args.threads, thread_counts.as_ref(), threads).map_err(|e| wrong("threads", e))?;
    take(
        &mut args.trials,
        file.trials.as_ref(),
        cli::up_to::<MAX_TRIALS>,
    )
    .map_err(|e| wrong("trials", e))?;
    take(
        &mut args.warmup,
        file.warmup.as_ref(),
        cli::zero_up_to::<MAX_TRIALS>,
    )
    .map_err(|e| wrong("warmup", e))?;
    take(&mut args.gate, file.gate.as_ref(), cli::gate).map_err(|e| wrong("gate", e))?;
    take(&mut args.link, file.link.as_ref(), parse_rate).map_err(|e| wrong("link", e))?;
    take(&mut args.reuse, file.reuse.as_ref(), reuse).map_err(|e| wrong("reuse", e))?;
    take(
        &mut args.delivery,
        file.delivery.as_ref(),
        named::<MaskDelivery>,
    )
    .map_err(|e| wrong("delivery", e))?;
    take(
        &mut args.point_seconds,
        file.point_seconds.as_ref(),
        cli::seconds,
    )
    .map_err(|e| wrong("point-seconds", e))?;
    take(&mut args.timeout, file.timeout.as_ref(), cli::seconds)
        .map_err(|e| wrong("timeout", e))?;
    args.seed = args.seed.or(file.seed);
    args.ahead = args.ahead.or(file.ahead);
    args.cold = args.cold.or(file.cold);
    Ok(())
}

fn named<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, false).map_err(|_| {
        let names: Vec<String> = T::value_variants()
            .iter()
            .map(|value| name(value.clone()))
            .collect();
        format!("\"{text}\" is not one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

    use super::*;

    fn from_file(mut args: SweepArgs, text: &str) -> Result<SweepOptions, BenchError> {
        fill(&mut args, Path::new("x.toml"), text)?;
        SweepOptions::new(args)
    }

    fn keys(options: &SweepOptions) -> Vec<String> {
        options.points.iter().map(Point::to_string).collect()
    }

    #[test]
    fn all_combinations_once_and_plans_fastest() {
        let text =
            "shape = \"5x3\"\nbatch = [1, 4, 1]\nplan = [\"diagonal\", \"gemm\"]\nthreads = 2";
        let options = from_file(SweepArgs::default(), text).unwrap();
        let expected = [
            "native/cpu 5x3 batch 1 plan diagonal threads 2",
            "native/cpu 5x3 batch 1 plan gemm threads 2",
            "native/cpu 5x3 batch 4 plan diagonal threads 2",
            "native/cpu 5x3 batch 4 plan gemm threads 2",
        ];
        assert_eq!(keys(&options), expected);
    }

    #[test]
    fn flags_override_the_file() {
        let args = SweepArgs {
            batch: Some(Values(vec![9])),
            trials: Some(7),
            ahead: Some(false),
            ..SweepArgs::default()
        };
        let text = "batch = \"1,2,4,...,64\"\ntrials = 2\nwarmup = 0\nahead = true\n\
                    gate = 1e-3\nlink = \"8bit/s\"\ndelivery = \"sent\"\nthreads = 1\n\
                    point-seconds = 1.5\ntimeout = 9\nseed = 4\nreuse = 3\ncold = true";
        let options = from_file(args, text).unwrap();
        assert_eq!(
            keys(&options),
            ["native/cpu 2048x1024 batch 9 plan auto threads 1"]
        );
        let settings = &options.settings;
        assert_eq!((settings.trials, settings.warmup, settings.seed), (7, 0, 4));
        assert_eq!((settings.ahead, settings.cold), (false, true));
        assert_eq!((settings.gate, settings.point_seconds), (1e-3, 1.5));
        assert_eq!(settings.circumstances.link_bytes_per_second, 1.0);
        assert_eq!(settings.circumstances.reuse, 3);
        assert_eq!(
            settings.circumstances.delivery,
            ckks_backend::Delivery::Sent
        );
        assert_eq!(options.timeout, Duration::from_secs(9));
    }

    #[test]
    fn files_that_are_refused() {
        let cases = [
            ("bathc = 1", "bathc"),
            ("batch = 0", "batch: 0 is not between 1 and 1048576"),
            ("batch = \"1,2,...,8\"", "batch: the ellipsis is ambiguous"),
            ("shape = [\"5x\"]", "shape: the output width"),
            (
                "plan = \"square\"",
                "plan: \"square\" is not one of auto, diagonal",
            ),
            ("trials = 0", "trials: it must be at least 1"),
            ("gate = -1.0", "gate: it must be a finite number above 0"),
            ("link = \"fast\"", "link: expected a number with a unit"),
            ("timeout = 0", "timeout: expected a number of seconds"),
            ("reuse = 0", "reuse: it must be at least 1"),
            ("lib = []", "lib: the list is empty"),
            ("batch = ", "x.toml"),
            (
                "batch = \"1,2,3,...,9999\"\nthreads = \"1,2,3,...,4000\"",
                "more than 100000 combinations",
            ),
        ];
        for (text, part) in cases {
            let message = from_file(SweepArgs::default(), text)
                .unwrap_err()
                .to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn the_shipped_files() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/sweeps");
        let load = |file: &str| {
            SweepOptions::new(SweepArgs {
                config: Some(folder.join(file)),
                ..SweepArgs::default()
            })
            .unwrap()
        };
        let default = load("default.toml");
        assert_eq!(default.points.len(), 2 * 8 * 2);
        assert_eq!((default.settings.trials, default.settings.warmup), (3, 1));
        assert!(default.points.iter().all(|point| point.threads == 1));
        let published = load("published.toml");
        assert_eq!(published.points.len(), 6);
        assert!(published.points.iter().all(|point| point.batch == 1));
        for file in fs::read_dir(&folder).unwrap() {
            load(&file.unwrap().file_name().into_string().unwrap());
        }
    }
}
