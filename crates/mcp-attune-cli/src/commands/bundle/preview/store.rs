//! A bundle as a store shows it to users of one locale.

use std::fmt::{self, Write};

use super::content::BundlePreview;
use super::fragments::{PictureClasses, PreviewLocaleLabel};
use super::markdown;
use super::view::{LocaleTextLocation, PreviewLocaleView, PreviewText, PreviewTextOrigin, html_direction};
use crate::html::Escaped;

pub(super) fn write(
    page: &mut String,
    shown: &BundlePreview,
    view: &PreviewLocaleView,
    pictures: &PictureClasses<'_>,
    index: usize,
) -> fmt::Result {
    let (id, lang, dir) = (view.id(), view.tag.as_ref().map_or("", |tag| tag.as_str()), view.direction());
    writeln!(
        page,
        "<section class=\"store\" id=\"{id}\" lang=\"{lang}\" dir=\"{dir}\" aria-labelledby=\"_name{index}\">"
    )?;
    writeln!(page, "<p class=\"seen\" lang=\"en\" dir=\"ltr\">{}</p>", PreviewCaption(view))?;
    writeln!(page, "<div class=\"app\">")?;
    icon(page, shown, view, pictures)?;
    writeln!(page, "<div class=\"about\">\n<h2 id=\"_name{index}\">{}</h2>", name(shown, view))?;
    if view.author.origin != PreviewTextOrigin::Nowhere {
        writeln!(page, "<p class=\"author\">{}</p>", TextWithOrigin(&view.author))?;
    }
    writeln!(page, "<p class=\"description\">{}</p>", TextWithOrigin(&view.description))?;
    writeln!(page, "</div>\n</div>")?;
    keywords(page, &view.keywords)?;
    long_description(page, &view.long_description)?;
    listed(page, "Tools", &view.tools)?;
    listed(page, "Prompts", &view.prompts)?;
    if view.more > 0 {
        writeln!(page, "<p class=\"dim\" lang=\"en\" dir=\"ltr\">{} more are left out.</p>", view.more)?;
    }
    writeln!(page, "</section>")
}

/// Who sees it, and where their texts are looked for.
struct PreviewCaption<'a>(&'a PreviewLocaleView);

impl fmt::Display for PreviewCaption<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let view = self.0;
        if view.tag.is_none() {
            return f
                .write_str("What everybody sees: the manifest names no language and has no translations.");
        }
        write!(f, "What users of {} see. ", PreviewLocaleLabel(view))?;
        f.write_str(match view.file {
            LocaleTextLocation::File => "Texts come from ",
            LocaleTextLocation::Manifest => return f.write_str("It is the language of the manifest."),
            LocaleTextLocation::Elsewhere => "It has no file of its own. Texts come from ",
        })?;
        for tag in &view.row {
            write!(f, "<code>{tag}</code>, then ")?;
        }
        f.write_str("the manifest.")
    }
}

/// The display name; where nobody wrote one, stores show the name for machines.
fn name(shown: &BundlePreview, view: &PreviewLocaleView) -> String {
    if view.display_name.origin == PreviewTextOrigin::Nowhere {
        return format!("<bdi>{}</bdi> {}", Escaped(&shown.name), OriginMark(&view.display_name));
    }
    TextWithOrigin(&view.display_name).to_string()
}

fn icon(
    page: &mut String,
    shown: &BundlePreview,
    view: &PreviewLocaleView,
    pictures: &PictureClasses<'_>,
) -> fmt::Result {
    let (light, dark) = shown.store_icons();
    let name = view.display_name.texts.first().unwrap_or(&shown.name);
    for (theme, index) in [("light", light), ("dark", dark)] {
        let class = index.and_then(|index| shown.icons.get(index)).and_then(|icon| pictures.class(icon));
        match class {
            Some(class) => {
                write!(page, "<span class=\"icon on-{theme} p{class}\" aria-hidden=\"true\"></span>")?;
            }
            None => {
                let first: String = name.chars().take(1).collect();
                write!(
                    page,
                    "<span class=\"icon letter on-{theme}\" aria-hidden=\"true\">{}</span>",
                    Escaped(&first)
                )?;
            }
        }
    }
    writeln!(page)
}

fn keywords(page: &mut String, keywords: &PreviewText) -> fmt::Result {
    if keywords.texts.is_empty() {
        return Ok(());
    }
    writeln!(page, "<ul class=\"keywords\">")?;
    for word in &keywords.texts {
        writeln!(page, "<li>{}</li>", BdiText(keywords, word))?;
    }
    writeln!(page, "<li class=\"plain\">{}</li>\n</ul>", OriginMark(keywords))
}

/// The one text that is Markdown.
fn long_description(page: &mut String, text: &PreviewText) -> fmt::Result {
    let Some(all) = text.texts.first() else { return Ok(()) };
    let (lang, dir) =
        (text.language.as_ref().map_or("", |tag| tag.as_str()), html_direction(text.language.as_ref()));
    writeln!(page, "<div class=\"long\" lang=\"{lang}\" dir=\"{dir}\">")?;
    markdown::write(page, all)?;
    writeln!(page, "{}</div>", OriginMark(text))
}

fn listed(page: &mut String, title: &str, listed: &[(String, PreviewText)]) -> fmt::Result {
    if listed.is_empty() {
        return Ok(());
    }
    writeln!(page, "<h3 lang=\"en\">{title} <span class=\"count\">{}</span></h3>\n<dl>", listed.len())?;
    for (name, text) in listed {
        writeln!(
            page,
            "<div><dt><code lang=\"en\" dir=\"ltr\">{}</code></dt><dd>{}</dd></div>",
            Escaped(name),
            TextWithOrigin(text)
        )?;
    }
    writeln!(page, "</dl>")
}

/// A text in its language, with its mark.
struct TextWithOrigin<'a>(&'a PreviewText);

impl fmt::Display for TextWithOrigin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for text in &self.0.texts {
            write!(f, "{} ", BdiText(self.0, text))?;
        }
        OriginMark(self.0).fmt(f)
    }
}

/// A text in its language, whatever stands around it.
struct BdiText<'a>(&'a PreviewText, &'a str);

impl fmt::Display for BdiText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, direction) = (Escaped(self.1), html_direction(self.0.language.as_ref()));
        match &self.0.language {
            Some(tag) => write!(f, "<bdi lang=\"{tag}\" dir=\"{direction}\">{text}</bdi>"),
            None => write!(f, "<bdi>{text}</bdi>"),
        }
    }
}

/// Where a text comes from, unless it is the locale's own.
struct OriginMark<'a>(&'a PreviewText);

impl fmt::Display for OriginMark<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (class, title, from) = match &self.0.origin {
            PreviewTextOrigin::Own => return Ok(()),
            PreviewTextOrigin::Relative(from) => ("relative", "From a relative", from.as_str()),
            PreviewTextOrigin::Foreign(from) => ("foreign", "Not translated, from", from.as_str()),
            PreviewTextOrigin::Nowhere => ("nowhere", "Nobody wrote it", "none"),
        };
        write!(f, "<span class=\"mark {class}\" lang=\"en\" dir=\"ltr\" title=\"{title}\">{from}</span>")
    }
}
