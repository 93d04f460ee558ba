//! The official referee judges the fixture by itself and through the gateway.
//!
//! A check that passes directly and not through the gateway is a fault; what the gateway improves is listed. So is a
//! check that the fixture fails by itself, because then nothing is compared. A fixture that checks no header must fail
//! the scenarios that are about them, and pass them through the gateway. What looks wrong is judged a second time; if
//! it is right then, it is named as flaky, and counts for nothing.
//!
//! A fixture that speaks one era only is judged in the other, through the gateway, which bridges: what passes directly where
//! both speak alike must pass there too, but for what `docs/bridge.md` names.
//!
//! The same fixture is also judged as a program that the gateway starts and speaks to over its pipes: what passes over
//! HTTP directly must pass there too, but for what only HTTP has.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result, bail};

use super::cell::{Cell, Shared};
use super::checks::{Checks, Ending};
use super::install::{self, npm};
use super::servers::Ours;
use kit::server::Server;
use kit::shell;

const PACKAGE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const PROGRAM: &str = "@modelcontextprotocol/conformance/dist/index.js";

/// One version of each era, and then an older one.
const VERSIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];
const OLDER: &str = "2025-06-18";

/// Scenarios that pass through the gateway whatever the server behind checks itself.
const OURS: [&str; 3] =
    ["http-header-validation", "http-custom-header-server-validation", "dns-rebinding-protection"];

/// What a program behind the gateway cannot pass, by the referee's ids, and why. Its answers come as JSON when they come
/// soon, and it cannot ask for its stream to be broken off: a pipe has no streams. Breaking them off unasked would only
/// harm callers, for not all of them come back.
const ONLY_HTTP: [(&str, &str); 4] = [
    ("server-sse-priming-event", "an answer that comes soon is JSON"),
    ("server-sse-retry-field", "an answer that comes soon is JSON"),
    ("server-sse-disconnect-resume", "no stream is broken off in the middle of a call"),
    ("server-sse-streams-functional", "the answers to listings are JSON"),
];

/// What cannot pass where caller and server are of different eras, by the referee's ids, and why. It is in `docs/bridge.md`.
const ONLY_ONE_ERA: [(&str, &str); 7] = [
    ("sep-2322-elicitation-incomplete", "a legacy server gives its questions no keys"),
    ("sep-2322-elicitation-complete", "a legacy server gives its questions no keys"),
    ("sep-2322-ignore-unexpected-params", "a legacy server gives its questions no keys"),
    ("server-sse-priming-event", "streams of a modern server have no event ids"),
    ("server-sse-retry-field", "streams of a modern server have no event ids"),
    ("server-sse-disconnect-resume", "streams of a modern server have no event ids"),
    ("server-sse-streams-functional", "the answers to listings are JSON"),
];

/// What CI has time for of each version, when the fixture is a program: what goes on between a call and its answer.
const QUICK_PROGRAM: [(&str, &[&str]); 2] = [
    ("2026-07-28", &["tools-call-with-progress", "input-required-result-basic-elicitation"]),
    ("2025-11-25", &["tools-call-with-progress", "tools-call-elicitation", "tools-call-sampling"]),
];

/// Where the referee judges.
#[derive(Clone)]
struct Fixtures {
    strict: Arc<Shared<Pair>>,
    lax: Arc<Shared<Pair>>,
    program: Arc<Shared<Server>>,
    /// Fixtures of one era only, behind gateways.
    legacy: Arc<Shared<Pair>>,
    modern: Arc<Shared<Pair>>,
}

#[derive(Clone, Copy)]
enum Fixture {
    /// Directly as it is, and through the gateway a fixture that speaks the other era only.
    Across,
    Strict,
    Lax,
    /// Over HTTP directly, and as a program behind the gateway.
    Program,
}

impl Fixtures {
    fn new() -> Self {
        Self {
            strict: Arc::new(Shared::new(|| Pair::start(Ours::get()?, &[]))),
            lax: Arc::new(Shared::new(|| Pair::start(Ours::get()?, &["--lax"]))),
            program: Arc::new(Shared::new(|| as_program(Ours::get()?))),
            legacy: Arc::new(Shared::new(|| Pair::start(Ours::get()?, &["--era", "legacy"]))),
            modern: Arc::new(Shared::new(|| Pair::start(Ours::get()?, &["--era", "modern"]))),
        }
    }

    fn cell(&self, title: &str, fixture: Fixture, what: Selection) -> Cell {
        let (title, fixtures) = (title.to_owned(), self.clone());
        let name = match fixture {
            Fixture::Strict => "strict",
            Fixture::Lax => "lax",
            Fixture::Program => "as a program",
            Fixture::Across => "across",
        };
        Cell::new(format!("{title}, {name}"), move || {
            let referee = Referee::get()?;
            let what = match what {
                Selection::Extensions(version) => Selection::Scenarios(version, referee.extensions()?),
                what => what,
            };
            let strict = || fixtures.strict.get();
            match fixture {
                Fixture::Strict => referee.compare(strict()?.urls(), &what, &title, faults_of),
                Fixture::Lax => referee.compare(
                    fixtures.lax.get()?.urls(),
                    &what,
                    &format!("{title}, lax"),
                    faults_of_lax,
                ),
                Fixture::Across => {
                    let is_modern = matches!(what, Selection::Version(version) if version == VERSIONS[0]);
                    let other = if is_modern { &fixtures.legacy } else { &fixtures.modern };
                    let urls = [strict()?.direct.url.as_str(), &other.get()?.through.url];
                    referee.compare(urls, &what, &format!("{title}, across"), faults_of_bridge)
                }
                Fixture::Program => {
                    let urls = [strict()?.direct.url.as_str(), &fixtures.program.get()?.url];
                    referee.compare(urls, &what, &format!("{title}, as a program"), faults_of_program)
                }
            }
        })
    }
}

/// Quick is both versions, on the fixture as it is, on the lax one and across the eras, and a little of them on it as a program. The rest
/// is an older version, extensions, and all of it on the program.
pub(crate) fn cells(quick: bool) -> Result<Vec<Cell>> {
    let fixtures = Fixtures::new();
    let mut cells = Vec::new();
    for version in VERSIONS {
        cells.push(fixtures.cell(version, Fixture::Strict, Selection::Version(version)));
        cells.push(fixtures.cell(version, Fixture::Lax, Selection::Version(version)));
        cells.push(fixtures.cell(version, Fixture::Across, Selection::Version(version)));
    }
    if quick {
        for (version, scenarios) in QUICK_PROGRAM {
            let scenarios = scenarios.iter().map(|&name| name.to_owned()).collect();
            cells.push(fixtures.cell(version, Fixture::Program, Selection::Scenarios(version, scenarios)));
        }
        return Ok(cells);
    }
    let extensions = || Selection::Extensions(VERSIONS[0]);
    for version in [VERSIONS[0], VERSIONS[1], OLDER] {
        cells.push(fixtures.cell(version, Fixture::Program, Selection::Version(version)));
    }
    cells.push(fixtures.cell("extensions", Fixture::Program, extensions()));
    cells.push(fixtures.cell(OLDER, Fixture::Strict, Selection::Version(OLDER)));
    cells.push(fixtures.cell("extensions", Fixture::Strict, extensions()));
    Ok(cells)
}

/// The gateway in front of the fixture as a program. The referee ends none of its sessions, and each has a child.
fn as_program(ours: &Ours) -> Result<Server> {
    let config = install::folder().join("seen/fixture-as-a-program.toml");
    let program = toml::Value::from(ours.fixture.to_string_lossy().into_owned());
    fs::create_dir_all(install::folder().join("seen"))?;
    fs::write(&config, format!("[upstream]\ncommand = [{program}, \"--stdio\"]\nchildren = 500\n"))?;
    ours.gateway(&["--config", &config.to_string_lossy()], "fixture-as-a-program")
}

/// One fixture, by itself and through the gateway.
struct Pair {
    direct: Server,
    through: Server,
}

impl Pair {
    fn start(ours: &Ours, arguments: &[&str]) -> Result<Self> {
        let direct = ours.fixture(arguments)?;
        let through = ours.in_front_of(&direct, "fixture-gateway")?;
        Ok(Self { direct, through })
    }

    fn urls(&self) -> [&str; 2] {
        [&self.direct.url, &self.through.url]
    }
}

/// Something wrong, and what the referee says about it, which may differ from one time to the next.
#[derive(Debug, PartialEq)]
struct Fault {
    what: String,
    why: String,
}

/// What is wrong, given what was judged directly and through the gateway.
type Rule = fn(&Checks, &Checks) -> Vec<Fault>;

/// The fixture passes everything, and the gateway takes nothing away.
fn faults_of(direct: &Checks, through: &Checks) -> Vec<Fault> {
    failed(direct, "directly").chain(worse(direct, through)).collect()
}

/// The gateway takes nothing away, and adds the checks that this fixture does not do: all three scenarios must pass
/// through it. Where all pass directly too, the fixture shows nothing.
fn faults_of_lax(direct: &Checks, through: &Checks) -> Vec<Fault> {
    let mut faults: Vec<_> = worse(direct, through).collect();
    for scenario in OURS {
        let bare = direct.of(scenario);
        if !bare.is_empty() && bare.wrong().next().is_none() {
            let what = format!("{scenario} passes directly");
            faults.push(Fault { what, why: "this server should check nothing".to_owned() });
        }
        faults.extend(failed(&through.of(scenario), "through the gateway"));
    }
    faults
}

/// A program passes what passes over HTTP, but for what is on the list. What is on it and passes does not belong there.
fn faults_of_program(direct: &Checks, through: &Checks) -> Vec<Fault> {
    faults_beside(&ONLY_HTTP, direct, through)
}

/// A server of the other era passes what one of the same passes, but for what is on the list.
fn faults_of_bridge(direct: &Checks, through: &Checks) -> Vec<Fault> {
    faults_beside(&ONLY_ONE_ERA, direct, through)
}

fn faults_beside(list: &[(&str, &str)], direct: &Checks, through: &Checks) -> Vec<Fault> {
    let is_of = |what: &str, id: &str| what.contains(&format!(" ({id})"));
    let listed = |what: &str| list.iter().any(|(id, _)| is_of(what, id));
    let passes = |(id, why): &(&str, &str)| {
        let known = |checks: &Checks| checks.passed().any(|name| is_of(name, id));
        let what = format!("({id}) passes, and is still on the list of what cannot");
        (known(direct) && known(through)).then(|| Fault { what, why: (*why).to_owned() })
    };
    let lost = worse(direct, through).filter(|fault| !listed(&fault.what));
    lost.chain(list.iter().filter_map(passes)).collect()
}

fn failed(checks: &Checks, how: &str) -> impl Iterator<Item = Fault> {
    let fault = |(name, ending): (&str, &Ending)| Fault {
        what: format!("{name} fails {how}"),
        why: ending.why.clone(),
    };
    checks.wrong().map(fault).collect::<Vec<_>>().into_iter()
}

fn worse(direct: &Checks, through: &Checks) -> impl Iterator<Item = Fault> {
    let fault = |name: &str| Fault {
        what: format!("{name} passes directly and not through the gateway"),
        why: through.why(name).to_owned(),
    };
    direct.better_than(through).into_iter().map(fault).collect::<Vec<_>>().into_iter()
}

/// Takes apart what was wrong both times and what was not.
fn confirmed(first: Vec<Fault>, again: &[Fault]) -> (Vec<Fault>, Vec<Fault>) {
    first.into_iter().partition(|fault| again.iter().any(|other| other.what == fault.what))
}

/// What the referee is asked to judge.
enum Selection {
    /// Everything that belongs to a version of the protocol.
    Version(&'static str),
    /// Scenarios one by one, in a version.
    Scenarios(&'static str, Vec<String>),
    /// The scenarios of extensions, which the referee lists once it is installed.
    Extensions(&'static str),
}

/// The referee, installed.
pub(super) struct Referee {
    node: PathBuf,
    program: PathBuf,
}

impl Referee {
    /// The referee, installed when somebody first asks.
    pub(super) fn get() -> Result<&'static Self> {
        static REFEREE: LazyLock<Shared<Referee>> = LazyLock::new(|| Shared::new(Referee::install));
        REFEREE.get()
    }

    fn install() -> Result<Self> {
        Ok(Self { node: install::node()?, program: npm(PACKAGE, PROGRAM)? })
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(&self.program);
        command
    }

    /// The scenarios of extensions, by what the referee says about itself.
    fn extensions(&self) -> Result<Vec<String>> {
        let list = shell::output(self.command().args(["list", "--server"]))?;
        let scenarios = extensions(&list);
        if scenarios.is_empty() {
            bail!("the referee lists no scenario of an extension any more");
        }
        Ok(scenarios)
    }

    /// Judges at two URLs, prints how it went, and returns what is wrong twice in a row.
    fn compare(
        &self,
        [direct, through]: [&str; 2],
        what: &Selection,
        title: &str,
        rule: Rule,
    ) -> Result<Vec<String>> {
        let both = || -> Result<(Checks, Checks)> {
            let direct = self.judge(direct, what, &format!("{title}-direct"))?;
            Ok((direct, self.judge(through, what, &format!("{title}-through"))?))
        };
        let (direct, through) = both()?;
        println!("    {title}: directly {}; through the gateway {}", direct.tally(), through.tally());
        for name in through.better_than(&direct) {
            println!("        improved: {name}");
        }
        let mut faults = rule(&direct, &through);
        if !faults.is_empty() {
            let (direct, through) = both()?;
            let flaky;
            (faults, flaky) = confirmed(faults, &rule(&direct, &through));
            for Fault { what, why } in flaky {
                println!("        flaky: {what}: {why}");
            }
        }
        Ok(faults.into_iter().map(|Fault { what, why }| format!("{title}: {what}: {why}")).collect())
    }

    fn judge(&self, url: &str, what: &Selection, name: &str) -> Result<Checks> {
        let out = install::folder().join("seen").join(name.replace([',', ' '], "-"));
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        let run = |arguments: &[&str]| -> Result<String> {
            let mut referee = self.command();
            referee.args(["server", "--url", url]).args(arguments).arg("-o").arg(&out);
            // It exits with 1 when any check fails.
            let ran = referee.output().context("the referee does not start")?;
            Ok(String::from_utf8_lossy(&ran.stderr).into_owned())
        };
        let said = match what {
            Selection::Version(version) => run(&["--suite", "all", "--spec-version", version])?,
            Selection::Scenarios(version, scenarios) => {
                let one =
                    |scenario: &String| run(&["--scenario", scenario, "--spec-version", version, "--force"]);
                scenarios.iter().map(one).collect::<Result<String>>()?
            }
            Selection::Extensions(_) => bail!("the scenarios of extensions were not listed"),
        };
        let checks = Checks::read(&out)?;
        if checks.is_empty() {
            bail!("the referee judged nothing: {said}");
        }
        Ok(checks)
    }
}

/// The lines of the list that are marked as an extension's.
fn extensions(list: &str) -> Vec<String> {
    let marked = list.lines().filter_map(|line| line.trim().strip_suffix("[extension]"));
    marked.map(|line| line.trim_start_matches('-').trim_start_matches(" - ").trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::checks::{with_id, written};
    use super::*;

    fn whats(faults: Vec<Fault>) -> Vec<String> {
        faults.into_iter().map(|fault| fault.what).collect()
    }

    #[test]
    fn a_check_that_is_lost_or_fails_directly_is_a_fault() {
        let all = written(&[["s", "a", "SUCCESS"]]);
        let none = written(&[["s", "a", "FAILURE"]]);
        assert_eq!(faults_of(&all, &all), []);
        assert_eq!(whats(faults_of(&all, &none)), ["s: a (id) passes directly and not through the gateway"]);
        assert_eq!(whats(faults_of(&none, &all)), ["s: a (id) fails directly"]);
    }

    #[test]
    fn a_lax_fixture_must_fail_directly_and_pass_through_the_gateway() {
        let scenario = OURS[2];
        let refused = written(&[[scenario, "a", "SUCCESS"], ["other", "b", "FAILURE"]]);
        let let_in = written(&[[scenario, "a", "FAILURE"], ["other", "b", "FAILURE"]]);
        assert_eq!(faults_of_lax(&let_in, &refused), []);
        let fails = format!("{scenario}: a (id) fails through the gateway");
        assert_eq!(whats(faults_of_lax(&let_in, &let_in)), [fails]);
        assert_eq!(whats(faults_of_lax(&refused, &refused)), [format!("{scenario} passes directly")]);
    }

    #[test]
    fn a_program_may_lose_what_is_on_the_list_and_nothing_else() {
        let [listed, other] = [ONLY_HTTP[0].0, "id"];
        assert_eq!(faults_of_program(&with_id(listed, "SUCCESS"), &with_id(listed, "INFO")), []);
        assert_eq!(faults_of_program(&with_id(other, "SUCCESS"), &with_id(other, "SUCCESS")), []);
        let lost = whats(faults_of_program(&with_id(other, "SUCCESS"), &with_id(other, "FAILURE")));
        assert_eq!(lost, ["s: a (id) passes directly and not through the gateway"]);
        let mended = whats(faults_of_program(&with_id(listed, "SUCCESS"), &with_id(listed, "SUCCESS")));
        assert_eq!(mended, [format!("({listed}) passes, and is still on the list of what cannot")]);
    }

    #[test]
    fn a_bridge_may_lose_what_is_on_the_list_and_nothing_else() {
        let [listed, other] = [ONLY_ONE_ERA[0].0, "id"];
        assert_eq!(faults_of_bridge(&with_id(listed, "SUCCESS"), &with_id(listed, "FAILURE")), []);
        let lost = whats(faults_of_bridge(&with_id(other, "SUCCESS"), &with_id(other, "FAILURE")));
        assert_eq!(lost, ["s: a (id) passes directly and not through the gateway"]);
        let mended = whats(faults_of_bridge(&with_id(listed, "SUCCESS"), &with_id(listed, "SUCCESS")));
        assert_eq!(mended, [format!("({listed}) passes, and is still on the list of what cannot")]);
    }

    #[test]
    fn a_fault_is_the_same_fault_whatever_the_referee_says_about_it() {
        let fault = |what: &str, why: &str| Fault { what: what.to_owned(), why: why.to_owned() };
        let (twice, flaky) = confirmed(vec![fault("a", "1"), fault("b", "1")], &[fault("a", "2")]);
        assert_eq!(twice, [fault("a", "1")]);
        assert_eq!(flaky, [fault("b", "1")]);
    }

    #[test]
    fn finds_the_scenarios_of_extensions() {
        let list = "Server scenarios:\n  - ping [2025-11-25]\n  - tasks-lifecycle [extension]\n";
        assert_eq!(extensions(list), ["tasks-lifecycle"]);
    }
}
