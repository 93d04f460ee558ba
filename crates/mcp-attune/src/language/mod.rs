//! Which language a caller gets: preferences, tags, and the choice between them.
//!
//! 1. Subtags are compared without case. A language that goes by several names by CLDR is one: `iw` and `he`, `no`
//!    and `nb`, `sh` and `sr-Latn`, `i-klingon` and `tlh`, `zh-yue` and `yue`, `de-DD` and `de-DE`. A range *covers* the
//!    tags that begin with it, as written or by their canonical names.
//! 2. A language on offer has the weight of the most specific range that covers it. Where that is 0, it is excluded.
//! 3. One that no range covers is *reached* by a range that covers it once shortened as in RFC 4647 lookup, and has
//!    the weight of that range. A range of weight 0 is not shortened.
//! 4. `*` covers what no other range covers or reaches.
//! 5. The highest weight wins, then the range that stands first. Among those of one range: the exact match, then the
//!    covered before the reached, then the nearest by CLDR, then the default, then the server's order. Nearness is
//!    measured from the range, or from a narrower one of at least its weight: whoever asks for `zh-TW, zh;q=0.9`
//!    has said which Chinese.
//! 6. Where nothing has a weight, the language that readers of the most wanted range most likely also read, unless it is
//!    excluded: `nb` for `nn`, `de` for `gsw`, `es` for `ca`. Else the default, which stands even when excluded.
//!
//! Looking up never fails. What is malformed counts as absent, and [`read_preference`] says what was wrong.
//!
//! Rules: L1, L2, L4, L5, L6, L19.
//!
//! ```
//! use mcp_attune::language::{AcceptLanguage, Languages, Why, lookup};
//!
//! let languages = Languages::new("en", ["fr", "de-CH"]).unwrap();
//! let accept = AcceptLanguage::parse("de, en;q=0.5").unwrap();
//! let choice = lookup(&accept, &languages);
//! assert_eq!(choice.language.as_str(), "de-CH");
//! assert_eq!(choice.why, Why::Covered);
//! ```

// A module uses only modules above it. First the packed form that everything compares:
mod subtag;

// what CLDR knows, generated here or from ICU4X,
mod cldr;
mod likely;

// the one name of a language, and what a range is to a tag,
mod alias;
mod form;

// where a language stands among others, and how near,
mod ancestry;
mod distance;

// what can be read,
mod malformed;
mod range;
mod tag;

// and the flow: a preference comes in, languages are on offer, one is chosen.
mod accept;
mod content;
mod languages;
mod lookup;

// What it is called is for people only.
mod display;

// The same tables know weeks.
mod week;

pub use alias::canonical_tag as canonical;
pub(crate) use week::week_begins;

pub use accept::{AcceptLanguage, read_preference};
pub use content::{ContentLanguage, ContentLanguageError};
pub use display::{TextDirection, native_name, text_direction};
pub use languages::{Languages, LanguagesError};
pub use lookup::{Choice, Why, lookup};
pub use malformed::AcceptLanguageError;
pub use range::LanguageRange;
pub use tag::{LanguageTagError, Tag};
