//! `attune serve` and the signals that operators send.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::serving::{get, listen_to};

/// Long enough for any machine; a test that passes does not wait for it.
const PATIENCE: Duration = Duration::from_secs(60);

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// A server that answers every request with the same message, and keeps its connections.
fn behind() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for tcp in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut tcp = BufReader::new(tcp);
                while let Some((_, length)) = head(&mut tcp) {
                    let mut body = vec![0; length];
                    if tcp.read_exact(&mut body).is_err() {
                        return;
                    }
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{ANSWER}",
                        ANSWER.len()
                    );
                    if tcp.get_mut().write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// The head of a message, in lower case, and the length of its body; none where the connection ended before it.
fn head(tcp: &mut BufReader<TcpStream>) -> Option<(String, usize)> {
    let mut all = String::new();
    loop {
        let mut line = String::new();
        if tcp.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        all += &line.to_ascii_lowercase();
    }
    let length = all.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    Some((all.clone(), length.trim().parse().ok()?))
}

/// A gateway, the file that it follows, and what it writes into its log.
struct Gateway {
    child: Child,
    address: String,
    admin: String,
    file: PathBuf,
    log: Arc<Mutex<String>>,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.file);
    }
}

impl Gateway {
    fn start(text: &str) -> Self {
        Self::start_by(&[env!("CARGO_BIN_EXE_attune")], text, Stdio::null())
    }

    /// Starts it with a command that is given the rest of its arguments.
    fn start_by(command: &[&str], text: &str, stdin: Stdio) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("attune-signals-{}-{}.toml", std::process::id(), NUMBER.fetch_add(1, SeqCst));
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, text).expect("a file");
        let mut child = Command::new(command[0])
            .args(&command[1..])
            .args(["serve", "--config", file.to_str().expect("a path in UTF-8")])
            .env("NO_COLOR", "1")
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("attune starts");
        let (log, [address, admin]) = listen_to(&mut child);
        Self { child, address, admin, file, log }
    }

    fn send(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill").success());
    }

    /// Waits until its log says this, so often.
    fn said(&self, text: &str, times: usize) {
        let since = Instant::now();
        while self.log.lock().expect("a log").matches(text).count() < times {
            assert!(since.elapsed() < PATIENCE, "{text} is not in\n{}", self.log.lock().expect("a log"));
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn ended(&mut self) -> Option<i32> {
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return status.code();
            }
            assert!(since.elapsed() < PATIENCE, "it did not end\n{}", self.log.lock().expect("a log"));
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn connect(&self) -> BufReader<TcpStream> {
        let tcp = TcpStream::connect(&self.address).expect("it listens");
        tcp.set_read_timeout(Some(PATIENCE)).expect("a limit");
        BufReader::new(tcp)
    }
}

const REQUEST: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                       Accept: application/json, text/event-stream\r\nContent-Length: ";

/// Sends a request on a connection: the head of its answer; none where the connection ended instead.
fn ask(tcp: &mut BufReader<TcpStream>) -> Option<String> {
    let request = format!("{REQUEST}{}\r\n\r\n{PING}", PING.len());
    tcp.get_mut().write_all(request.as_bytes()).ok()?;
    let (head, length) = head(tcp)?;
    let mut body = vec![0; length];
    tcp.read_exact(&mut body).ok()?;
    Some(head)
}

fn status(head: &str) -> u16 {
    head.split(' ').nth(1).expect("a status").parse().expect("a number")
}

fn config(server: SocketAddr, more: &str) -> String {
    format!(
        "log = 'debug'\n[upstream]\nurl = 'http://{server}/mcp'\n\
         [server]\nlisten = '127.0.0.1:0'\nadmin = '127.0.0.1:0'\n{more}\n"
    )
}

#[test]
fn signals_that_mean_nothing_do_not_end_it() {
    let gateway = Gateway::start(&config(behind(), ""));
    for signal in ["USR1", "USR2"] {
        gateway.send(&format!("-{signal}"));
        gateway.said(&format!("signal=\"SIG{signal}\""), 1);
    }
    assert_eq!(ask(&mut gateway.connect()).as_deref().map(status), Some(200));
}

#[test]
fn hang_up_makes_it_look_at_its_file_now() {
    let server = behind();
    let gateway = Gateway::start(&config(server, ""));
    let mut tcp = gateway.connect();
    gateway.send("-HUP");
    gateway.said("the configuration has not changed", 1);
    assert_eq!(ask(&mut tcp).as_deref().map(status), Some(200), "the connection is still there");

    // The file keeps its time, so that only who is told to look sees what is new.
    let time = std::fs::metadata(&gateway.file).expect("a file").modified().expect("a time");
    let rewrite = |text: &str| {
        let file = std::fs::File::create(&gateway.file).expect("a file");
        (&file).write_all(text.as_bytes()).expect("a file");
        file.set_modified(time).expect("a time");
    };
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|gone| gone.local_addr()).expect("a port");
    rewrite(&config(nobody, ""));
    gateway.send("-HUP");
    gateway.said("the new configuration is in place", 1);
    assert_eq!(ask(&mut tcp).as_deref().map(status), Some(503), "the server behind is another one");

    rewrite("listen = ");
    gateway.send("-HUP");
    gateway.said("the new configuration is wrong, the old one keeps serving", 1);
    assert_eq!(ask(&mut tcp).as_deref().map(status), Some(503));
}

#[test]
fn hang_up_without_a_file_says_that_there_is_nothing_to_reload() {
    let server = behind();
    let url = format!("http://{server}/mcp");
    let mut gateway = Gateway::start_by(
        // The script leaves the arguments that name the file alone.
        &[
            "sh",
            "-c",
            &format!(
                "exec '{}' serve --listen 127.0.0.1:0 --admin 127.0.0.1:0 --upstream {url}",
                env!("CARGO_BIN_EXE_attune")
            ),
        ],
        "",
        Stdio::null(),
    );
    gateway.send("-HUP");
    gateway.said("there is nothing to reload", 1);
    assert_eq!(ask(&mut gateway.connect()).as_deref().map(status), Some(200));
    gateway.send("-INT");
    assert_eq!(gateway.ended(), Some(0));
}

/// A terminal that nobody looks at any more: its program is told so, and has nobody left to serve for.
#[cfg(target_os = "linux")]
#[test]
fn hang_up_of_its_own_terminal_ends_it() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&master).expect("a terminal");
    unlockpt(&master).expect("a terminal");
    let name = ptsname(&master, Vec::new()).expect("a name").into_string().expect("a path");
    let terminal = std::fs::OpenOptions::new().read(true).write(true).open(name).expect("a terminal");
    let mut gateway =
        Gateway::start_by(&[env!("CARGO_BIN_EXE_attune")], &config(behind(), ""), Stdio::from(terminal));
    gateway.send("-HUP");
    gateway.said("the configuration has not changed", 1);
    drop(master);
    gateway.send("-HUP");
    assert_eq!(gateway.ended(), Some(0));
}

#[test]
fn no_request_goes_unanswered_when_it_is_asked_to_end() {
    const CALLERS: usize = 32;
    let mut gateway = Gateway::start(&config(behind(), ""));
    let (tell, told) = mpsc::channel();
    for _ in 0..CALLERS {
        let (mut tcp, tell) = (gateway.connect(), tell.clone());
        thread::spawn(move || {
            // Sends on a connection for as long as it may.
            for answered in 0_usize.. {
                let Some(head) = ask(&mut tcp) else {
                    let _ = tell.send(Err(format!("no answer after {answered}")));
                    return;
                };
                if answered == 0 {
                    let _ = tell.send(Ok(status(&head)));
                }
                if head.contains("connection: close\r\n") {
                    let _ = tell.send(Ok(status(&head)));
                    return;
                }
            }
        });
    }
    let hear = || told.recv_timeout(PATIENCE).expect("a caller speaks");
    // All are busy before it begins.
    let begun: Vec<_> = (0..CALLERS).map(|_| hear()).collect();
    assert!(begun.iter().all(|answer| *answer == Ok(200)), "{begun:?}");
    gateway.send("-TERM");
    let ended: Vec<_> = (0..CALLERS).map(|_| hear()).collect();
    assert!(ended.iter().all(|answer| *answer == Ok(200)), "{ended:?}");
    assert_eq!(gateway.ended(), Some(0));
}

#[test]
fn it_is_not_ready_before_it_stops_serving_and_whoever_asks_again_waits_no_longer() {
    let mut gateway = Gateway::start(&config(behind(), "shutdown_delay = '1 h'"));
    let (mut busy, mut idle) = (gateway.connect(), gateway.connect());
    for tcp in [&mut busy, &mut idle] {
        assert!(!ask(tcp).expect("an answer").contains("connection: close"));
    }
    gateway.send("-TERM");
    gateway.said("stopping: not ready any more", 1);
    assert!(get(&gateway.admin, "/readyz").starts_with("HTTP/1.1 503 "));
    assert!(get(&gateway.admin, "/healthz").starts_with("HTTP/1.1 200 "));
    // Who has a connection, and who has none, is served once more.
    for tcp in [&mut busy, &mut gateway.connect()] {
        let head = ask(tcp).expect("an answer");
        assert!(status(&head) == 200 && head.contains("connection: close\r\n"), "{head}");
        assert_eq!(tcp.read(&mut [0]).expect("an end"), 0);
    }
    gateway.send("-TERM");
    assert_eq!(idle.read(&mut [0]).expect("an end"), 0, "nothing was asked on it");
    assert_eq!(gateway.ended(), Some(0));
}

/// A server that takes requests and never answers.
fn silent(taken: mpsc::Sender<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for tcp in listener.incoming().map_while(Result::ok) {
            let taken = taken.clone();
            thread::spawn(move || {
                let mut tcp = BufReader::new(tcp);
                while head(&mut tcp).is_some() {
                    let _ = taken.send(());
                }
            });
        }
    });
    address
}

#[test]
fn whoever_asks_a_third_time_cuts_what_still_runs() {
    for (more, signals) in
        [("shutdown_delay = '1 h'", &["-TERM", "-TERM", "-INT"][..]), ("", &["-INT", "-TERM"])]
    {
        let (tell, taken) = mpsc::channel();
        let mut gateway = Gateway::start(&config(silent(tell), more));
        let mut tcp = gateway.connect();
        let asking = thread::spawn(move || ask(&mut tcp));
        taken.recv_timeout(PATIENCE).expect("a request");
        let (last, before) = signals.split_last().expect("signals");
        for (number, signal) in before.iter().enumerate() {
            gateway.send(signal);
            // Two signals that are alike and come at once are delivered as one.
            gateway.said("a signal came", number + 1);
        }
        gateway.said("running calls may finish", 1);
        assert!(gateway.child.try_wait().expect("a status").is_none(), "a call runs");
        gateway.send(last);
        assert_eq!(gateway.ended(), Some(0));
        assert_eq!(asking.join().expect("it ends"), None);
    }
}

/// Few files can be open: callers are turned away, the server behind is not blamed, and operators are answered.
#[cfg(target_os = "linux")]
#[test]
fn with_few_files_calls_are_served_or_unavailable_and_operators_are_answered() {
    let limited = "ulimit -n 64 && exec \"$0\" \"$@\"";
    let gateway = Gateway::start_by(
        &["sh", "-c", limited, env!("CARGO_BIN_EXE_attune")],
        &config(behind(), "").replace("log = 'debug'", "log = 'warn'"),
        Stdio::null(),
    );
    let over = Arc::new(AtomicBool::new(false));
    let counts: Arc<[AtomicUsize; 4]> = Arc::default();
    let load: Vec<_> = (0..96)
        .map(|number| {
            let (address, over, counts) = (gateway.address.clone(), Arc::clone(&over), Arc::clone(&counts));
            thread::spawn(move || {
                while !over.load(SeqCst) {
                    let Ok(tcp) = TcpStream::connect(&address) else { continue };
                    let _ = tcp.set_read_timeout(Some(PATIENCE));
                    let mut tcp = BufReader::new(tcp);
                    // Some keep their connections, others open one for each call.
                    for _ in 0..if number % 3 == 0 { 50 } else { 1 } {
                        let head = ask(&mut tcp);
                        let which = match head.as_deref().map(status) {
                            Some(200) => 0,
                            Some(503)
                                if head.as_deref().is_some_and(|head| head.contains("retry-after: ")) =>
                            {
                                1
                            }
                            Some(_) => 2,
                            None => 3,
                        };
                        counts[which].fetch_add(1, SeqCst);
                        if which != 0 {
                            break;
                        }
                    }
                }
            })
        })
        .collect();
    for _ in 0..40 {
        assert!(get(&gateway.admin, "/healthz").starts_with("HTTP/1.1 200 "));
        thread::sleep(Duration::from_millis(20));
    }
    over.store(true, SeqCst);
    for caller in load {
        caller.join().expect("it ends");
    }
    let [served, unavailable, wrong, _closed] = std::array::from_fn(|which| counts[which].load(SeqCst));
    assert_eq!(wrong, 0, "{counts:?}");
    assert!(served > 0 && unavailable > 0, "{counts:?}");
    gateway.said("fewer connections are taken", 1);
    // It recovers by itself.
    let since = Instant::now();
    while ask(&mut gateway.connect()).as_deref().map(status) != Some(200) {
        assert!(since.elapsed() < PATIENCE, "{counts:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A server that takes its time.
fn slow() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for tcp in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut tcp = BufReader::new(tcp);
                while let Some((_, length)) = head(&mut tcp) {
                    let _ = tcp.read_exact(&mut vec![0; length]);
                    thread::sleep(Duration::from_millis(300));
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{ANSWER}",
                        ANSWER.len()
                    );
                    let _ = tcp.get_mut().write_all(answer.as_bytes());
                }
            });
        }
    });
    address
}

/// Over HTTP/2 one connection has many calls, each with a connection to the server behind.
#[cfg(target_os = "linux")]
#[test]
fn with_few_files_the_server_behind_is_not_blamed() {
    use http_body_util::{BodyExt, Full};
    use hyper_util::rt::{TokioExecutor, TokioIo};

    let limited = "ulimit -n 64 && exec \"$0\" \"$@\"";
    let command = ["sh", "-c", limited, env!("CARGO_BIN_EXE_attune")];
    let gateway = Gateway::start_by(&command, &config(slow(), ""), Stdio::null());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let said: Vec<(u16, bool, String)> = runtime.block_on(async {
        let tcp = tokio::net::TcpStream::connect(&gateway.address).await.expect("it listens");
        let io = TokioIo::new(tcp);
        let (send, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.expect("HTTP/2");
        tokio::spawn(connection);
        let calls: Vec<_> = (0..100)
            .map(|_| {
                let request = http::Request::post(format!("http://{}/mcp", gateway.address))
                    .header("content-type", "application/json")
                    .header("accept", "application/json, text/event-stream")
                    .body(Full::<bytes::Bytes>::from(PING))
                    .expect("a request");
                let mut send = send.clone();
                tokio::spawn(async move {
                    let answer = send.send_request(request).await.expect("an answer");
                    let again = answer.headers().contains_key("retry-after");
                    let status = answer.status().as_u16();
                    let body = answer.into_body().collect().await.expect("a body").to_bytes();
                    (status, again, String::from_utf8_lossy(&body).into_owned())
                })
            })
            .collect();
        // While all descriptors that it may use are in use.
        let admin = gateway.admin.clone();
        let health = tokio::task::spawn_blocking(move || get(&admin, "/healthz"));
        assert!(health.await.expect("it ends").starts_with("HTTP/1.1 200 "));
        let mut said = Vec::new();
        for call in calls {
            said.push(call.await.expect("it ends"));
        }
        said
    });
    let (served, others): (Vec<_>, Vec<_>) = said.iter().partition(|(status, ..)| *status == 200);
    assert!(!served.is_empty() && !others.is_empty(), "{said:?}");
    for (status, again, body) in others {
        let sentence = "as many connections are open as the gateway may have; try again in a moment";
        assert!(
            *status == 503 && *again && body.contains(sentence),
            "{status} {body}\n{}",
            gateway.log.lock().expect("a log")
        );
    }
}
