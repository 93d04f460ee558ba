//! A module uses only modules above it.
//!
//! The order of the `mod` lines in a file is the order in which a newcomer reads: vocabulary first, then the flow. This
//! check keeps it true, in every crate under `crates/` and in `xtask`, at every level of nesting:
//!
//! 1. What is compared are siblings. Where `a::b` uses `c::d`, the question is whether `c` stands above `a`; where `a::b`
//!    uses `a::c`, it is whether `c` stands above `b`. A crate has one order for `src/lib.rs` and another for
//!    `src/main.rs`.
//! 2. A module may use its own children in any order, and whatever its parents define in their own files.
//! 3. A use is an import, or a path in code that begins with `crate`, `self` or `super`. A name that a parent imports or
//!    exports again counts as a use of the module that defines it.
//! 4. What is only compiled for tests may use everything.
//!
//! Not seen are calls of methods, which need no path, and a parent's function that calls one child in the name of
//! another. A group of modules that need each other in turn is a cycle: give what they share a module above them.
//!
//! `rustfmt.toml` has `reorder_modules = false`, because the order of the lines has a meaning.

mod tokens;
mod module;

use std::collections::HashMap;

use kit::report::Finding;
use module::{Module, UsedPath};

/// How often a name may be another name for something else before we stop following it.
const MAX_RENAMES: usize = 16;

/// Judges all crates among the files of the tree.
pub(crate) fn check(files: &[(String, String)]) -> Vec<Finding> {
    let texts: HashMap<&str, &str> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut findings = Vec::new();
    for (path, _) in files.iter().filter(|(path, _)| is_root(path)) {
        findings.extend(Tree::read(&texts, path).findings());
    }
    findings
}

/// Whether a file is the root of a crate of the product, or of `xtask`.
fn is_root(path: &str) -> bool {
    let folder = path.strip_suffix("/src/lib.rs").or_else(|| path.strip_suffix("/src/main.rs"));
    let is_crate = |folder: &str| folder.strip_prefix("crates/").is_some_and(|name| !name.contains('/'));
    folder.is_some_and(|folder| folder == "xtask" || is_crate(folder))
}

/// The path of a module from the root of its crate, which itself is empty.
type ModulePath = Vec<String>;

/// The modules of one crate.
struct Tree {
    modules: HashMap<ModulePath, Placed>,
    /// In the order in which they are declared, so that findings come in the order of reading.
    order: Vec<ModulePath>,
    missing: Vec<Finding>,
}

/// A module, and the file that it stands in.
struct Placed {
    module: Module,
    file: String,
}

impl Tree {
    fn read(texts: &HashMap<&str, &str>, root: &str) -> Self {
        let mut tree = Self { modules: HashMap::new(), order: Vec::new(), missing: Vec::new() };
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        let module = Module::read(texts.get(root).copied().unwrap_or_default());
        tree.add(texts, &[], Placed { module, file: root.to_owned() }, folder);
        tree
    }

    /// Adds a module and its children, whose files are in `folder`.
    fn add(&mut self, texts: &HashMap<&str, &str>, path: &[String], mut placed: Placed, folder: &str) {
        let mut inline = std::mem::take(&mut placed.module.inline);
        let (children, file) = (placed.module.children.clone(), placed.file.clone());
        self.order.push(path.to_vec());
        self.modules.insert(path.to_vec(), placed);
        for name in children {
            let path = [path, std::slice::from_ref(&name)].concat();
            let below = format!("{folder}/{name}");
            let files = [format!("{below}.rs"), format!("{below}/mod.rs")];
            let found = files.iter().find_map(|file| texts.get(file.as_str()).map(|text| (file, text)));
            let placed = match (inline.remove(&name), found) {
                (Some(module), _) => Placed { module, file: file.clone() },
                (None, Some((file, text))) => Placed { module: Module::read(text), file: file.clone() },
                (None, None) => {
                    let hint = "put it where its parent's folder says; this check follows no `#[path]`";
                    self.missing.push(Finding::new(&file, format!("no file has the module `{name}`"), hint));
                    continue;
                }
            };
            self.add(texts, &path, placed, &below);
        }
    }

    fn findings(self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for path in &self.order {
            let Some(placed) = self.modules.get(path) else { continue };
            for used in &placed.module.uses {
                let finding = self.judge(path, &placed.file, used);
                findings.extend(finding.filter(|finding| !findings.contains(finding)));
            }
        }
        findings.extend(self.missing);
        findings
    }

    /// Judges one use: the two siblings under the nearest common parent, in their order.
    fn judge(&self, user: &[String], file: &str, used: &UsedPath) -> Option<Finding> {
        let target = self.target(user, user, &used.segments, MAX_RENAMES)?;
        let common = user.iter().zip(&target).take_while(|(one, other)| one == other).count();
        let (own, other) = (user.get(common)?, target.get(common)?);
        let parent = self.modules.get(user.get(..common)?)?;
        let position = |name: &String| parent.module.children.iter().position(|child| child == name);
        if position(other)? < position(own)? {
            return None;
        }
        Some(Finding::new(
            format!("{file}:{}", used.line),
            format!("`{own}` uses `{other}`, which stands below it in {}", parent.file),
            format!("move `mod {other};` above `mod {own};`, or what both need into a module above them"),
        ))
    }

    /// The first module on the way of a path that is no parent of its user's, or the one where the path ends. `None` if
    /// it leads into another crate. The path stands in the module `from`.
    fn target(
        &self,
        user: &[String],
        from: &[String],
        path: &[String],
        renames: usize,
    ) -> Option<ModulePath> {
        let mut at = from.to_vec();
        for (index, name) in path.iter().enumerate() {
            match name.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => drop(at.pop()?),
                _ if self.has_child(&at, name) => {
                    at.push(name.clone());
                    if !user.starts_with(&at) {
                        return Some(at);
                    }
                }
                _ => {
                    let rest = path.get(index + 1..).unwrap_or_default();
                    return match self.imported(&at, name) {
                        Some(import) => {
                            self.target(user, &at, &[&import, rest].concat(), renames.checked_sub(1)?)
                        }
                        // A path that begins with a name nobody knows here begins with another crate's.
                        None => (index > 0).then_some(at),
                    };
                }
            }
        }
        Some(at)
    }

    fn has_child(&self, at: &[String], name: &str) -> bool {
        self.modules.get(at).is_some_and(|placed| placed.module.children.iter().any(|child| child == name))
    }

    /// What an imported name stands for in a module.
    fn imported(&self, at: &[String], name: &str) -> Option<ModulePath> {
        let module = &self.modules.get(at)?.module;
        if let Some(path) = module.imports.get(name) {
            return Some(path.clone());
        }
        let offers = |glob: &&Vec<String>| {
            self.named(at, glob).and_then(|path| self.modules.get(&path)).is_some_and(
                |Placed { module, .. }| {
                    module.items.contains(name)
                        || module.imports.contains_key(name)
                        || module.children.iter().any(|child| child == name)
                },
            )
        };
        let glob = module.globs.iter().find(offers)?;
        Some([glob.as_slice(), &[name.to_owned()]].concat())
    }

    /// The module that a path names, if it does so without a name that was imported.
    fn named(&self, from: &[String], path: &[String]) -> Option<ModulePath> {
        let mut at = from.to_vec();
        for name in path {
            match name.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => drop(at.pop()?),
                _ if self.has_child(&at, name) => at.push(name.clone()),
                _ => return None,
            }
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests;
