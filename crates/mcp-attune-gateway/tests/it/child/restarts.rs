//! Programs that end and are started again.

use serde_json::json;

use super::*;

async fn pid(at: SocketAddr) -> Option<u32> {
    let (status, _, body) = call(at, "1", "pid", json!({})).await;
    (status == 200).then(|| read(&body)["result"]["content"][0]["text"].as_str().unwrap().parse().unwrap())
}

#[tokio::test]
async fn a_caller_who_ends_a_shared_program_again_and_again_does_not_take_it_from_others() {
    let gateway = serve("modern", "").await;
    let at = gateway.callers;
    for round in 0..8 {
        let (status, _, body) = call(at, "1", "die", json!({})).await;
        assert_eq!(status, 502, "round {round}: {body}");
        let (status, _, body) = call(at, "1", "echo", json!({})).await;
        assert_eq!(status, 200, "round {round}: {body}");
    }
}

#[tokio::test]
async fn a_program_whose_first_call_is_always_the_one_that_ends_it_is_still_started() {
    let gateway = serve("modern", "").await;
    let at = gateway.callers;
    for round in 0..8 {
        // Nobody else asks in between, so it has never answered a caller.
        let (status, _, body) = call(at, "1", "die", json!({})).await;
        assert_eq!(status, 502, "round {round}: {body}");
    }
    assert_eq!(call(at, "1", "echo", json!({})).await.0, 200);
}

#[tokio::test]
async fn others_are_served_while_a_caller_ends_a_shared_program_whenever_it_is_back() {
    let gateway = serve("modern", "").await;
    let at = gateway.callers;
    let ending = tokio::spawn(async move {
        for _ in 0..8 {
            call(at, "1", "die", json!({})).await;
        }
    });
    let mut said = Vec::new();
    while !ending.is_finished() {
        said.push(call(at, "1", "echo", json!({})).await.0);
    }
    ending.await.unwrap();
    // A call that runs when the program ends is lost with it.
    assert!(said.iter().all(|status| [200, 502].contains(status)), "{said:?}");
    assert!(said.contains(&200), "{said:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_shared_program_that_is_killed_from_outside_is_there_for_the_next_call() {
    let gateway = serve("modern", "").await;
    let at = gateway.callers;
    for round in 0..8 {
        let killed = soon(async {
            loop {
                if let Some(pid) = pid(at).await {
                    return pid;
                }
            }
        })
        .await;
        let kill = std::process::Command::new("kill").args(["-KILL", &killed.to_string()]).status();
        assert!(kill.unwrap().success());
        soon(async {
            loop {
                match call(at, "1", "pid", json!({})).await {
                    (200, _, body) if !body.contains(&killed.to_string()) => return,
                    // It was asked before its end was noticed.
                    (200 | 502, ..) => {}
                    (status, _, body) => panic!("round {round}: {status} {body}"),
                }
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_legacy_caller_who_ends_programs_does_not_take_them_from_others() {
    let gateway = serve("both-but-initialize-ends-it", "").await;
    let at = gateway.callers;
    for round in 0..8 {
        assert_eq!(call(at, "1", "echo", json!({})).await.0, 200, "round {round}");
        let begin = ask(at, "POST /mcp", &ACCEPT, &hello(&json!({"bad": {}}))).await;
        assert_eq!(begin.0, 503, "round {round}: {}", begin.2);
        Legacy::begin(at, json!({})).await;
    }
}
