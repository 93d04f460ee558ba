//! The table of sentences: an id, a name, the arguments, what is wrong, and for most what to do about it, in English.
//!
//! An entry here needs one in every locale file of `mcp_attune::words`: its id, and its id with `-hint` where it has one. The
//! tests there name what is missing.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{Alternatives, NoticeArgument, NoticeText, SampleArgument};

macro_rules! notices {
    ($(
        $id:literal $variant:ident $({ $($field:ident: $type:ty),* })? =>
            $what:literal $(, hint: $hint:literal)?;
    )*) => {
        /// A sentence of our own for a caller. The fields are what varies in it.
        #[derive(Clone, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "a field is the argument of its name in the sentence above it")]
        pub enum Notice {
            $(
                #[doc = concat!("`", $id, "`: ", $what, $("; ", $hint,)? ".")]
                $variant $({ $($field: $type),* })?,
            )*
            /// A sentence of a program around us, in the language that it is in.
            Verbatim(String),
        }

        #[allow(unused_variables, reason = "an argument may stand in one part of its sentence only")]
        impl Notice {
            /// Returns what the sentence is called in locale files. `None` for words of others.
            #[must_use]
            pub fn id(&self) -> Option<&'static str> {
                match self {
                    $(Self::$variant $({ $($field: _),* })? => Some($id),)*
                    Self::Verbatim(_) => None,
                }
            }

            /// Returns what is wrong, in English.
            #[must_use]
            pub fn what(&self) -> String {
                match self {
                    $(Self::$variant $({ $($field),* })? => alloc::format!($what),)*
                    Self::Verbatim(text) => text.clone(),
                }
            }

            /// Returns what to do about it, in English, where the sentence says so.
            #[must_use]
            pub fn hint(&self) -> Option<String> {
                match self {
                    $(Self::$variant $({ $($field),* })? => {
                        let hint: Option<String> = None;
                        $(let hint = Some(alloc::format!($hint));)?
                        hint
                    })*
                    Self::Verbatim(_) => None,
                }
            }

            /// Returns the arguments by their names.
            #[must_use]
            pub fn arguments(&self) -> Vec<(&'static str, NoticeArgument<'_>)> {
                match self {
                    $(Self::$variant $({ $($field),* })? => {
                        vec![$($((stringify!($field), $field.into())),*)?]
                    })*
                    Self::Verbatim(_) => Vec::new(),
                }
            }

            /// Returns one notice of every kind that has an id, for tests of everything that renders notices.
            #[must_use]
            pub fn samples() -> Vec<Self> {
                vec![$(
                    Self::$variant $({ $($field: SampleArgument::sample(stringify!($field))),* })?,
                )*]
            }
        }
    };
}

notices! {
    // A body that cannot be read in one way.
    "body-empty" BodyEmpty =>
        "the body is empty",
        hint: "send one JSON-RPC message";
    "body-not-json" BodyNotJson { at: usize } =>
        "the body is not JSON at byte {at}";
    "body-cut" BodyCut { at: usize } =>
        "the body ends inside a value, at byte {at}";
    "body-not-utf8" BodyNotUtf8 { at: usize } =>
        "the body is not UTF-8 at byte {at}";
    "body-too-deep" BodyTooDeep { most: usize, at: usize } =>
        "more than {most} brackets are open at byte {at}";
    "name-repeated" NameRepeated { at: usize } =>
        "a member name stands twice in one object, the second time at byte {at}",
        hint: "each name may stand once";
    "name-differs-in-case" NameDiffersInCase { at: usize } =>
        "the member name at byte {at} differs only in case from another one, or from one that has a meaning \
         here",
        hint: "readers that ignore case would read another message, so write each name once and exactly as \
               MCP and the tool's schema spell it";
    "body-trailing" BodyTrailing { at: usize } =>
        "something follows the message at byte {at}",
        hint: "send one message and nothing after it";
    "body-over-2-gib" BodyOver2Gib =>
        "the body is over 2 GiB";

    // Headers that do not agree with the body.
    "language-differs" LanguageDiffers { said: NoticeText, argument: NoticeText, meant: NoticeText } =>
        "Accept-Language says \"{said}\" and {argument} says \"{meant}\"",
        hint: "send the header equal to _meta to the letter, or leave the header out; a proxy or CDN in \
               between may have rewritten it";
    "header-missing" HeaderMissing { header: NoticeText, argument: NoticeText } =>
        "{header} is missing",
        hint: "send it with what {argument} says";
    "header-unexpected" HeaderUnexpected { header: NoticeText, argument: NoticeText } =>
        "{header} is there, but {argument} has no value that it could mirror",
        hint: "leave the header out";
    "header-different" HeaderDifferent { header: NoticeText, argument: NoticeText } =>
        "{header} is not what {argument} says",
        hint: "send the two equal";
    "header-bad-byte" HeaderBadByte { header: NoticeText } =>
        "{header} has a byte outside printable ASCII, space and tab",
        hint: "send it as =?base64?…?=";
    "header-bad-base64" HeaderBadBase64 { header: NoticeText } =>
        "{header} is no canonical, padded base64 between =?base64? and ?=";
    "header-bad-utf8" HeaderBadUtf8 { header: NoticeText } =>
        "{header} is base64 over bytes that are no UTF-8";
    "header-repeated" HeaderRepeated { header: NoticeText } =>
        "{header} is there more than once",
        hint: "send it once";
    "header-not-here" HeaderNotHere { header: NoticeText } =>
        "{header} does not belong to this method",
        hint: "leave the header out";
    "integer-unsafe" IntegerUnsafe { argument: NoticeText } =>
        "{argument} is an integer outside ±(2^53−1), which not every reader keeps",
        hint: "send a smaller one";
    "header-unchecked" HeaderUnchecked { header: NoticeText, version: NoticeText } =>
        "{header} is there, but the request names no protocol version that has it",
        hint: "send MCP-Protocol-Version: {version} and the same in _meta, or leave the header out";
    "header-underscore" HeaderUnderscore { header: NoticeText } =>
        "{header} has an underscore in its name that the tool does not declare",
        hint: "write the name as the tool declares it, or leave the header out";
    "headers-disagree" HeadersDisagree =>
        "the headers do not agree with the body";
    "and-more" AndMore { first: Box<Notice>, more: usize } =>
        "{first} (and {more} more, see data.mismatches)";

    // Headers that would not all arrive.
    "connection-names" ConnectionNames { name: NoticeText } =>
        "Connection names {name}, which has to reach the server",
        hint: "leave it out of Connection";
    "name-with-underscore" NameWithUnderscore =>
        "a header name begins with Mcp and has an underscore, which some servers take for a hyphen",
        hint: "write a hyphen";

    // A message that is no request of its era.
    "not-a-batch" NotABatch =>
        "a batch is not allowed",
        hint: "send each message in a request of its own";
    "not-an-answer" NotAnAnswer =>
        "an answer is not allowed here",
        hint: "send requests and notifications";
    "no-request" NoRequest =>
        "this is no JSON-RPC 2.0 request or notification",
        hint: "send \"jsonrpc\": \"2.0\" and a \"method\", and for a request an \"id\" that is a string or a \
               number";
    "envelope-missing-one" EnvelopeMissingOne { key: NoticeText } =>
        "params._meta is missing {key}",
        hint: "every request carries them";
    "envelope-missing-two" EnvelopeMissingTwo { key: NoticeText, other: NoticeText } =>
        "params._meta is missing {key} and {other}",
        hint: "every request carries them";
    "version-not-text" VersionNotText { argument: NoticeText, version: NoticeText } =>
        "{argument} is not a string",
        hint: "send one such as \"{version}\"";
    "version-not-spoken" VersionNotSpoken { requested: NoticeText, supported: Alternatives } =>
        "version \"{requested}\" is not spoken here",
        hint: "use {supported}";
    "two-contexts" TwoContexts { argument: NoticeText } =>
        "clientContext and {argument} are not equal",
        hint: "send one of them, or the same in both";

    // Sessions, events and ids.
    "session-unknown" SessionUnknown =>
        "Mcp-Session-Id names no session that is known here",
        hint: "send initialize again, without it";
    "session-over" SessionOver =>
        "this session is over",
        hint: "begin another with `initialize`, without Mcp-Session-Id";
    "session-missing" SessionMissing =>
        "Mcp-Session-Id is missing",
        hint: "begin with `initialize`, and send what it answers";
    "call-not-waiting" CallNotWaiting =>
        "no call waits for this input: it was answered, took too long, or ran on a gateway that is gone",
        hint: "call again";
    "not-bridged" NotBridged { method: NoticeText } =>
        "{method} has no counterpart in the era of MCP that the server speaks";
    "event-unknown" EventUnknown =>
        "Last-Event-ID names no event that is known here",
        hint: "the stream it was on cannot be resumed";
    "event-forgotten" EventForgotten =>
        "Last-Event-ID names no event that is still known",
        hint: "leave it out";
    "id-in-use" IdInUse =>
        "a request with this id still runs in this session",
        hint: "give every request an id of its own";
    "id-too-long" IdTooLong { limit: usize } =>
        "the id of this request has more than {limit} bytes",
        hint: "send a shorter one";

    // What a request is asked with: its target, its sender, its form.
    "path-alias" PathAlias { path: NoticeText } =>
        "the path is another spelling of {path}",
        hint: "write it exactly so";
    "target-not-ascii" TargetNotAscii =>
        "the address has bytes outside ASCII",
        hint: "percent-encode them";
    "nothing-served" NothingServed =>
        "nothing is served at this path";
    "method-not-allowed" MethodNotAllowed { allowed: NoticeText } =>
        "this method is not allowed here",
        hint: "use {allowed}";
    "host-not-allowed" HostNotAllowed { host: NoticeText } =>
        "Host {host} is not allowed here",
        hint: "the operator can add it to allowed_hosts";
    "origin-not-allowed" OriginNotAllowed { origin: NoticeText } =>
        "Origin {origin} is not allowed here",
        hint: "the operator can add it to allowed_origins";
    "host-missing" HostMissing =>
        "Host is missing",
        hint: "send it";
    "body-encoded" BodyEncoded =>
        "the body is encoded",
        hint: "send it without Content-Encoding";
    "body-no-json-type" BodyNoJsonType =>
        "the body is no application/json",
        hint: "send JSON, and Content-Type: application/json";
    "request-unreadable" RequestUnreadable =>
        "the server cannot read this request",
        hint: "check its params";

    // Framing that can be read in two ways.
    "framing-line" FramingLine =>
        "a line of the request's head is no header line",
        hint: "write `Name: value`, each on a line of its own";
    "framing-length" FramingLength =>
        "Content-Length comes more than once or is no number",
        hint: "send it once, in digits";
    "framing-length-and-coding" FramingLengthAndCoding =>
        "Content-Length stands beside Transfer-Encoding",
        hint: "send one of the two";
    "framing-coding" FramingCoding =>
        "Transfer-Encoding is not `chunked`",
        hint: "send the body with Content-Length, or in chunks alone";
    "framing-host" FramingHost =>
        "Host comes more than once",
        hint: "send it once";
    "framing-too-long" FramingTooLong =>
        "the request's head is too long",
        hint: "send fewer or shorter headers";
    "framing-trailer" FramingTrailer =>
        "what follows the last chunk is no trailer",
        hint: "end the body with an empty line";

    // Limits.
    "body-too-large" BodyTooLarge { limit: usize } =>
        "the body is over {limit} bytes, the limit `body`",
        hint: "send a smaller one";
    "message-too-large" MessageTooLarge { limit: usize } =>
        "the message is over {limit} bytes, the limit `body`",
        hint: "send a smaller one";
    "answer-too-large" AnswerTooLarge { limit: usize } =>
        "the answer is over {limit} bytes, the limit `answer`";
    "event-too-large" EventTooLarge { limit: usize } =>
        "an event of the answer is over {limit} bytes, the limit `event`";
    "server-answer-too-large" ServerAnswerTooLarge =>
        "the server behind answered with more than the limit allows";
    "headers-too-many" HeadersTooMany =>
        "the request has too many headers",
        hint: "send fewer";
    "connections-too-many" ConnectionsTooMany =>
        "there are too many connections",
        hint: "try again later";
    "gateway-without-connections" GatewayWithoutConnections =>
        "as many connections are open as the gateway may have",
        hint: "try again in a moment";
    "calls-running" CallsRunning =>
        "too many calls are running",
        hint: "try again in a moment";
    "calls-waiting" CallsWaiting =>
        "too many calls are waiting for their answers, more than the limit `calls`",
        hint: "try again later";
    "caller-calls" CallerCalls =>
        "too many calls of this caller are running",
        hint: "wait for some of them to end";
    "streams-open" StreamsOpen =>
        "too many streams are open",
        hint: "try again later";
    "caller-streams" CallerStreams =>
        "too many streams of this caller are open",
        hint: "close some of them";
    "sessions-full" SessionsFull =>
        "as many sessions are open as this server may have",
        hint: "try again later, and end those that are over";
    "caller-sessions" CallerSessions =>
        "as many sessions of one caller are open as may be",
        hint: "end those that are over, or try again later";
    "held-full" HeldFull =>
        "too much is being held back for other calls, the limit `held`",
        hint: "try again in a moment";

    // Bodies that do not come.
    "body-broke-off" BodyBrokeOff =>
        "the body broke off",
        hint: "send it again";
    "body-stalled" BodyStalled =>
        "the request's body did not come in time",
        hint: "send it without pauses";
    "body-too-slow" BodyTooSlow =>
        "the request's body came too slowly",
        hint: "send it faster, or a smaller one";
    "request-broke-off" RequestBrokeOff =>
        "the request broke off before it was whole";
    "caller-too-slow" CallerTooSlow =>
        "the answer was not read as fast as it came";

    // A server behind that does not answer.
    "tools-not-listed" ToolsNotListed =>
        "the tools could not be listed, so the headers of this call cannot be checked",
        hint: "try again later";
    "server-no-answer" ServerNoAnswer =>
        "the server behind did not answer as a server does",
        hint: "try again later";
    "server-not-running" ServerNotRunning =>
        "the server behind is not running";
    "server-unreachable" ServerUnreachable =>
        "the server behind cannot be reached";
    "server-unreachable-in-time" ServerUnreachableInTime =>
        "the server behind could not be reached in time";
    "server-not-trusted" ServerNotTrusted =>
        "the server behind cannot be trusted: its TLS is not in order";
    "server-too-slow" ServerTooSlow =>
        "the server behind did not answer in time";
    "server-stalled" ServerStalled =>
        "the server behind stopped in the middle of its answer";
    "server-broke-off" ServerBrokeOff =>
        "the server behind broke off";
    "server-ended" ServerEnded { code: i32 } =>
        "the server behind ended with {code} before it answered";
    "server-ended-unknown" ServerEndedUnknown =>
        "the server behind ended before it answered";
    "server-not-started" ServerNotStarted =>
        "the server behind cannot be started";

    // An expression of time in an argument.
    "time-not-text" TimeNotText { what: NoticeText } =>
        "`{what}` is not a string",
        hint: "write an expression such as \"last week\"";
    "time-too-long" TimeTooLong { what: NoticeText } =>
        "`{what}` is too long for an expression of time",
        hint: "write at most 200 characters";
    "time-unknown" TimeUnknown { what: NoticeText } =>
        "`{what}` is not an expression of time that can be read",
        hint: "write one of\n\
        \x20 days      today, yesterday, tomorrow, day before yesterday, day after tomorrow\n\
        \x20 units     this U, last U, next U; U is day, week, month, quarter or year\n\
        \x20 several   last N U, next N U; N is 1 to 10000, or a word from one to twelve\n\
        \x20 one       N U ago, in N U\n\
        \x20 weekdays  monday, this monday, last monday, next monday\n\
        \x20 so far    U to date\n\
        \x20 past      the last U, the past U, past U; from the same time one U ago to now\n\
        \x20 dates     2026-11-12, 2026-11, 2026, 2026-Q4, 2026-W46\n\
        \x20 ranges    A..B or A to B, where A and B are any of these that do not end now";
    "time-ambiguous" TimeAmbiguous { what: NoticeText } =>
        "`{what}` is ambiguous: a calendar unit, or the time up to now",
        hint: "write `last week` or `last 7 days`";
    "time-number" TimeNumber { what: NoticeText } =>
        "`{what}` is not a number of units that can be counted",
        hint: "write 1 to 10000";
    "time-no-such-date" TimeNoSuchDate { what: NoticeText } =>
        "`{what}` is not in the calendar",
        hint: "write a date that exists, such as 2026-11-12";
    "time-out-of-range" TimeOutOfRange { what: NoticeText } =>
        "`{what}` is outside the calendar, which has the years -9999 to 9999",
        hint: "write a smaller number";
    "time-backwards" TimeBackwards { what: NoticeText } =>
        "`{what}` is a range that ends before it starts",
        hint: "write the earlier end first";
}
