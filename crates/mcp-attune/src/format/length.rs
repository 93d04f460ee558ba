//! How much room a value may take.

/// How long a text is: `9/10/24`, `Sep 10, 2024`, `September 10, 2024` or `Tuesday, September 10, 2024`.
///
/// Units and relative times have three lengths: [`Short`](Self::Short) is CLDR's narrow one (`5m`),
/// [`Medium`](Self::Medium) the short one (`5 min`), and both others are written out (`5 minutes`).
///
/// Rules: C6.
///
/// ```
/// use mcp_attune::format::FormatLength;
///
/// assert_eq!(FormatLength::named("full"), Some(FormatLength::Full));
/// assert_eq!(FormatLength::named("huge"), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FormatLength {
    /// Digits where the locale can: `9/10/24`.
    Short,
    /// Abbreviated: `Sep 10, 2024`.
    #[default]
    Medium,
    /// Written out: `September 10, 2024`.
    Long,
    /// Written out, with the weekday: `Tuesday, September 10, 2024`.
    Full,
}

impl FormatLength {
    /// The length of a name: `short`, `medium`, `long` or `full`.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::FormatLength;
    ///
    /// assert_eq!(FormatLength::named("short"), Some(FormatLength::Short));
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "short" => Self::Short,
            "medium" => Self::Medium,
            "long" => Self::Long,
            "full" => Self::Full,
            _ => return None,
        })
    }
}
