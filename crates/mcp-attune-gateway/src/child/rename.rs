//! Ids that many callers' requests have in one child: ours on the way in, the callers' own on the way back.
//!
//! 1. A request gets a number that no other has; its `progressToken` gets the same one.
//! 2. In what comes back, the number stands for the caller's id in `id`, in `notifications/cancelled` and in the
//!    subscription id, and for the caller's token in `notifications/progress`. Each is put back as it was written.
//! 3. A caller's own subscription id is taken out, and so is a token in a notification: a child that repeats what it
//!    was sent could otherwise be made to speak to another caller.
//! 4. No other byte changes.
//!
//! Rules: G9.

use mcp_attune_wire::json::{Span, Text, Value};
use mcp_attune_wire::message::{Kind, Message};
use mcp_attune_wire::protocol::meta::SUBSCRIPTION_ID as SUBSCRIPTION;

/// What progress of a request is reported under.
const TOKEN: &str = "progressToken";

/// A caller's own names for a request, as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Names {
    id: String,
    token: Option<String>,
}

/// The request as the child gets it, and the names that were taken out of it. None for what is no request.
pub(super) fn onward(message: &Message<'_>, number: u64) -> Option<(String, Names)> {
    let id = message.id().filter(|_| message.kind() == Kind::Request)?;
    let token = message.meta(TOKEN);
    let number = number.to_string();
    let mut edits: Vec<(Span, &str)> = vec![(id.span(), &number)];
    edits.extend(token.map(|token| (token.span(), number.as_str())));
    edits.extend(message.meta_span(SUBSCRIPTION).map(|span| (span, "")));
    let names = Names { id: id.raw().to_owned(), token: token.map(|token| token.raw().to_owned()) };
    Some((message.splice(&edits).ok()?, names))
}

/// A caller's notification as the child gets it: without anything that could be taken for the number of a request.
pub(super) fn notification(message: &Message<'_>) -> Option<String> {
    let is_address = |name: Text<'_>| name.is(SUBSCRIPTION) || name.is(TOKEN);
    let cuts = message.param("_meta").map(|meta| meta.cut_members(is_address)).unwrap_or_default();
    let edits: Vec<(Span, &str)> = cuts.into_iter().map(|cut| (cut, "")).collect();
    message.splice(&edits).ok()
}

/// Whether a notification with this method names a request of the other side.
pub(super) fn names_request(method: Text<'_>) -> bool {
    method.is("notifications/cancelled") || method.is("notifications/progress")
}

/// Which request a message of the child belongs to. None where it does not say.
pub(super) fn addressee(message: &Message<'_>) -> Option<u64> {
    match message.kind() {
        Kind::Answer => message.id().and_then(number),
        Kind::Notification => {
            let named = message.meta(SUBSCRIPTION).or_else(|| message.param(named_in(message)?));
            named.and_then(number)
        }
        Kind::Request | Kind::Batch | Kind::Other => None,
    }
}

/// The message as the caller gets it. None where it speaks of a token that the caller never gave.
pub(super) fn back(message: &Message<'_>, asked: u64, names: &Names) -> Option<String> {
    let is_ours = |value: &Value<'_>| number(*value) == Some(asked);
    let mut edits: Vec<(Span, &str)> = Vec::new();
    if message.kind() == Kind::Answer {
        let subscription =
            message.member("result").and_then(|result| result.member("_meta")?.member(SUBSCRIPTION));
        let ids = message.id().into_iter().chain(subscription).filter(is_ours);
        edits.extend(ids.map(|id| (id.span(), names.id.as_str())));
    } else {
        let subscription = message.meta(SUBSCRIPTION).filter(is_ours);
        edits.extend(subscription.map(|id| (id.span(), names.id.as_str())));
        if let Some(named) = named_in(message).and_then(|name| message.param(name)).filter(is_ours) {
            let name = if is_progress(message) { names.token.as_deref()? } else { &names.id };
            edits.push((named.span(), name));
        }
    }
    message.splice(&edits).ok()
}

fn is_progress(message: &Message<'_>) -> bool {
    message.method().is_some_and(|method| method.is("notifications/progress"))
}

/// The parameter of a notification that names a request.
fn named_in(message: &Message<'_>) -> Option<&'static str> {
    let method = message.method()?;
    if is_progress(message) {
        Some(TOKEN)
    } else if method.is("notifications/cancelled") {
        Some("requestId")
    } else {
        None
    }
}

/// A number of ours. Some servers give a number back as a string.
fn number(value: Value<'_>) -> Option<u64> {
    match value.text() {
        Some(text) => text.plain()?.parse().ok(),
        None => value.integer().and_then(|number| number.try_into().ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_ours_is_known_in_every_spelling() {
        for id in ["3", "3.0", "3e0", "30e-1", "\"3\""] {
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            assert_eq!(addressee(&Message::parse(answer.as_bytes()).unwrap()), Some(3), "{id}");
        }
        for id in ["3.5", "-3", "\"three\"", "\"3.0\"", "null", "1e99"] {
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            assert_eq!(addressee(&Message::parse(answer.as_bytes()).unwrap()), None, "{id}");
        }
    }

    fn message(text: &str) -> Message<'_> {
        Message::parse(text.as_bytes()).unwrap()
    }

    const ODD: [&str; 9] = [
        "1",
        "\"1\"",
        "17",
        "\"17\"",
        "1.0",
        "-9007199254740993",
        "123456789012345678901234567890",
        r#""a\"\u00e9\\""#,
        "\"\"",
    ];

    #[test]
    fn every_id_comes_back_as_it_was_written() {
        for id in ODD {
            let request = format!(r#"{{"id": {id} ,"jsonrpc":"2.0","x":1.0,"method":"m"}}"#);
            let (sent, names) = onward(&message(&request), 17).unwrap();
            assert_eq!(sent, request.replacen(&format!(" {id} "), " 17 ", 1));
            let answer = r#"{"result":{"id":17,"big":1e400},"id": 17,"jsonrpc":"2.0"}"#;
            assert_eq!(addressee(&message(answer)), Some(17));
            let restored = back(&message(answer), 17, &names).unwrap();
            assert_eq!(
                restored,
                format!(r#"{{"result":{{"id":17,"big":1e400}},"id": {id},"jsonrpc":"2.0"}}"#)
            );
        }
    }

    #[test]
    fn every_token_comes_back_as_it_was_written() {
        for token in ODD {
            let request = format!(
                r#"{{"jsonrpc":"2.0","id":"i","method":"m","params":{{"progressToken":5,"_meta":{{"progressToken":{token}}}}}}}"#
            );
            let (sent, names) = onward(&message(&request), 9).unwrap();
            assert!(sent.ends_with(r#""params":{"progressToken":5,"_meta":{"progressToken":9}}}"#), "{sent}");
            let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":9,"progressToken":9}}"#;
            assert_eq!(addressee(&message(progress)), Some(9));
            let restored = back(&message(progress), 9, &names).unwrap();
            assert_eq!(
                restored,
                progress.replace(r#""progressToken":9"#, &format!(r#""progressToken":{token}"#))
            );
        }
    }

    #[test]
    fn progress_for_a_caller_who_gave_no_token_is_none() {
        let (_, names) = onward(&message(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#), 9).unwrap();
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9}}"#;
        assert_eq!(back(&message(progress), 9, &names), None);
    }

    #[test]
    fn subscription_ids_and_cancellations_are_restored() {
        let request = r#"{"jsonrpc":"2.0","id":"mine","method":"subscriptions/listen"}"#;
        let (_, names) = onward(&message(request), 3).unwrap();
        for said in [
            r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3},"x":3}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"3","_meta":{"io.modelcontextprotocol/subscriptionId":"3"}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"3"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":3}}}"#,
        ] {
            assert_eq!(addressee(&message(said)), Some(3), "{said}");
            let restored = back(&message(said), 3, &names).unwrap();
            let expected = said
                .replace(r#"subscriptionId":3"#, r#"subscriptionId":"mine""#)
                .replace(r#"subscriptionId":"3""#, r#"subscriptionId":"mine""#)
                .replace(r#""requestId":3"#, r#""requestId":"mine""#)
                .replace(r#""id":3"#, r#""id":"mine""#);
            assert_eq!(restored, expected);
        }
    }

    #[test]
    fn a_callers_own_subscription_id_is_taken_out_of_requests() {
        for (meta, expected) in [
            (r#"{"io.modelcontextprotocol/subscriptionId":3}"#, "{}"),
            (r#"{"a":1,"io.modelcontextprotocol/subscriptionId":"3"}"#, r#"{"a":1}"#),
            (
                r#"{"progressToken":"t", "io.modelcontextprotocol/subscription\u0049d":[3],"b":2}"#,
                r#"{"progressToken":9, "b":2}"#,
            ),
            (
                r#"{"io.modelcontextprotocol/subscriptionId":{"x":3},"progressToken":7}"#,
                r#"{"progressToken":9}"#,
            ),
        ] {
            let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"_meta":{meta}}}}}"#);
            let (sent, _) = onward(&message(&request), 9).unwrap();
            let expected =
                format!(r#"{{"jsonrpc":"2.0","id":9,"method":"m","params":{{"_meta":{expected}}}}}"#);
            assert_eq!(sent, expected);
        }
    }

    #[test]
    fn nothing_in_a_callers_notification_is_an_address() {
        for (params, expected) in [
            (
                r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":3,"progressToken":3}}"#,
                r#"{"_meta":{}}"#,
            ),
            (
                r#"{"_meta":{"a":1,"progressToken":3, "b":2,"io.modelcontextprotocol/subscriptionId":3},"x":3}"#,
                r#"{"_meta":{"a":1, "b":2},"x":3}"#,
            ),
            (r#"{"x":3}"#, r#"{"x":3}"#),
        ] {
            let said = format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{params}}}"#);
            let expected = format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{expected}}}"#);
            assert_eq!(notification(&message(&said)), Some(expected));
        }
    }

    #[test]
    fn what_names_no_request_belongs_to_none() {
        for said in [
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"theirs"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"3","status":"working"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"3"},"progressToken":3},"data":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"elicitation/create"}"#,
            r#"{"jsonrpc":"2.0","id":"x","result":{}}"#,
            r#"[{"jsonrpc":"2.0","id":3,"result":{}}]"#,
        ] {
            assert_eq!(addressee(&message(said)), None, "{said}");
        }
    }
}
