//! Locale files: the texts of a server in one language, and the files of a server together.
//!
//! A locale file is the one of a desktop bundle, with sections for live servers:
//!
//! ```json
//! {
//!   "display_name": "Wetterdienst",
//!   "server": { "title": "Wetterdienst", "instructions": "…" },
//!   "tools": {
//!     "get_weather": {
//!       "title": "Aktuelles Wetter",
//!       "description": "…",
//!       "invoking": "Wetter wird geholt …",
//!       "invoked": "Wetter geholt",
//!       "arguments": { "location": { "title": "Ort", "description": "…" }, "stops[].name": { "description": "…" } },
//!       "output": { "wind_direction": { "description": "…", "values": { "northwest": "Nordwest" } } }
//!     }
//!   },
//!   "prompts": { "plan_trip": { "title": "…", "arguments": { "city": { "title": "…" } } } },
//!   "resources": { "map://features/alpine-valley-1": { "title": "…" } },
//!   "resource_templates": { "map://features/{id}": { "title": "…" } },
//!   "messages": { "pages-fetched": { "source": "Fetched {count} of {total} pages", "text": "…", "note": "…" } }
//! }
//! ```
//!
//! 1. `display_name`, `description`, `long_description`, `keywords` and `author` are a bundle's; live servers have no use
//!    for them, but for `display_name`: it is the server's title where `server` has none. `tools` and `prompts` may be lists, as bundles have them: `[{"name": …, "description": …}]`.
//! 2. Arguments inside arguments go by their path: `filter.city`, and `stops[].name` for what is in a list. Schemas under
//!    `$defs` begin with that: `$defs.Place.city`.
//! 3. What has no name on the wire goes by what it says: progress, errors, and everything in an elicitation form (its
//!    message, the titles and descriptions of its properties, the titles of its choices) is looked up in `messages` by
//!    `source`. A form has no name, may come from any tool, and is never listed; one pair of texts is what
//!    translators know. Text that is the same in two forms is translated once.
//! 4. `values` translates what stands in a field of a result: to the left what the server writes, to the right what people
//!    read, both written as the `source` and the `text` of a message, without references to messages. Each field has its
//!    own. Values are used in text for people only; structured content stays as it is.
//! 5. A text stands for itself: nothing says that it is up to date. Where the server's text changed after it was
//!    translated, `attune catalog extract` writes beside it what it was translated from:
//!    `"title": "Aktuelles Wetter", "translated_from": { "title": "Current weather" }`. While that differs from the file
//!    of the default language the text is *stale*, and still used. Whoever corrects it takes the mark out. A message is
//!    stale where its `source` is not the one that the default language has. So a file that is up to date is not
//!    longer for it, and a translator sees the old text and the new one.
//! 6. A file that is no JSON object, has a name twice in one object, or is too large is refused as a whole
//!    ([`LocaleFileError`]). Anything else that is wrong (an unknown key, a wrong type, an empty text) is a [`LocaleFileFinding`] with its path,
//!    and only that entry is ignored.
//! 7. Each text is looked for by itself: in the language that was chosen, then in its relatives, the nearest first, and
//!    then the server's own text stands. Relatives are the files of the same language that CLDR knows a common ancestor
//!    for: `es-UY`, `es-419`, `es-MX`, `es`; never another language, so that a sentence in one language is not followed
//!    by one in another that the caller did not ask for. Where the server's own language is among them, it ends the row.
//!
//! Nothing here reads files. A host asks [`LocaleIndex::required_locales`] which files a choice needs, loads and keeps them as it likes,
//! and puts them together in a [`LocaleChain`].
//!
//! Rules: B3, B4, L7, L8, L9, L22.
//!
//! ```
//! use std::sync::Arc;
//! use jiff::tz::TimeZone;
//! use mcp_attune::catalog::{LocaleIndex, LocaleChain, LocaleField, CompiledLocale, TextSlot};
//! use mcp_attune::language::Tag;
//!
//! let [en, swiss, german] = ["en", "de-CH", "de"].map(|tag| Tag::parse(tag).unwrap());
//! let catalogs = LocaleIndex::new(en.clone(), [swiss.clone(), german.clone()]).unwrap();
//! assert_eq!(catalogs.required_locales(&swiss), [&swiss, &german]);
//!
//! let file = br#"{"tools":{"get_weather":{"title":"Aktuelles Wetter"}},"colour":"red"}"#;
//! let (locale, findings) = CompiledLocale::read(german, file).unwrap();
//! assert_eq!(findings[0].to_string(), "colour: there is no such key here");
//! let format = mcp_attune_format::formatters(&en).for_locales([&swiss], TimeZone::UTC);
//! let chain = LocaleChain::new(&swiss, [Arc::new(locale)], &mcp_attune_format::formatters(&en), format);
//! assert_eq!(chain.find(TextSlot::Tool("get_weather", LocaleField::Title)), Some("\"Aktuelles Wetter\""));
//! ```

// Where a text belongs, and what can be wrong,
mod slot;

mod finding;

// a file as its translator wrote it,
mod locale_file;

mod read;

mod coverage;
mod draft;

// one language ready for use,
mod locale;

// several,
mod chain;
mod set;

mod library;

// and what translators' tools know of texts: what is doubtful, and what has no language at all.
mod translation_problem;
mod script;
mod verbatim;

mod pseudo;

mod lint;

pub use chain::{CatalogMessage, LocaleChain, LocaleChainKey};
pub use coverage::{CatalogCoverage, coverage};
pub use draft::{LocaleFileDraft, mark_stale};
pub use finding::{LocaleFileError, LocaleFileFinding, LocaleFileProblem, line_and_column};
pub use library::{EmbeddedLocales, LocaleStore};
pub use lint::{lint, lint_with_relatives};
pub use locale::{BundleTexts, CompiledLocale};
pub use locale_file::{LocaleFileEntry, ParsedLocaleFile};
pub use pseudo::{PseudoLocale, pseudo_localize};
pub use set::LocaleIndex;
pub use slot::{LocaleField, LocaleKeyPath, TextSlot, ValuePath};
pub use translation_problem::{TranslationFinding, TranslationProblem};
