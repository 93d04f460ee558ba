//! One module as its source declares it: its children in their order, what it imports, and which paths it uses.

use std::collections::{HashMap, HashSet};

use super::tokens::{self, Token};

/// A path with the line that it stands on; its first segment may be `crate`, `self` or `super`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UsedPath {
    pub(super) segments: Vec<String>,
    pub(super) line: usize,
}

/// A module without what is only compiled for tests.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// The names of its children, in the order of their `mod` lines.
    pub(super) children: Vec<String>,
    /// The children whose source stands in this file.
    pub(super) inline: HashMap<String, Module>,
    /// What each imported name stands for.
    pub(super) imports: HashMap<String, Vec<String>>,
    /// The modules of which everything is imported.
    pub(super) globs: Vec<Vec<String>>,
    /// The names of the items that it defines itself.
    pub(super) items: HashSet<String>,
    /// Every path that it uses, imported or written out, in the order of the source.
    pub(super) uses: Vec<UsedPath>,
}

impl Module {
    pub(super) fn read(text: &str) -> Self {
        let tokens = tokens::read(text);
        let mut module = Self::default();
        if !starts_with(&tokens, &["#", "!", "[", "cfg", "(", "test", ")", "]"]) {
            Scanner { tokens: &tokens, at: 0, depth: 0 }.scan(&mut module);
        }
        module
    }
}

fn starts_with(tokens: &[Token<'_>], texts: &[&str]) -> bool {
    tokens.len() >= texts.len() && tokens.iter().zip(texts).all(|(token, text)| token.text == *text)
}

/// What makes an item with a name that others can use.
const NAMED: &[&str] = &["fn", "struct", "enum", "union", "trait", "type", "const", "static"];

struct Scanner<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
    /// How many braces are open: items of the module itself stand at zero.
    depth: usize,
}

impl<'a> Scanner<'_, 'a> {
    fn text(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).map_or("", |token| token.text)
    }

    fn before(&self, back: usize) -> &'a str {
        self.at.checked_sub(back).and_then(|at| self.tokens.get(at)).map_or("", |token| token.text)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |token| token.line)
    }

    fn is_word(&self, ahead: usize) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(Token::is_word)
    }

    fn scan(&mut self, module: &mut Module) {
        while self.at < self.tokens.len() {
            match self.text(0) {
                "#" if self.is_for_tests() => self.skip_item(),
                "mod" if self.is_word(1) => self.child(module),
                "use" if self.text(1) != "<" => {
                    self.at += 1;
                    self.import(module, &[]);
                }
                "crate" | "super" | "self" if self.begins_path() => self.written_out(module),
                text => {
                    match text {
                        "{" => self.depth += 1,
                        "}" => self.depth = self.depth.saturating_sub(1),
                        _ if self.depth == 0 && NAMED.contains(&text) && self.is_word(1) => {
                            module.items.insert(self.text(1).to_owned());
                        }
                        _ => {}
                    }
                    self.at += 1;
                }
            }
        }
    }

    /// `#[cfg(test)]` or `#[cfg(all(test, …))]`.
    fn is_for_tests(&self) -> bool {
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        starts_with(rest, &["#", "[", "cfg", "(", "test", ")", "]"])
            || starts_with(rest, &["#", "[", "cfg", "(", "all", "(", "test", ","])
    }

    /// Skips an attribute and the item after it: up to its semicolon, or to the end of its braces. A field or a variant
    /// ends at its comma.
    fn skip_item(&mut self) {
        while self.text(0) == "#" {
            self.at += 1;
            self.skip_group();
        }
        let keyword = (0..8).map(|ahead| self.text(ahead)).find(|text| {
            NAMED.contains(text) || ["mod", "use", "impl", "async", "macro_rules", "extern"].contains(text)
        });
        while self.at < self.tokens.len() {
            match self.text(0) {
                ";" => return self.at += 1,
                "," if keyword.is_none() => return self.at += 1,
                "}" => return,
                "{" => return self.skip_group(),
                "(" | "[" => self.skip_group(),
                _ => self.at += 1,
            }
        }
    }

    /// Skips what stands between two brackets, and the brackets.
    fn skip_group(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.tokens.len() {
            match self.text(0) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    /// `mod name;` or `mod name { … }`.
    fn child(&mut self, module: &mut Module) {
        let name = self.text(1).to_owned();
        let (semicolon, brace) = (self.text(2) == ";", self.text(2) == "{");
        self.at += 2;
        if !semicolon && !brace {
            return;
        }
        if brace {
            let start = self.at + 1;
            self.skip_group();
            let inside = self.tokens.get(start..self.at.saturating_sub(1)).unwrap_or_default();
            let mut child = Module::default();
            Scanner { tokens: inside, at: 0, depth: 0 }.scan(&mut child);
            module.inline.insert(name.clone(), child);
        }
        module.children.push(name);
    }

    /// One tree of a `use` declaration, from its first segment to the comma, brace or semicolon behind it.
    fn import(&mut self, module: &mut Module, prefix: &[String]) {
        let mut path = prefix.to_vec();
        // A path that begins with `::` is another crate's.
        let is_foreign = self.text(0) == "::";
        loop {
            match self.text(0) {
                "::" => self.at += 1,
                "{" => return self.import_group(module, &path),
                "*" => {
                    self.at += 1;
                    if !is_foreign {
                        module.uses.push(UsedPath { segments: path.clone(), line: self.line() });
                        module.globs.push(path);
                    }
                    return;
                }
                "as" => {
                    let name = self.text(1).to_owned();
                    self.at += 2;
                    return module.imports.extend((!is_foreign).then_some((name, path)));
                }
                _ if self.is_word(0) => {
                    let line = self.line();
                    path.push(self.text(0).to_owned());
                    self.at += 1;
                    if is_foreign || self.text(0) == "::" {
                        continue;
                    }
                    // `a::{self}` imports `a`.
                    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                        path.pop();
                    }
                    module.uses.push(UsedPath { segments: path.clone(), line });
                    if self.text(0) != "as" {
                        return module.imports.extend(path.last().cloned().map(|name| (name, path)));
                    }
                }
                _ => return,
            }
        }
    }

    fn import_group(&mut self, module: &mut Module, prefix: &[String]) {
        self.at += 1;
        while !matches!(self.text(0), "}" | "") {
            let before = self.at;
            self.import(module, prefix);
            if self.text(0) == "," || self.at == before {
                self.at += 1;
            }
        }
        self.at += 1;
    }

    /// Whether a path begins here that is neither a visibility nor the middle of another path.
    fn begins_path(&self) -> bool {
        let is_visibility = self.before(1) == "in" && self.before(2) == "(" && self.before(3) == "pub";
        self.text(1) == "::" && self.before(1) != "::" && !is_visibility
    }

    /// A path in the middle of code, such as `crate::a::b(…)`.
    fn written_out(&mut self, module: &mut Module) {
        let line = self.line();
        let mut segments = vec![self.text(0).to_owned()];
        self.at += 1;
        while self.text(0) == "::" && self.is_word(1) {
            segments.push(self.text(1).to_owned());
            self.at += 2;
        }
        module.uses.push(UsedPath { segments, line });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(text: &str) -> Vec<String> {
        Module::read(text).uses.iter().map(|used| used.segments.join("::")).collect()
    }

    #[test]
    fn reads_children_in_their_order() {
        let module = Module::read(
            "mod b;\n#[cfg(unix)]\npub(crate) mod a;\nmod c { mod d; }\n#[cfg(test)]\nmod tests;",
        );
        assert_eq!(module.children, ["b", "a", "c"]);
        assert_eq!(module.inline["c"].children, ["d"]);
    }

    #[test]
    fn reads_what_is_imported() {
        let text = "use crate::a::{self, b::C as D, e::{f, g}, h::*};\npub use super::i;\nuse ::std::fmt;\nuse self::j;";
        assert_eq!(
            used(text),
            [
                "crate::a",
                "crate::a::b::C",
                "crate::a::e::f",
                "crate::a::e::g",
                "crate::a::h",
                "super::i",
                "self::j"
            ]
        );
        let module = Module::read(text);
        assert_eq!(module.imports["D"].join("::"), "crate::a::b::C");
        assert_eq!(module.imports["a"].join("::"), "crate::a");
        assert_eq!(module.globs, [["crate", "a", "h"]]);
        assert!(!module.imports.contains_key("fmt"));
    }

    #[test]
    fn reads_paths_in_code() {
        let text = "fn f(x: &crate::a::B) -> super::C<self::d::E> {\n    $crate::f::g!(x);\n    self.h()\n}";
        assert_eq!(used(text), ["crate::a::B", "super::C", "self::d::E", "crate::f::g"]);
        assert_eq!(Module::read(text).uses[3].line, 2);
        assert_eq!(used("pub(in crate::a) fn f() -> impl Fn() + use<'_> {}"), [""; 0]);
    }

    #[test]
    fn leaves_out_what_is_only_for_tests() {
        for text in [
            "#[cfg(test)]\nmod tests { use crate::a; }",
            "#[cfg(test)]\nuse crate::a::B;",
            "#[cfg(all(test, unix))]\n#[allow(x)]\npub(crate) fn f(x: [u8; 3]) -> u8 { crate::a::b() }",
            "struct S {\n    #[cfg(test)]\n    seen: crate::a::B,\n}",
            "#![cfg(test)]\nuse crate::a;",
            "// use crate::a;\nconst A: &str = \"crate::a::b\";",
        ] {
            assert_eq!(used(text), [""; 0], "{text}");
        }
        assert_eq!(used("#[cfg(test)]\nmod tests { fn f() {} }\nuse crate::a;"), ["crate::a"]);
        assert_eq!(used("#[cfg(not(test))]\nuse crate::a;"), ["crate::a"]);
    }

    #[test]
    fn knows_the_items_of_the_module_itself() {
        let module = Module::read("pub struct A;\nfn b() { fn inner() {} }\nimpl A { fn method() {} }");
        assert_eq!(module.items, HashSet::from(["A".to_owned(), "b".to_owned()]));
    }
}
