use super::super::render::RenderOptions;
use super::*;

#[track_caller]
fn check(html: &str, text: &str, markdown: &str) {
    assert_eq!(html_to_text(html).unwrap_or_default(), text, "{html}");
    assert_eq!(html_to_markdown(html).unwrap_or_default(), markdown, "{html}");
}

#[test]
fn paragraphs_headings_and_marks() {
    check(
        "<!doctype html><html><head><title>T</title><meta charset=utf-8></head><body>\n\
         <h1>Trams &amp; buses</h1><p>Line <b>3</b> runs\n  <em>daily</em>.</p><div>Line 7 does<br>not.</div></body></html>",
        "Trams & buses\n=============\n\nLine 3 runs daily.\n\nLine 7 does\nnot.",
        "# Trams & buses\n\nLine **3** runs *daily*.\n\nLine 7 does\\\nnot.",
    );
    check("<h2>A</h2><h3>B</h3>c", "A\n-\n\nB\n\nc", "## A\n\n### B\n\nc");
    check("<p>one<p>two<p>three", "one\n\ntwo\n\nthree", "one\n\ntwo\n\nthree");
    check("a<b> b </b>c<i></i>", "a b c", "a **b** c");
    check("<b>a<b>b</b>c</b><s>d</s>", "abcd", "**abc**~~d~~");
    check("<p>run <code>a`b</code> and <kbd>x</kbd></p>", "run a`b and x", "run ``a`b`` and `x`");
    check("a<hr>b", "a\n\n---\n\nb", "a\n\n---\n\nb");
    check("say <q>yes</q>", "say “yes”", "say “yes”");
}

#[test]
fn what_nobody_sees_does_not_appear() {
    for html in [
        "a<script>alert('<p>x</p>')</script> b",
        "a<style>p { x }</style> b",
        "a<!-- x --> b",
        "<head><title>x</title><style>x</style></head>a b",
        "a<template><p>x</p><template>x</template>x</template> b",
        "a<svg><title>x</title><text>x</text></svg> b",
        "a<span hidden>x</span> b",
        "a<div style='color:red; DISPLAY : none'>x<div>x</div>x</div> b",
        "a<noscript></noscript> b",
        "a<iframe>x</iframe><textarea>x</textarea> b",
        "a<script>x</script > b",
        "a b<script>x",
    ] {
        let text = html_to_text(html).unwrap();
        assert!(!text.contains('x') && text.split_whitespace().eq(["a", "b"]), "{html}: {text}");
    }
    assert_eq!(html_to_text("<script>x</script><p> </p>"), None);
}

#[test]
fn links_keep_their_address() {
    check(
        "<p>See <a href='https://sbb.ch/a?b=1&amp;c=2'>the <b>plan</b> </a>now",
        "See the plan (https://sbb.ch/a?b=1&c=2) now",
        "See [the **plan**](https://sbb.ch/a?b=1\\&c=2) now",
    );
    check("<a href=https://a.b>https://a.b</a>", "https://a.b", "[https://a.b](https://a.b)");
    check("<a href='mailto:a@b.c'>a@b.c</a>", "a@b.c", "[a@b.c](mailto:a@b.c)");
    check("<a href='#top'>Up</a>", "Up", "[Up](#top)");
    check("<a href='x y(1)'>a]b</a>", "a]b (x y(1))", "[a\\]b](x%20y%281%29)");
    check(
        "<a href='/card'><div><h3>Bern</h3><p>Old town</p></div></a>",
        "Bern (/card)\n\nOld town",
        "### [Bern](/card)\n\nOld town",
    );
    check("<a href=' java\nscript:alert(1)'>x</a>", "x", "x");
    check("<a href='&#1; javascript:alert(1)'>x</a>", "x", "x");
    check(
        "<a href='https://a.b/\u{202e}gpj.exe'>x</a>",
        "x (https://a.b/gpj.exe)",
        "[x](https://a.b/gpj.exe)",
    );
    check("<a href='data:text/html,x'>x</a><a href=y></a>", "x", "x");
    check("wow!<a href=y>x</a>", "wow!x (y)", "wow\\![x](y)");
    check("<img src=a.png alt='A map'><img src=b.png>", "A map", "![A map](a.png)");
}

#[test]
fn lists_stay_lists() {
    check(
        "<p>Buy</p><ul><li>milk<li>bread<ul><li>rye</li></ul></li></ul><ol start=3><li><p>go</p><p>on</p></li><li>stop</ol>end",
        "Buy\n\n- milk\n- bread\n  - rye\n\n3. go\n\n   on\n4. stop\n\nend",
        "Buy\n\n- milk\n- bread\n  - rye\n\n3. go\n\n   on\n4. stop\n\nend",
    );
    check("<blockquote><p>a</p><ul><li>b</ul></blockquote>c", "> a\n>\n> - b\n\nc", "> a\n>\n> - b\n\nc");
    check("<dl><dt>A</dt><dd>b</dd></dl>", "A\n\nb", "A\n\nb");
}

#[test]
fn tables_stay_tables() {
    check(
        "<table><caption>Fares</caption><thead><tr><th>From</th><th>CHF</th></tr></thead>\
         <tbody><tr><td>Bern|Thun</td><td> <b>9</b> </td></tr><tr><td>Chur<br>Arosa</td></tr></tbody></table>",
        "Fares\n\nFrom | CHF\nBern|Thun | 9\nChur Arosa",
        "Fares\n\n| From | CHF |\n|---|---|\n| Bern\\|Thun | **9** |\n| Chur Arosa |",
    );
    check("<table><tr><td>a<td>b<tr><td>c<td>d</table>", "a | b\nc | d", "| a | b |\n|---|---|\n| c | d |");
    check("<table><tr><td><p>a</p></td></tr><tr><td>b</td></tr></table>", "a\n\nb", "a\n\nb");
    check(
        "<table><tr><td>a<table><tr><td>b</td><td>c</td></tr></table></td><td><ul><li>d</ul></td></tr></table>",
        "a b c | d",
        "| a b c | d |\n|---|---|",
    );
}

#[test]
fn preformatted_text_keeps_its_lines() {
    check("<pre>\n a  b\n\n```\n</pre>c", " a  b\n\n```\n\nc", "````\n a  b\n\n```\n````\n\nc");
    check("<pre><code>x &lt; y</code></pre>", "x < y", "```\nx < y\n```");
}

#[test]
fn nothing_acts_in_the_markdown() {
    check(
        "<p># not a heading</p><p>*a* _b_ &lt;script&gt; [x](y) 1 < 2</p><p>- c</p>",
        "# not a heading\n\n*a* _b_ <script> [x](y) 1 < 2\n\n- c",
        "\\# not a heading\n\n\\*a\\* \\_b\\_ \\<script> [x\\](y) 1 < 2\n\n\\- c",
    );
    check("a\u{202e}b&#27;c", "a\u{fffd}b\u{fffd}c", "a\u{fffd}b\u{fffd}c");
}

#[test]
fn markdown_becomes_text() {
    let markdown = "---\ntitle: T\n---\n# Trams\n\nLine **3** runs [daily](https://sbb.ch), see `x`.\\\nYes.\n\n\
        - [x] milk\n- bread\n  1. rye\n\n| a | b |\n|---|---|\n| 1 | ~~2~~ |\n\n> quote\n\n```sh\nls *\n```\n\n\
        ![map](a.png) note[^1] <b>bold</b> <script>alert(1)</script>\n\n<div>\n<p>html</p>\n<style>x</style>\n</div>\n\n[^1]: foot\n";
    let text = "title: T\n\nTrams\n=====\n\nLine 3 runs daily (https://sbb.ch), see x.\nYes.\n\n\
        - [x] milk\n- bread\n  1. rye\n\na | b\n1 | 2\n\n> quote\n\nls *\n\nmap note[1] bold\n\nhtml\n\n[1]: foot";
    assert_eq!(markdown_to_text(markdown).unwrap(), text);
}

#[test]
fn a_document_that_is_too_large_stays_as_it_is() {
    assert_eq!(html_to_text(&"a ".repeat(MAX_DOCUMENT_BYTES)), None);
    assert_eq!(markdown_to_text(&"a ".repeat(MAX_DOCUMENT_BYTES)), None);
}

/// Numbers that look like chance and are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

const PIECES: &[&str] = &[
    "<p>",
    "</p>",
    "<ul>",
    "</ul>",
    "<ol start=9>",
    "</ol>",
    "<li>",
    "</li>",
    "<table>",
    "</table>",
    "<tr>",
    "</tr>",
    "<td>",
    "</td>",
    "<th>",
    "<b>",
    "</b>",
    "<i>",
    "</i>",
    "<a href='/x'>",
    "</a>",
    "<code>",
    "</code>",
    "<pre>",
    "</pre>",
    "<blockquote>",
    "</blockquote>",
    "<h1>",
    "</h1>",
    "<br>",
    "<hr>",
    "<img alt=z src=y>",
    "<q>",
    "</q>",
    "<div hidden>",
    "</div>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<",
    ">",
    "&amp;",
    "&#0;",
    "text",
    " ",
    "\n",
    "*",
    "_",
    "`",
    "|",
    "[",
    "](",
    "é",
    "<svg>",
    "</svg>",
    "<",
    "</",
    "'",
    "\"",
    "=",
    "~~",
    "#",
    "> ",
    "- ",
    "---\n",
];

#[test]
fn no_document_breaks_anything() {
    let mut chance = Chance(7);
    for _ in 0..3000 {
        let document: String = (0..chance.below(60)).map(|_| PIECES[chance.below(PIECES.len())]).collect();
        for made in [html_to_text, html_to_markdown, markdown_to_text].map(|make| make(&document)) {
            let made = made.unwrap_or_default();
            assert!(made.len() < 40 * document.len() + 100, "{document}");
            assert!(!made.contains('\u{0}'), "{document}");
        }
    }
}

/// What is written as Markdown reads, as Markdown, as the text that the HTML is.
#[test]
fn the_markdown_of_a_page_reads_as_its_text() {
    let words = ["a", "*b*", "c_d", "<e>", "[f]", "1.", "#", "&lt;g&gt;", "`h`", "i|j", "k!", "~l~", "\\m"];
    let marks = ["b", "i", "a href='/x'", "code", "span"];
    let mut chance = Chance(11);
    for _ in 0..3000 {
        let mut html = String::new();
        for _ in 0..1 + chance.below(4) {
            let block = ["p", "h2", "blockquote", "li"][chance.below(4)];
            html.push_str(&format!("<{block}>"));
            for _ in 0..1 + chance.below(5) {
                let word =
                    words[chance.below(words.len())].replace('<', "&lt;").replace("&lt;g", "&amp;lt;g");
                match chance.below(3) {
                    0 => {
                        let mark = marks[chance.below(marks.len())];
                        let name = mark.split(' ').next().unwrap();
                        html.push_str(&format!(" <{mark}>{word}</{name}> "));
                    }
                    _ => html.push_str(&format!(" {word} ")),
                }
            }
            html.push_str(&format!("</{block}>"));
        }
        let markdown = html_to_markdown(&html).unwrap_or_default();
        let words = |text: Option<String>| {
            let text = text.unwrap_or_default().replace(['>', '-', '='], " ");
            text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(words(markdown_to_text(&markdown)), words(html_to_text(&html)), "{html}\n{markdown}");
    }
}

#[test]
fn work_grows_with_the_size_and_nothing_else() {
    let bombs = [
        "<ul><li>",
        "<b>",
        "<table><tr><td>",
        "<blockquote>",
        "<!-- -->",
        "<!--",
        "</b>",
        "<a href=x>",
        "<",
        "&",
        "&#",
        "<p a='",
        "<pre>",
        "<code>",
        "<li>",
        "<td>",
        "<script></script>",
        "<div hidden>",
        "<h1>x",
        "<svg>",
        "<table>",
        "<tr>x",
        "a | b\n",
        "[",
        "![",
        "> ",
        "- ",
        "*a ",
        "`",
        "<a ",
        "|",
        "\\",
    ];
    for bomb in bombs {
        let document = bomb.repeat((256 << 10) / bomb.len());
        // Were the work to grow with the square of the size, this would take hours.
        for make in [html_to_text, html_to_markdown, markdown_to_text] {
            assert!(
                make(&document).is_none_or(|made| made.len() <= 2 * RenderOptions::MAX_PAGE_BYTES),
                "{bomb}"
            );
        }
    }
    // Long before the stack would be full, were anything to recurse.
    let deep = "<div><ul><li><blockquote><b>".repeat(100_000);
    assert!(html_to_text(&format!("{deep}x")).is_some());
}
