//! The servers that are measured, each a process of its own until it is dropped.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::load::Subject;
use super::process;
use kit::shell::{self, program};

/// A running server.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    /// Held, so that a server that says more than one line does not fail at it.
    _out: Option<BufReader<ChildStdout>>,
}

impl Server {
    /// Starts a program that says where it is in its first line.
    fn telling(command: &mut Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn().context("a server does not start")?;
        let mut out = BufReader::new(child.stdout.take().context("a server has no output")?);
        let mut first = String::new();
        out.read_line(&mut first)?;
        let address = first.split_once("http://").and_then(|(_, rest)| rest.split_once('/'));
        let address = address.and_then(|(address, _)| address.parse().ok());
        let address = address.with_context(|| format!("a server did not say where it is: {first}"))?;
        Ok(Self { child, address, _out: Some(out) })
    }

    /// Starts a program that was told where to be, and waits until it is there.
    fn told(command: &mut Command, address: SocketAddr) -> Result<Self> {
        let child = command.stdout(Stdio::null()).spawn().context("a server does not start")?;
        let mut server = Self { child, address, _out: None };
        for _ in 0..200 {
            if TcpStream::connect(address).is_ok() {
                return Ok(server);
            }
            if let Some(status) = server.child.try_wait()? {
                bail!("a server ended ({status}): {command:?}");
            }
            sleep(Duration::from_millis(100));
        }
        bail!("a server did not come up: {command:?}")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end, which it does well.
    pub(crate) fn end(mut self) -> Result<()> {
        match self.ended()? {
            Some(status) if status.success() => Ok(()),
            Some(status) => bail!("a server ended when it was asked to, but not well ({status})"),
            None => bail!("a server does not end when it is asked to"),
        }
    }

    /// How it ended, now or before; none where it does not within some seconds.
    fn ended(&mut self) -> Result<Option<ExitStatus>> {
        // Once it has ended, its number may be another's.
        if let Some(status) = self.child.try_wait()? {
            return Ok(Some(status));
        }
        shell::output(&mut program("kill", &format!("-TERM {}", self.pid())))?;
        process::ended(&mut self.child)
    }

    /// Itself as what is measured.
    pub(crate) fn subject(&self) -> Subject {
        Subject { address: self.address, pids: vec![self.pid()] }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // nginx leaves its workers behind when it is killed, so it is asked first.
        if !matches!(self.ended(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// What is built, and where files go.
pub(crate) struct Bench {
    /// What is measured.
    pub(crate) attune: PathBuf,
    /// The same as cargo builds it for anybody, which also is the server behind.
    pub(crate) plain: PathBuf,
    upstream: PathBuf,
    pub(crate) folder: PathBuf,
}

impl Bench {
    /// Attune as it is released, beside what cargo builds by itself.
    pub(crate) fn of_two(plain: PathBuf, trained: PathBuf) -> Result<Self> {
        Ok(Self { attune: trained, ..Self::of(plain)? })
    }

    /// One build of it for everything.
    pub(crate) fn of(attune: PathBuf) -> Result<Self> {
        Self::with(attune, shell::built("build --release -p benches --bin upstream")?)
    }

    /// What `cargo build --release` gives, for a try.
    pub(crate) fn optimized() -> Result<Self> {
        Self::of(shell::built("build --release -p mcp-attune-cli --bin attune")?)
    }

    /// What tests are built with, where nothing is measured.
    pub(crate) fn unoptimized() -> Result<Self> {
        let built = |what| shell::built(&format!("build -p {what}"));
        Self::with(built("mcp-attune-cli --bin attune")?, built("benches --bin upstream")?)
    }

    fn with(attune: PathBuf, upstream: PathBuf) -> Result<Self> {
        let folder = shell::root().join("target/bench");
        fs::create_dir_all(&folder)?;
        Ok(Self { plain: attune.clone(), attune, upstream, folder })
    }

    /// The demo without Attune.
    pub(crate) fn demo(&self) -> Result<Server> {
        let mut demo = Command::new(&self.plain);
        // It complains of every call that the load leaves unfinished.
        Server::telling(demo.args(["demo", "--bare", "--listen", "127.0.0.1:0"]).stderr(Stdio::null()))
    }

    /// A server with many tools, and with streams.
    pub(crate) fn many_tools(&self, tools: usize) -> Result<Server> {
        Server::telling(Command::new(&self.upstream).arg(tools.to_string()))
    }

    /// A server with so many tools, and with long results that are never the same.
    pub(crate) fn results(&self, tools: usize) -> Result<Server> {
        Server::telling(Command::new(&self.upstream).arg(tools.to_string()).arg("results"))
    }

    /// The demo with Attune and everything that it can do for it.
    pub(crate) fn whole_demo(&self) -> Result<Server> {
        let mut demo = Command::new(&self.attune);
        demo.args(["demo", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]).stderr(Stdio::null());
        Server::telling(&mut demo)
    }

    /// Attune in front of a server, with everything as it comes but for the calls at a time.
    pub(crate) fn attune(&self, behind: &Server) -> Result<Server> {
        self.before(&self.attune, behind, "")
    }

    /// The same, as cargo builds it by itself.
    pub(crate) fn plain(&self, behind: &Server) -> Result<Server> {
        self.before(&self.plain, behind, "")
    }

    /// A build of it with more in its configuration, whose paths begin at `folder`.
    pub(crate) fn before(&self, attune: &Path, behind: &Server, config: &str) -> Result<Server> {
        let mut attune = self.serve(attune, config)?;
        Server::telling(attune.arg("--upstream").arg(format!("http://{}/mcp", behind.address)))
    }

    /// Attune in front of the demo as a program.
    pub(crate) fn attune_before_program(&self) -> Result<Server> {
        let mut attune = self.serve(&self.attune, "")?;
        Server::telling(attune.arg("--").arg(&self.plain).args(["demo", "--bare", "--stdio"]))
    }

    fn serve(&self, attune: &Path, more: &str) -> Result<Command> {
        // One that was started follows its file, so each kind has one of its own.
        let config = self.folder.join(if more.is_empty() { "attune.toml" } else { "configured.toml" });
        fs::write(&config, format!("{more}[limits]\ncalls = 10000\nstreams = 10000\n"))?;
        let mut attune = Command::new(attune);
        attune.args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--config"]).arg(config);
        attune.stderr(Stdio::null());
        Ok(attune)
    }

    /// nginx in front of a server, with as many workers as Attune has threads.
    pub(crate) fn nginx(&self, behind: &Server) -> Result<Server> {
        let address = free_address()?;
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let config = self.folder.join("nginx.conf");
        fs::write(&config, nginx_conf(&self.folder, address, behind.address, workers))?;
        let mut nginx = Command::new("nginx");
        Server::told(nginx.arg("-p").arg(&self.folder).arg("-c").arg(&config).stderr(Stdio::null()), address)
    }

    /// The Python SDK's server, in an environment of its own.
    pub(crate) fn python(&self) -> Result<Server> {
        let venv = self.folder.join("venv");
        let files = shell::root().join("benches/python");
        if !venv.join("bin/uvicorn").exists() {
            shell::run(program("python3", "-m venv").arg(&venv), "python3 and its module venv are needed")?;
            let mut pip = Command::new(venv.join("bin/pip"));
            pip.args(["install", "--quiet", "-r"]).arg(files.join("requirements.txt"));
            shell::run(&mut pip, "the Python SDK comes from the network")?;
        }
        let address = free_address()?;
        let mut python = Command::new(venv.join("bin/python"));
        Server::told(
            python.arg(files.join("server.py")).arg(address.port().to_string()).stderr(Stdio::null()),
            address,
        )
    }
}

/// nginx as it would be set up for this: connections kept, nothing logged, nothing held back.
fn nginx_conf(folder: &Path, address: SocketAddr, behind: SocketAddr, workers: usize) -> String {
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("    {kind}_temp_path {}/nginx-{kind};\n", folder.display()))
        .concat();
    format!(
        "daemon off;\nworker_processes {workers};\npid {0}/nginx.pid;\nerror_log {0}/nginx.log crit;\n\
         events {{\n    worker_connections 16384;\n}}\n\
         http {{\n    access_log off;\n{temporary}    keepalive_requests 100000000;\n    \
         upstream behind {{\n        server {behind};\n        keepalive 64;\n        \
         keepalive_requests 100000000;\n    }}\n    \
         server {{\n        listen {address};\n        location / {{\n            \
         proxy_pass http://behind;\n            proxy_http_version 1.1;\n            \
         proxy_set_header Connection \"\";\n            proxy_set_header Host $host;\n            \
         proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n            \
         proxy_buffering off;\n            proxy_read_timeout 10m;\n        }}\n    }}\n}}\n",
        folder.display()
    )
}

/// The workers of nginx: the master does nothing.
pub(crate) fn workers(nginx: &Server) -> Result<Subject> {
    let pids = process::children(nginx.pid())?;
    if pids.is_empty() {
        bail!("nginx has no workers");
    }
    Ok(Subject { address: nginx.address, pids })
}

/// An address that was free a moment ago.
fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
