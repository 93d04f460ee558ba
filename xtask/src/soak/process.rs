//! What a process holds, as far as the system tells.

use std::fs;
use std::path::PathBuf;

pub(super) struct Process(PathBuf);

impl Process {
    pub(super) fn of(id: u32) -> Self {
        Self(format!("/proc/{id}").into())
    }

    /// Its memory in kilobytes.
    pub(super) fn memory(&self) -> Option<u64> {
        let status = fs::read_to_string(self.0.join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// How many files and sockets it has open.
    pub(super) fn descriptors(&self) -> Option<usize> {
        Some(fs::read_dir(self.0.join("fd")).ok()?.count())
    }
}
