//! Problems as they are found, up to a bound, and then with their lines.

use crate::problem::{
    AcceptedDeviation, BundleProblem, BundleProblemKind, BundleProblemLevel, BundleProblemSource,
};
use mcp_attune::catalog::LocaleKeyPath;

/// The problems of one kind of check.
#[derive(Debug)]
pub(super) struct BundleProblemCollector {
    by: BundleProblemSource,
    /// With the offset into its file for the line, which comes last.
    found: Vec<(usize, BundleProblem)>,
    /// How many there are, told or not.
    pub(super) count: usize,
    /// Whether one of them stands, told or not.
    pub(super) fails: bool,
    /// Whether one of them is an error, standing or not.
    pub(super) errs: bool,
}

/// Where a problem is.
#[derive(Clone, Copy, Debug)]
pub(super) struct BundleProblemLocation<'a> {
    pub(super) file: &'a str,
    pub(super) path: &'a LocaleKeyPath,
    /// The offset into the file.
    pub(super) offset: usize,
}

impl BundleProblemCollector {
    pub(super) fn new(by: BundleProblemSource) -> Self {
        Self { by, found: Vec::new(), count: 0, fails: false, errs: false }
    }

    /// Whether no more are kept, and nothing needs to be found out about them.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= super::BundleCheckReport::MAX_PROBLEMS
    }

    pub(super) fn error(&mut self, at: BundleProblemLocation<'_>, what: BundleProblemKind) {
        self.push(at, BundleProblemLevel::Error, None, what);
    }

    pub(super) fn warn(&mut self, at: BundleProblemLocation<'_>, what: BundleProblemKind) {
        self.push(at, BundleProblemLevel::Warning, None, what);
    }

    pub(super) fn push(
        &mut self,
        at: BundleProblemLocation<'_>,
        level: BundleProblemLevel,
        accepted: Option<AcceptedDeviation>,
        what: BundleProblemKind,
    ) {
        self.count += 1;
        self.errs |= level == BundleProblemLevel::Error;
        self.fails |= level == BundleProblemLevel::Error && accepted.is_none();
        if !self.is_full() {
            let (file, path) = (at.file.into(), at.path.clone());
            let problem =
                BundleProblem { file, path, line: 1, column: 1, level, by: self.by, accepted, what };
            self.found.push((at.offset, problem));
        }
    }

    /// How many are kept.
    pub(super) fn kept_count(&self) -> usize {
        self.found.len()
    }

    /// Those that are kept, with their offsets.
    pub(super) fn found(&self) -> &[(usize, BundleProblem)] {
        &self.found
    }

    /// Forgets the places, which are those of another text.
    pub(super) fn clear_offsets(&mut self) {
        for (offset, _) in &mut self.found {
            *offset = 0;
        }
    }

    /// Takes what was found elsewhere.
    pub(super) fn absorb(&mut self, other: Self) {
        let room = super::BundleCheckReport::MAX_PROBLEMS.saturating_sub(self.found.len());
        self.found.extend(other.found.into_iter().take(room));
        self.count += other.count;
        self.fails |= other.fails;
        self.errs |= other.errs;
    }

    /// Says the lines of those of one file, which are the last that were found.
    pub(super) fn assign_lines(&mut self, file: &str, bytes: &[u8]) {
        let mut own: Vec<_> = self.found.iter_mut().filter(|(_, problem)| *problem.file == *file).collect();
        own.sort_by_key(|(offset, _)| *offset);
        // One pass over the file, however many there are.
        let (mut at, mut line, mut column) = (0, 1, 1);
        for (offset, problem) in own {
            for byte in bytes.get(at..*offset).unwrap_or_default() {
                match byte {
                    b'\n' => (line, column) = (line + 1, 1),
                    // The first byte of a character.
                    byte if byte & 0xC0 != 0x80 => column += 1,
                    _ => {}
                }
            }
            at = at.max(*offset);
            (problem.line, problem.column) = (line, column);
        }
    }

    /// The problems, by file and place.
    pub(super) fn finish(self) -> Vec<BundleProblem> {
        let mut problems: Vec<BundleProblem> = self.found.into_iter().map(|(_, problem)| problem).collect();
        // The manifest before the files that it names.
        problems.sort_by(|one, other| {
            let key = |it: &BundleProblem| {
                (*it.file != *crate::Manifest::FILE_NAME, it.file.clone(), it.line, it.column)
            };
            key(one).cmp(&key(other))
        });
        problems
    }
}

/// Where something of the manifest is.
pub(super) fn manifest_location<'a>(
    path: &'a LocaleKeyPath,
    value: mcp_attune_wire::json::SpannedValue<'_>,
) -> BundleProblemLocation<'a> {
    BundleProblemLocation { file: crate::Manifest::FILE_NAME, path, offset: value.span().start() }
}

/// A path of these names.
pub(super) fn path(names: &[&str]) -> LocaleKeyPath {
    names.iter().fold(LocaleKeyPath::default(), |path, name| path.with(name))
}
