//! What processes used, as the kernel counts it.

use std::fs;
use std::process::{Child, ExitStatus};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};

/// The kernel tells times in these, on every Linux that we know of.
const TICK: Duration = Duration::from_millis(10);

/// How a process ended; none where it has not after ten seconds.
pub(crate) fn ended(child: &mut Child) -> Result<Option<ExitStatus>> {
    for _ in 0..100 {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        sleep(Duration::from_millis(100));
    }
    Ok(None)
}

/// The processor time of processes together, their threads included.
pub(crate) fn cpu(pids: &[u32]) -> Result<Duration> {
    let mut ticks = 0;
    for pid in pids {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).context("a server is gone")?;
        ticks += ticks_of(&stat).with_context(|| format!("/proc/{pid}/stat is not as expected"))?;
    }
    Ok(TICK * ticks)
}

/// User and system time, the 14th and 15th field. The second is a name in brackets, which may hold anything.
fn ticks_of(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// The resident memory of a process.
pub(crate) struct Memory {
    pub(crate) now: f64,
    pub(crate) peak: f64,
}

/// In MiB.
pub(crate) fn memory(pid: u32) -> Result<Memory> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).context("a server is gone")?;
    let field = |name| kib(&status, name).with_context(|| format!("/proc/{pid}/status has no {name}"));
    Ok(Memory { now: field("VmRSS:")? / 1024.0, peak: field("VmHWM:")? / 1024.0 })
}

fn kib(status: &str, name: &str) -> Option<f64> {
    let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
    rest.trim().strip_suffix(" kB")?.parse().ok()
}

/// The processes that a process started, from whichever of its threads.
pub(crate) fn children(pid: u32) -> Result<Vec<u32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).context("a server is gone")? {
        // A thread may end meanwhile; its children are then another's.
        let list = fs::read_to_string(thread?.path().join("children")).unwrap_or_default();
        children.extend(list.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    Ok(children)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_times_after_a_name_that_holds_anything() {
        let stat = "42 (a) b) R 1 2 3 4 5 6 7 8 9 10 300 45 0 0 20 0 4 0";
        assert_eq!(ticks_of(stat), Some(345));
        assert_eq!(ticks_of("42 (short) R 1"), None);
    }

    #[test]
    fn reads_memory() {
        assert_eq!(kib("VmHWM:\t   2048 kB\nVmRSS:\t     512 kB\n", "VmRSS:"), Some(512.0));
        assert_eq!(kib("VmHWM:\t   2048 kB\n", "VmRSS:"), None);
    }
}
