//! The trains between the cities: the same every day.

use jiff::ToSpan;
use jiff::civil::Date;
use serde::Serialize;

use super::{City, city, format_rfc3339, zone};

/// One train, or several with changes, from one city to another.
#[derive(Clone, Serialize)]
pub(crate) struct TrainConnection {
    pub(crate) id: String,
    pub(crate) train: &'static str,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    pub(crate) departure: String,
    pub(crate) arrival: String,
    pub(crate) duration_minutes: i64,
    pub(crate) changes: u32,
    pub(crate) platform: u32,
    pub(crate) price_chf: f64,
}

struct TrainLine {
    ends: [&'static str; 2],
    train: &'static str,
    /// Minutes past the hour at which it leaves, at either end.
    minute: i8,
    takes: i64,
    changes: u32,
    platform: u32,
    price_chf: f64,
}

const fn line(
    ends: [&'static str; 2],
    train: &'static str,
    minute: i8,
    takes: i64,
    changes: u32,
    platform: u32,
    price_chf: f64,
) -> TrainLine {
    TrainLine { ends, train, minute, takes, changes, platform, price_chf }
}

/// Zermatt and Lugano have no line to each other: a question can have no answer.
const LINES: [TrainLine; 9] = [
    line(["Bern", "Zurich"], "IC 1", 31, 56, 0, 7, 51.0),
    line(["Bern", "Geneva"], "IC 1", 34, 106, 0, 4, 51.0),
    line(["Bern", "Basel"], "IC 6", 4, 58, 0, 5, 41.0),
    line(["Bern", "Zermatt"], "IC 6", 7, 126, 1, 3, 81.5),
    line(["Bern", "Lugano"], "IC 2", 0, 213, 1, 8, 88.0),
    line(["Zurich", "Geneva"], "IC 1", 32, 163, 0, 31, 89.0),
    line(["Zurich", "Lugano"], "IC 2", 5, 117, 0, 9, 65.0),
    line(["Zurich", "Basel"], "IC 3", 7, 53, 0, 15, 34.0),
    line(["Geneva", "Zermatt"], "IR 90", 18, 221, 1, 6, 98.5),
];

/// The connections of one day, in the order in which they leave.
pub(crate) fn connections(from: &City, to: &City, day: Date) -> Vec<TrainConnection> {
    let lines =
        LINES.iter().filter(|line| line.ends == [from.name, to.name] || line.ends == [to.name, from.name]);
    lines
        .flat_map(|line| [8, 10, 12].into_iter().filter_map(move |hour| departure(line, from, to, day, hour)))
        .collect()
}

/// Only a day at the very end of the calendar has none.
fn departure(line: &TrainLine, from: &City, to: &City, day: Date, hour: i8) -> Option<TrainConnection> {
    let leaves = day.at(hour, line.minute, 0, 0).to_zoned(zone("Europe/Zurich")?).ok()?;
    let arrives = leaves.checked_add(line.takes.minutes()).ok()?;
    let id = format!("{}-{}-{day}-{hour:02}{:02}", from.name, to.name, line.minute).to_lowercase();
    Some(TrainConnection {
        id,
        train: line.train,
        from: from.name,
        to: to.name,
        departure: format_rfc3339(&leaves),
        arrival: format_rfc3339(&arrives),
        duration_minutes: line.takes,
        changes: line.changes,
        platform: line.platform,
        price_chf: line.price_chf,
    })
}

/// The connection of that id, as `connections` wrote it.
pub(crate) fn connection(id: &str) -> Option<TrainConnection> {
    let (from, rest) = id.split_once('-')?;
    let (to, rest) = rest.split_once('-')?;
    let (day, _) = rest.rsplit_once('-')?;
    connections(city(from)?, city(to)?, day.parse().ok()?).into_iter().find(|connection| connection.id == id)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::data::CITIES;

    #[test]
    fn finds_every_connection_again_by_its_id() {
        for (from, to) in CITIES.iter().flat_map(|from| CITIES.iter().map(move |to| (from, to))) {
            for found in connections(from, to, date(2026, 2, 22)) {
                assert_eq!(connection(&found.id).map(|again| again.departure), Some(found.departure));
            }
        }
        assert!(connection("bern-zurich-2026-02-22-0832").is_none());
    }

    #[test]
    fn trains_keep_to_the_clock_of_the_day() {
        let [bern, zurich] = ["Bern", "Zurich"].map(|name| city(name).unwrap());
        let of = |day| connections(bern, zurich, day).swap_remove(0).departure;
        assert_eq!(of(date(2026, 2, 22)), "2026-02-22T08:31:00+01:00");
        assert_eq!(of(date(2026, 7, 1)), "2026-07-01T08:31:00+02:00");
    }
}
