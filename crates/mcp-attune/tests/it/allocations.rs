//! What is kept: a server may have hundreds of languages, and ten of them in use.

use allocation_counter::measure;
use mcp_attune::catalog::Locale;
use mcp_attune::features::Verbosity;
use mcp_attune::language::Tag;
use mcp_attune::shape::render::{OwnWords, Rendering, markdown, text};
use mcp_attune_wire::message::Message;

/// Two thousand texts of sixty bytes or so: titles and descriptions of tools, and messages with variables.
fn file() -> String {
    let tools: Vec<_> = (0..500)
        .map(|at| {
            format!(
                r#""tool_{at}":{{"title":"Werkzeug Nummer {at}","description":"Tut, was Werkzeug Nummer {at} tut, und sagt es dem Modell in ein, zwei Sätzen."}}"#
            )
        })
        .collect();
    let messages: Vec<_> = (0..1000)
        .map(|at| {
            format!(
                r#""m{at}":{{"source":"Step {at}: fetched {{count}} of {{total}} pages","text":"Schritt {at}: {{ $count ->\n [one] eine Seite\n *[other] {{ $count }} von {{ $total }} Seiten\n}}"}}"#
            )
        })
        .collect();
    format!(r#"{{"tools":{{{}}},"messages":{{{}}}}}"#, tools.join(","), messages.join(","))
}

#[test]
fn ten_languages_of_two_thousand_texts_are_kept_in_less_than_sixty_megabytes() {
    let file = file();
    let mut kept = Vec::new();
    let used = measure(|| {
        for _ in 0..10 {
            kept.push(Locale::read(Tag::parse("de").unwrap(), file.as_bytes()).unwrap().0);
        }
    });
    assert!(used.bytes_current < 30 * 1024 * 1024, "{} bytes are kept", used.bytes_current);
    assert!(used.bytes_max < 60 * 1024 * 1024, "{} bytes at once", used.bytes_max);
}

#[test]
fn five_megabytes_are_rendered_in_three_times_their_size() {
    let note = "Take the second door on the left; mind the step, and do not run";
    let row = |at| {
        format!(r#"{{"id":{at},"place":"Zürich, platform {}","tags":["a","b"],"note":"{note}"}}"#, at % 18)
    };
    let rows: Vec<_> = (0..41_000).map(row).collect();
    let lines = "first\\nsecond line of a long text ".repeat(100);
    let record =
        |at| format!(r#"{{"name":"Record {at}","nested":{{"a":{at},"b":[{{"c":1}}]}},"lines":"{lines}"}}"#);
    let records: Vec<_> = (0..1_500).map(record).collect();
    let one = format!("\"{}\"", "all one text, without an end; ".repeat(180_000));
    let format = super::render::format("de-CH", "Europe/Zurich");
    for data in [format!("[{}]", rows.join(",")), format!("[{}]", records.join(",")), one] {
        assert!(data.len() > 4_900_000, "{}", data.len());
        let message = Message::parse(data.as_bytes()).unwrap();
        let how = Rendering {
            output: None,
            values: &format,
            verbosity: Verbosity::Standard,
            low_priority: &[],
            labels: &OwnWords("de"),
            room: Rendering::ROOM,
        };
        for render in [markdown, text] {
            let mut length = 0;
            let used = measure(|| length = render(message.body(), &how).text.len());
            assert!(length > 2_000_000, "{length}");
            let times = used.bytes_max as f64 / data.len() as f64;
            assert!(times < 3.0, "{} bytes at once for {}, {times:.2} times", used.bytes_max, data.len());
        }
    }
}

#[test]
fn an_answer_of_five_megabytes_is_shaped_in_three_times_its_size() {
    let row = |at| format!(r#"{{"id":{at},"place":"Zürich, platform {}","note":null}}"#, at % 18);
    let rows: Vec<_> = (0..110_000).map(row).collect();
    let data = format!(r#"{{"rows":[{}]}}"#, rows.join(","));
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"as data"}}],"structuredContent":{data}}}}}"#
    );
    assert!(answer.len() > 5_000_000, "{}", answer.len());
    let case = super::shape::Case::call("t");
    for tags in [&["agent"][..], &["agent", "verbosity=compact"], &["human"], &["format=text"]] {
        let shape = case.shape(tags).unwrap();
        let used = measure(|| assert!(shape.adapt(answer.as_bytes(), None).is_some()));
        let times = used.bytes_max as f64 / answer.len() as f64;
        assert!(
            times < 3.0,
            "{tags:?}: {} bytes at once for {}, {times:.2} times",
            used.bytes_max,
            answer.len()
        );
    }
}
