//! nginx, started for a while, with everything that it writes in one folder.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::install::Unavailable;
use kit::running::Running;
use kit::shell::{self, program};

const PATIENCE: Duration = Duration::from_secs(30);

/// nginx, until this is dropped.
pub(crate) struct Nginx {
    _running: Running,
}

impl Nginx {
    /// Starts nginx with this text inside of `http`, and waits until somebody listens at the port.
    pub(crate) fn start(folder: &Path, text: &str, port: u16) -> Result<Self> {
        require()?;
        let file = folder.join("nginx.conf");
        fs::write(&file, configuration(folder, text))?;
        let mut command = Command::new("nginx");
        command.arg("-e").arg(folder.join("nginx.log")).arg("-c").arg(&file);
        let running = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()))?;
        wait_for(port).with_context(|| format!("see {}", folder.join("nginx.log").display()))?;
        Ok(Self { _running: running })
    }
}

/// Fails where nginx is not installed; for those who want to know it before they start anything else.
pub(crate) fn require() -> Result<()> {
    if shell::succeeds(&mut program("nginx", "-v")) {
        return Ok(());
    }
    Err(anyhow::anyhow!("nginx is not installed").context(Unavailable))
}

/// One process, so that ending it leaves nothing behind.
fn configuration(folder: &Path, text: &str) -> String {
    let folder = folder.display();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {folder}/{kind};\n"))
        .concat();
    format!(
        "daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{text}}}\n"
    )
}

/// Taken and let go: a proxy cannot be asked which one it took.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Waits until somebody listens at a port of this machine.
pub(crate) fn wait_for(port: u16) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!("nobody listens at port {port}")
}
