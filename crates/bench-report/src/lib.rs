//! What the measuring programs of this workspace say and write: numbers with units, tables, plots,
//! pages, and the facts of the machine. It knows nothing of what is measured.
//!
//! A [`Page`] is a title and [`Section`]s of sentences, plots and tables. It is written as HTML
//! (one file, nothing loaded from elsewhere, light and dark, wide and narrow), as Markdown, and its
//! plots as PNG files. A program keeps its results in a struct of its own, writes that as JSON with
//! [`output::write_json`], and makes the page from nothing else: then every number of the page is
//! in the JSON. Nothing but [`host`] looks at the machine, and nothing looks at the clock: the same
//! content gives the same bytes.
//!
//! ```
//! use bench_report::plot::{Bar, BarGroup, BarPlot, Ink, Line, LinePlot, Scale};
//! use bench_report::{Cell, Page, Section, Table, units::{self, Unit}};
//!
//! // Threads, bytes per second.
//! let measured = [(1u64, 2.8e9), (2, 6.0e9)];
//! let mut section = Section::new("open", "Opening");
//! section.notes.push("Median of five runs.".to_owned());
//! // `#`: a column of numbers.
//! let mut table = Table::new("Bytes per second", &["way", "#threads", "#rate"]);
//! for (threads, rate) in measured {
//!     table.push(vec![
//!         Cell::words("fresh memory"),
//!         Cell::exact(threads.to_string(), threads),
//!         Cell::exact(units::bytes_per_second(rate), rate),
//!     ]);
//! }
//! section.table(table);
//! let lines = LinePlot {
//!     lines: vec![Line {
//!         label: "fresh memory".to_owned(),
//!         ink: Ink::Series(0),
//!         dashed: false,
//!         points: measured.map(|(threads, rate)| (threads as f64, rate)).to_vec(),
//!     }],
//!     markers: Vec::new(),
//!     x: Scale::linear("threads", Unit::Number),
//!     y: Scale::linear("bytes per second", Unit::BytesPerSecond),
//! };
//! section.figures.push(lines.figure("open-threads", "Opening", "The rate over the threads.")?);
//! let bars = BarPlot::values(Unit::BytesPerSecond, "median", vec![BarGroup {
//!     heading: String::new(),
//!     bars: measured
//!         .map(|(threads, rate)| Bar::value(units::plural(threads, "thread"), Ink::Series(0), rate))
//!         .to_vec(),
//! }]);
//! section.figures.push(bars.figure("open-bars", "Opening", "A bar for each thread count.")?);
//!
//! let mut page = Page::new("Sealed weights, measured");
//! page.sections.push(section);
//! assert!(page.html()?.starts_with("<!DOCTYPE html>"));
//! assert!(page.markdown().contains("| fresh memory | 2 | 6.00 GB/s |"));
//! assert_eq!(page.pictures()?[0].name, "open-threads.png");
//! # Ok::<(), bench_report::ReportError>(())
//! ```

pub mod environment;
mod error;
pub mod host;
mod html;
mod markdown;
pub mod output;
mod page;
pub mod plot;
pub mod program;
mod section;
pub mod statistics;
mod table;
pub mod terminal;
pub mod units;

pub use error::ReportError;
pub use page::{Page, Picture, Status, StatusKind};
pub use section::{Section, slug};
pub use table::{Cell, Column, Table};
