//! Pages, plots and pictures of made-up content.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

mod common;

use bench_report::plot::{
    Bar, BarGroup, BarPlot, Figure, HistogramPlot, Ink, Line, LinePlot, Marker, Outline, Part,
    Scale, SharePlot, Spread, Stack,
};
use bench_report::statistics::Summary;
use bench_report::units::Unit;
use bench_report::{Cell, Page, Section, Status, StatusKind, Table};
use common::dom::{Node, ReadTable, parse};
use resvg::tiny_skia::Pixmap;

const HOSTILE: &str = "<script>alert('x')</script> & \"q\" | {{ x }} `b`";

fn line(label: &str, dashed: bool, points: &[(f64, f64)]) -> Line {
    Line {
        label: label.to_owned(),
        ink: Ink::Series(0),
        dashed,
        points: points.to_vec(),
    }
}

fn line_plot(lines: Vec<Line>, x: Scale, y: Scale) -> LinePlot {
    LinePlot {
        lines,
        markers: Vec::new(),
        x,
        y,
    }
}

fn group(bars: Vec<Bar>) -> Vec<BarGroup> {
    vec![BarGroup {
        heading: HOSTILE.to_owned(),
        bars,
    }]
}

/// A plot of each kind; every text is hostile, and every number is in the place of a value.
fn figures(values: [f64; 3]) -> Vec<Figure> {
    let [a, b, c] = values;
    let draw = |figure: Result<Figure, _>| figure.unwrap();
    let markers = vec![Marker {
        at: b,
        label: HOSTILE.to_owned(),
        ink: Ink::Limit,
    }];
    let mut all = Vec::new();
    for (index, scale) in [Scale::linear, Scale::log].into_iter().enumerate() {
        let lines = LinePlot {
            lines: vec![line(HOSTILE, index == 1, &[(a, b), (b, c), (c, a)])],
            markers: markers.clone(),
            x: scale(HOSTILE.to_owned(), Unit::Bytes),
            y: scale(HOSTILE.to_owned(), Unit::BytesPerSecond),
        };
        let histogram = HistogramPlot {
            outlines: vec![Outline {
                label: HOSTILE.to_owned(),
                ink: Ink::Series(1),
                bins: vec![([a, b], c), ([b, c], a)],
            }],
            limits: markers.clone(),
            x: scale(HOSTILE.to_owned(), Unit::Scientific),
            y: HOSTILE.to_owned(),
        };
        all.push(draw(lines.figure(
            &format!("lines {index}"),
            HOSTILE,
            HOSTILE,
        )));
        all.push(draw(histogram.figure(
            &format!("bins {index}"),
            HOSTILE,
            HOSTILE,
        )));
    }
    let bars = BarPlot::values(
        Unit::Share,
        HOSTILE,
        group(
            values
                .map(|value| Bar::value(HOSTILE, Ink::Text, value))
                .to_vec(),
        ),
    );
    let shares = SharePlot {
        stacks: vec![Stack {
            label: HOSTILE.to_owned(),
            total: HOSTILE.to_owned(),
            parts: values
                .map(|value| Part {
                    label: HOSTILE.to_owned(),
                    ink: Ink::Part(9),
                    value,
                })
                .to_vec(),
        }],
    };
    all.push(draw(bars.figure("bars", HOSTILE, HOSTILE)));
    all.push(draw(shares.figure("shares", HOSTILE, HOSTILE)));
    all
}

fn page(figures: Vec<Figure>) -> Page {
    let mut section = Section::new("the part", HOSTILE);
    section.notes.push(HOSTILE.to_owned());
    section.figures = figures;
    let mut table = Table::new(HOSTILE, &["what", "#how much", "~why"]);
    for row in 0..20u32 {
        table.push(vec![
            Cell::words(HOSTILE),
            Cell::exact(format!("{row}.0"), row),
            Cell::words(HOSTILE),
        ]);
    }
    section.table(table);
    let mut facts = Table::facts(HOSTILE);
    facts.fact(HOSTILE, Cell::words(HOSTILE));
    section.table(facts);
    section.table(Table::new("Nothing", &["a"]));
    let mut page = Page::new(HOSTILE);
    page.status = Some(Status {
        kind: StatusKind::Partial,
        text: HOSTILE.to_owned(),
    });
    page.partial.push(HOSTILE.to_owned());
    page.sections.push(section);
    page
}

#[test]
fn any_text_is_text() {
    let page = page(figures([1.0, 2.0, 3.0]));
    let (dom, errors) = parse(&page.html().unwrap());
    assert_eq!(errors, Vec::<String>::new());
    for element in ["script", "link", "img", "image", "use", "iframe"] {
        assert!(dom.named(element).is_empty(), "{element}");
    }
    for element in ["h1", "h2", "figcaption", "caption", "li", "desc", "summary"] {
        let found = dom.named(element);
        assert!(!found.is_empty(), "{element}");
        assert!(
            found.iter().all(|n| n.text().starts_with(HOSTILE)),
            "{element}"
        );
    }
    assert!(dom.named("p").iter().all(|n| n.text() == HOSTILE));
    assert_eq!(dom.named("svg").len(), 12);
    let section = &dom.named("section")[0];
    assert_eq!(section.attribute("id"), Some("the-part"));
    let tables = ReadTable::all(&dom);
    assert_eq!(tables.len(), 2, "a table without rows is left out");
    assert_eq!(tables[0].columns, ["what", "how much", "why"]);
    assert_eq!(
        tables[0].rows[3][1],
        ("3.0".to_owned(), Some("3".to_owned()))
    );
    let markdown = page.markdown();
    assert!(!markdown.contains("<script"));
    // Title, status, what is missing, heading, note, two captions; two cells of each row.
    assert_eq!(markdown.matches("&lt;script&gt;").count(), 7 + 2 * (20 + 1));
}

#[test]
fn a_page_without_a_status_has_no_line_for_it() {
    let mut page = Page::new("Title");
    page.sections.push(Section::new("a", "Part"));
    assert_eq!(page.markdown(), "# Title\n\n## Part\n");
    let (dom, errors) = parse(&page.html().unwrap());
    assert!(errors.is_empty() && dom.named("p").is_empty());
    page.status = Some(Status {
        kind: StatusKind::Passed,
        text: "Good.".to_owned(),
    });
    assert_eq!(page.markdown(), "# Title\n\n**Good.**\n\n## Part\n");
    let (dom, _) = parse(&page.html().unwrap());
    let line = &dom.named("p")[0];
    assert_eq!(line.attribute("class"), Some("verdict passed"));
    assert_eq!(line.text(), "Good.");
}

#[test]
fn values_without_a_place_do_no_harm() {
    for values in [
        [f64::NAN; 3],
        [f64::INFINITY, f64::NEG_INFINITY, 1.0],
        [0.0; 3],
        [-1.0, 0.0, -f64::MIN_POSITIVE],
        [f64::MAX, 1.0, f64::MIN_POSITIVE],
    ] {
        let page = page(figures(values));
        let (dom, errors) = parse(&page.html().unwrap());
        assert_eq!(errors, Vec::<String>::new());
        for plot in dom.named("svg") {
            for element in plot.all() {
                for (name, value) in &element.attributes {
                    let wrong = value.contains("NaN") || value.contains("inf");
                    assert!(!wrong || name.starts_with("aria"), "{name}={value}");
                }
            }
        }
        assert_eq!(page.pictures().unwrap().len(), 6);
    }
    let nothing = [
        BarPlot::medians(Unit::Number, Vec::new()).figure("–", "", ""),
        SharePlot { stacks: Vec::new() }.figure("a", "", ""),
        line_plot(
            Vec::new(),
            Scale::log("", Unit::Number),
            Scale::linear("", Unit::Number),
        )
        .figure("../b", "", ""),
    ];
    let page = page(nothing.into_iter().map(Result::unwrap).collect());
    let pictures = page.pictures().unwrap();
    let names: Vec<&str> = pictures.iter().map(|picture| &*picture.name).collect();
    assert_eq!(names, ["plot.png", "a.png", "b.png"]);
    for picture in &pictures {
        assert!(Pixmap::decode_png(&picture.png).is_ok());
    }
}

fn number(node: &Node, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

/// The place of the text along an axis, pixels.
fn place_of(svg: &Node, text: &str, axis: &str) -> f64 {
    let texts = svg.named("text");
    let found = texts.iter().find(|node| node.text() == text);
    number(found.unwrap_or_else(|| panic!("no text {text}")), axis)
}

#[test]
fn points_lie_where_the_ticks_say() {
    let points = [(1.0, 2.5e9), (2.0, 5e9), (8.0, 1e9)];
    let x = Scale::log("threads", Unit::Number);
    let y = Scale::linear("rate", Unit::BytesPerSecond);
    let figure = line_plot(vec![line("", false, &points)], x, y)
        .figure("id", "title", "description")
        .unwrap();
    for svg in [&figure.wide, &figure.narrow] {
        let (svg, _) = parse(svg);
        let at = |text: &str, axis: &str| place_of(&svg, text, axis);
        let [zero, two] = ["0", "2 GB/s"].map(|text| at(text, "y"));
        let [one, eight] = ["1", "8"].map(|text| at(text, "x"));
        // The legend's point is first; each point is a filled circle and its outline.
        let circles = svg.named("circle");
        let circles: Vec<&&Node> = circles.iter().skip(2).step_by(2).collect();
        assert_eq!(circles.len(), points.len());
        for (circle, (threads, rate)) in circles.iter().zip(points) {
            let wanted = zero + (two - zero) * rate / 2e9;
            assert!((number(circle, "cy") - wanted).abs() <= 3.0, "{rate}");
            let wanted = one + (eight - one) * f64::log2(threads) / 3.0;
            assert!((number(circle, "cx") - wanted).abs() <= 1.5, "{threads}");
        }
        for label in ["threads", "rate"] {
            at(label, "x");
        }
    }
}

#[test]
fn bars_are_as_long_as_their_values() {
    let summary = Summary::of(&[1.0, 2.0, 4.0]).unwrap();
    let bars = vec![
        Bar::durations("first", Ink::Series(0), &summary),
        Bar::value("second", Ink::Series(1), 1.0),
    ];
    let plot = BarPlot::medians(Unit::Seconds, group(bars));
    assert_eq!(plot.spread(), Spread::Linear);
    let (svg, _) = parse(&plot.figure("id", "title", "").unwrap().wide);
    let bar = |ink: &str| {
        let bars = svg.named("rect");
        let bar = bars.iter().find(|n| n.attribute("fill") == Some(ink));
        *bar.unwrap()
    };
    let [first, second] = [bar("var(--series-1)"), bar("var(--series-2)")];
    assert_eq!(number(first, "x"), number(second, "x"));
    let ratio = number(first, "width") / number(second, "width");
    assert!((ratio - 2.0).abs() < 0.02, "{ratio}");
    for text in ["2.00 s", "1.00 s", "median, whiskers from min to max"] {
        place_of(&svg, text, "x");
    }

    // Bars from zero would hide what is 100 times smaller.
    let bars = [1e6, 1e8].map(|rate| Bar::value("rate", Ink::Text, rate));
    let plot = BarPlot::values(
        Unit::BytesPerSecond,
        "fastest of three",
        group(bars.to_vec()),
    );
    assert_eq!(plot.spread(), Spread::Log);
    let figure = plot.figure("id", "title", "").unwrap();
    let (svg, _) = parse(&figure.wide);
    let caption = "bytes per second, logarithmic axis: fastest of three";
    for text in ["1.00 MB/s", "100 MB/s", caption] {
        place_of(&svg, text, "x");
    }
    place_of(&parse(&figure.narrow).0, "fastest of three", "x");
}

#[test]
fn dashes_are_dashed() {
    let scale = || Scale::linear("", Unit::Number);
    let dashed = |dashed: bool| {
        let lines = vec![line("name", dashed, &[(1.0, 1.0), (2.0, 2.0)])];
        let figure = line_plot(lines, scale(), scale()).figure("id", "", "");
        let (svg, _) = parse(&figure.unwrap().wide);
        let lines = svg.all().into_iter();
        lines
            .filter(|n| n.attribute("stroke-dasharray").is_some())
            .count()
    };
    // The line and its entry in the legend.
    assert_eq!((dashed(false), dashed(true)), (0, 2));
}
