//! What a document names exists: the files it links to, the paths it quotes, the commands it tells to run.

use kit::report::Finding;

/// The documents: `*.md` at the top, `docs/*.md`, `spec/**/*.md` and `crates/*/README.md`.
pub(crate) fn is_document(path: &str) -> bool {
    let segments: Vec<&str> = path.split('/').collect();
    path.ends_with(".md")
        && match segments.as_slice() {
            [_] | ["docs", _] | ["spec", ..] => true,
            ["crates", _, name] => *name == "README.md",
            _ => false,
        }
}

/// Judges one document, given what exists in the tree and which commands `cargo xtask` has.
pub(crate) fn check(
    path: &str,
    text: &str,
    exists: &dyn Fn(&str) -> bool,
    has_command: &dyn Fn(&str) -> bool,
) -> Vec<Finding> {
    // A generated page quotes examples of other people's files; its source is checked where it is made.
    let is_generated = text.lines().next().is_some_and(|line| line.contains("@generated"));
    let mut findings = Vec::new();
    let mut fence = None;
    for (index, line) in text.lines().enumerate() {
        let place = format!("{path}:{}", index + 1);
        for name in commands(line).filter(|name| !has_command(name)) {
            let hint = "`cargo xtask help` lists the commands";
            findings.push(Finding::new(&place, format!("there is no command `cargo xtask {name}`"), hint));
        }
        if is_fence(line, &mut fence) {
            continue;
        }
        let (prose, code) = apart(line);
        for link in links(&prose) {
            if !resolve(path, link).is_some_and(|target| exists(&target)) {
                let hint = "a link is relative to its document; mend it or remove it";
                findings.push(Finding::new(&place, format!("the link to `{link}` leads nowhere"), hint));
            }
        }
        for code in code.into_iter().filter(|code| !is_generated && is_path(code)) {
            if !exists(code) && !resolve(path, code).is_some_and(|target| exists(&target)) {
                let hint = "mend it; a path that is only an example belongs in a code block";
                findings.push(Finding::new(&place, format!("there is no file `{code}`"), hint));
            }
        }
    }
    findings
}

/// The names after each `cargo xtask`.
fn commands(line: &str) -> impl Iterator<Item = &str> {
    line.split("cargo xtask ").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len());
        rest.get(..end).filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
    })
}

/// Whether a line is part of a code block; `fence` holds the mark that ends the block we are in.
fn is_fence(line: &str, fence: &mut Option<String>) -> bool {
    let line = line.trim();
    let mark = |c: char| line.chars().take_while(|next| *next == c).collect::<String>();
    let mark = ['`', '~'].map(mark).into_iter().find(|mark| mark.len() >= 3);
    match fence {
        // Only a mark of the same kind, at least as long and with nothing after it, ends a block.
        Some(open) => {
            if mark.is_some_and(|mark| mark.starts_with(open.as_str()) && mark == line) {
                *fence = None;
            }
            true
        }
        None => {
            *fence = mark;
            fence.is_some()
        }
    }
}

/// A line without its inline code, and the inline code.
fn apart(line: &str) -> (String, Vec<&str>) {
    let (mut prose, mut code) = (String::new(), Vec::new());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('`') {
        prose.push_str(before);
        // Code that itself holds a backtick stands between two or more of them.
        let ticks = 1 + after.chars().take_while(|c| *c == '`').count();
        let after = after.trim_start_matches('`');
        let Some((inside, after)) = after.split_once(&"`".repeat(ticks)) else {
            rest = after;
            break;
        };
        code.push(inside.trim());
        rest = after;
    }
    prose.push_str(rest);
    (prose, code)
}

/// The targets in a line that point into the tree: `[…](target)`, `[…]: target`, `src="target"`, `href="target"`.
fn links(prose: &str) -> impl Iterator<Item = &str> {
    let inline = prose.split("](").skip(1).map(|rest| until(rest, &[')', ' ']));
    let reference = prose
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]: "))
        .map(|(_, target)| until(target.trim(), &[' ']));
    let html = ["src=\"", "href=\""].into_iter().flat_map(|mark| prose.split(mark).skip(1));
    inline
        .chain(reference)
        .chain(html.map(|rest| until(rest, &['"'])))
        .map(|target| target.trim_matches(['<', '>']))
        .filter(|target| !target.is_empty() && !target.starts_with('#') && !target.contains(':'))
}

fn until<'a>(text: &'a str, ends: &[char]) -> &'a str {
    text.split(ends).next().unwrap_or(text)
}

/// Whether inline code is a path in the tree: `folder/file.ext`, and neither a pattern nor a key such as `org.x/y.z`.
fn is_path(code: &str) -> bool {
    let Some((folder, file)) = code.rsplit_once('/') else {
        return false;
    };
    let Some((stem, extension)) = file.rsplit_once('.') else {
        return false;
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let top = folder.split('/').next().unwrap_or(folder);
    code.chars().all(is_plain)
        && !folder.is_empty()
        && !stem.is_empty()
        && extension.starts_with(|c: char| c.is_ascii_lowercase())
        && !top.is_empty()
        && !top.trim_start_matches('.').contains('.')
}

/// The path from the root that a link in a document means; `None` when it leaves the tree.
fn resolve(document: &str, link: &str) -> Option<String> {
    let link = until(link, &['#', '?']);
    let mut path: Vec<&str> = match link.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => document.split('/').rev().skip(1).collect::<Vec<_>>().into_iter().rev().collect(),
    };
    for segment in link.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                path.pop()?;
            }
            name => path.push(name),
        }
    }
    Some(path.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let exists =
            |path: &str| ["README.md", "docs/rules.md", "spec/rules.toml", "docs", "a.png"].contains(&path);
        let findings = check(path, text, &exists, &|name| name == "ci");
        findings.iter().map(|finding| format!("{}: {}", finding.place, finding.what)).collect()
    }

    #[test]
    fn knows_which_files_are_documents() {
        for path in ["README.md", "docs/a.md", "spec/a.md", "spec/b/a.md", "crates/x/README.md"] {
            assert!(is_document(path), "{path}");
        }
        for path in ["README.rs", "docs/a/b.md", "crates/x/NOTES.md", "crates/x/src/README.md", "fuzz/a.md"] {
            assert!(!is_document(path), "{path}");
        }
    }

    #[test]
    fn finds_links_that_lead_nowhere() {
        for bad in [
            "see [x](gone.md)",
            "[x](docs/gone.md#a)",
            "![x](gone.png)",
            "[x]: gone.md",
            "<img src=\"gone.png\">",
            "<a href=\"gone.md\">x</a>",
            "[x](../README.md)",
            "[a](README.md) and [x](gone.md \"title\")",
        ] {
            assert_eq!(found("README.md", &format!("fine\n{bad}")).len(), 1, "{bad}");
        }
        assert_eq!(found("README.md", "[x](gone.md)"), ["README.md:1: the link to `gone.md` leads nowhere"]);
    }

    #[test]
    fn accepts_links_that_lead_somewhere() {
        for good in [
            "[x](docs/rules.md#l1)",
            "[x](docs/)",
            "[x](/docs/rules.md)",
            "[x](#here)",
            "[x](https://example.org/gone.md)",
            "[x](mailto:a@example.org)",
            "`[x](gone.md)`",
            "[x]: docs/rules.md",
            "```\n[x](gone.md)\n```",
        ] {
            assert_eq!(found("README.md", good), [""; 0], "{good}");
        }
        assert_eq!(found("docs/a.md", "[x](../README.md) [y](rules.md)"), [""; 0]);
    }

    #[test]
    fn finds_paths_that_do_not_exist() {
        assert_eq!(found("README.md", "see `src/gone.rs`"), ["README.md:1: there is no file `src/gone.rs`"]);
        assert_eq!(found("README.md", "see ``src/gone.rs`` and `.ci/gone.sh`").len(), 2);
    }

    #[test]
    fn accepts_paths_that_exist_and_code_that_is_no_path() {
        for good in [
            "`spec/rules.toml`",
            "`tools/list`",
            "`io.modelcontextprotocol/some.key`",
            "`spec/*.toml`",
            "`https://example.org/a.md`",
            "`text/html; q=0.5`",
            "`tower/0.6.1`",
            "```text\n`src/gone.rs`\n```",
            "~~~\n```\n`src/gone.rs`\n~~~",
        ] {
            assert_eq!(found("README.md", good), [""; 0], "{good}");
        }
        assert_eq!(found("docs/a.md", "`spec/rules.toml` and `../spec/rules.toml`"), [""; 0]);
    }

    #[test]
    fn a_block_ends_where_its_fence_does() {
        assert_eq!(
            found("README.md", "```\n`a/gone.rs`\n```\n`a/gone.rs`"),
            ["README.md:4: there is no file `a/gone.rs`"]
        );
        assert_eq!(found("README.md", "````\n```\n`a/gone.rs`\n````\n"), [""; 0]);
    }

    #[test]
    fn a_generated_page_may_quote_paths_but_not_link_nowhere() {
        let page = "<!-- @generated by x -->\n`a/gone.rs` [x](gone.md)";
        assert_eq!(found("docs/a.md", page), ["docs/a.md:2: the link to `gone.md` leads nowhere"]);
    }

    #[test]
    fn finds_commands_that_do_not_exist() {
        assert_eq!(
            found("README.md", "run `cargo xtask ci`, then `cargo xtask gone --fast`"),
            ["README.md:1: there is no command `cargo xtask gone`"]
        );
        assert_eq!(found("README.md", "```sh\ncargo xtask gone\n```").len(), 1);
        assert_eq!(found("README.md", "`cargo xtask` and `cargo xtask NAME`"), [""; 0]);
    }
}
