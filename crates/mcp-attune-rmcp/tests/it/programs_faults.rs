//! Programs that are no servers, or bad ones.

use mcp_attune_rmcp::{Connection, Error, Stderr, Target};
use serde_json::json;

use crate::programs::program;
use crate::support::{fault, impatient, options, says};

fn shell(script: &str) -> Target {
    Target::new(None, &["sh", "-c", script].map(str::to_owned)).unwrap()
}

#[tokio::test]
async fn says_that_a_program_is_not_there() {
    let target = Target::new(None, &["no-such-program".to_owned()]).unwrap();
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
            "`TARGET` ended before it answered (exit status: 7); what it says on its standard error may tell why",
        ),
        (
            "echo usage: x; exit 0",
            "`TARGET` ended before it answered (exit status: 0); what it says on its standard error may tell why. It wrote \
             `usage: x`, which is no message: only messages may go to the standard output",
        ),
        (
            "kill -9 $$",
            "`TARGET` ended before it answered (signal: 9 (SIGKILL)); what it says on its standard error may tell why",
        ),
    ] {
        let target = shell(script);
        assert_eq!(says(&fault(&target, &options()).await, &target), expected);
    }
}

#[tokio::test]
async fn does_not_wait_for_ever_for_a_program_that_never_answers() {
    let target = shell("cat >/dev/null");
    assert_eq!(
        says(&fault(&target, &impatient()).await, &target),
        "TARGET did not answer `server/discover` within 1.5s; allow it more time, or see what it waits for"
    );
}

#[tokio::test]
async fn shows_what_a_program_says_that_is_no_message() {
    let target = shell("echo '  Server\x1b[31m is ready'; echo more; cat >/dev/null");
    assert_eq!(
        says(&fault(&target, &impatient()).await, &target),
        "TARGET did not answer `server/discover` within 1.5s; allow it more time, or see what it waits for. It wrote \
         `Server [31m is ready`, which is no message: only messages may go to the standard output"
    );
}

#[tokio::test]
async fn bears_garbage_without_end() {
    let target = shell("yes");
    assert!(
        matches!(fault(&target, &impatient()).await, Error::NoAnswer { stray: Some(stray), .. } if stray == "y")
    );
    let target = shell("cat /dev/zero");
    let error = fault(&target, &{
        let mut options = impatient();
        options.bytes = 1 << 16;
        options
    })
    .await;
    assert!(matches!(error, Error::NoAnswer { .. }), "{error}");
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
    let Target::Program { name, arguments } = &target else { panic!() };
    let mut words =
        vec!["-c".to_owned(), "yes noise | head -c 5000000 >&2; exec \"$@\"".to_owned(), "sh".to_owned()];
    words.push(name.clone());
    words.extend(arguments.clone());
    let noisy = Target::Program { name: "sh".to_owned(), arguments: words };
    let mut options = options();
    options.stderr = Stderr::Logged("noisy".to_owned());
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
