//! A preview as one page. There is no script in it: the locale is chosen by links, the theme by radio buttons, and the style
//! sheet does the rest.

use std::fmt::{self, Write};

use super::content::BundlePreview;
use super::fragments::{PictureClasses, PreviewLocaleLabel};
use super::view::{LocaleTextLocation, PreviewLocaleView};
use super::{coverage, icons, setting, store};
use crate::html::{self, Escaped};

const STYLE: &str = include_str!("page.css");

/// The page of a bundle.
pub(super) fn page(shown: &BundlePreview) -> String {
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut page, shown);
    page
}

fn write(page: &mut String, shown: &BundlePreview) -> fmt::Result {
    let pictures = PictureClasses::new(shown);
    let style = format!("{STYLE}{}{}", chosen_locale_style(shown), pictures.style());
    html::begin(page, &format!("Preview of {}", shown.name), &style, "img-src data:")?;
    head(page, shown)?;
    writeln!(page, "<main>")?;
    for (index, view) in shown.views.iter().enumerate() {
        store::write(page, shown, view, &pictures, index)?;
    }
    setting::write(page, &shown.settings)?;
    coverage::write(page, shown)?;
    icons::write(page, shown, &pictures)?;
    problems(page, shown)?;
    writeln!(page, "</main>")?;
    html::end(page)
}

/// What is chosen is shown: the locale that the address names, else the first.
fn chosen_locale_style(shown: &BundlePreview) -> String {
    let mut style = String::new();
    for view in &shown.views {
        let id = view.id();
        style += &format!(
            ":root:has([id=\"{id}\"]:target) nav a[href=\"#{id}\"] {{ background: var(--chosen); border-color: var(--is); }}\n"
        );
    }
    style
}

fn head(page: &mut String, shown: &BundlePreview) -> fmt::Result {
    writeln!(page, "<header>\n<div class=\"title\">\n<h1>Preview of {}</h1>", Escaped(&shown.name))?;
    writeln!(page, "<ul class=\"facts\">")?;
    for (name, text) in &shown.facts {
        writeln!(page, "<li><span>{name}</span> {}</li>", Escaped(text))?;
    }
    writeln!(page, "</ul>\n</div>\n<div class=\"switches\">")?;
    writeln!(page, "<fieldset>\n<legend>Theme</legend>")?;
    for (id, label) in [("auto", "System"), ("light", "Light"), ("dark", "Dark")] {
        let checked = if id == "auto" { " checked" } else { "" };
        writeln!(
            page,
            "<input type=\"radio\" name=\"theme\" id=\"theme_{id}\"{checked}><label for=\"theme_{id}\">{label}</label>"
        )?;
    }
    writeln!(page, "</fieldset>")?;
    writeln!(
        page,
        "<p class=\"switch\"><input type=\"checkbox\" id=\"marks_on\" checked><label for=\"marks_on\">Mark texts that are not \
         of the locale</label></p>\n</div>"
    )?;
    writeln!(page, "<nav aria-label=\"Locales\">\n<ul>")?;
    for view in &shown.views {
        locale(page, view)?;
    }
    writeln!(page, "</ul>\n</nav>")?;
    if shown.left_out > 0 {
        let left = shown.left_out;
        writeln!(
            page,
            "<p class=\"dim\">{left} more locales are left out; name those to see with <code>--locale</code>.</p>"
        )?;
    }
    legend(page)?;
    writeln!(page, "</header>")
}

/// A link to a locale.
fn locale(page: &mut String, view: &PreviewLocaleView) -> fmt::Result {
    let id = view.id();
    let (class, hint) = match view.file {
        LocaleTextLocation::File => ("", "Has a locale file"),
        LocaleTextLocation::Manifest => ("", "The manifest’s own texts"),
        LocaleTextLocation::Elsewhere => (" class=\"fileless\"", "Has no locale file"),
    };
    writeln!(page, "<li><a href=\"#{id}\"{class} title=\"{hint}\">{}</a></li>", PreviewLocaleLabel(view))
}

fn legend(page: &mut String) -> fmt::Result {
    writeln!(page, "<ul class=\"legend\">")?;
    for (class, mark, text) in [
        ("relative", "es", "from a relative of the locale"),
        ("foreign", "en-US", "not translated: from another language"),
        ("foreign", "manifest", "not translated: the manifest’s own text"),
        ("nowhere", "none", "nobody wrote it"),
    ] {
        writeln!(page, "<li><span class=\"mark {class}\">{mark}</span> {text}</li>")?;
    }
    writeln!(page, "</ul>")
}

fn problems(page: &mut String, shown: &BundlePreview) -> fmt::Result {
    if shown.problems.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "<section class=\"part\" aria-labelledby=\"_problems\">\n<h2 id=\"_problems\">Files that are not used</h2>\n<ul>"
    )?;
    for problem in &shown.problems {
        writeln!(page, "<li>{}</li>", Escaped(problem))?;
    }
    writeln!(page, "</ul>\n</section>")
}

#[cfg(test)]
mod tests {
    use super::super::sample::{FILES, MANIFEST, shown};
    use super::*;

    /// The page without its style sheet, which is the same for all.
    fn body(shown: &BundlePreview) -> String {
        let page = page(shown);
        page.split_once("</style>").unwrap().1.to_owned()
    }

    #[test]
    fn a_page_has_every_locale_with_its_marks() {
        insta::assert_snapshot!(body(&shown(MANIFEST, FILES, &["es-UY"])));
    }

    #[test]
    fn nothing_of_a_bundle_is_markup() {
        let hostile = r#"</bdi><script>alert(1)</script><img src=x onerror=alert(1)>\" onerror=\"x' \u202e[x](javascript:alert(1))</style>"#;
        let tag = "en-x-hostile";
        let text = format!(
            r#"{{"name": "{hostile}", "version": "{hostile}", "display_name": "{hostile}", "description": "{hostile}",
            "long_description": "<script>\n\n{hostile}", "keywords": ["{hostile}"], "author": {{"name": "{hostile}"}},
            "server": {{"type": "{hostile}"}}, "icons": [{{"src": "{hostile}", "size": "16x16", "theme": "{hostile}"}}],
            "screenshots": ["{hostile}"], "localization": {{"resources": "r/${{locale}}.json", "default_locale": "{tag}"}},
            "tools": [{{"name": "{hostile}", "description": "{hostile}"}}], "prompts": [{{"name": "{hostile}"}}]}}"#
        );
        let strange = "r/<script>.json";
        let page = page(&shown(&text, &[(strange, "{}"), ("r/de.json", "<script>")], &["ar"]));
        for markup in ["<script", "<img", "</style>\n</head>", "\u{202e}", "href=\"javascript"] {
            let found = page.matches(markup).count();
            assert_eq!(found, usize::from(markup.starts_with("</style>")), "{markup}");
        }
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && page.contains("\\u{202e}"));
        assert!(page.contains("r/&lt;script&gt;.json"), "{page}");
        // Every attribute is one that the page writes itself: what is quoted has no quotes in it.
        let tags = page.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag);
        for tag in tags {
            let names: String = tag.split('"').step_by(2).collect();
            assert!(!names.contains(" on") && !names.contains('&'), "{tag}");
        }
    }

    #[test]
    fn a_picture_is_in_the_page_once_and_nothing_is_loaded() {
        let page = page(&shown(MANIFEST, FILES, &["es-UY"]));
        assert_eq!(page.matches("data:image/png;base64,").count(), 1, "two icons have the same picture");
        let policy = "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"";
        assert_eq!(page.matches(policy).count(), 1);
        for outside in ["http://", "https://", "src=", "@import", "<link", "<script"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn lines_begin_where_their_language_says() {
        let page = body(&shown(MANIFEST, FILES, &["he"]));
        for section in [
            "id=\"ar\" lang=\"ar\" dir=\"rtl\"",
            "id=\"he\" lang=\"he\" dir=\"rtl\"",
            "id=\"es\" lang=\"es\" dir=\"ltr\"",
        ] {
            assert!(page.contains(section), "{section}");
        }
        // What is not translated stays readable among what is.
        assert!(page.contains("<bdi lang=\"en-US\" dir=\"ltr\">What to pack</bdi>"));
    }
}
