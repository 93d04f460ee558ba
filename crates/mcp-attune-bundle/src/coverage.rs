//! How far a bundle is translated.

use std::borrow::Cow;

use super::manifest::Manifest;
use super::resolve::Field;
use mcp_attune::catalog::{self, Coverage, Line, Path, Sheet};

/// The texts of a manifest that can be translated, as a locale file would have them. Keywords are one text: they are
/// replaced together.
///
/// Rules: B3, B7.
#[must_use]
pub fn texts(manifest: &Manifest) -> Sheet {
    let line = |(field, text): (Field, Option<Cow<'_, str>>)| {
        let text = text.filter(|text| !text.trim().is_empty())?;
        Some(Line { path: field.path(), text: text.into(), from: None, at: 0 })
    };
    Sheet::of(Field::all(manifest).into_iter().filter_map(line).collect())
}

/// Those texts of a locale file that a manifest can take, in the same way.
#[must_use]
pub fn localizable(sheet: &Sheet) -> Sheet {
    let (mut lines, mut keywords): (Vec<Line>, _) = (Vec::new(), false);
    for line in sheet.lines() {
        let names: Vec<&str> = line.path.names().collect();
        match names.as_slice() {
            ["keywords", _] => {
                if !keywords {
                    lines.push(Line { path: Path::default().with("keywords"), ..line.clone() });
                }
                keywords = true;
            }
            ["display_name" | "description" | "long_description" | "keywords"]
            | ["author", "name"]
            | ["tools" | "prompts", _, "description"] => lines.push(line.clone()),
            _ => {}
        }
    }
    Sheet::of(lines)
}

/// How far a locale file translates a manifest.
///
/// ```
/// use mcp_attune_bundle::{Manifest, coverage};
/// use mcp_attune::catalog::Sheet;
///
/// let manifest = Manifest::read(br#"{"name": "a", "description": "b", "keywords": ["c", "d"]}"#).unwrap();
/// let (german, _) = Sheet::read(br#"{"keywords": ["e"], "display_name": "f", "server": {"title": "g"}}"#).unwrap();
/// let found = coverage(&manifest, &german);
/// assert_eq!((found.total, found.percent()), (2, 50));
/// assert_eq!(found.surplus[0].to_string(), "display_name");
/// ```
#[must_use]
pub fn coverage(manifest: &Manifest, sheet: &Sheet) -> Coverage {
    catalog::coverage(&texts(manifest), &localizable(sheet))
}
