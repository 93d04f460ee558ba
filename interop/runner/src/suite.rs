//! Which cells run, how, and what came of each.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::cell::Cell;
use super::install::Unavailable;

/// A part of the suite: cells that are about one thing.
pub(crate) struct Part {
    /// The name that its cells begin with.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// How many cells, or groups of them, run at one time: of the quick half, and of all.
    pub(crate) at_once: [usize; 2],
    /// The cells; `true` for those that CI has time for. Nothing is installed or started yet.
    pub(crate) cells: fn(bool) -> Result<Vec<Cell>>,
}

/// What is wanted.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    /// What CI has time for.
    pub(crate) quick: bool,
    /// What cannot be installed is skipped instead of failing.
    pub(crate) if_possible: bool,
    /// Print the names of the cells and run none.
    pub(crate) list: bool,
    /// Write the tables of documents that are made from what was seen.
    pub(crate) write: bool,
    /// Names of parts, or something that the name of a cell contains. All cells where there is no filter.
    pub(crate) filters: Vec<String>,
}

impl Options {
    /// Returns the first word that is no option.
    pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        for word in words {
            match word.as_str() {
                "--quick" => options.quick = true,
                "--if-possible" => options.if_possible = true,
                "--list" => options.list = true,
                "--write" => options.write = true,
                _ if word.starts_with('-') => return Err(word),
                _ => options.filters.push(word),
            }
        }
        Ok(options)
    }

    fn wants(&self, parts: &[Part], part: &str, cell: &str) -> bool {
        let fits = |filter: &String| match parts.iter().any(|part| part.name == filter) {
            true => part == filter,
            false => format!("{part}::{cell}").contains(filter.as_str()),
        };
        self.filters.is_empty() || self.filters.iter().any(fits)
    }
}

/// What came of a cell.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Passed,
    /// What is wrong, a line each.
    Failed(Vec<String>),
    /// Why it could not be done, which is not a matter of what is installed.
    Broken(String),
    /// What could not be installed.
    Skipped(String),
}

pub(crate) struct Outcome {
    pub(crate) part: &'static str,
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    pub(crate) took: Duration,
}

/// The wanted cells of each part.
pub(crate) fn select<'p>(parts: &'p [Part], options: &Options) -> Result<Vec<(&'p Part, Vec<Cell>)>> {
    let mut selected = Vec::new();
    for part in parts {
        let cells = (part.cells)(options.quick)?;
        let cells: Vec<_> =
            cells.into_iter().filter(|cell| options.wants(parts, part.name, &cell.name)).collect();
        if !cells.is_empty() {
            selected.push((part, cells));
        }
    }
    if selected.is_empty() {
        bail!("no cell has a name with {}", options.filters.join(" or "));
    }
    Ok(selected)
}

/// Runs the cells of a part, and tells of each as it ends.
pub(crate) fn run(part: &'static Part, cells: Vec<Cell>, options: &Options) -> Vec<Outcome> {
    println!("==> {}", part.title);
    let [quick, all] = part.at_once;
    let at_once = if options.quick { quick } else { all };
    let groups: Vec<_> = grouped(cells).into_iter().map(|group| Mutex::new(Some(group))).collect();
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            let cells = group.lock().map(|mut group| group.take()).ok().flatten();
            for cell in cells.into_iter().flatten() {
                let outcome = run_cell(part.name, cell, options.if_possible);
                tell(&outcome);
                if let Ok(mut outcomes) = outcomes.lock() {
                    outcomes.push(outcome);
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..at_once.max(1) {
            scope.spawn(work);
        }
    });
    outcomes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Neighbours of one group together, in their order.
fn grouped(cells: Vec<Cell>) -> Vec<Vec<Cell>> {
    let mut groups: Vec<Vec<Cell>> = Vec::new();
    for cell in cells {
        match groups.last_mut() {
            Some(group)
                if cell.group.is_some() && group.last().is_some_and(|last| last.group == cell.group) =>
            {
                group.push(cell);
            }
            _ => groups.push(vec![cell]),
        }
    }
    groups
}

fn run_cell(part: &'static str, cell: Cell, if_possible: bool) -> Outcome {
    let (name, begun) = (cell.name.clone(), Instant::now());
    let verdict = match catch_unwind(AssertUnwindSafe(|| cell.run())) {
        Err(_) => Verdict::Broken("it panicked".to_owned()),
        Ok(Ok(faults)) if faults.is_empty() => Verdict::Passed,
        Ok(Ok(faults)) => Verdict::Failed(faults),
        Ok(Err(error)) if if_possible && error.is::<Unavailable>() => Verdict::Skipped(format!("{error:#}")),
        Ok(Err(error)) => Verdict::Broken(format!("{error:#}")),
    };
    Outcome { part, name, verdict, took: begun.elapsed() }
}

fn tell(Outcome { part, name, verdict, took }: &Outcome) {
    let took = took.as_secs_f64();
    match verdict {
        Verdict::Passed => println!("    ok      {part}::{name} ({took:.1} s)"),
        Verdict::Failed(faults) => {
            println!("    FAILED  {part}::{name} ({took:.1} s)");
            for fault in faults {
                println!("            {fault}");
            }
        }
        Verdict::Broken(why) => println!("    FAILED  {part}::{name} ({took:.1} s)\n            {why}"),
        Verdict::Skipped(why) => println!("    NOTICE: {part}::{name} DID NOT RUN: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTS: &[Part] = &[
        Part { name: "one", title: "One", at_once: [2, 1], cells },
        Part { name: "two", title: "Two", at_once: [1, 1], cells },
    ];

    fn cells(quick: bool) -> Result<Vec<Cell>> {
        let unavailable = || Err(anyhow::anyhow!("no network").context(Unavailable));
        let cells = vec![
            Cell::new("fine", || Ok(Vec::new())),
            Cell::new("one fault", || Ok(vec!["wrong".to_owned()])),
            Cell::new("gone", unavailable),
            Cell::new("broken", || bail!("it ended early")),
        ];
        Ok(cells.into_iter().take(if quick { 2 } else { 4 }).collect())
    }

    fn names(options: &Options) -> Vec<String> {
        let selected = select(PARTS, options).unwrap();
        let names = selected
            .iter()
            .flat_map(|(part, cells)| cells.iter().map(|cell| format!("{}::{}", part.name, cell.name)));
        names.collect()
    }

    fn options(words: &[&str]) -> Options {
        Options::parse(words.iter().map(|&word| word.to_owned())).unwrap()
    }

    #[test]
    fn cells_are_chosen_by_their_part_or_by_what_is_in_their_name() {
        assert_eq!(names(&options(&[])).len(), 8);
        assert_eq!(names(&options(&["--quick"])).len(), 4);
        // A part of that name is the whole part, and not also what has the word in its name.
        assert_eq!(names(&options(&["--quick", "one"])), ["one::fine", "one::one fault"]);
        assert_eq!(names(&options(&["fault"])), ["one::one fault", "two::one fault"]);
        assert_eq!(names(&options(&["two::g"])), ["two::gone"]);
        assert!(select(PARTS, &options(&["nothing"])).is_err());
        assert_eq!(Options::parse(["--fast".to_owned()]), Err("--fast".to_owned()));
    }

    #[test]
    fn what_cannot_be_installed_is_skipped_where_that_is_allowed_and_fails_elsewhere() {
        let verdicts = |words: &[&str]| {
            let outcomes = run(&PARTS[0], cells(false).unwrap(), &options(words));
            outcomes.into_iter().map(|outcome| outcome.verdict).collect::<Vec<_>>()
        };
        let why = || "what other people wrote could not be installed: no network".to_owned();
        let expected = |gone| {
            let broken = Verdict::Broken("it ended early".to_owned());
            [Verdict::Passed, Verdict::Failed(vec!["wrong".to_owned()]), gone, broken]
        };
        assert_eq!(verdicts(&["--if-possible"]), expected(Verdict::Skipped(why())));
        assert_eq!(verdicts(&[]), expected(Verdict::Broken(why())));
    }

    #[test]
    fn neighbours_of_a_group_stay_together() {
        let cell = |name: &str| Cell::new(name, || Ok(Vec::new()));
        let groups =
            grouped(vec![cell("a"), cell("b").in_group("g"), cell("c").in_group("g"), cell("d"), cell("e")]);
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 1, 1]);
    }
}
