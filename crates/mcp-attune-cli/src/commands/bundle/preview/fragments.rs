//! What several parts of the page write: a locale by its name, and pictures.

use std::collections::BTreeMap;
use std::fmt;

use super::content::{BundlePreview, PreviewManifestPicture};
use super::view::PreviewLocaleView;
use crate::html::Escaped;

/// A locale by its own name and its tag.
pub(super) struct PreviewLocaleLabel<'a>(pub(super) &'a PreviewLocaleView);

impl fmt::Display for PreviewLocaleLabel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(tag) = &self.0.tag else { return f.write_str("manifest") };
        if let Some(name) = &self.0.own_name {
            write!(f, "<bdi lang=\"{tag}\">{}</bdi> ", Escaped(name))?;
        }
        write!(f, "<code>{tag}</code>")
    }
}

/// The pictures of a page, each in it once: the style sheet has them, by class.
pub(super) struct PictureClasses<'a>(BTreeMap<&'a str, usize>, Vec<&'a str>);

impl<'a> PictureClasses<'a> {
    pub(super) fn new(shown: &'a BundlePreview) -> Self {
        let (mut classes, mut all) = (BTreeMap::new(), Vec::new());
        for shot in shown.icons.iter().chain(&shown.screenshots) {
            if let Ok(picture) = &shot.picture {
                classes.entry(picture.base64.as_str()).or_insert_with(|| {
                    all.push(picture.base64.as_str());
                    all.len() - 1
                });
            }
        }
        Self(classes, all)
    }

    pub(super) fn style(&self) -> String {
        let rule = |(index, data): (usize, &&str)| {
            format!(".p{index} {{ background-image: url(data:image/png;base64,{data}); }}\n")
        };
        self.1.iter().enumerate().map(rule).collect()
    }

    /// The class that has the picture.
    pub(super) fn class(&self, shot: &PreviewManifestPicture) -> Option<usize> {
        self.0.get(shot.picture.as_ref().ok()?.base64.as_str()).copied()
    }
}
