//! How far each locale is, as a chart.

use std::fmt::{self, Write};

use super::content::BundlePreview;
use super::fragments::PreviewLocaleLabel;
use super::view::PreviewCoverage;
use crate::html::Escaped;

pub(super) fn write(page: &mut String, shown: &BundlePreview) -> fmt::Result {
    writeln!(
        page,
        "<section class=\"part\" aria-labelledby=\"_coverage\">\n<h2 id=\"_coverage\">Coverage</h2>"
    )?;
    let total = shown.views.first().map_or(0, |view| view.covered.total());
    writeln!(page, "<div class=\"wide\"><table class=\"coverage\">")?;
    writeln!(
        page,
        "<caption>Of {total} texts that can be translated, in the language of the locale:</caption>"
    )?;
    writeln!(
        page,
        "<thead><tr><th class=\"name\" scope=\"col\">Locale</th><td></td><th scope=\"col\">All</th><th class=\"part-of\" scope=\"col\">Own</th>\
         <th class=\"part-of\" scope=\"col\">Relatives’</th><th class=\"part-of\" scope=\"col\">Missing</th></tr></thead>\n<tbody>"
    )?;
    for view in &shown.views {
        let (covered, id) = (&view.covered, view.id());
        writeln!(page, "<tr><th scope=\"row\"><a href=\"#{id}\">{}</a></th>", PreviewLocaleLabel(view))?;
        writeln!(page, "<td class=\"chart\">{}</td>", CoverageBar(covered))?;
        writeln!(
            page,
            "<td><strong>{} %</strong></td><td class=\"part-of\">{}</td><td class=\"part-of\">{}</td>\
             <td class=\"part-of\">{}</td></tr>",
            covered.percent(),
            covered.own,
            covered.relatives,
            covered.missing.len()
        )?;
    }
    writeln!(page, "</tbody>\n</table></div>")?;
    writeln!(
        page,
        "<ul class=\"legend key\"><li><span class=\"own\"></span> own</li><li><span class=\"relatives\"></span> from relatives</li>\
         <li><span class=\"missing\"></span> missing</li></ul>"
    )?;
    missing(page, shown)?;
    if shown.setting_texts > 0 {
        writeln!(
            page,
            "<p class=\"dim\">{} texts of settings are not among them: no locale file has a place for them, so everybody sees the \
             manifest’s own.</p>",
            shown.setting_texts
        )?;
    }
    writeln!(page, "</section>")
}

/// One bar: what is the locale's own, then what its relatives lend, then nothing.
struct CoverageBar<'a>(&'a PreviewCoverage);

impl fmt::Display for CoverageBar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PreviewCoverage { own, relatives, missing } = self.0;
        let total = self.0.total().max(1);
        write!(
            f,
            "<svg role=\"img\" aria-label=\"{own} own, {relatives} from relatives, {} missing\" viewBox=\"0 0 {total} 1\" \
             preserveAspectRatio=\"none\"><rect class=\"missing\" width=\"{total}\" height=\"1\"/>\
             <rect class=\"relatives\" x=\"{own}\" width=\"{relatives}\" height=\"1\"/>\
             <rect class=\"own\" width=\"{own}\" height=\"1\"/></svg>",
            missing.len()
        )
    }
}

fn missing(page: &mut String, shown: &BundlePreview) -> fmt::Result {
    for view in shown.views.iter().filter(|view| !view.covered.missing.is_empty()) {
        let missing = &view.covered.missing;
        writeln!(
            page,
            "<details><summary>{} missing in {}</summary>\n<ul class=\"fields\">",
            missing.len(),
            PreviewLocaleLabel(view)
        )?;
        for field in missing.iter().take(100) {
            writeln!(page, "<li><code>{}</code></li>", Escaped(field))?;
        }
        if let Some(more) = missing.len().checked_sub(100).filter(|more| *more > 0) {
            writeln!(page, "<li>and {more} more</li>")?;
        }
        writeln!(page, "</ul></details>")?;
    }
    Ok(())
}
