//! Nothing stays behind.

use std::time::Duration;

use serde_json::json;

use super::*;

fn is_over(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
}

/// Waits until a process is over. Only Linux tells; elsewhere it is taken to be.
pub(super) async fn is_gone(pid: u32) {
    soon(async {
        while !is_over(pid) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug)]
struct Held {
    children: usize,
    files: usize,
    kibibytes: usize,
}

/// What this process holds.
#[cfg(target_os = "linux")]
fn held() -> Held {
    let mine = std::process::id().to_string();
    let processes =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_mine = |pid: &String| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)).is_some_and(|parent| parent == mine)
    };
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    Held {
        children: processes.filter(is_mine).count(),
        files: std::fs::read_dir("/proc/self/fd").unwrap().count(),
        kibibytes: resident.trim().trim_end_matches(" kB").parse().unwrap(),
    }
}

/// Says that a test has its process for itself.
#[cfg(target_os = "linux")]
const ALONE: &str = "ATTUNE_TEST_ALONE";

/// It counts what its process holds, so it runs in one of its own.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn sessions_leave_nothing_behind() {
    if std::env::var_os(ALONE).is_some() {
        return two_hundred_sessions().await;
    }
    let alone = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child::leaks::sessions_leave_nothing_behind", "--nocapture"])
        .env(ALONE, "yes")
        .output();
    let alone = tokio::time::timeout(Duration::from_secs(300), alone).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&alone.stdout) + String::from_utf8_lossy(&alone.stderr);
    assert!(alone.status.success() && said.contains("after 200"), "{said}");
}

#[cfg(target_os = "linux")]
async fn two_hundred_sessions() {
    let gateway = serve("both", "children = 8\n").await;
    let at = gateway.callers;
    let one = |number: usize| async move {
        let session = Legacy::begin(at, json!({"elicitation": {}})).await;
        let mut open = session.open("1", "elicit", json!({})).await;
        open.until("elicitation/create").await;
        assert_eq!(call(at, "1", "echo", json!({})).await.0, 200);
        match number % 4 {
            // Its caller is lost, its child dies, or it ends as it should, in the middle or at the end.
            0 => drop(open),
            1 => assert_eq!(session.call("2", "die", json!({})).await.0, 502),
            2 => {
                assert_eq!(
                    session.post(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#).await.0,
                    202
                );
                open.until("\r\n0\r\n\r\n").await;
            }
            _ => {}
        }
        if number % 4 != 1 {
            assert_eq!(session.end().await, 204);
        }
    };
    let round = |from: usize| async move {
        for number in (from..from + 40).step_by(2) {
            tokio::join!(one(number), one(number + 1));
        }
    };
    round(0).await;
    let settled = || async {
        soon(async {
            // The shared child stays.
            while held().children > 1 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        held()
    };
    let before = settled().await;
    for from in 1..5 {
        round(from * 40).await;
    }
    let after = settled().await;
    assert_eq!((after.children, before.children), (1, 1), "{before:?} {after:?}");
    assert!(after.files <= before.files + 4, "{before:?} {after:?}");
    assert!(after.kibibytes <= before.kibibytes + 8 * 1024, "{before:?} {after:?}");
    println!("after 40 sessions {before:?}, after 200 {after:?}");
}
