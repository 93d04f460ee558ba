//! The icons in the sizes that hosts show them in, on light and on dark, and the file that serves each.

use std::fmt::{self, Write};

use super::content::{BundlePreview, IconsForSize, PreviewManifestPicture};
use super::fragments::PictureClasses;
use crate::html::Escaped;

/// Larger ones are shown when somebody wants to see them.
const LARGE_ICON_SIDE: u32 = 256;

pub(super) fn write(page: &mut String, shown: &BundlePreview, pictures: &PictureClasses<'_>) -> fmt::Result {
    writeln!(page, "<section class=\"part\" aria-labelledby=\"_icons\">\n<h2 id=\"_icons\">Icons</h2>")?;
    if shown.icons.is_empty() {
        writeln!(page, "<p>The manifest names none; stores show a letter or a picture of their own.</p>")?;
    } else {
        panels(page, shown, pictures, |served| served.side < LARGE_ICON_SIDE)?;
        writeln!(page, "<details><summary>{LARGE_ICON_SIDE} pixels and more</summary>")?;
        panels(page, shown, pictures, |served| served.side >= LARGE_ICON_SIDE)?;
        writeln!(page, "</details>")?;
        writeln!(page, "<div class=\"panels tables\">")?;
        size_table(page, shown)?;
        files(page, shown)?;
        writeln!(page, "</div>")?;
    }
    screenshots(page, shown, pictures)?;
    writeln!(page, "</section>")
}

fn panels(
    page: &mut String,
    shown: &BundlePreview,
    pictures: &PictureClasses<'_>,
    which: fn(&IconsForSize) -> bool,
) -> fmt::Result {
    writeln!(page, "<div class=\"panels\">")?;
    for theme in ["light", "dark"] {
        writeln!(page, "<div class=\"panel {theme}\">\n<h3>On {theme}</h3>\n<div class=\"sizes\">")?;
        for served in shown.served.iter().filter(|served| which(served)) {
            let index = if theme == "light" { served.light } else { served.dark };
            if let Some(shot) = index.and_then(|index| shown.icons.get(index)) {
                figure(page, served.side, shot, pictures)?;
            }
        }
        writeln!(page, "</div>\n</div>")?;
    }
    writeln!(page, "</div>")
}

fn figure(
    page: &mut String,
    side: u32,
    shot: &PreviewManifestPicture,
    pictures: &PictureClasses<'_>,
) -> fmt::Result {
    let src = Escaped(&shot.src);
    let class = pictures.class(shot).map_or("gone".to_owned(), |class| format!("p{class}"));
    writeln!(
        page,
        "<figure><span class=\"shot s{side} {class}\" role=\"img\" title=\"{src}\" aria-label=\"{src}\"></span>\
         <figcaption>{side}</figcaption></figure>"
    )
}

/// Which file serves which size.
fn size_table(page: &mut String, shown: &BundlePreview) -> fmt::Result {
    writeln!(page, "<div class=\"wide\"><table>\n<caption>The file for each size</caption>")?;
    writeln!(
        page,
        "<thead><tr><th scope=\"col\">Pixels</th><th class=\"name\" scope=\"col\">On light</th>\
         <th class=\"name\" scope=\"col\">On dark</th></tr></thead>\n<tbody>"
    )?;
    for IconsForSize { side, light, dark } in &shown.served {
        write!(page, "<tr><th>{side}</th>")?;
        for index in [light, dark] {
            let shot = index.and_then(|index| shown.icons.get(index));
            let src = shot.map_or("", |shot| shot.src.as_str());
            let size = shot.and_then(|shot| shot.picture.as_ref().ok()).map(|picture| picture.size);
            let note = match size {
                None => " <em>not shown</em>",
                Some(size) if !size.covers(*side) => " <em>scaled up</em>",
                Some(_) => "",
            };
            write!(page, "<td class=\"name\"><code>{}</code>{note}</td>", Escaped(src))?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</tbody>\n</table></div>")
}

/// What the manifest says of each file, and what the file says.
fn files(page: &mut String, shown: &BundlePreview) -> fmt::Result {
    writeln!(page, "<div class=\"wide\"><table>\n<caption>Every icon that the manifest names</caption>")?;
    writeln!(
        page,
        "<thead><tr><th class=\"name\" scope=\"col\">File</th><th class=\"name\" scope=\"col\">Theme</th>\
         <th class=\"name\" scope=\"col\">Declared</th><th class=\"name\" scope=\"col\">Found</th></tr></thead>\n<tbody>"
    )?;
    for shot in &shown.icons {
        let theme = shot.theme.as_deref().unwrap_or("any");
        let declared = shot.size.map_or("nothing".to_owned(), |size| size.to_string());
        let found = match &shot.picture {
            Ok(picture) if shot.size.is_some_and(|size| size != picture.size) => {
                format!("<em>{}, another size</em>", picture.size)
            }
            Ok(picture) => picture.size.to_string(),
            Err(why) => format!("<em>not shown: {}</em>", Escaped(why)),
        };
        writeln!(
            page,
            "<tr><th scope=\"row\"><code>{}</code></th><td class=\"name\">{}</td><td class=\"name\">{declared}</td>\
             <td class=\"name\">{found}</td></tr>",
            Escaped(&shot.src),
            Escaped(theme)
        )?;
    }
    writeln!(page, "</tbody>\n</table></div>")
}

fn screenshots(page: &mut String, shown: &BundlePreview, pictures: &PictureClasses<'_>) -> fmt::Result {
    if shown.screenshots.is_empty() {
        return Ok(());
    }
    writeln!(page, "<h2>Screenshots</h2>\n<div class=\"screenshots\">")?;
    for shot in &shown.screenshots {
        let src = Escaped(&shot.src);
        match (&shot.picture, pictures.class(shot)) {
            (Ok(picture), Some(class)) => writeln!(
                page,
                "<figure><span class=\"shot p{class}\" role=\"img\" aria-label=\"{src}\" \
                 style=\"aspect-ratio: {} / {}\"></span><figcaption>{src}</figcaption></figure>",
                picture.size.width, picture.size.height
            )?,
            (Err(why), _) => writeln!(page, "<p>{src} is not shown: {}.</p>", Escaped(why))?,
            (Ok(_), None) => {}
        }
    }
    writeln!(page, "</div>")
}
