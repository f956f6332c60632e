//! The page as one HTML file.

use crate::error::ReportError;
use crate::page::Page;
use crate::plot;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, context};

impl Page {
    /// One file without scripts and without anything that is loaded from elsewhere.
    ///
    /// # Errors
    /// [`ReportError::Layout`] where the template fails.
    pub fn html(&self) -> Result<String, ReportError> {
        let failed = |error: minijinja::Error| ReportError::Layout(error.to_string());
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment
            .add_template("page", include_str!("page.html.jinja"))
            .map_err(failed)?;
        let template = environment.get_template("page").map_err(failed)?;
        let page = template.render(context! {
            page => Serde(self),
            css => include_str!("page.css"),
            light => plot::css(false),
            dark => plot::css(true),
        });
        page.map_err(failed)
    }
}
