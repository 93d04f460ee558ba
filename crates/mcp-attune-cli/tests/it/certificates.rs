//! Servers over HTTPS whose certificates are private, for another name, or no longer valid.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

use crate::serving::FREE;
use crate::{code, text};

const ATTUNE: &str = env!("CARGO_BIN_EXE_attune");

/// A gateway with a certificate of its own, before the demo.
struct Secure {
    child: Child,
    port: String,
    folder: tempfile::TempDir,
}

impl Drop for Secure {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a certificate that signs for itself, as an authority, as `openssl req -x509` makes it.
fn certificate(folder: &Path, valid: bool) -> (PathBuf, PathBuf) {
    let mut asked = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    asked.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    if !valid {
        asked.not_after = date_time_ymd(2020, 1, 1);
    }
    let key = KeyPair::generate().expect("a key");
    let made = asked.self_signed(&key).expect("a certificate");
    let (cert_file, key_file) = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&cert_file, made.pem()).expect("a file");
    std::fs::write(&key_file, key.serialize_pem()).expect("a file");
    (cert_file, key_file)
}

impl Secure {
    fn start(valid: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (cert, key) = certificate(folder.path(), valid);
        let config = folder.path().join("attune.toml");
        let tls = format!("[server]\ntls = {{ cert = {cert:?}, key = {key:?} }}\n");
        std::fs::write(&config, tls).expect("a file");
        let mut child = Command::new(ATTUNE)
            .args(["serve", "--config", config.to_str().expect("a path")])
            .args(FREE)
            .args(["--", ATTUNE, "demo", "--bare", "--stdio"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("attune starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let line = lines.find_map(|line| Some(line.ok()?.split_once("127.0.0.1:")?.1.to_owned()));
        let port = line.expect("an address").chars().take_while(char::is_ascii_digit).collect();
        // Whoever does not read holds the other up.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, port, folder }
    }

    fn url(&self, scheme: &str, host: &str) -> String {
        format!("{scheme}://{host}:{}/mcp", self.port)
    }

    fn cert(&self) -> String {
        self.folder.path().join("cert.pem").to_str().expect("a path").to_owned()
    }
}

/// What is said of a server by somebody who trusts one authority that it has nothing to do with.
fn said(url: &str, options: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let (other, _) = certificate(folder.path(), true);
    let output = Command::new(ATTUNE)
        .args(["tools", "--text", url])
        .args(options)
        .env("SSL_CERT_FILE", other)
        .env_remove("SSL_CERT_DIR")
        .output()
        .expect("attune starts");
    let lines: Vec<_> = text(&output.stdout).lines().take(1).collect();
    format!("exit: {}\n{}\n{}", code(&output), lines.join(""), text(&output.stderr)).replace(url, "URL")
}

#[test]
fn a_private_certificate_is_accepted_where_it_is_named() {
    let server = Secure::start(true);
    let url = server.url("https", "localhost");
    insta::assert_snapshot!(said(&url, &[]), @"
    exit: 2

    error: the certificate of URL is not trusted: it is signed by nobody whom this system trusts
    hint: name its authority with --cacert FILE; --insecure asks without checking
    ");
    let shown = said(&url, &["--cacert", &server.cert()]);
    assert!(shown.starts_with("exit: 0\nTOOL "), "{shown}");
    let shown = said(&url, &["--insecure"]);
    assert!(
        shown.starts_with("exit: 0\nTOOL ") && shown.contains("warning: no certificate is checked"),
        "{shown}"
    );
    // The name counts, whoever is trusted.
    insta::assert_snapshot!(said(&server.url("https", "127.0.0.1"), &["--cacert", &server.cert()]), @"
    exit: 2

    error: the certificate of URL is for another name: localhost
    hint: use a name that it is for, or see whether it is the right server
    ");
}

#[test]
fn a_certificate_that_has_expired_is_told() {
    let server = Secure::start(false);
    insta::assert_snapshot!(said(&server.url("https", "localhost"), &["--cacert", &server.cert()]), @"
    exit: 2

    error: the certificate of URL has expired
    hint: its server needs another, unless the clock of this system is wrong
    ");
}

#[test]
fn the_wrong_scheme_is_told() {
    // Most servers say at once that this is no request.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://{}/mcp", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut tcp in listener.incoming().map_while(Result::ok) {
            let _ = tcp.read(&mut [0; 4096]);
            let _ = tcp.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    insta::assert_snapshot!(said(&url, &[]), @"
    exit: 2

    error: there is no TLS at URL
    hint: write http://
    ");
    let server = Secure::start(true);
    insta::assert_snapshot!(said(&server.url("http", "localhost"), &[]), @"
    exit: 2

    error: what answers at URL is not HTTP
    hint: write https:// if it speaks TLS
    ");
}

#[test]
fn a_file_without_certificates_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.pem");
    for (written, why) in [(None, "No such file"), (Some("words"), "there is no certificate in it")] {
        if let Some(written) = written {
            std::fs::write(&file, written).expect("a file");
        }
        let shown = said("https://127.0.0.1:9/mcp", &["--cacert", file.to_str().expect("a path")]);
        assert!(
            shown.starts_with("exit: 2\n") && shown.contains(why) && shown.contains("hint: name a PEM file"),
            "{shown}"
        );
    }
}
