//! What users fill in when they install a bundle, as a host asks for it.

use std::fmt::{self, Write};

use super::view::{MAX_TEXT_CHARS, truncated};
use crate::html::Escaped;

/// One thing that users fill in.
#[derive(Debug)]
pub(super) struct PreviewSetting {
    key: String,
    title: Option<String>,
    description: Option<String>,
    kind: SettingInputKind,
    required: bool,
    multiple: bool,
    /// What it is when nothing is filled in.
    default: Option<String>,
    min: Option<f64>,
    max: Option<f64>,
}

/// How it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SettingInputKind {
    Text,
    Secret,
    Number,
    Switch,
    Path(&'static str),
}

impl PreviewSetting {
    pub(super) fn of(setting: &mcp_attune_bundle::UserConfigSetting) -> Self {
        let text = |text: &Option<Box<str>>| text.as_deref().map(|text| truncated(text, MAX_TEXT_CHARS));
        let kind = match setting.kind.as_deref() {
            Some("number") => SettingInputKind::Number,
            Some("boolean") => SettingInputKind::Switch,
            Some("directory") => SettingInputKind::Path("Choose a folder…"),
            Some("file") => SettingInputKind::Path("Choose a file…"),
            _ if setting.sensitive => SettingInputKind::Secret,
            _ => SettingInputKind::Text,
        };
        Self {
            key: truncated(&setting.key, 200),
            title: text(&setting.title),
            description: text(&setting.description),
            kind,
            required: setting.required,
            multiple: setting.multiple,
            default: setting.default.as_ref().map(|texts| truncated(&texts.join(", "), MAX_TEXT_CHARS)),
            min: setting.min,
            max: setting.max,
        }
    }
}

pub(super) fn write(page: &mut String, settings: &[PreviewSetting]) -> fmt::Result {
    if settings.is_empty() {
        return Ok(());
    }
    writeln!(page, "<section class=\"part\" aria-labelledby=\"_settings\">")?;
    writeln!(page, "<h2 id=\"_settings\">What users fill in</h2>")?;
    writeln!(page, "<div class=\"dialog\">")?;
    for (index, setting) in settings.iter().enumerate() {
        field(page, setting, index)?;
    }
    writeln!(page, "</div>\n</section>")
}

fn field(page: &mut String, setting: &PreviewSetting, index: usize) -> fmt::Result {
    let title = setting.title.as_deref().unwrap_or(&setting.key);
    let required = if setting.required { " <span class=\"required\">required</span>" } else { "" };
    writeln!(page, "<div class=\"field\">\n<label for=\"_s{index}\">{}{required}</label>", Escaped(title))?;
    if let Some(description) = &setting.description {
        writeln!(page, "<p>{}</p>", Escaped(description))?;
    }
    input(page, setting, index)?;
    writeln!(
        page,
        "<p class=\"dim\"><code>{}</code>{}</p>\n</div>",
        Escaped(&setting.key),
        SettingConstraints(setting)
    )
}

/// The field itself; nothing can be filled in here.
fn input(page: &mut String, setting: &PreviewSetting, index: usize) -> fmt::Result {
    let default = setting.default.as_deref().unwrap_or_default();
    let (value, id) = (Escaped(default), format!("id=\"_s{index}\" disabled"));
    match setting.kind {
        SettingInputKind::Text => writeln!(page, "<input type=\"text\" {id} value=\"{value}\">"),
        // A secret has no default that anybody should see.
        SettingInputKind::Secret => writeln!(page, "<input type=\"password\" {id} value=\"\">"),
        SettingInputKind::Number => {
            writeln!(page, "<input type=\"text\" inputmode=\"decimal\" {id} value=\"{value}\">")
        }
        SettingInputKind::Switch => {
            let checked = if default == "true" { " checked" } else { "" };
            writeln!(page, "<input type=\"checkbox\" {id}{checked}>")
        }
        SettingInputKind::Path(words) => {
            let shown = if default.is_empty() { words } else { default };
            writeln!(page, "<input type=\"text\" {id} value=\"{}\">", Escaped(shown))
        }
    }
}

/// What else is asked of a value.
struct SettingConstraints<'a>(&'a PreviewSetting);

impl fmt::Display for SettingConstraints<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.min, self.0.max) {
            (Some(min), Some(max)) => write!(f, ", from {min} to {max}")?,
            (Some(min), None) => write!(f, ", at least {min}")?,
            (None, Some(max)) => write!(f, ", at most {max}")?,
            (None, None) => {}
        }
        if self.0.multiple {
            f.write_str(", one or several")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::page;
    use super::super::sample::shown;

    #[test]
    fn settings_are_shown_as_a_host_asks_for_them() {
        let manifest = r#"{"name": "a", "user_config": {
            "key": {"type": "string", "title": "Key", "description": "From <your> account", "sensitive": true, "required": true, "default": "s3cret"},
            "days": {"type": "number", "title": "Days", "default": 3, "min": 1, "max": 7},
            "folders": {"type": "directory", "title": "Folders", "multiple": true},
            "\"><script>": {"type": "boolean", "default": true}}}"#;
        let page = page(&shown(manifest, &[], &[]));
        for part in [
            "<h2 id=\"_settings\">What users fill in</h2>",
            "<label for=\"_s0\">Key <span class=\"required\">required</span></label>",
            "<p>From &lt;your&gt; account</p>",
            "<input type=\"password\" id=\"_s0\" disabled value=\"\">",
            "value=\"3\">\n<p class=\"dim\"><code>days</code>, from 1 to 7</p>",
            "value=\"Choose a folder…\">\n<p class=\"dim\"><code>folders</code>, one or several</p>",
            "<input type=\"checkbox\" id=\"_s3\" disabled checked>",
            "4 texts of settings are not among them",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        assert!(!page.contains("s3cret") && !page.contains("<script"), "{page}");
    }

    #[test]
    fn a_bundle_without_settings_asks_for_nothing() {
        assert!(!page(&shown(r#"{"name": "a"}"#, &[], &[])).contains("_settings"));
    }
}
