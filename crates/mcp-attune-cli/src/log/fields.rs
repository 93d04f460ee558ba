//! The fields of spans and lines, written as the library writes them, but cheaply where that is simple: every call has a
//! span with its id, and few write a line.

use std::error::Error;
use std::fmt::{self, Debug};

use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultVisitor, Writer};

/// Writes `name="value" other=7`.
pub(crate) struct Fields;

impl<'w> FormatFields<'w> for Fields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut visitor = Visitor { writer, is_empty: true, result: Ok(()) };
        fields.record(&mut visitor);
        visitor.result
    }
}

struct Visitor<'w> {
    writer: Writer<'w>,
    is_empty: bool,
    result: fmt::Result,
}

impl Visitor<'_> {
    /// What is not simple is the library's business.
    fn leave(&mut self, record: impl FnOnce(&mut DefaultVisitor<'_>)) {
        use tracing_subscriber::field::VisitOutput;

        if self.result.is_ok() {
            let mut visitor = DefaultVisitor::new(self.writer.by_ref(), self.is_empty);
            record(&mut visitor);
            self.result = visitor.finish();
            self.is_empty = false;
        }
    }

    fn text(&mut self, name: &str, value: &str) -> fmt::Result {
        let space = if self.is_empty { "" } else { " " };
        self.is_empty = false;
        // At once, because what it is written into grows with every piece.
        self.writer.write_str(&[space, name, "=\"", value, "\""].concat())
    }
}

impl Visit for Visitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        let plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        let name = field.name();
        if name == "message" || name.starts_with("r#") || !value.bytes().all(plain) {
            self.leave(|visitor| visitor.record_str(field, value));
        } else if self.result.is_ok() {
            self.result = self.text(name, value);
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.leave(|visitor| visitor.record_error(field, value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.leave(|visitor| visitor.record_debug(field, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::tests::Lines;
    use tracing_subscriber::fmt::format::DefaultFields;
    use tracing_subscriber::layer::SubscriberExt;

    fn written(fields: impl for<'w> FormatFields<'w> + Send + Sync + 'static) -> Vec<String> {
        let lines = Lines::default();
        let into = lines.clone();
        let layer = tracing_subscriber::fmt::layer()
            .without_time()
            .with_ansi(false)
            .fmt_fields(fields)
            .with_writer(move || into.clone());
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            for id in ["0123abcd", "", "a b", "a\"b", "a\\b", "caf\u{e9}", "\u{1b}[31m", "\n", "~!"] {
                let (none, number): (Option<&str>, _) = (None, 7);
                let span = tracing::info_span!("request", id, none, number, other = id, r#type = id);
                let _entered = span.enter();
                tracing::warn!(id, none, number, %number, "words of {id}");
                tracing::info!(name = id, error = &fmt::Error as &(dyn Error + 'static));
            }
        });
        lines.take()
    }

    #[test]
    fn writes_what_the_library_writes() {
        let ours = written(Fields);
        assert!(ours.len() >= 18, "{ours:?}");
        assert_eq!(ours, written(DefaultFields::new()));
    }
}
