//! Collecting problems: bounded while checks run, and given lines and columns in the end.

use crate::problem::{
    AcceptedDeviation, BundleProblem, BundleProblemKind, BundleProblemLevel, BundleProblemSource,
};
use mcp_attune::catalog::LocaleKeyPath;

/// The problems of one source, official or ours.
///
/// Only the first [`MAX_PROBLEMS`](super::BundleCheckReport::MAX_PROBLEMS) are kept, but all are counted and
/// decide the verdict.
#[derive(Debug)]
pub(super) struct BundleProblemCollector {
    by: BundleProblemSource,
    /// The kept problems, each with its byte offset in its file, from which line and column are computed later.
    found: Vec<(usize, BundleProblem)>,
    /// Number of problems that were reported, kept or not.
    pub(super) count: usize,
    /// Whether there was an error that is not accepted.
    pub(super) fails: bool,
    /// Whether there was any error, accepted or not.
    pub(super) errs: bool,
}

/// The position of a problem.
#[derive(Clone, Copy, Debug)]
pub(super) struct BundleProblemLocation<'a> {
    pub(super) file: &'a str,
    pub(super) path: &'a LocaleKeyPath,
    /// Byte offset in the file.
    pub(super) offset: usize,
}

impl BundleProblemCollector {
    pub(super) fn new(by: BundleProblemSource) -> Self {
        Self { by, found: Vec::new(), count: 0, fails: false, errs: false }
    }

    /// Returns whether further problems are only counted, so that a check can save the work for suggestions.
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

    /// Returns how many problems are kept.
    pub(super) fn kept_count(&self) -> usize {
        self.found.len()
    }

    /// Returns the kept problems with their byte offsets.
    pub(super) fn found(&self) -> &[(usize, BundleProblem)] {
        &self.found
    }

    /// Sets all positions to the beginning, because the text that was checked is not the text of the file.
    pub(super) fn clear_offsets(&mut self) {
        for (offset, _) in &mut self.found {
            *offset = 0;
        }
    }

    /// Adds the problems of another collector, as far as there is room.
    pub(super) fn absorb(&mut self, other: Self) {
        let room = super::BundleCheckReport::MAX_PROBLEMS.saturating_sub(self.found.len());
        self.found.extend(other.found.into_iter().take(room));
        self.count += other.count;
        self.fails |= other.fails;
        self.errs |= other.errs;
    }

    /// Computes lines and columns of the problems of one file. Called once a file, when its bytes are at hand
    /// and all its problems are known. Columns count characters, not bytes.
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

    /// Returns the problems sorted by file and position, those of the manifest first.
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

/// Returns the position of a value in the manifest.
pub(super) fn manifest_location<'a>(
    path: &'a LocaleKeyPath,
    value: mcp_attune_wire::json::SpannedValue<'_>,
) -> BundleProblemLocation<'a> {
    BundleProblemLocation { file: crate::Manifest::FILE_NAME, path, offset: value.span().start() }
}

/// Builds a JSON path of these names.
pub(super) fn path(names: &[&str]) -> LocaleKeyPath {
    names.iter().fold(LocaleKeyPath::default(), |path, name| path.with(name))
}
