//! How the file descriptors that a process may have are shared between callers, upstreams and everything
//! else.
//!
//! 1. Some are kept in reserve for the admin listener, and for whatever opens a file or resolves a name now
//!    and then.
//! 2. Of the rest, connections to upstreams get one for each call and stream, but not more than half.
//! 3. Callers get what is left: fewer connections than `connections` says, where the limit allows no more,
//!    and a few to answer 503 on.
//!
//! The system gives out the lowest number that is free. A new descriptor whose number is in the reserve
//! therefore shows that all others are in use, whatever it is that uses them.
//!
//! Caveat: where there is no such limit (not on Unix) nothing is shared out.

/// The size of the reserve, where the limit is not small. Of a small limit it is a sixth.
const MAX_RESERVED: u64 = 32;
/// The maximum of connections at a time that are above the limit and told so.
const MAX_TURNED_AWAY: usize = 64;

/// The part of the file descriptors that the connections of callers get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DescriptorShare {
    /// How many connections are served at a time; at least 1.
    pub(crate) connections: usize,
    /// How many connections above that are answered with 503 at a time.
    pub(crate) turned_away: usize,
}

/// Returns the lowest number of a descriptor in the reserve, or `None` where there is no limit.
pub(crate) fn first_reserved() -> Option<u64> {
    limit().map(|limit| limit - reserve(limit))
}

/// Computes the share of callers: `in_use` descriptors are open for other things, `connections` were
/// configured, and up to `behind` connections to upstreams may be needed. Without a limit, all connections
/// that were configured.
pub(crate) fn share_for_callers(in_use: u64, connections: usize, behind: usize) -> DescriptorShare {
    match limit() {
        Some(limit) => share(limit, in_use, connections, behind),
        None => DescriptorShare { connections, turned_away: MAX_TURNED_AWAY },
    }
}

/// Returns whether the next descriptor would be in the reserve, which begins at `reserved_from`. Asked before
/// a connection to an upstream is opened. It duplicates a descriptor and closes it again to find out; where
/// that fails for another reason than missing descriptors, it returns `false` and leaves the error to whoever
/// needs one.
#[cfg(unix)]
pub(crate) fn are_short(reserved_from: u64) -> bool {
    use std::os::fd::AsFd;
    // Whatever else can go wrong is for whoever needs a descriptor to find.
    match std::io::stderr().as_fd().try_clone_to_owned() {
        Ok(next) => number(&next) >= reserved_from,
        Err(error) => error.raw_os_error().is_some_and(is_out_of_descriptors),
    }
}

/// Returns `false`: there is no limit to run into.
#[cfg(not(unix))]
pub(crate) fn are_short(_: u64) -> bool {
    false
}

/// Whether this error says that the system has no descriptor left, for this process (`EMFILE`) or for all of them
/// (`ENFILE`). The two have the same numbers on every Unix.
pub(crate) fn is_out_of_descriptors(code: i32) -> bool {
    cfg!(unix) && matches!(code, 23 | 24)
}

/// Returns the limit that this process has now (`RLIMIT_NOFILE`, the soft one), or `None` where there is
/// none.
pub(crate) fn limit() -> Option<u64> {
    #[cfg(unix)]
    return rlimit::Resource::NOFILE.get_soft().ok();
    #[cfg(not(unix))]
    None
}

/// Returns the number of a descriptor, to be compared with [`first_reserved`].
#[cfg(unix)]
pub(crate) fn number(of: &impl std::os::fd::AsRawFd) -> u64 {
    u64::try_from(of.as_raw_fd()).unwrap_or(0)
}

#[cfg(not(unix))]
pub(crate) fn number<T>(_: &T) -> u64 {
    0
}

fn reserve(limit: u64) -> u64 {
    MAX_RESERVED.min(limit / 6)
}

/// Computes the share for a given limit. The numbers never add up to more than the limit without the reserve,
/// except that there is always one connection.
fn share(limit: u64, in_use: u64, connections: usize, behind: usize) -> DescriptorShare {
    let all = usize::try_from(limit.saturating_sub(in_use + reserve(limit))).unwrap_or(usize::MAX);
    let callers = all - behind.min(all / 2);
    let least_turned_away = (callers / 8).min(8);
    let connections = connections.min(callers - least_turned_away).max(1);
    DescriptorShare { connections, turned_away: callers.saturating_sub(connections).min(MAX_TURNED_AWAY) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_and_servers_behind_leave_the_reserve_alone() {
        let check = |limit, in_use, connections, behind, expected: (usize, usize)| {
            let share = share(limit, in_use, connections, behind);
            assert_eq!((share.connections, share.turned_away), expected, "{limit}");
            let upstream = behind.min(usize::try_from(limit - in_use - reserve(limit)).unwrap() / 2);
            let used = share.connections + share.turned_away + upstream;
            assert!(u64::try_from(used).unwrap() + in_use + reserve(limit) <= limit, "{limit}: {share:?}");
        };
        check(64, 20, 10_000, 4096, (15, 2));
        check(364, 22, 200, 100, (200, 10));
        check(1024, 20, 10_000, 4096, (478, 8));
        check(14_160, 20, 10_000, 4096, (10_000, 12));
        check(1_048_576, 20, 10_000, 4096, (10_000, 64));
        check(1_048_576, 20, 1, 1, (1, 64));
    }

    #[test]
    fn there_is_always_one_connection() {
        assert_eq!(share(8, 20, 10_000, 4096), DescriptorShare { connections: 1, turned_away: 0 });
    }
}
