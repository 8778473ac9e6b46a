//! What is wrong with a manifest, for people.

use std::path::Path;

use anstream::ColorChoice;
use backstop::manifest::{Diagnostic, Severity, shown_text};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceSpan};

/// One diagnostic with the text that it is about.
#[derive(Debug)]
struct Located<'a> {
    diagnostic: &'a Diagnostic,
    source: NamedSource<String>,
}

impl std::fmt::Display for Located<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.diagnostic.path.is_empty() {
            f.write_str(&self.diagnostic.message)
        } else {
            write!(f, "{}: {}", self.diagnostic.path, self.diagnostic.message)
        }
    }
}

impl std::error::Error for Located<'_> {}

impl miette::Diagnostic for Located<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        Some(Box::new(self.diagnostic.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.diagnostic.hint.as_ref().map(|hint| Box::new(hint) as Box<dyn std::fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.diagnostic.span.map(|_| &self.source as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.diagnostic.span?;
        let span = SourceSpan::from(span.start..span.end.max(span.start));
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(None, span))))
    }
}

/// The diagnostics as a person reads them, with the lines that they are about but for the credentials in them.
pub(crate) fn rendered(file: &Path, text: &str, diagnostics: &[Diagnostic]) -> String {
    let colours = anstream::AutoStream::choice(&std::io::stderr()) != ColorChoice::Never;
    let theme = if colours { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(100).with_links(false);
    let mut out = String::new();
    let text = if diagnostics.is_empty() { String::new() } else { shown_text(text, diagnostics) };
    for diagnostic in diagnostics {
        let source = NamedSource::new(file.display().to_string(), text.clone());
        let located = Located { diagnostic, source };
        if handler.render_report(&mut out, &located).is_err() {
            out.push_str(&located.to_string());
        }
        out.push('\n');
    }
    out
}
