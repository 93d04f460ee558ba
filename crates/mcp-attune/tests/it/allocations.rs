//! What is kept: a server may have hundreds of languages, and ten of them in use.

use allocation_counter::measure;
use mcp_attune::catalog::CompiledLocale;
use mcp_attune::language::Tag;

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
            kept.push(CompiledLocale::read(Tag::parse("de").unwrap(), file.as_bytes()).unwrap().0);
        }
    });
    assert!(used.bytes_current < 30 * 1024 * 1024, "{} bytes are kept", used.bytes_current);
    assert!(used.bytes_max < 60 * 1024 * 1024, "{} bytes at once", used.bytes_max);
}
