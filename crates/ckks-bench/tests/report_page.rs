//! Pages, tables and pictures against the JSON that they are made from.
//!
//! `data/made-up-sweep.jsonl` is no measurement: its numbers are invented. Its rejected point has
//! durations of 777.125 s, which a reader must not show; so have its crashed point and its header.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

#[path = "../../bench-report/tests/common/dom.rs"]
mod dom;

use bench_report::{Page, StatusKind};
use ckks_bench::page::{self, Inputs, csv};
use dom::{Node, ReadTable, parse};
use resvg::tiny_skia::Pixmap;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

const SWEEP: &str = include_str!("data/made-up-sweep.jsonl");

fn inputs(files: &[(&str, &str)]) -> Inputs {
    let mut inputs = Inputs::default();
    for (name, content) in files {
        inputs.add(Path::new(name), content.as_bytes()).unwrap();
    }
    inputs
}

fn page(files: &[(&str, &str)]) -> Page {
    page::page(&inputs(files), "A title & more").unwrap()
}

fn sweep() -> [(&'static str, &'static str); 1] {
    [("made-up-sweep.jsonl", SWEEP)]
}

fn points() -> Vec<Value> {
    let lines = SWEEP.lines().skip(1);
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The first configuration of a point's report; `None` without a report.
fn configuration(point: &Value) -> Option<&Value> {
    point["report"].get("configurations")?.get(0)
}

fn passed(point: &Value) -> bool {
    configuration(point).is_some_and(|c| c["verdict"] == "passed")
}

/// Shape, plan, threads and batch as in the first columns of the tables.
fn what(point: &Value) -> [String; 4] {
    let point = &point["point"];
    [
        format!("{}x{}", point["d_in"], point["d_out"]),
        point["plan"].as_str().unwrap().to_owned(),
        point["threads"].to_string(),
        point["batch"].to_string(),
    ]
}

fn stage<'a>(configuration: &'a Value, name: &str) -> &'a Value {
    let stages = configuration["stages"].as_array().unwrap();
    stages.iter().find(|stage| stage["stage"] == name).unwrap()
}

/// The rows about a point.
fn rows_of<'a>(table: &'a ReadTable, what: &[String; 4]) -> Vec<&'a Vec<(String, Option<String>)>> {
    let same = |row: &&Vec<(String, Option<String>)>| {
        what.iter()
            .zip(row.iter())
            .all(|(want, cell)| *want == cell.0)
    };
    table.rows.iter().filter(same).collect()
}

fn table<'a>(tables: &'a [ReadTable], caption: &str) -> &'a ReadTable {
    let mut found = tables
        .iter()
        .filter(|table| table.caption.starts_with(caption));
    let table = found.next().unwrap_or_else(|| panic!("no table {caption}"));
    assert!(found.next().is_none(), "two tables {caption}");
    table
}

/// The number that a text such as `1.23 ms`, `2,048`, `3.1e-6` or `41.0 kB` shows.
fn read(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let factor = match unit {
        "" | "s" | "B" | "B/s" => 1.0,
        "ms" => 1e-3,
        "µs" => 1e-6,
        "ns" => 1e-9,
        "kB" | "kB/s" => 1e3,
        "MB" | "MB/s" => 1e6,
        "GB" | "GB/s" => 1e9,
        other => panic!("no unit: {other}"),
    };
    number.replace(',', "").parse::<f64>().unwrap() * factor
}

/// The cell has exactly the value of the JSON, and its text is that value, rounded to three
/// digits.
fn assert_cell(cell: &(String, Option<String>), json: &Value) {
    let value: f64 = cell.1.as_ref().unwrap().parse().unwrap();
    assert_eq!(value, json.as_f64().unwrap(), "{cell:?}");
    assert!(
        (read(&cell.0) - value).abs() <= value.abs() * 0.0051,
        "{cell:?}"
    );
}

#[test]
fn durations_and_rates_are_those_of_the_json() {
    let (page, _) = parse(&page(&sweep()).html().unwrap());
    let tables = ReadTable::all(&page);
    let evaluations = table(&tables, "Duration of an evaluation");
    let stages = table(&tables, "Every stage");
    let rates = table(&tables, "Vectors per second");
    let mut checked = 0;
    for point in points().iter().filter(|point| passed(point)) {
        let (what, json) = (what(point), configuration(point).unwrap());
        let [row] = rows_of(evaluations, &what)[..] else {
            panic!("{what:?} is not there once")
        };
        for (column, field) in [
            ("samples", "samples"),
            ("median", "median_seconds"),
            ("min", "min_seconds"),
            ("max", "max_seconds"),
        ] {
            let cell = &row[evaluations.column(column).unwrap()];
            assert_cell(cell, &stage(json, "evaluation")[field]);
        }
        let [row] = rows_of(rates, &what)[..] else {
            panic!("{what:?} is not there once")
        };
        assert_cell(&row[4], &json["throughput"]["evaluation"]);
        assert_cell(&row[5], &json["throughput"]["end_to_end"]);
        for stage in json["stages"].as_array().unwrap() {
            let name = stage["stage"].as_str().unwrap().replace('-', " ");
            let rows = rows_of(stages, &what);
            let row = rows.iter().find(|row| row[4].0 == name).unwrap();
            assert_cell(
                &row[stages.column("median").unwrap()],
                &stage["median_seconds"],
            );
            for phase in stage["phases"].as_array().unwrap() {
                let name = format!("{name}: {}", phase["name"].as_str().unwrap());
                let row = rows.iter().find(|row| row[4].0 == name).unwrap();
                assert_cell(
                    &row[stages.column("median").unwrap()],
                    &phase["median_seconds"],
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn sizes_errors_and_parameters_are_those_of_the_json() {
    let (page, _) = parse(&page(&sweep()).html().unwrap());
    let tables = ReadTable::all(&page);
    let sizes = table(&tables, "Sizes");
    let errors = table(&tables, "Errors over all trials");
    for point in points().iter().filter(|point| passed(point)) {
        let (what, json) = (what(point), configuration(point).unwrap());
        let row = rows_of(sizes, &what)[0];
        for (column, field) in [
            ("keys", "keys"),
            ("layer download", "layer_download"),
            ("upload", "upload"),
            ("download", "download"),
            ("weights bf16", "weights_bf16"),
        ] {
            assert_cell(&row[sizes.column(column).unwrap()], &json["bytes"][field]);
        }
        let row = rows_of(errors, &what)[0];
        for (column, field) in [("max abs", "max_abs"), ("gate", "limit"), ("rms", "rms")] {
            assert_cell(&row[errors.column(column).unwrap()], &json["errors"][field]);
        }
        let parameters = &json["description"]["parameters"];
        let name = parameters["name"].as_str().unwrap();
        let facts = table(&tables, name);
        let fact = |name: &str| {
            let row = facts.rows.iter().find(|row| row[0].0 == name).unwrap();
            row[1].clone()
        };
        let moduli: Vec<String> = fact("ciphertext moduli")
            .0
            .split(", ")
            .map(String::from)
            .collect();
        let wanted = parameters["q"].as_array().unwrap();
        assert_eq!(
            moduli,
            wanted.iter().map(Value::to_string).collect::<Vec<_>>()
        );
        assert_cell(&fact("log2(QP)"), &parameters["log_qp"]);
        assert_cell(&fact("margin, bits"), &json["security_margin"]);
        assert_eq!(
            fact("SHA-256 digest").0,
            parameters["digest"].as_str().unwrap()
        );
        assert_eq!(
            fact("table and row").0,
            parameters["security_note"].as_str().unwrap()
        );
    }
}

#[test]
fn the_histogram_table_adds_up() {
    let (page, _) = parse(&page(&sweep()).html().unwrap());
    let tables = ReadTable::all(&page);
    let bins = table(&tables, "Outputs in each bin");
    let mut wanted: HashMap<String, u64> = HashMap::new();
    for point in points() {
        let Some(json) = configuration(&point) else {
            continue;
        };
        let plan = point["point"]["plan"].as_str().unwrap();
        let who = if passed(&point) {
            plan.to_owned()
        } else {
            format!("{plan}, rejected")
        };
        let histogram = &json["error_histogram"];
        let counts = histogram["counts"].as_array().unwrap().iter();
        let rest = ["below", "above", "not_finite"].map(|name| &histogram[name]);
        let sum: u64 = counts
            .chain(rest)
            .map(|count| count.as_u64().unwrap())
            .sum();
        *wanted.entry(who).or_default() += sum;
    }
    let mut shown: HashMap<String, u64> = HashMap::new();
    for row in &bins.rows {
        let outputs: u64 = row[4].1.as_ref().unwrap().parse().unwrap();
        *shown.entry(row[1].0.clone()).or_default() += outputs;
    }
    assert_eq!(shown, wanted);
    // 10^-6 is the lower edge of bin 24.
    let edge = bins.rows.iter().find(|row| row[2].0 == "1.00e-6");
    assert!(edge.is_some_and(|row| row[3].0 == "1.78e-6"));
}

#[test]
fn csv_has_the_numbers_of_the_json() {
    let text = csv(&inputs(&sweep())).unwrap();
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().unwrap().clone();
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    let points = points();
    assert_eq!(rows.len(), points.len());
    for (row, point) in rows.iter().zip(&points) {
        let field = |name: &str| &row[names.iter().position(|known| known == name).unwrap()];
        let number = |name: &str| field(name).parse::<f64>().unwrap();
        assert_eq!(field("plan"), point["point"]["plan"].as_str().unwrap());
        assert_eq!(number("batch"), point["point"]["batch"].as_f64().unwrap());
        if !passed(point) {
            for (name, value) in names.iter().zip(row) {
                let duration = name.ends_with("_seconds") || name.ends_with("per_second");
                assert!(
                    !duration || value.is_empty(),
                    "{name} of a rejected point: {value}"
                );
            }
            assert!(!field("reason").is_empty());
            continue;
        }
        let json = configuration(point).unwrap();
        for name in ["encryption", "evaluation", "decryption"] {
            for summary in ["median_seconds", "min_seconds", "max_seconds"] {
                let wanted = stage(json, name)[summary].as_f64().unwrap();
                assert_eq!(number(&format!("{name}_{summary}")), wanted);
            }
        }
        let end_to_end = json["throughput"]["end_to_end"].as_f64().unwrap();
        assert_eq!(number("end_to_end_vectors_per_second"), end_to_end);
        assert_eq!(
            number("upload_bytes"),
            json["bytes"]["upload"].as_f64().unwrap()
        );
        assert_eq!(
            number("max_abs_error"),
            json["errors"]["max_abs"].as_f64().unwrap()
        );
    }
}

#[test]
fn markdown_has_the_numbers_of_the_html() {
    let page = page(&sweep());
    let markdown = page.markdown();
    let mut lines = markdown.lines().filter(|line| line.starts_with("| "));
    let (html, _) = parse(&page.html().unwrap());
    for table in ReadTable::all(&html) {
        let head = lines.next().unwrap();
        assert_eq!(
            head.matches(" | ").count() + 1,
            table.rows[0].len(),
            "{head}"
        );
        assert!(lines.next().unwrap().contains("---"));
        for row in &table.rows {
            let line = lines.next().unwrap();
            for (text, value) in row {
                if value.is_some() {
                    assert!(line.contains(&format!("| {text} |")), "{text} in {line}");
                }
            }
        }
    }
    assert!(lines.next().is_none());
}

#[test]
fn rejected_points_have_no_duration_anywhere() {
    assert!(SWEEP.contains("777.125"));
    let inputs = inputs(&sweep());
    let page = page::page(&inputs, "Title").unwrap();
    let html = page.html().unwrap();
    let outputs = [html.clone(), page.markdown(), csv(&inputs).unwrap()];
    for output in &outputs {
        for shown in ["777.125", "777 s", "12.9 min", ">777<", "| 777 |", ",777,"] {
            assert!(!output.contains(shown), "{shown}");
        }
    }
    let (dom, _) = parse(&html);
    let tables = ReadTable::all(&dom);
    for point in points().iter().filter(|point| !passed(point)) {
        let what = what(point);
        for caption in [
            "Duration of an evaluation",
            "Every stage",
            "Vectors per second",
        ] {
            assert!(
                rows_of(table(&tables, caption), &what).is_empty(),
                "{caption} {what:?}"
            );
        }
        let rows = rows_of(table(&tables, "What failed, and why"), &what);
        assert_eq!(rows.len(), 1, "{what:?}");
    }
}

#[test]
fn the_crossovers_are_marked() {
    // End to end, seconds of a batch B of 512x2048, one thread: gemm 0.0042 + 0.000158 B, diagonal
    // 0.00193 B. gemm is ahead from 4 on, but was rejected there: 16 is the next batch. The model's
    // gemm is ahead at 4: 0.0046 s against 0.0081 s, and the link costs both the same.
    let page = page(&sweep());
    let (html, _) = parse(&page.html().unwrap());
    let tables = ReadTable::all(&html);
    let row = &table(&tables, "Crossover").rows[0];
    assert_eq!(
        (row[3].0.as_str(), row[3].1.as_deref()),
        ("batch 16", Some("16"))
    );
    assert_eq!(
        (row[4].0.as_str(), row[4].1.as_deref()),
        ("batch 4", Some("4"))
    );
    let figure = page
        .figures()
        .find(|f| f.id.starts_with("throughput"))
        .unwrap();
    for label in [
        "measured crossover: batch 16",
        "predicted crossover: batch 4",
    ] {
        assert!(
            figure.wide.contains(label) && figure.narrow.contains(label),
            "{label}"
        );
    }
}

#[test]
fn text_from_the_input_is_text() {
    let page = page(&sweep());
    let html = page.html().unwrap();
    let (dom, errors) = parse(&html);
    assert_eq!(errors, Vec::<String>::new());
    assert!(dom.named("script").is_empty());
    assert_eq!(dom.named("h1")[0].text(), "A title & more");
    let said = dom.text();
    for message in [
        "<script>alert('x')</script>",
        "loading <b>keys</b>",
        "fault | core",
    ] {
        assert!(said.contains(message), "{message}");
        assert!(SWEEP.contains(message), "{message}");
    }
    assert!(dom.named("b").is_empty());
    let markdown = page.markdown();
    assert!(markdown.contains("&lt;script&gt;") && !markdown.contains("<script"));
    assert!(markdown.contains("fault \\| core"));
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let html = page(&sweep()).html().unwrap();
    let (dom, _) = parse(&html);
    let fetching = [
        "script", "link", "img", "image", "iframe", "object", "embed", "audio", "video", "source",
        "use", "base", "form",
    ];
    for element in dom.all() {
        assert!(
            !fetching.contains(&element.name.as_str()),
            "{}",
            element.name
        );
        for (name, value) in &element.attributes {
            let address = ["src", "href", "srcset", "action", "data"].contains(&name.as_str());
            assert!(!address || value.starts_with('#'), "{name}={value}");
            assert!(!name.starts_with("on"), "{name}");
            assert!(
                !value.contains("://") && !value.contains("url("),
                "{name}={value}"
            );
        }
    }
    let css: String = dom
        .named("style")
        .iter()
        .map(|style| style.text())
        .collect();
    assert!(css.contains("prefers-color-scheme: dark"));
    for loading in ["url(", "@import", "http"] {
        assert!(!css.contains(loading), "{loading}");
    }
    for link in dom.named("a") {
        let target = link.attribute("href").unwrap().trim_start_matches('#');
        let found = dom.all().iter().any(|n| n.attribute("id") == Some(target));
        assert!(found, "{target}");
    }
}

#[test]
fn plots_have_names_and_follow_the_theme() {
    let (dom, _) = parse(&page(&sweep()).html().unwrap());
    let plots = dom.named("svg");
    assert!(plots.len() >= 10, "{}", plots.len());
    for plot in plots {
        assert_eq!(plot.attribute("role"), Some("img"));
        let labels = plot.attribute("aria-labelledby").unwrap();
        for (label, element) in labels.split(' ').zip(["title", "desc"]) {
            let named = plot.named(element);
            assert_eq!(named[0].attribute("id"), Some(label));
            assert!(!named[0].text().is_empty());
        }
        let colours: Vec<&str> = plot
            .all()
            .into_iter()
            .flat_map(|n: &Node| [n.attribute("fill"), n.attribute("stroke")])
            .flatten()
            .filter(|colour| *colour != "none")
            .collect();
        assert!(!colours.is_empty());
        assert!(
            colours.iter().all(|colour| colour.starts_with("var(--")),
            "{colours:?}"
        );
    }
}

/// Width and height of a plot, pixels.
fn size(svg: &str) -> [u32; 2] {
    let (_, rest) = svg.split_once("viewBox=\"0 0 ").unwrap();
    let (size, _) = rest.split_once('"').unwrap();
    let (width, height) = size.split_once(' ').unwrap();
    [width.parse().unwrap(), height.parse().unwrap()]
}

/// Pixels of a region in the colour of tick labels, #555e69, or close to it.
fn text_pixels(picture: &Pixmap, x: std::ops::Range<u32>, y: std::ops::Range<u32>) -> usize {
    let close = |x: u32, y: u32| {
        let pixel = picture.pixel(x, y).unwrap();
        let parts = [pixel.red(), pixel.green(), pixel.blue()];
        parts
            .iter()
            .zip([0x55, 0x5e, 0x69])
            .all(|(a, b)| a.abs_diff(b) < 40)
    };
    y.flat_map(|y| x.clone().map(move |x| (x, y)))
        .filter(|&(x, y)| close(x, y))
        .count()
}

#[test]
fn pictures_have_their_size_and_their_labels() {
    let page = page(&sweep());
    let pictures = page.pictures().unwrap();
    assert_eq!(pictures.len(), page.figures().count());
    for (figure, picture) in page.figures().zip(&pictures) {
        assert_eq!(picture.name, format!("{}.png", figure.id));
        let decoded = Pixmap::decode_png(&picture.png).unwrap();
        let [width, height] = size(&figure.wide);
        // Twice the plot with a margin of 8 pixels.
        assert_eq!(decoded.width(), 2 * (width + 16));
        assert_eq!(decoded.height(), 2 * (height + 16));
        assert_eq!(decoded.pixel(0, 0).unwrap().red(), 255);
        // Tick labels are where the SVG has them: below the axis, in the plot's own words.
        let mut labels = 0;
        for text in parse(&figure.wide).0.named("text") {
            if text.attribute("fill") != Some("var(--muted)") {
                continue;
            }
            let at = |name: &str| text.attribute(name).unwrap().parse::<u32>().unwrap();
            let (x, y) = (2 * (at("x") + 8), 2 * (at("y") + 8));
            let region = match text.attribute("text-anchor").unwrap() {
                "middle" => x.saturating_sub(20)..x + 20,
                "end" => x.saturating_sub(30)..x,
                _ => x..x + 30,
            };
            let pixels = text_pixels(&decoded, region, y - 12..y + 12);
            assert!(
                pixels > 12,
                "{}: {:?} has {pixels} pixels",
                figure.id,
                text.text()
            );
            labels += 1;
        }
        assert!(labels >= 3, "{} has {labels} labels", figure.id);
    }
}

#[test]
fn empty_reports_make_a_page() {
    let mut report = points()[0]["report"].clone();
    report["configurations"] = Value::Array(Vec::new());
    report["partial"] = Value::Bool(true);
    let text = report.to_string();
    let files = [("empty.json", text.as_str())];
    let page = page(&files);
    let status = page.status.clone().unwrap();
    assert_eq!(status.kind, StatusKind::Empty);
    assert_eq!(status.text, "The inputs hold no measurement.");
    assert_eq!(
        page.partial,
        ["empty.json: interrupted after 0 of 1 configurations"]
    );
    assert_eq!(page.figures().count(), 0);
    let (dom, errors) = parse(&page.html().unwrap());
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(dom.named("svg").len(), 0);
    // Machine and command line are known.
    assert!(dom.text().contains("Made-up CPU"));
    assert_eq!(csv(&inputs(&files)).unwrap().lines().count(), 1);
}

#[test]
fn verdicts_are_counted() {
    let page = page(&sweep());
    let status = page.status.unwrap();
    assert_eq!(status.kind, StatusKind::Rejected);
    assert_eq!(
        status.text,
        "10 of 12 measurements passed, 1 rejected, 1 failed without a report."
    );
}
