//! What frames a request, checked before hyper reads it: the pieces that it comes in make no difference, every head that is let
//! through is one that httparse reads, with one length at most, and nothing follows what is refused. The first byte of the
//! input says how long the pieces are.
#![no_main]

use httparse::{EMPTY_HEADER, Request, Status};
use libfuzzer_sys::fuzz_target;
use mcp_attune_gateway::fuzzed::framed;
use mcp_attune_gateway::listen::Limits;

fuzz_target!(|input: &[u8]| {
    let Some((first, text)) = input.split_first() else { return };
    let limits = Limits::default();
    let (Ok(whole), Ok(pieces)) =
        (framed(text, usize::MAX, &limits), framed(text, usize::from(*first), &limits))
    else {
        return;
    };
    assert_eq!(whole.checked, pieces.checked);
    assert_eq!(whole.refused.map(|(number, _)| number), pieces.refused.map(|(number, _)| number));
    head(&whole.checked);
});

/// The first head of what hyper reads, where it is whole.
fn head(text: &[u8]) {
    let mut room = [EMPTY_HEADER; 128];
    let mut request = Request::new(&mut room);
    let Ok(Status::Complete(_)) = request.parse(text) else { return };
    let count =
        |name: &str| request.headers.iter().filter(|line| line.name.eq_ignore_ascii_case(name)).count();
    let (lengths, codings) = (count("content-length"), count("transfer-encoding"));
    assert!(lengths + codings <= 1 && count("host") <= 1, "{}", String::from_utf8_lossy(text));
}
