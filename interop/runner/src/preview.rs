//! The preview of a bundle in a browser: what it lays out, what its switches do, and what a hostile bundle can do, which is
//! nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::cell::{Cell, Shared};
use super::install::{self, Unavailable};
use super::servers::Ours;
use kit::running::Running;
use kit::shell;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const PATIENCE: Duration = Duration::from_secs(60);
/// A large screen, and a small phone.
const WIDE: (u32, u32) = (1200, 1400);
const NARROW: (u32, u32) = (360, 1400);
/// What WCAG asks of text, at level AA.
const READABLE: f64 = 4.5;
/// A locale without a file, as an author would ask for it.
const ASKED: &str = "es-AR";

/// A browser, and the preview of the example.
struct PreviewSetup {
    browser: Browser,
    plain: PathBuf,
}

impl PreviewSetup {
    fn new() -> Result<Self> {
        let browser = Browser::find()?;
        let plain = browser.folder.join("preview.html");
        preview(Ours::get()?, &shell::root().join("examples/bundle"), &plain)?;
        println!("    the preview is looked at in {}", browser.version);
        println!("    the pictures are in {}", browser.folder.display());
        Ok(Self { browser, plain })
    }

    fn laid_out(&self, size: (u32, u32), scheme: &str) -> Result<Vec<String>> {
        let seen = self.browser.seen(&fs::read_to_string(&self.plain)?, size, scheme)?;
        let file = self.browser.folder.join(format!("{}-{scheme}.json", size.0));
        fs::write(file, serde_json::to_string_pretty(&seen)?)?;
        Ok(wrong(&seen, scheme).into_iter().map(|what| format!("preview: {} wide: {what}", size.0)).collect())
    }
}

pub(crate) fn cells(quick: bool) -> Result<Vec<Cell>> {
    let setup = Arc::new(Shared::new(PreviewSetup::new));
    let shared = || setup.clone();
    let [hostile_to, wide, narrow, drawn] = [shared(), shared(), shared(), shared()];
    Ok(vec![
        Cell::new("a hostile bundle", move || hostile(&hostile_to.get()?.browser, Ours::get()?)),
        Cell::new("wide and light", move || wide.get()?.laid_out(WIDE, "light")),
        Cell::new("narrow and dark", move || narrow.get()?.laid_out(NARROW, "dark")),
        Cell::new("pictures", move || {
            let PreviewSetup { browser, plain } = drawn.get()?;
            pictures(browser, plain, quick)
        }),
    ])
}

fn preview(ours: &Ours, bundle: &Path, page: &Path) -> Result<()> {
    let mut command = Command::new(&ours.attune);
    command.args(["bundle", "preview", "--locale", ASKED, "--out"]).arg(page).arg(bundle);
    let output = Running::to_its_end(&mut command, PATIENCE)?;
    ensure!(output.status.success(), "no preview: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// The page with our own script in it, which its policy forbids.
fn with_probe(page: &str) -> Result<String> {
    let probe = fs::read_to_string(shell::root().join("interop/browser/probe.js"))?;
    let (before, rest) =
        page.split_once("<meta http-equiv=\"Content-Security-Policy\"").context("no policy")?;
    let (_, after) = rest.split_once('>').context("no end of the policy")?;
    Ok(format!("{before}{after}\n<script>{probe}</script>"))
}

/// A bundle that is full of markup and script leaves the page as it was.
fn hostile(browser: &Browser, ours: &Ours) -> Result<Vec<String>> {
    let folder = browser.folder.join("hostile");
    fs::create_dir_all(folder.join("r"))?;
    let script = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">";
    let text = format!("\"'>{script}</bdi></style></section>\u{202e}[a](javascript:document.title='owned')");
    let manifest = json!({ "manifest_version": "0.3", "name": text, "display_name": text, "description": text,
        "long_description": text, "keywords": [text], "author": { "name": text }, "tools": [{ "name": text, "description": text }],
        "icons": [{ "src": text, "size": "16x16", "theme": text }], "screenshots": [text],
        "localization": { "resources": "r/${locale}.json", "default_locale": "en" } });
    fs::write(folder.join("manifest.json"), manifest.to_string())?;
    fs::write(folder.join("r/de.json"), json!({ "display_name": text, "description": text }).to_string())?;
    let page = browser.folder.join("hostile.html");
    preview(ours, &folder, &page)?;
    let title = title(&browser.dom(&page, "light")?)?.to_owned();
    let mut faults = Vec::new();
    // Once more without the policy, which would hide what the escapes let through.
    let seen = browser.seen(&fs::read_to_string(&page)?, WIDE, "light").unwrap_or_else(|why| {
        faults.push(format!("preview: a hostile bundle broke the page: {why:#}"));
        Value::Null
    });
    for title in [&*title, seen["title"].as_str().unwrap_or_default()] {
        if !title.starts_with("Preview of ") {
            faults.push(format!("preview: a hostile bundle made the title {title:?}"));
        }
    }
    if seen["active"] != json!([]) {
        faults.push(format!("preview: a hostile bundle put this into the page: {}", seen["active"]));
    }
    Ok(faults)
}

/// What is wrong with what the browser laid out, under the colours that the system prefers.
fn wrong(seen: &Value, scheme: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut expect = |fine: bool, what: String| {
        if !fine {
            wrong.push(what);
        }
    };
    let is_dark = |look: &Value| look["paper"].as_f64().is_some_and(|paper| paper < 0.1);
    let locales: Vec<(&String, &Value)> = seen["locales"].as_object().into_iter().flatten().collect();
    expect(locales.len() >= 6, format!("only {} locales are there", locales.len()));
    for (look, theme) in [(&seen["first"], scheme), (&seen["dark"], "dark"), (&seen["light"], "light")] {
        expect(
            is_dark(look) == (theme == "dark"),
            format!("what should be {theme} is not: {}", look["paper"]),
        );
        expect(look["icons"] == json!([theme]), format!("in {theme} the icons are {}", look["icons"]));
    }
    for (name, look) in &locales {
        expect(look["stores"] == json!([name]), format!("for {name} {} are shown", look["stores"]));
        let right = matches!(name.as_str(), "ar" | "he");
        expect(
            look["direction"] == if right { "rtl" } else { "ltr" },
            format!("{name} is {}", look["direction"]),
        );
        let [icon, name_at] = ["icon", "name"].map(|at| look[at].as_f64().unwrap_or(f64::NAN));
        expect((icon > name_at) == right, format!("{name}: the icon is at {icon} and the name at {name_at}"));
    }
    let looks = [&seen["first"], &seen["dark"], &seen["light"]];
    for look in looks.into_iter().chain(locales.iter().map(|(_, look)| *look)) {
        let hardest = &look["hardest"];
        let contrast = hardest["contrast"].as_f64().unwrap_or(0.0);
        expect(contrast >= READABLE, format!("contrast {contrast:.2} in {}", hardest["what"]));
        expect(look["wider"] == 0, format!("the page is {} pixels wider than the window", look["wider"]));
    }
    let marks = &seen["locales"][ASKED]["marks"];
    expect(
        marks.as_u64() > Some(3),
        format!("{ASKED} has {marks} marks, and all of its texts come from others"),
    );
    expect(seen["unmarked"] == 0, format!("{} marks are left when they are switched off", seen["unmarked"]));
    // What is wrong in one locale mostly is in all.
    wrong.sort();
    wrong.dedup();
    wrong
}

/// Pictures of the page as it is, for people to look at; they are not blank, and light is not dark.
fn pictures(browser: &Browser, page: &Path, quick: bool) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut brightness = Vec::new();
    let all = [("light", "", "light"), ("dark", "", "dark"), ("arabic", "#ar", "light")];
    for (name, at, scheme) in all.into_iter().take(if quick { 2 } else { 3 }) {
        let file = browser.folder.join(format!("{name}.png"));
        browser.picture(&format!("{}{at}", page.display()), &file, scheme)?;
        let picture = Pixels::read(&file)?;
        if picture.alike > 0.98 {
            faults.push(format!("preview: {} is blank", file.display()));
        }
        brightness.push(picture.mean);
    }
    if let [light, dark, ..] = brightness[..]
        && light < dark + 100.0
    {
        faults.push(format!("preview: light ({light:.0} of 255) and dark ({dark:.0}) look alike"));
    }
    Ok(faults)
}

struct Browser {
    program: &'static str,
    version: String,
    folder: PathBuf,
}

impl Browser {
    fn find() -> Result<Self> {
        let has = |name: &&&str| shell::succeeds(&mut shell::program(name, "--version"));
        let Some(program) = BROWSERS.iter().find(has) else {
            return Err(anyhow::anyhow!("Chromium is not installed").context(Unavailable));
        };
        let version = Running::to_its_end(&mut shell::program(program, "--version"), PATIENCE)?.stdout;
        let version = String::from_utf8_lossy(&version).trim().to_owned();
        let folder = install::folder().join("seen/preview");
        fs::create_dir_all(&folder)?;
        Ok(Self { program, version, folder })
    }

    fn run(&self, page: &str, scheme: &str, what: &str) -> Result<Vec<u8>> {
        let mut command = Command::new(self.program);
        let (width, height) = WIDE;
        // Containers allow no sandbox, and nothing is opened here but what was made here.
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]);
        // A browser asks its maker for this and that unless it is told not to.
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        command.arg("--virtual-time-budget=5000").arg(format!("--window-size={width},{height}"));
        command.arg(format!("--user-data-dir={}", self.folder.join("profile").display()));
        command.arg(format!("--blink-settings=preferredColorScheme={}", u8::from(scheme == "light")));
        command.arg(what).arg(format!("file://{page}"));
        let output = Running::to_its_end(&mut command, PATIENCE)?;
        ensure!(output.status.success(), "{}: {}", self.program, String::from_utf8_lossy(&output.stderr));
        Ok(output.stdout)
    }

    fn dom(&self, page: &Path, scheme: &str) -> Result<String> {
        Ok(String::from_utf8(self.run(&page.display().to_string(), scheme, "--dump-dom")?)?)
    }

    /// What the probe sees of a page. It stands in a frame, because a window cannot be as narrow as a phone.
    fn seen(&self, page: &str, size: (u32, u32), scheme: &str) -> Result<Value> {
        let [inner, outer] = ["probed.html", "frame.html"].map(|name| self.folder.join(name));
        fs::write(&inner, with_probe(page)?)?;
        fs::write(&outer, frame(size))?;
        let dom = self.dom(&outer, scheme)?;
        let told = title(&dom)?.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let seen: Value = serde_json::from_str(&told)
            .with_context(|| format!("the probe did not run to its end: {told}"))?;
        ensure!(seen["width"] == size.0, "the page was {} wide instead of {}", seen["width"], size.0);
        Ok(seen)
    }

    fn picture(&self, page: &str, file: &Path, scheme: &str) -> Result<()> {
        let _ = fs::remove_file(file);
        self.run(page, scheme, &format!("--screenshot={}", file.display()))?;
        ensure!(file.is_file(), "{} made no picture", self.program);
        Ok(())
    }
}

/// A page that shows another, in the colours that the system prefers, and whose title is what that one tells.
fn frame((width, height): (u32, u32)) -> String {
    format!(
        "<!doctype html>\n<title>nothing</title>\n<style>:root {{ color-scheme: light dark; }}</style>\n\
         <script>addEventListener(\"message\", (told) => {{ document.title = told.data; }});</script>\n\
         <iframe src=\"probed.html\" style=\"border: 0; width: {width}px; height: {height}px\"></iframe>\n"
    )
}

fn title(dom: &str) -> Result<&str> {
    let title = dom.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    title.map(|(title, _)| title).context("a page without a title")
}

/// What can be said of a picture.
struct Pixels {
    /// From 0 to 255.
    mean: f64,
    /// How much of it is of its most frequent shade.
    alike: f64,
}

impl Pixels {
    fn read(file: &Path) -> Result<Self> {
        let mut reader = png::Decoder::new(std::io::BufReader::new(fs::File::open(file)?)).read_info()?;
        let mut bytes = vec![0; reader.output_buffer_size().context("a picture that is too large")?];
        let frame = reader.next_frame(&mut bytes)?;
        let step = frame.color_type.samples();
        if step < 3 {
            bail!("{} is not in colour", file.display());
        }
        let mut shades = [0_u32; 256];
        for pixel in bytes[..frame.buffer_size()].chunks_exact(step) {
            shades[usize::from(pixel[..3].iter().map(|part| u16::from(*part)).sum::<u16>() / 3)] += 1;
        }
        let all: f64 = shades.iter().copied().map(f64::from).sum();
        let sum: f64 =
            shades.iter().enumerate().map(|(shade, number)| shade as f64 * f64::from(*number)).sum();
        let most = shades.iter().max().copied().unwrap_or_default();
        Ok(Self { mean: sum / all, alike: f64::from(most) / all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(stores: &str, dark: bool) -> Value {
        let right = stores == "ar";
        json!({ "stores": [stores], "direction": if right { "rtl" } else { "ltr" }, "icons": [if dark { "dark" } else { "light" }],
            "icon": if right { 500 } else { 10 }, "name": 100, "marks": 8, "paper": if dark { 0.01 } else { 1.0 },
            "hardest": { "contrast": 5.0, "what": "" }, "wider": 0 })
    }

    fn seen() -> Value {
        let locales =
            ["en-US", "ar", "de", ASKED, "es-MX", "ja"].map(|tag| (tag.to_owned(), look(tag, false)));
        let locales: serde_json::Map<String, Value> = locales.into_iter().collect();
        json!({ "first": look("en-US", true), "dark": look("en-US", true), "light": look("en-US", false), "unmarked": 0,
            "locales": locales })
    }

    #[test]
    fn a_page_in_order_has_no_faults() {
        assert_eq!(wrong(&seen(), "dark"), [""; 0]);
        assert_eq!(wrong(&seen(), "light").len(), 2);
    }

    #[test]
    fn each_fault_of_a_page_is_found() {
        for (at, value) in [
            ("/dark/paper", json!(1.0)),
            ("/light/icons", json!(["dark"])),
            ("/locales/ar/direction", json!("ltr")),
            ("/locales/ar/icon", json!(10)),
            ("/locales/de/stores", json!(["de", "ja"])),
            ("/locales/ja/hardest/contrast", json!(4.4)),
            ("/first/wider", json!(1)),
            ("/locales/es-AR/marks", json!(0)),
            ("/unmarked", json!(1)),
            ("/locales", json!({})),
        ] {
            let mut seen = seen();
            *seen.pointer_mut(at).unwrap() = value;
            assert!(!wrong(&seen, "dark").is_empty(), "{at}");
        }
    }

    #[test]
    fn the_probe_goes_where_the_policy_was() {
        let page = "<head>\n<meta http-equiv=\"Content-Security-Policy\" content=\"x\">\n<title>";
        let probed = with_probe(page).unwrap();
        assert!(probed.starts_with("<head>\n\n<title>") && probed.contains("<script>"), "{probed}");
        assert!(with_probe("<head>").is_err());
    }
}
