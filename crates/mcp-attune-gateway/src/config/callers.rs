//! `[callers]`: what is assumed of callers that do not say it themselves.

use std::sync::Arc;

use http::HeaderName;
use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use mcp_attune::assume::{CallerAssumptions, CallerValues, TrustedHeaders};
use mcp_attune::clients::ClientAtlas;
use mcp_attune::context::IanaTimeZone;
use mcp_attune::language::AcceptLanguage;
use mcp_attune::session::ClientFeatures;

use super::choice::choices;
use super::findings::ConfigProblem;
use super::headers::header_name;
use super::parse_language;
use super::reader::{ConfigTableReader, TomlValue, flag, text};
use super::{clients, feature_tags};

/// `[callers]`: what is assumed of callers that do not say it themselves.
///
/// By default nothing is: only what a request says counts, and what its session began with. What is assumed
/// never decides whether a request passes, and the upstream sees it only in arguments that the operator binds
/// (`[tools.NAME.context]`), unless `forward_assumed` is set. Rules: A1–A6.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct CallersConfig {
    /// Whether what is known of a client by its name counts.
    pub profile: ProfileSetting,
    /// The request headers that count, from peers in `[server] trusted_proxies`. Default: none.
    pub headers: CallerHeadersConfig,
    /// Whether the upstream gets what is assumed as if callers had said it. Default: false.
    pub forward_assumed: bool,
    /// `[callers.default]`: what holds where nothing else says it. Default: nothing.
    pub default: CallerValues,
    /// `[callers.clients.NAME]`: what is known of clients, the operator's entries first. Default: the built-in ones.
    pub clients: ClientAtlas,
}

choices! {
    /// Whether the profile of a client counts. Rules: A5.
    pub ProfileSetting {
        /// No client is treated otherwise for its name.
        Off = "off",
        /// The feature tags that the client's profile has count as declared.
        Auto = "auto",
    }
}

/// `[callers] headers`: which header says what of a caller.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CallerHeadersConfig {
    /// The languages, in the form of `Accept-Language`.
    pub language: Option<HeaderName>,
    /// The time zone, by its IANA name.
    pub timezone: Option<HeaderName>,
    /// The locale, a BCP 47 tag.
    pub locale: Option<HeaderName>,
    /// The country, by ISO 3166-1.
    pub country: Option<HeaderName>,
    /// The region.
    pub region: Option<HeaderName>,
    /// The city.
    pub city: Option<HeaderName>,
}

impl CallersConfig {
    /// Translates the table into the type of the rules.
    pub(crate) fn to_assumptions(&self) -> CallerAssumptions {
        let CallerHeadersConfig { language, timezone, locale, country, region, city } = &self.headers;
        let name = |header: &Option<HeaderName>| header.as_ref().map(|name| Arc::from(name.as_str()));
        CallerAssumptions {
            headers: TrustedHeaders {
                language: name(language),
                timezone: name(timezone),
                locale: name(locale),
                country: name(country),
                region: name(region),
                city: name(city),
            },
            profiles: match self.profile {
                ProfileSetting::Off => None,
                ProfileSetting::Auto => Some(Arc::new(self.clients.clone())),
            },
            default: self.default.clone(),
            forward_assumed: self.forward_assumed,
        }
    }

    /// Reads the table. Absent keys keep the values of `base`.
    pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>, base: &Self) -> Self {
        Self {
            profile: reader.choice("profile", base.profile),
            headers: reader.table("headers", base.headers.clone(), CallerHeadersConfig::read),
            forward_assumed: reader.read("forward_assumed", base.forward_assumed, flag),
            default: reader.table("default", base.default.clone(), read_default),
            clients: clients::read(reader, &base.clients),
        }
    }
}

impl CallerHeadersConfig {
    fn read(reader: &mut ConfigTableReader<'_, '_, '_>, base: &Self) -> Self {
        let mut header = |key, base: &Option<HeaderName>| {
            if reader.has(key) {
                reader.optional(key, trusted_header)
            } else {
                reader.mark_known(key);
                base.clone()
            }
        };
        Self {
            language: header("language", &base.language),
            timezone: header("timezone", &base.timezone),
            locale: header("locale", &base.locale),
            country: header("country", &base.country),
            region: header("region", &base.region),
            city: header("city", &base.city),
        }
    }
}

/// Parses the name of a header that says something of callers, which credentials do not.
fn trusted_header(value: &TomlValue<'_>) -> Result<HeaderName, ConfigProblem> {
    let name = header_name(text(value)?)?;
    if [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE].contains(&name) {
        let hint = "name a header that a proxy sets, such as \"CF-Timezone\"";
        return Err(ConfigProblem::new("is a header of credentials", hint));
    }
    Ok(name)
}

/// Reads `[callers.default]`.
fn read_default(reader: &mut ConfigTableReader<'_, '_, '_>, base: &CallerValues) -> CallerValues {
    let features = feature_tags::read(reader);
    let features = features.map(|tags| ClientFeatures::from_tags(tags.iter().map(String::as_str)));
    let features = features.map(|read| read.features).or_else(|| base.features.clone());
    CallerValues {
        language: reader
            .optional("language", |value| parse_language_preference(text(value)?))
            .or_else(|| base.language.clone()),
        timezone: reader.optional("timezone", |value| parse_timezone(text(value)?)).or(base.timezone),
        locale: reader
            .optional("locale", |value| parse_language(text(value)?))
            .or_else(|| base.locale.clone()),
        place: None,
        features: features.filter(|features| !features.is_empty()),
    }
}

/// Parses a preference in the form of `Accept-Language`, one that says something.
pub(super) fn parse_language_preference(text: &str) -> Result<AcceptLanguage, ConfigProblem> {
    const HINT: &str = "write it like an Accept-Language header, such as \"de-CH, en;q=0.5\"";
    match AcceptLanguage::parse(text) {
        Ok(preference) if preference.is_empty() || text == "*" => {
            Err(ConfigProblem::new("asks for no language", HINT))
        }
        Ok(preference) => Ok(preference),
        Err(_) => Err(ConfigProblem::new("is no language preference", HINT)),
    }
}

/// Parses the name of a time zone.
fn parse_timezone(text: &str) -> Result<IanaTimeZone, ConfigProblem> {
    IanaTimeZone::parse(text).map_err(|why| ConfigProblem::new(format!("is {}", why.what()), why.hint()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn findings(callers: &str) -> String {
        match Config::parse(&format!("[callers]\n{callers}\n"), "attune.toml") {
            Ok(_) => String::new(),
            Err(findings) => findings.to_string(),
        }
    }

    #[test]
    fn each_bad_value_is_a_finding_that_says_what_to_write() {
        for (callers, what, hint) in [
            (
                "default.timezone = 'Mars/Olympus'",
                "`callers.default.timezone` is not a time zone",
                "such as Europe/Vienna",
            ),
            ("default.timezone = '+05:45'", "is an offset and not a time zone", "IANA database"),
            (
                "default.language = 'de;q=7'",
                "`callers.default.language` is no language preference",
                "de-CH, en;q=0.5",
            ),
            ("default.language = '*'", "asks for no language", "de-CH, en;q=0.5"),
            ("default.language = ''", "asks for no language", "de-CH"),
            ("default.locale = 'de_CH'", "`callers.default.locale` is", "did you mean \"de-CH\"?"),
            (
                "default.features = ['format=xml=json', 'human']",
                "is no feature tag that can be used",
                "features parse",
            ),
            ("default.features = 'human'", "is a string, not an array of strings", "put it in brackets"),
            ("default.city = 'Wien'", "there is no key `city` in [callers.default]", ""),
            (
                "headers.timezone = 'CF Timezone'",
                "`callers.headers.timezone` is no name of a header",
                "letters",
            ),
            ("headers.language = 'Cookie'", "is a header of credentials", "CF-Timezone"),
            ("headers.zone = 'CF-Timezone'", "there is no key `zone` in [callers.headers]", "timezone"),
            ("headers = ['CF-Timezone']", "is an array, not a table", ""),
            ("profile = 'on'", "`callers.profile` is none of its 2 values", "\"off\""),
            ("forward_assumed = 'yes'", "is a string, not a boolean", "true or false"),
        ] {
            let found = findings(callers);
            assert!(found.contains(what) && found.contains(hint), "{callers}\n{found}");
        }
    }

    #[test]
    fn a_mount_begins_with_what_the_top_says() {
        let file = r#"
            [callers]
            headers = { timezone = "CF-Timezone", language = "Accept-Language" }
            default = { language = "de", timezone = "europe/zurich", features = ["human"] }
            [mounts.a]
            path = "/a"
            upstream = { url = "http://127.0.0.1:1/mcp" }
            [mounts.b]
            path = "/b"
            upstream = { url = "http://127.0.0.1:1/mcp" }
            [mounts.b.callers]
            forward_assumed = true
            headers = { timezone = "X-Timezone" }
            default = { language = "fr" }
        "#;
        let config = Config::parse(file, "attune.toml").unwrap();
        let [a, b] = config.mounts.as_slice() else { panic!("two mounts") };
        assert_eq!(a.callers.headers.timezone.as_ref().unwrap().as_str(), "cf-timezone");
        assert_eq!(b.callers.headers.timezone.as_ref().unwrap().as_str(), "x-timezone");
        assert_eq!(b.callers.headers.language.as_ref().unwrap().as_str(), "accept-language");
        let language = |values: &CallerValues| values.language.as_ref().unwrap().as_str().to_owned();
        assert_eq!((language(&a.callers.default), language(&b.callers.default)), ("de".into(), "fr".into()));
        assert_eq!(b.callers.default.timezone.unwrap().name(), "Europe/Zurich");
        assert!(!a.callers.forward_assumed && b.callers.forward_assumed);
        assert!(!b.callers.to_assumptions().headers.is_empty());
        assert!(CallersConfig::default().to_assumptions().headers.is_empty());
    }
}
