//! Load, made by wrk in short slices.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::http::Call;
use super::process;
use kit::shell;

/// Seconds; the shortest that wrk takes is one.
const SLICE: u32 = 2;

/// One of those that are compared.
pub(crate) struct Subject {
    pub(crate) address: SocketAddr,
    /// Whose processor time is counted.
    pub(crate) pids: Vec<u32>,
}

/// What one slice showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slice {
    /// Requests a second.
    pub(crate) rate: f64,
    /// Microseconds of processor time for each request.
    pub(crate) cpu: f64,
    /// Microseconds from a request to its answer, the median.
    pub(crate) latency: f64,
}

/// A call, as a script for wrk.
pub(crate) struct Load {
    script: PathBuf,
}

impl Load {
    pub(crate) fn new(folder: &Path, name: &str, call: &Call) -> Result<Self> {
        let script = folder.join(format!("{name}.lua"));
        fs::write(&script, lua(call))?;
        Ok(Self { script })
    }

    /// The same with another id in every request.
    pub(crate) fn numbered(folder: &Path, name: &str, call: &Call) -> Result<Self> {
        let script = folder.join(format!("{name}.lua"));
        let numbering = numbering(call).context("a call has no id to count with")?;
        fs::write(&script, lua(call) + &numbering)?;
        Ok(Self { script })
    }

    /// One slice of load on a subject.
    pub(crate) fn slice(&self, subject: &Subject, connections: usize) -> Result<Slice> {
        let mut wrk = Command::new("wrk");
        wrk.args(["-t1", "-c", &connections.to_string(), "-d", &format!("{SLICE}s"), "-s"])
            .arg(&self.script)
            .arg(format!("http://{}/mcp", subject.address));
        let before = process::cpu(&subject.pids)?;
        let told = shell::output(&mut wrk)?;
        let used = process::cpu(&subject.pids)? - before;
        let [requests, micros, latency, errors] =
            figures(&told).with_context(|| format!("wrk did not say what it saw: {told}"))?;
        if errors > 0.0 || requests < 1.0 {
            bail!("{requests} requests to {} were answered, {errors} went wrong", subject.address);
        }
        Ok(Slice { rate: requests / micros * 1e6, cpu: used.as_secs_f64() * 1e6 / requests, latency })
    }
}

fn lua(call: &Call) -> String {
    let mut script = format!("wrk.method = \"POST\"\nwrk.body = [[{}]]\n", call.body);
    for (name, value) in &call.headers {
        script += &format!("wrk.headers[\"{name}\"] = \"{value}\"\n");
    }
    script
        + "function done(summary, latency)\n  \
           local e = summary.errors\n  \
           local errors = e.connect + e.read + e.write + e.status + e.timeout\n  \
           io.write(string.format(\"figures %d %d %d %d\\n\", \
           summary.requests, summary.duration, latency:percentile(50), errors))\n\
           end\n"
}

/// Counts from the time on, so that no id comes twice in a run.
fn numbering(call: &Call) -> Option<String> {
    let (before, after) = call.body.split_once("\"id\":1,")?;
    Some(format!(
        "local id = os.time() * 1000000\n\
         function request()\n  id = id + 1\n  \
         return wrk.format(nil, nil, nil, [[{before}\"id\":]] .. string.format(\"%.0f\", id) .. [[,{after}]])\nend\n"
    ))
}

/// Requests, microseconds, the median of the latencies in microseconds, errors.
fn figures(told: &str) -> Option<[f64; 4]> {
    let line = told.lines().find_map(|line| line.strip_prefix("figures "))?;
    let figures: Vec<f64> = line.split(' ').map_while(|figure| figure.parse().ok()).collect();
    figures.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_figures_in_what_wrk_says() {
        let told = "Running 2s test\n  1 threads\nfigures 4000 2000123 87 0\n";
        assert_eq!(figures(told), Some([4000.0, 2_000_123.0, 87.0, 0.0]));
        assert_eq!(figures("figures 1 2 3\n"), None);
        assert_eq!(figures("unable to connect\n"), None);
    }

    #[test]
    fn a_request_is_numbered_where_its_id_stands() {
        let numbered = numbering(&Call::modern("tools/list", "")).unwrap();
        assert!(
            numbered.contains(r#"[[{"jsonrpc":"2.0","id":]] .. string.format("%.0f", id) .. [[,"method""#)
        );
        assert_eq!(numbering(&Call { headers: Vec::new(), body: "{}".to_owned() }), None);
    }
}
