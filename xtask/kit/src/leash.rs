//! What ends the groups that we started when we are ended ourselves, by Ctrl-C or by force.
//!
//! A shell in a group of its own reads which groups there are from a pipe. When the pipe is closed, whyever that is, it
//! ends those that are left.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Groups are asked to end before they are forced: a gateway ends its children.
const SCRIPT: &str = r#"
held=
while read -r how group; do
    rest=
    for one in $held; do [ "$one" = "$group" ] || rest="$rest $one"; done
    held=$rest
    [ "$how" = hold ] && held="$held $group"
done
[ -z "$held" ] && exit
for one in $held; do kill -TERM "-$one"; done
sleep 3
for one in $held; do kill -KILL "-$one"; done
"#;

struct Leash {
    _shell: Child,
    pipe: ChildStdin,
}

impl Leash {
    fn start() -> Option<Self> {
        let mut command = Command::new("sh");
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell = command.spawn().ok()?;
        let pipe = shell.stdin.take()?;
        Some(Self { _shell: shell, pipe })
    }

    fn tell(&mut self, how: &str, group: u32) {
        let _ = self.pipe.write_all(format!("{how} {group}\n").as_bytes());
    }
}

/// From now on a group ends with us.
pub(crate) fn hold(group: u32) {
    tell("hold", group);
}

/// A group is over: its number may be another's soon.
pub(crate) fn let_go(group: u32) {
    tell("free", group);
}

/// Without a shell nothing is held; then groups end only in the usual way.
fn tell(how: &str, group: u32) {
    static LEASH: OnceLock<Option<Mutex<Leash>>> = OnceLock::new();
    if let Some(leash) = LEASH.get_or_init(|| Leash::start().map(Mutex::new)) {
        leash.lock().unwrap_or_else(PoisonError::into_inner).tell(how, group);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::time::Duration;

    #[test]
    fn what_is_held_ends_with_whoever_held_it_and_what_is_free_does_not() {
        let start = || Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let (mut held, mut free) = (start(), start());
        let mut leash = Leash::start().unwrap();
        for child in [&held, &free] {
            leash.tell("hold", child.id());
        }
        leash.tell("free", free.id());
        drop(leash);
        let ended = (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            held.try_wait().unwrap().is_some()
        });
        assert!(ended && free.try_wait().unwrap().is_none());
        free.kill().unwrap();
        free.wait().unwrap();
    }
}
