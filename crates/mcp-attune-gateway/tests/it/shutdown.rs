//! The stages of the end: not ready but serving, then draining, then over.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_attune_gateway::config::Config;
use mcp_attune_gateway::gateway::{Gateway, GatewayControl};
use mcp_attune_gateway::listen::DrainOutcome;
use mcp_attune_gateway::workers::Workers;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::support::{behind, message, soon};
use crate::whole::{ask, in_front_of};

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 36\r\n\r\n\
                      {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

struct Controlled {
    callers: std::net::SocketAddr,
    admin: std::net::SocketAddr,
    tell: mpsc::UnboundedSender<GatewayControl>,
    end: JoinHandle<DrainOutcome>,
    /// Lets the server behind answer once more.
    go: mpsc::UnboundedSender<()>,
}

/// A gateway with a delay that no test waits for, before a server that answers when it is told to.
async fn controlled(more: &str) -> Controlled {
    let (go, gone) = mpsc::unbounded_channel::<()>();
    let gone = std::sync::Arc::new(tokio::sync::Mutex::new(gone));
    let server = behind(move |_, mut tcp| {
        let gone = gone.clone();
        async move {
            while !message(&mut tcp).await.is_empty() {
                gone.lock().await.recv().await;
                tcp.write_all(ANSWER.as_bytes()).await.unwrap();
            }
        }
    })
    .await;
    let text = format!("{}[server]\nshutdown_delay = '1 h'\n{more}", in_front_of(server));
    let mut config = Config::parse(&text, "attune.toml").unwrap_or_else(|findings| panic!("{findings}"));
    config.server.listen.set_port(0);
    config.server.admin.set_port(0);
    let gateway = Gateway::bind(config).await.unwrap().with_workers(Workers::start().unwrap());
    let (callers, admin) = (gateway.address().unwrap(), gateway.admin_address().unwrap());
    let (tell, told) = mpsc::unbounded_channel();
    Controlled { callers, admin, tell, end: tokio::spawn(gateway.run_controlled(None, told)), go }
}

impl Controlled {
    /// Waits until it says that it is not ready, and then until every connection knows it.
    async fn is_closing(&self) {
        self.tell.send(GatewayControl::Terminate).unwrap();
        soon(async { while ask(self.admin, "GET /readyz", &[], "").await.0 != 503 {} }).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn request() -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{PING}",
        PING.len()
    )
}

/// Reads one answer.
async fn answer(tcp: &mut TcpStream) -> String {
    let mut all = String::new();
    while !all.ends_with('}') {
        let mut piece = [0; 4096];
        let bytes = soon(tcp.read(&mut piece)).await.unwrap();
        assert_ne!(bytes, 0, "{all}");
        all += &String::from_utf8_lossy(&piece[..bytes]);
    }
    all
}

/// In one piece a request is plain; in two it goes to hyper.
async fn send(tcp: &mut TcpStream, pieces: usize) {
    let request = request();
    let (first, second) = request.split_at(if pieces == 1 { request.len() } else { 20 });
    tcp.write_all(first.as_bytes()).await.unwrap();
    if pieces > 1 {
        tcp.flush().await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        tcp.write_all(second.as_bytes()).await.unwrap();
    }
}

#[tokio::test]
async fn each_answer_closes_its_connection_while_it_is_not_ready() {
    for pieces in [1, 2] {
        let gateway = controlled("").await;
        let connect = || async { TcpStream::connect(gateway.callers).await.unwrap() };
        let (mut running, mut kept, mut idle) = (connect().await, connect().await, connect().await);
        for tcp in [&mut kept, &mut idle] {
            gateway.go.send(()).unwrap();
            send(tcp, pieces).await;
            assert!(!answer(tcp).await.contains("connection: close"));
        }
        send(&mut running, pieces).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        gateway.is_closing().await;
        let mut new = connect().await;
        for tcp in [&mut kept, &mut new] {
            send(tcp, pieces).await;
        }
        for tcp in [&mut running, &mut kept, &mut new] {
            gateway.go.send(()).unwrap();
            gateway.go.send(()).unwrap();
            let got = answer(tcp).await;
            assert!(got.starts_with("HTTP/1.1 200 ") && got.contains("\r\nconnection: close\r\n"), "{got}");
            assert_eq!(soon(tcp.read(&mut [0])).await.unwrap(), 0);
        }
        assert!(!gateway.end.is_finished());
        gateway.tell.send(GatewayControl::Terminate).unwrap();
        assert_eq!(soon(idle.read(&mut [0])).await.unwrap(), 0);
        assert_eq!(soon(gateway.end).await.unwrap(), DrainOutcome { cut: 0 });
    }
}

#[tokio::test]
async fn over_http2_callers_are_told_to_go_elsewhere_and_new_ones_are_served() {
    let gateway = controlled("").await;
    let connect = || async {
        let io = TokioIo::new(TcpStream::connect(gateway.callers).await.unwrap());
        let (send, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
        (send, tokio::spawn(connection))
    };
    let request = || {
        let request = Request::post(format!("http://{}/mcp", gateway.callers));
        let request = request.header("content-type", "application/json");
        request
            .header("accept", "application/json, text/event-stream")
            .body(Full::<Bytes>::from(PING))
            .unwrap()
    };
    let (mut send, connection) = connect().await;
    let running = tokio::spawn(send.send_request(request()));
    tokio::time::sleep(Duration::from_millis(100)).await;
    gateway.is_closing().await;
    // What runs is answered, and then the connection ends by itself.
    gateway.go.send(()).unwrap();
    let got = soon(running).await.unwrap().unwrap();
    assert_eq!(got.status(), 200);
    got.into_body().collect().await.unwrap();
    soon(connection).await.unwrap().unwrap();
    let (mut send, connection) = connect().await;
    gateway.go.send(()).unwrap();
    let got = soon(send.send_request(request())).await.unwrap();
    assert_eq!((got.status(), got.headers().get("connection")), (http::StatusCode::OK, None));
    got.into_body().collect().await.unwrap();
    gateway.tell.send(GatewayControl::Terminate).unwrap();
    soon(connection).await.unwrap().unwrap();
    assert_eq!(soon(gateway.end).await.unwrap(), DrainOutcome { cut: 0 });
}

#[tokio::test]
async fn an_interruption_skips_the_delay() {
    let gateway = controlled("").await;
    gateway.tell.send(GatewayControl::Interrupt).unwrap();
    assert_eq!(soon(gateway.end).await.unwrap(), DrainOutcome { cut: 0 });
}

#[tokio::test]
async fn the_admin_listener_says_that_it_is_not_ready_until_the_last_call_is_over() {
    let gateway = controlled("").await;
    let mut running = TcpStream::connect(gateway.callers).await.unwrap();
    send(&mut running, 1).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    gateway.tell.send(GatewayControl::Interrupt).unwrap();
    soon(async { while TcpStream::connect(gateway.callers).await.is_ok() {} }).await;
    assert_eq!(ask(gateway.admin, "GET /readyz", &[], "").await.0, 503);
    assert_eq!(ask(gateway.admin, "GET /healthz", &[], "").await.0, 200);
    gateway.go.send(()).unwrap();
    assert!(answer(&mut running).await.starts_with("HTTP/1.1 200 "));
    soon(gateway.end).await.unwrap();
    assert!(TcpStream::connect(gateway.admin).await.is_err());
}

#[tokio::test]
async fn a_certificate_is_read_again_when_it_is_told_to() {
    let folder = std::env::temp_dir().join(format!("attune-reload-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str| {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        std::fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        made.cert.der().to_vec()
    };
    let (first, files) = (write("localhost"), folder.to_str().unwrap());
    let gateway =
        controlled(&format!("tls = {{ cert = '{files}/cert.pem', key = '{files}/key.pem' }}\n")).await;
    assert_eq!(shown(gateway.callers).await, first);
    let second = write("localhost");
    assert_eq!(shown(gateway.callers).await, first, "nobody told it to look");
    gateway.tell.send(GatewayControl::Reload).unwrap();
    soon(async { while shown(gateway.callers).await != second {} }).await;
    // One that cannot be used changes nothing.
    std::fs::write(folder.join("key.pem"), "no key").unwrap();
    gateway.tell.send(GatewayControl::Reload).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(shown(gateway.callers).await, second);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The certificate that a gateway shows.
async fn shown(gateway: std::net::SocketAddr) -> Vec<u8> {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(std::sync::Arc::new(Anybody))
        .with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config));
    let tcp = TcpStream::connect(gateway).await.unwrap();
    let tls = soon(connector.connect("localhost".try_into().unwrap(), tcp)).await.unwrap();
    tls.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

/// Takes any certificate: the test looks at it itself.
#[derive(Debug)]
struct Anybody;

impl rustls::client::danger::ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &[rustls::pki_types::CertificateDer<'_>],
        _: &rustls::pki_types::ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
