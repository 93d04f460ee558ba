//! What shaping takes of memory: a bounded multiple of the answer.

use allocation_counter::measure;
use mcp_attune::features::Verbosity;
use mcp_attune_shape::render::{DefaultLabels, RenderOptions, markdown, text};
use mcp_attune_wire::message::Message;

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
        let how = RenderOptions {
            output: None,
            values: &format,
            verbosity: Verbosity::Standard,
            low_priority: &[],
            labels: &DefaultLabels::new("de"),
            room: RenderOptions::MAX_PAGE_BYTES,
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
