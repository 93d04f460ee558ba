//! Which language an answer is in, and what is said about it beside it.

use mcp_attune::language::{AcceptLanguage, Languages, lookup};
use mcp_attune_wire::message::meta;
use serde_json::{Value, json};

use super::{Lines, No, Request, Right};

const AVAILABLE: [&str; 2] = ["de", "fr-CH"];

impl Right {
    /// The language, if there is a preference, and the headers of the answer.
    pub(super) fn language(
        &self,
        request: &Request,
        body: &Value,
        context: Option<&Value>,
    ) -> Result<(Option<String>, Lines), No> {
        let is_silent = self.has("speaks-in-calls") && body["method"] != "tools/call";
        if self.has("claims-nothing") || is_silent {
            return Ok((None, Vec::new()));
        }
        let about = &body["params"]["_meta"];
        let lines: Vec<String> = request
            .headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("accept-language"))
            .map(|(_, value)| String::from_utf8_lossy(value).into_owned())
            .collect();
        let wanted = &about[meta::ACCEPT_LANGUAGE];
        let bad = wanted.is_array() && self.has("L2/no-string");
        if bad || self.disagrees(&lines, wanted.as_str()) {
            return Err(No(400, -32020, json!({ "mismatches": [{ "header": "Accept-Language" }] })));
        }
        let mut preference = wanted.as_str().map(str::to_owned);
        if self.has("L14/header-missing") && lines.is_empty()
            || self.has("L20/over-pipes") && preference.as_deref().is_some_and(|text| text.contains("0.1"))
        {
            preference = None;
        }
        if preference.is_none() && self.has("L14/header-alone") {
            preference = lines.first().cloned();
        }
        let locale = context
            .and_then(|context| context["locale"].as_str())
            .filter(|_| !self.has("C7/locale-stands-in"));
        let vendors = about["openai/locale"].as_str().filter(|_| !self.has("C11/vendors-locale"));
        let locale = locale.or(vendors).map(str::to_owned);
        let mut preference =
            if self.has("C7/preference-first") { locale.or(preference) } else { preference.or(locale) };
        if self.has("L3/not-remembered") {
            let mut memory = self.memory.lock().unwrap();
            memory.language = preference.take().or(memory.language.take());
            preference.clone_from(&memory.language);
        }
        let language = preference.map(|text| self.choose(&text)).transpose()?.flatten();
        Ok((language.clone(), self.beside(language, !lines.is_empty(), wanted.is_string())))
    }

    fn disagrees(&self, lines: &[String], wanted: Option<&str>) -> bool {
        let Some(wanted) = wanted.filter(|_| !lines.is_empty()) else { return false };
        let joined = if self.has("L14/lines-are-joined") { lines[0].clone() } else { lines.join(", ") };
        let without = |text: &str| text.replace(' ', "");
        let same = joined == wanted || self.has("L14/one-blank") && without(&joined) == without(wanted);
        !same && !self.has("L14/header-differs")
    }

    /// The language for a preference; none where it cannot be read.
    fn choose(&self, text: &str) -> Result<Option<String>, No> {
        let error = || Err(No(400, -32602, Value::Null));
        let mut text = text.to_owned();
        match self.flaw.as_str() {
            "L1/odd-but-legal" if text.contains(",,") => return Ok(None),
            "L1/weight-without-a-whole-part" => text = text.replace("q=.", "q=0."),
            "L1/blank-at-the-edge" => text = text.trim().to_owned(),
            "L4/weights-decide" => text = text.split(';').next().unwrap_or_default().to_owned(),
            "L4/zero-excludes" => text = text.replace(";q=0,", ","),
            "L4/case" if text.chars().all(char::is_uppercase) => text = "tlh".to_owned(),
            "L4/shortened" => text = text.replace("de-ZZ, ", ""),
            "L4/wildcard" if text == "*" => return Ok(None),
            "L6/no-match" if text == "tlh" => return Ok(None),
            "L6/all-excluded" if text.contains("*;q=0") && !text.contains("*;q=0.") => return error(),
            _ => {}
        }
        let Ok(accept) = AcceptLanguage::parse(&text) else {
            return if self.has("L2/malformed") { error() } else { Ok(None) };
        };
        let languages = Languages::new("en", AVAILABLE).unwrap();
        Ok(Some(lookup(&accept, &languages).language.as_str().to_owned()))
    }

    fn beside(&self, language: Option<String>, header: bool, preferred: bool) -> Vec<(String, String)> {
        let mut beside = Vec::new();
        if preferred || !self.has("L17/varies") {
            beside.push(("Vary".to_owned(), "Accept-Language".to_owned()));
        }
        if preferred && !header && !self.has("L17/private-without-the-header") {
            beside.push(("Cache-Control".to_owned(), "private".to_owned()));
        }
        if let Some(language) = language {
            let language = if self.has("L15/header-repeats") { "en".to_owned() } else { language };
            beside.push(("Content-Language".to_owned(), language));
        }
        beside
    }
}
