//! Programs that are no servers, or bad ones.

use mcp_attune_rmcp::{ClientError, Connection, ServerTarget, StderrTarget};
use serde_json::json;

use crate::programs::program;
use crate::support::{fault, impatient, options, says};

fn shell(script: &str) -> ServerTarget {
    ServerTarget::new(None, &["sh", "-c", script].map(str::to_owned)).unwrap()
}

#[tokio::test]
async fn says_that_a_program_is_not_there() {
    let target = ServerTarget::new(None, &["no-such-program".to_owned()]).unwrap();
    let error = fault(&target, &options()).await;
    assert!(!error.is_refusal());
    assert_eq!(
        error.to_string(),
        "the program no-such-program was not found; is it installed, and is its folder in PATH?"
    );
}

#[tokio::test]
async fn says_how_a_program_ended() {
    for (script, expected) in [
        (
            "exit 7",
            "`TARGET` ended with exit code 7 before it answered; what it says on its standard error may tell why",
        ),
        (
            "echo usage: x; exit 0",
            "`TARGET` ended with exit code 0 before it answered; what it says on its standard error may tell why. It wrote \
             `usage: x`, which is no message: only messages may go to the standard output",
        ),
        (
            "kill -9 $$",
            "`TARGET` ended by signal 9 (SIGKILL) before it answered; what it says on its standard error may tell why",
        ),
    ] {
        let target = shell(script);
        assert_eq!(says(&fault(&target, &options()).await, &target), expected);
    }
}

/// Programs append a line to a file when they start.
fn counted(script: &str) -> (ServerTarget, tempfile::NamedTempFile) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    (shell(&format!("echo started >> '{path}'; {script}")), file)
}

fn starts(file: &tempfile::NamedTempFile) -> usize {
    std::fs::read_to_string(file.path()).unwrap().lines().count()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_that_dies_by_itself_is_started_once() {
    for (script, expected) in [("exit 1", 1), ("sleep 0.3; exit 1", 1), ("read question; exit 1", 2)] {
        let (target, file) = counted(script);
        let error = fault(&target, &options()).await;
        assert!(error.to_string().contains("ended with exit code 1 before it answered"), "{error}");
        assert_eq!(starts(&file), expected, "{script}");
    }
}

/// An older server that says nothing to what it does not know, or says so only when it is asked something else.
const SILENT: &str = r#"
while read -r line; do
  case $line in
    *'"initialize"'*)
      LATE
      echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"old","version":"1"}}}' ;;
    *'"echo"'*) echo '{"jsonrpc":"2.0","id":2,"result":{"heard":true}}' ;;
  esac
done"#;

#[tokio::test]
async fn a_late_answer_to_a_question_that_was_given_up_is_dropped() {
    let error = r#"echo '{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"late"}}'"#;
    let result = r#"echo '{"jsonrpc":"2.0","id":0,"result":{}}'"#;
    for late in [":", error, result] {
        let (target, file) = counted(&SILENT.replace("LATE", late));
        // Half of it is for the question that older servers do not know.
        let mut options = options();
        options.connect = std::time::Duration::from_secs(3);
        let connection = Connection::open(&target, &options).await.unwrap();
        assert_eq!(connection.version(), "2025-11-25");
        assert_eq!(connection.request("echo", json!({})).await.unwrap()["heard"], true);
        connection.close().await;
        assert_eq!(starts(&file), 1);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_that_takes_long_to_start_is_not_silent() {
    let ServerTarget::Program { name, arguments } = program("demo") else { panic!() };
    let mut words = vec!["-c".to_owned(), "sleep 3.5; exec \"$@\"".to_owned(), "sh".to_owned(), name];
    words.extend(arguments);
    let slow = ServerTarget::Program { name: "sh".to_owned(), arguments: words };
    let mut options = options();
    // Half of it is for the answer to the first question, once that was read.
    options.connect = std::time::Duration::from_secs(6);
    let connection = Connection::open(&slow, &options).await.unwrap();
    assert_eq!(connection.version(), "2026-07-28");
    connection.close().await;
}

#[tokio::test]
async fn does_not_wait_for_ever_for_a_program_that_never_answers() {
    let target = shell("cat >/dev/null");
    assert_eq!(
        says(&fault(&target, &impatient()).await, &target),
        "TARGET did not answer `initialize` within 1.5s; allow it more time, or see what it waits for"
    );
}

#[tokio::test]
async fn shows_what_a_program_says_that_is_no_message() {
    let target = shell("echo '  Server\x1b[31m is ready'; echo more; cat >/dev/null");
    assert_eq!(
        says(&fault(&target, &impatient()).await, &target),
        "TARGET did not answer `initialize` within 1.5s; allow it more time, or see what it waits for. It wrote \
         `Server [31m is ready`, which is no message: only messages may go to the standard output"
    );
}

#[tokio::test]
async fn bears_garbage_without_end() {
    let target = shell("yes");
    assert!(
        matches!(fault(&target, &impatient()).await, ClientError::NoAnswer { stray: Some(stray), .. } if stray == "y")
    );
    let target = shell("cat /dev/zero");
    let error = fault(&target, &{
        let mut options = impatient();
        options.bytes = 1 << 16;
        options
    })
    .await;
    assert!(matches!(error, ClientError::NoAnswer { .. }), "{error}");
}

#[tokio::test]
async fn says_that_a_message_is_too_long() {
    let target = program("refuses");
    let mut options = options();
    options.bytes = 10_000;
    let connection = Connection::open(&target, &options).await.unwrap();
    let error = connection.request("echo", json!({ "text": "x".repeat(10_000) })).await.unwrap_err();
    assert_eq!(
        says(&error, &target),
        "TARGET sends a message of more than 10000 bytes; raise the bound if that is right"
    );
}

#[tokio::test]
async fn a_program_may_say_much_on_its_standard_error() {
    let target = program("refuses");
    let ServerTarget::Program { name, arguments } = &target else { panic!() };
    let mut words =
        vec!["-c".to_owned(), "yes noise | head -c 5000000 >&2; exec \"$@\"".to_owned(), "sh".to_owned()];
    words.push(name.clone());
    words.extend(arguments.clone());
    let noisy = ServerTarget::Program { name: "sh".to_owned(), arguments: words };
    let mut options = options();
    options.stderr = StderrTarget::Logged("noisy".to_owned());
    let connection = Connection::open(&noisy, &options).await.unwrap();
    assert_eq!(connection.version(), "2025-11-25");
}

#[tokio::test]
async fn a_program_takes_no_headers() {
    let mut options = options();
    options.headers = vec!["X-Key: 1".parse().unwrap()];
    let target = shell("exit 7");
    assert_eq!(
        says(&fault(&target, &options).await, &target),
        "`TARGET` is a program and takes no headers; leave them out, or give a URL"
    );
}
