//! Headers, held against the body.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use mcp_attune_wire::header;
use mcp_attune_wire::message::meta;
use mcp_attune_wire::schema::{DeclaredHeaders, DeclaredType, HeaderDeclaration};
use serde_json::{Value, json};

use super::{No, Request, Right};

impl Right {
    pub(super) fn headers(&self, request: &Request, body: &Value) -> Result<(), No> {
        let mut wrong = Vec::new();
        let mut differs = |name: &str| wrong.push(name.to_owned());
        let about = &body["params"]["_meta"];
        let version = about[meta::PROTOCOL_VERSION].as_str();
        if let Some(version) = version.filter(|version| !self.unchecked_version(request, version)) {
            self.routing(request, header::PROTOCOL_VERSION, version, &mut differs);
        }
        self.routing(request, header::METHOD, body["method"].as_str().unwrap_or_default(), &mut differs);
        let name = match body["method"].as_str() {
            Some("tools/call") => Some((&body["params"]["name"], "H1/name-differs")),
            Some("prompts/get") => Some((&body["params"]["name"], "H1/prompt-differs")),
            Some("resources/read") => Some((&body["params"]["uri"], "H1/resource-differs")),
            _ => None,
        };
        if let Some((name, _)) = name.filter(|(_, flaw)| !self.has(flaw)) {
            self.routing(request, header::NAME, name.as_str().unwrap_or_default(), &mut differs);
        }
        if body["method"] == "tools/call" {
            self.params(request, body, &mut differs);
        }
        if wrong.is_empty() {
            return Ok(());
        }
        let listed = if self.has("H9/every-fault") { 1 } else { wrong.len() };
        let entries: Vec<_> = wrong.iter().take(listed).map(|name| json!({ "header": name })).collect();
        Err(No(400, -32020, json!({ "mismatches": entries })))
    }

    fn unchecked_version(&self, request: &Request, version: &str) -> bool {
        let older = self.lines(request, header::PROTOCOL_VERSION).contains(&&b"2025-11-25"[..]);
        self.has("H16/older-header") && older || self.has("H16/older-body") && version == "2025-11-25"
    }

    /// The lines of a header.
    fn lines<'r>(&self, request: &'r Request, name: &str) -> Vec<&'r [u8]> {
        let exact = self.has("H3/names-in-small-letters");
        let named = |found: &str| found.eq_ignore_ascii_case(name) && !(exact && found.starts_with('m'));
        request.headers.iter().filter(|(found, _)| named(found)).map(|(_, value)| value.as_slice()).collect()
    }

    fn routing(&self, request: &Request, name: &str, wanted: &str, differs: &mut impl FnMut(&str)) {
        let (missing, twice, unlike) = match name {
            header::PROTOCOL_VERSION => ("H1/version-missing", "H2/version-twice", ""),
            header::METHOD => ("H1/method-missing", "H2/method-twice", "H1/method-differs"),
            _ => ("H1/name-missing", "H2/name-twice", ""),
        };
        // A server that takes headers by their exact name finds none, and lets the request pass.
        let passes = self.has(missing) || self.has("H3/names-in-small-letters");
        let lines = self.lines(request, name);
        let same = match lines.as_slice() {
            [] => passes,
            [one] => self.has(unlike) || self.is_text(name, one, wanted),
            [first, ..] => self.has(twice) && self.is_text(name, first, wanted),
        };
        if !same {
            differs(name);
        }
    }

    fn is_text(&self, name: &str, raw: &[u8], wanted: &str) -> bool {
        let plain = String::from_utf8_lossy(raw);
        if name == header::METHOD || name == header::PROTOCOL_VERSION {
            let encoded =
                self.has("H4/method-in-base64") && header::decode(raw).is_ok_and(|text| text == wanted);
            let loose = self.has("H3/values-with-case") && plain.eq_ignore_ascii_case(wanted);
            return plain == wanted || encoded || loose;
        }
        if raw.is_empty() && self.has("H1/name-empty") || !raw.is_ascii() && self.has("H4/bytes-beyond-ascii")
        {
            return true;
        }
        self.decoded(raw).is_some_and(|text| text == wanted)
    }

    fn decoded(&self, raw: &[u8]) -> Option<String> {
        let plain = String::from_utf8_lossy(raw).into_owned();
        let inside = |text: &str| Some(text.strip_prefix("=?base64?")?.strip_suffix("?=")?.to_owned());
        match self.flaw.as_str() {
            "H4/name-in-base64" | "H6/param-in-base64" => return Some(plain),
            "H4/marks-in-capitals" => {
                return header::decode(plain.replace("BASE64", "base64").as_bytes()).ok().map(Into::into);
            }
            "H4/without-padding" => {
                let bytes =
                    inside(&plain).and_then(|text| STANDARD_NO_PAD.decode(text.trim_end_matches('=')).ok());
                if let Some(bytes) = bytes {
                    return String::from_utf8(bytes).ok();
                }
            }
            "H4/no-text-inside" => {
                if let Some(bytes) = inside(&plain).and_then(|text| STANDARD.decode(text).ok()) {
                    return Some(String::from_utf8_lossy(&bytes).replace('\u{fffd}', ""));
                }
            }
            _ => {}
        }
        header::decode(raw).ok().map(Into::into)
    }

    fn params(&self, request: &Request, body: &Value, differs: &mut impl FnMut(&str)) {
        let tool = self.tools("en").into_iter().find(|tool| tool["name"] == body["params"]["name"]);
        let schema = tool.map(|tool| tool["inputSchema"].to_string()).unwrap_or_default();
        let declared = DeclaredHeaders::read(schema.as_bytes()).unwrap_or_default();
        for one in declared.iter() {
            let mut value = &body["params"]["arguments"];
            for name in one.path() {
                value = &value[name];
            }
            let lines = self.lines(request, one.header());
            let same = match (lines.as_slice(), value.is_null()) {
                ([], missing) => missing || self.has("H6/param-missing"),
                (_, true) => self.has("H6/orphan"),
                ([raw], false) => self.has("H6/param-differs") || self.is_value(one, raw, value),
                ([raw, ..], false) => self.has("H2/param-twice") && self.is_value(one, raw, value),
            };
            if !same {
                differs(one.header());
            }
        }
        let known = |name: &str| declared.iter().any(|one| one.header().eq_ignore_ascii_case(name));
        let stranger = request.headers.iter().map(|(name, _)| name.to_ascii_lowercase());
        if self.has("H8/nobodys-param")
            && stranger.into_iter().any(|name| name.starts_with("mcp-param-") && !known(&name))
        {
            differs("Mcp-Param-*");
        }
    }

    fn is_value(&self, one: &HeaderDeclaration, raw: &[u8], value: &Value) -> bool {
        let Some(text) = self.decoded(raw) else { return false };
        let spelled = value.to_string();
        match one.kind() {
            DeclaredType::String => value == &json!(text),
            DeclaredType::Boolean if self.has("H7/boolean-in-capitals") => {
                value.to_string().eq_ignore_ascii_case(&text)
            }
            DeclaredType::Boolean => spelled == text,
            DeclaredType::Integer => self.is_integer(&text, value),
        }
    }

    fn is_integer(&self, text: &str, value: &Value) -> bool {
        if self.has("H7/by-value") {
            let spelled = value.to_string();
            return spelled == text;
        }
        if self.has("H7/no-number") {
            let hexadecimal = text.strip_prefix("0x").and_then(|text| i64::from_str_radix(text, 16).ok());
            let loose = hexadecimal.map(|number| number as f64).or_else(|| text.parse().ok());
            return loose == value.as_f64();
        }
        let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let plain = digits(whole.strip_prefix('-').unwrap_or(whole)) && digits(rest);
        let number: Option<f64> = text.parse().ok().filter(|_| plain);
        let number = if self.has("H7/another-value") { number.map(f64::trunc) } else { number };
        number.is_some() && number == value.as_f64()
    }
}
