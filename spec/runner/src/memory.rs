//! The files of a case, read from memory: a host that is given them needs no disk.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_attune::catalog::{CompiledLocale, LocaleIndex, LocaleStore};
use mcp_attune::language::Tag;
use mcp_attune_shape::template::{Template, TemplateSet, ToolHints};

use crate::message::Text;

/// The locale files of a case. None is at hand, so that every host has to load them.
#[derive(Debug)]
pub(crate) struct LocaleFiles {
    catalogs: Arc<LocaleIndex>,
    locales: Vec<Arc<CompiledLocale>>,
}

impl LocaleFiles {
    /// Reads the files `locales/TAG.json`; `default` is the language of the server's own texts.
    pub(crate) fn new(files: &BTreeMap<String, Text>, default: Tag) -> Self {
        let read = |(path, text): (&String, &Text)| {
            let tag = path.strip_prefix("locales/")?.strip_suffix(".json")?;
            let (locale, _) = CompiledLocale::read(Tag::parse(tag).unwrap(), text.0.as_bytes()).unwrap();
            Some(Arc::new(locale))
        };
        let locales: Vec<_> = files.iter().filter_map(read).collect();
        let tags = locales.iter().map(|locale| locale.tag().clone());
        let catalogs = Arc::new(LocaleIndex::new(default, tags).unwrap());
        Self { catalogs, locales }
    }
}

impl LocaleStore for LocaleFiles {
    fn locale_index(&self) -> Arc<LocaleIndex> {
        Arc::clone(&self.catalogs)
    }

    fn cached(&self, _: &Tag) -> Option<Vec<Arc<CompiledLocale>>> {
        None
    }

    fn load(&self, chosen: &Tag) -> Vec<Arc<CompiledLocale>> {
        let named = |tag: &Tag| self.locales.iter().find(|locale| locale.tag() == tag).cloned();
        self.catalogs.required_locales(chosen).into_iter().filter_map(named).collect()
    }
}

/// The templates whose paths begin with `stem` and a dot.
pub(crate) fn templates(files: &BTreeMap<String, Text>, stem: &str) -> Arc<TemplateSet> {
    let compile = |(path, text): (&String, &Text)| {
        let variant = path.strip_prefix(stem)?.strip_prefix('.')?;
        let variant = Some(variant).filter(|variant| variant.rsplit('.').next() != Some("hints"))?;
        Some(Template::compile(variant, &text.0).unwrap())
    };
    Arc::new(TemplateSet::new(files.iter().filter_map(compile)))
}

/// The hints in a file.
pub(crate) fn hints(files: &BTreeMap<String, Text>, path: &str) -> Option<Arc<ToolHints>> {
    let hints = ToolHints::compile(&files.get(path)?.0).unwrap();
    Some(hints).filter(|hints| !hints.is_empty()).map(Arc::new)
}
