//! Reading reports and sweeps.

use super::error::PageError;
use super::measurement::{Measurement, Source};
use crate::report::{Report, SCHEMA};
use crate::sweep::record::{SWEEP_SCHEMA, parse_sweep};
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;

/// What all inputs hold.
#[derive(Debug, Default)]
pub struct Inputs {
    /// Every configuration of every report, and every point of every sweep.
    pub measurements: Vec<Measurement>,
    /// Every report, also those without a configuration.
    pub reports: Vec<Arc<Report>>,
    /// Inputs with something missing, in words: interrupted runs, sweeps cut off.
    pub partial: Vec<String>,
}

impl Inputs {
    /// Adds the content of a file: a report of `run --json`, or a sweep.
    ///
    /// # Errors
    /// [`PageError::Read`] or [`PageError::Input`], naming the file, the line, and what to do.
    pub fn read(&mut self, path: &Path) -> Result<(), PageError> {
        let bytes = std::fs::read(path).map_err(|source| PageError::Read {
            path: path.to_owned(),
            source,
        })?;
        self.add(path, &bytes)
    }

    /// Adds the content of a file that is already in memory.
    ///
    /// # Errors
    /// [`PageError::Input`].
    pub fn add(&mut self, path: &Path, bytes: &[u8]) -> Result<(), PageError> {
        let name = path.file_name().unwrap_or(path.as_os_str());
        let file = name.to_string_lossy().into_owned();
        match schema(path, bytes)?.as_str() {
            SCHEMA => {
                let report: Report =
                    serde_json::from_slice(bytes).map_err(|error| broken(path, &error, SCHEMA))?;
                report.check().map_err(|reason| PageError::Input {
                    place: path.display().to_string(),
                    reason,
                })?;
                let source = Source { file, asked: None };
                self.report(&source, &report);
                self.measurements
                    .extend(Measurement::of_report(&source, report));
                Ok(())
            }
            SWEEP_SCHEMA => self.sweep(path, &file, bytes),
            other => Err(PageError::Input {
                place: path.display().to_string(),
                reason: unknown(other),
            }),
        }
    }

    fn sweep(&mut self, path: &Path, file: &str, bytes: &[u8]) -> Result<(), PageError> {
        let sweep =
            parse_sweep(path, bytes).map_err(|error| PageError::Sweep(error.to_string()))?;
        if sweep.truncated {
            self.partial
                .push(format!("{file}: the sweep's last line is cut off"));
        }
        let settings = sweep.header.settings;
        for record in sweep.points {
            let source = Source {
                file: file.to_owned(),
                asked: Some(record.point.plan.clone()),
            };
            if let Some(report) = &record.report {
                if report.schema != SCHEMA {
                    return Err(PageError::Input {
                        place: format!("{}, point {}", path.display(), record.key),
                        reason: unknown(&report.schema),
                    });
                }
                self.report(&source, report);
            }
            self.measurements
                .extend(Measurement::of_point(file, &settings, record));
        }
        Ok(())
    }

    fn report(&mut self, source: &Source, report: &Report) {
        let (started, planned) = (report.configurations.len(), report.configurations_planned);
        if report.partial {
            self.partial.push(format!(
                "{source}: interrupted after {started} of {planned} configurations"
            ));
        }
        self.reports.push(Arc::new(report.clone()));
    }
}

/// The schema of the first JSON value of the file.
fn schema(path: &Path, bytes: &[u8]) -> Result<String, PageError> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    let head = serde_json::Deserializer::from_slice(bytes)
        .into_iter::<Head>()
        .next();
    match head {
        Some(Ok(Head {
            schema: Some(schema),
        })) => Ok(schema),
        Some(Ok(Head { schema: None })) => Err(PageError::Input {
            place: path.display().to_string(),
            reason: format!(
                "the JSON has no field \"schema\", so it is neither a report (\"{SCHEMA}\") nor a \
                 sweep (\"{SWEEP_SCHEMA}\"); give a file of `ckks-bench run --json` or \
                 `ckks-bench sweep`"
            ),
        }),
        Some(Err(error)) => Err(broken(path, &error, SCHEMA)),
        None => Err(PageError::Input {
            place: path.display().to_string(),
            reason: "the file is empty; measure again".to_owned(),
        }),
    }
}

fn broken(path: &Path, error: &serde_json::Error, schema: &str) -> PageError {
    PageError::Input {
        place: format!("{}, line {}", path.display(), error.line()),
        reason: format!(
            "not a file of the schema \"{schema}\": {error}; measure again, or use the version of \
             ckks-bench that wrote it"
        ),
    }
}

fn unknown(schema: &str) -> String {
    format!(
        "the schema is \"{schema}\", but this program reads \"{SCHEMA}\" and \"{SWEEP_SCHEMA}\"; \
         measure again, or use the version of ckks-bench that wrote it"
    )
}
