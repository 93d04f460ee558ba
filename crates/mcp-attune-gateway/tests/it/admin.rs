//! The admin listener: who may ask it, and how.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{always, rest};
use crate::whole::{Running, gateway, in_front_of};

const NOBODY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

async fn serve(more: &str) -> Running {
    gateway(&format!("{}{more}", in_front_of(always(NOBODY).await)), None).await
}

/// Asks with these lines, and returns the whole answer.
async fn says(gateway: &Running, line: &str, lines: &[&str]) -> String {
    let mut tcp = TcpStream::connect(gateway.admin).await.unwrap();
    let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    let request = format!("{line} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n");
    tcp.write_all(request.as_bytes()).await.unwrap();
    rest(&mut tcp).await
}

#[tokio::test]
async fn a_name_that_is_not_allowed_is_403_and_says_what_to_do() {
    let gateway = serve("[server]\nallowed_hosts = ['attune-admin', 'metrics.example:8809']\n").await;
    for path in ["/healthz", "/readyz", "/metrics", "/"] {
        for host in [
            "evil.example",
            "metrics.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "x@localhost",
        ] {
            let answer = says(&gateway, &format!("GET {path}"), &[&format!("Host: {host}")]).await;
            assert!(answer.starts_with("HTTP/1.1 403 "), "{host}: {answer}");
            let body = answer.split_once("\r\n\r\n").unwrap().1;
            assert_eq!(
                body,
                format!("Host {host} is not allowed here; the operator can add it to allowed_hosts\n")
            );
        }
    }
    let answer = says(&gateway, "GET /metrics", &["Host: localhost", "Origin: https://evil.example"]).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(says(&gateway, "GET /metrics", &[]).await.starts_with("HTTP/1.1 400 "));
}

#[tokio::test]
async fn loopback_addresses_and_allowed_names_are_answered() {
    let gateway = serve("[server]\nallowed_hosts = ['attune-admin', 'metrics.example:8809']\n").await;
    for host in [
        "localhost",
        "localhost:8809",
        "127.0.0.1:8809",
        "[::1]:8809",
        // Whoever scrapes by address: a page cannot have one as its name unless it was loaded from there.
        "10.1.2.3",
        "10.1.2.3:8809",
        "[2001:db8::1]:8809",
        "attune-admin",
        "Attune-Admin:8809",
        "metrics.example:8809",
    ] {
        let answer = says(&gateway, "GET /healthz", &[&format!("Host: {host}")]).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nok\n"), "{host}: {answer}");
    }
}

#[tokio::test]
async fn only_get_and_head_are_taken_and_head_has_no_body() {
    let gateway = serve("").await;
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "get"] {
        let answer =
            says(&gateway, &format!("{method} /metrics"), &["Host: localhost", "Content-Length: 0"]).await;
        assert!(answer.starts_with("HTTP/1.1 405 "), "{method}: {answer}");
        assert!(answer.contains("\r\nallow: GET, HEAD\r\n"), "{method}: {answer}");
    }
    for (path, status) in [("/healthz", 200), ("/readyz", 200), ("/metrics", 200), ("/nowhere", 404)] {
        let answer = says(&gateway, &format!("HEAD {path}"), &["Host: localhost"]).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
        assert!(answer.ends_with("\r\n\r\n"), "{path}: {answer}");
    }
}
