//! How the file descriptors that a process may have are shared out.
//!
//! 1. Some are kept back for the admin listener, and for what opens a file or asks for a name now and then.
//! 2. Of the rest, the connections to servers behind get one for each call and stream, but not more than half.
//! 3. Callers get what is left: fewer connections than `connections` says, where the limit allows no more, and a few to
//!    say so on.
//!
//! The system gives out the lowest number that is free. A new descriptor whose number is in the part that is kept back
//! therefore shows that all others are in use, whatever it is that uses them.
//!
//! Caveat: where there is no such limit (not on Unix) nothing is shared out.

/// How many are kept back where the limit is not small.
const MAX_RESERVED: u64 = 32;
/// How many callers are told that there are too many, at a time.
const MAX_TURNED_AWAY: usize = 64;

/// What callers get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DescriptorShare {
    /// Connections that are served.
    pub(crate) connections: usize,
    /// Connections that are told that there are too many.
    pub(crate) turned_away: usize,
}

/// The first descriptor that is kept back.
pub(crate) fn first_reserved() -> Option<u64> {
    limit().map(|limit| limit - reserve(limit))
}

/// What callers get of the descriptors of this process, of which `in_use` are open for other things. Without a limit,
/// all that was configured.
pub(crate) fn share_for_callers(in_use: u64, connections: usize, behind: usize) -> DescriptorShare {
    match limit() {
        Some(limit) => share(limit, in_use, connections, behind),
        None => DescriptorShare { connections, turned_away: MAX_TURNED_AWAY },
    }
}

/// Whether the next descriptor would be one that is kept back.
#[cfg(unix)]
pub(crate) fn are_short(reserved_from: u64) -> bool {
    use std::os::fd::AsFd;
    // Whatever else can go wrong is for whoever needs a descriptor to find.
    match std::io::stderr().as_fd().try_clone_to_owned() {
        Ok(next) => number(&next) >= reserved_from,
        Err(error) => error.raw_os_error().is_some_and(is_out_of_descriptors),
    }
}

#[cfg(not(unix))]
pub(crate) fn are_short(_: u64) -> bool {
    false
}

/// Whether this error says that the system has no descriptor left, for this process (`EMFILE`) or for all of them
/// (`ENFILE`). The two have the same numbers on every Unix.
pub(crate) fn is_out_of_descriptors(code: i32) -> bool {
    cfg!(unix) && matches!(code, 23 | 24)
}

/// The limit that this process has now.
pub(crate) fn limit() -> Option<u64> {
    #[cfg(unix)]
    return rlimit::Resource::NOFILE.get_soft().ok();
    #[cfg(not(unix))]
    None
}

/// The number of a descriptor, by which [`first_reserved`] goes.
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
