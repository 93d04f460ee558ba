//! The facts of MCP, each written once: names of headers, methods, `_meta` keys and extensions, versions, error codes and
//! the HTTP status of each code.
//!
//! 1. A fact that stands here is written nowhere else in the product; `cargo xtask tidy` looks for copies. Tests write
//!    facts out, so that a slip here does not go unnoticed.
//! 2. Header names are written as the specification writes them. [`header::lowercase`] has the same names in lower case,
//!    as HTTP/2 and the crate `http` want them.
//! 3. What is not of MCP (media types, the headers that only HTTP knows) does not belong here.
//!
//! ```
//! use mcp_attune_wire::protocol::{code, header, method, version};
//!
//! assert_eq!(header::SESSION_ID, "Mcp-Session-Id");
//! assert_eq!(header::lowercase::SESSION_ID, "mcp-session-id");
//! assert_eq!(code::http_status(code::METHOD_NOT_FOUND), 404);
//! assert!(method::ALL.contains(&method::TOOLS_CALL));
//! assert!(!version::LEGACY.contains(&version::MODERN));
//! ```
//!
//! Rules: H1, H14.

/// The headers of the streamable HTTP transport.
pub mod header {
    /// The protocol version, mirrored from `_meta`.
    pub const PROTOCOL_VERSION: &str = "MCP-Protocol-Version";
    /// The method, mirrored from the message.
    pub const METHOD: &str = "Mcp-Method";
    /// The tool, prompt, resource or task, mirrored from `params`.
    pub const NAME: &str = "Mcp-Name";
    /// The beginning of a mirrored argument's header name; the annotation gives the rest.
    pub const PARAM_PREFIX: &str = "Mcp-Param-";
    /// The session of a legacy request or answer.
    pub const SESSION_ID: &str = "Mcp-Session-Id";
    /// The last event that a legacy client got before its stream broke off.
    pub const LAST_EVENT_ID: &str = "Last-Event-ID";
    /// The language preference, mirrored from `_meta`.
    pub const ACCEPT_LANGUAGE: &str = "Accept-Language";
    /// The language of an answer.
    pub const CONTENT_LANGUAGE: &str = "Content-Language";

    /// The same names in lower case, made from those above.
    pub mod lowercase {
        macro_rules! lowercase {
            ($($(#[$doc:meta])* $NAME:ident,)*) => {$(
                $(#[$doc])*
                pub const $NAME: &str = {
                    const BYTES: [u8; super::$NAME.len()] = in_lower_case(super::$NAME);
                    match core::str::from_utf8(&BYTES) {
                        Ok(name) => name,
                        Err(_) => "",
                    }
                };
            )*};
        }

        const fn in_lower_case<const N: usize>(name: &str) -> [u8; N] {
            let mut bytes = match name.as_bytes().first_chunk::<N>() {
                Some(bytes) => *bytes,
                None => [0; N],
            };
            bytes.make_ascii_lowercase();
            bytes
        }

        lowercase! {
            /// [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION) in lower case.
            PROTOCOL_VERSION,
            /// [`METHOD`](super::METHOD) in lower case.
            METHOD,
            /// [`NAME`](super::NAME) in lower case.
            NAME,
            /// [`PARAM_PREFIX`](super::PARAM_PREFIX) in lower case.
            PARAM_PREFIX,
            /// [`SESSION_ID`](super::SESSION_ID) in lower case.
            SESSION_ID,
            /// [`LAST_EVENT_ID`](super::LAST_EVENT_ID) in lower case.
            LAST_EVENT_ID,
            /// [`ACCEPT_LANGUAGE`](super::ACCEPT_LANGUAGE) in lower case.
            ACCEPT_LANGUAGE,
            /// [`CONTENT_LANGUAGE`](super::CONTENT_LANGUAGE) in lower case.
            CONTENT_LANGUAGE,
        }
    }
}

/// The versions of MCP.
pub mod version {
    /// The first version whose requests carry their own envelope.
    pub const V_2026_07_28: &str = "2026-07-28";
    /// The last version of sessions, and the first whose clients understand an event without data.
    pub const V_2025_11_25: &str = "2025-11-25";
    /// The version that ended batches and began `MCP-Protocol-Version`.
    pub const V_2025_06_18: &str = "2025-06-18";
    /// The version that began the streamable HTTP transport.
    pub const V_2025_03_26: &str = "2025-03-26";
    /// The first version that was published.
    pub const V_2024_11_05: &str = "2024-11-05";
    /// A draft of the first version, which some clients still send.
    pub const V_2024_10_07: &str = "2024-10-07";

    /// The newest version of the modern era.
    pub const MODERN: &str = V_2026_07_28;
    /// The newest version of the legacy era.
    pub const NEWEST_LEGACY: &str = V_2025_11_25;
    /// The version of a legacy request that does not name one.
    pub const ASSUMED: &str = V_2025_03_26;
    /// The versions from before requests carried their own envelope, the oldest first.
    pub const LEGACY: [&str; 5] = [V_2024_10_07, V_2024_11_05, V_2025_03_26, V_2025_06_18, V_2025_11_25];
}

/// The methods of MCP, in all of its versions.
pub mod method {
    macro_rules! methods {
        ($($(#[$doc:meta])* $NAME:ident = $name:literal,)*) => {
            $($(#[$doc])* pub const $NAME: &str = $name;)*

            /// All methods, in the order of their names.
            pub const ALL: &[&str] = &[$($NAME,)*];
        };
    }

    methods! {
        /// Completes an argument of a prompt or of a resource template.
        COMPLETION_COMPLETE = "completion/complete",
        /// Asks the user, through the client.
        ELICITATION_CREATE = "elicitation/create",
        /// Begins a legacy session.
        INITIALIZE = "initialize",
        /// Says which log messages a legacy client wants.
        LOGGING_SET_LEVEL = "logging/setLevel",
        /// Says that nobody waits for an answer any more.
        CANCELLED = "notifications/cancelled",
        /// Says that the user has answered somewhere else.
        ELICITATION_COMPLETE = "notifications/elicitation/complete",
        /// Says that a legacy session has begun.
        INITIALIZED = "notifications/initialized",
        /// A log message.
        LOG_MESSAGE = "notifications/message",
        /// Says how far a request has come.
        PROGRESS = "notifications/progress",
        /// Says that the list of prompts has changed.
        PROMPTS_LIST_CHANGED = "notifications/prompts/list_changed",
        /// Says that the list of resources has changed.
        RESOURCES_LIST_CHANGED = "notifications/resources/list_changed",
        /// Says that a resource has changed.
        RESOURCES_UPDATED = "notifications/resources/updated",
        /// Says that the client's list of roots has changed.
        ROOTS_LIST_CHANGED = "notifications/roots/list_changed",
        /// Says what a subscription is for.
        SUBSCRIPTIONS_ACKNOWLEDGED = "notifications/subscriptions/acknowledged",
        /// Tells the state of a task on a subscription.
        TASKS = "notifications/tasks",
        /// Tells the state of a task in a legacy session.
        TASKS_STATUS = "notifications/tasks/status",
        /// Says that the list of tools has changed.
        TOOLS_LIST_CHANGED = "notifications/tools/list_changed",
        /// Asks for a sign of life.
        PING = "ping",
        /// Gets a prompt.
        PROMPTS_GET = "prompts/get",
        /// Lists the prompts.
        PROMPTS_LIST = "prompts/list",
        /// Lists the resources.
        RESOURCES_LIST = "resources/list",
        /// Reads a resource.
        RESOURCES_READ = "resources/read",
        /// Asks to be told when a resource changes, in a legacy session.
        RESOURCES_SUBSCRIBE = "resources/subscribe",
        /// Lists the templates of resources.
        RESOURCES_TEMPLATES_LIST = "resources/templates/list",
        /// Ends what `resources/subscribe` began.
        RESOURCES_UNSUBSCRIBE = "resources/unsubscribe",
        /// Asks the client for its roots.
        ROOTS_LIST = "roots/list",
        /// Asks the client's model.
        SAMPLING_CREATE_MESSAGE = "sampling/createMessage",
        /// Asks a modern server what it is.
        SERVER_DISCOVER = "server/discover",
        /// Opens a stream of notifications.
        SUBSCRIPTIONS_LISTEN = "subscriptions/listen",
        /// Ends a task.
        TASKS_CANCEL = "tasks/cancel",
        /// Asks how a task is.
        TASKS_GET = "tasks/get",
        /// Lists the tasks.
        TASKS_LIST = "tasks/list",
        /// Waits for the result of a legacy task.
        TASKS_RESULT = "tasks/result",
        /// Gives a task what it asked for.
        TASKS_UPDATE = "tasks/update",
        /// Calls a tool.
        TOOLS_CALL = "tools/call",
        /// Lists the tools.
        TOOLS_LIST = "tools/list",
    }
}

/// The `_meta` keys that MCP and Attune read.
pub mod meta {
    macro_rules! keys {
        ($($(#[$doc:meta])* $NAME:ident = $key:literal,)*) => {
            $($(#[$doc])* pub const $NAME: &str = $key;)*

            /// Where the keys stand in a request, as messages to people name it.
            pub mod path {
                $($(#[$doc])* pub const $NAME: &str = concat!("params._meta[\"", $key, "\"]");)*
            }
        };
    }

    keys! {
        /// The protocol version of a modern request.
        PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion",
        /// What the client of a modern request can do.
        CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities",
        /// Who the client of a modern request is.
        CLIENT_INFO = "io.modelcontextprotocol/clientInfo",
        /// Who the server of a modern answer is.
        SERVER_INFO = "io.modelcontextprotocol/serverInfo",
        /// The caller's language preference.
        ACCEPT_LANGUAGE = "io.modelcontextprotocol/acceptLanguage",
        /// The language of an answer.
        CONTENT_LANGUAGE = "io.modelcontextprotocol/contentLanguage",
        /// The caller's time, place and locale, for clients that cannot write it beside `params`.
        CLIENT_CONTEXT = "io.modelcontextprotocol/clientContext",
        /// The task that a message of the legacy era is about.
        RELATED_TASK = "io.modelcontextprotocol/related-task",
        /// The subscription that a notification belongs to: the id of the request that opened it.
        SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId",
        /// The least important log messages that a modern request wants.
        LOG_LEVEL = "io.modelcontextprotocol/logLevel",
    }
}

/// The extensions of MCP, as `capabilities.extensions` names them.
pub mod extension {
    /// Content negotiation: its settings hold the feature tags.
    pub const CONTENT_NEGOTIATION: &str = "io.modelcontextprotocol/content-negotiation";
    /// Views: declared by a client whose host draws them.
    pub const VIEWS: &str = "io.modelcontextprotocol/ui";
}

/// The error codes of JSON-RPC and MCP.
pub mod code {
    /// The body is no JSON that can be read in one way.
    pub const PARSE_ERROR: i32 = -32700;
    /// The body is no request.
    pub const INVALID_REQUEST: i32 = -32600;
    /// The method is not known.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The envelope is not whole, has two contexts, or the parameters are not what the method wants.
    pub const INVALID_PARAMS: i32 = -32602;
    /// Something failed that is not the request's fault.
    pub const INTERNAL_ERROR: i32 = -32603;
    /// There is no such resource, in the legacy era; modern servers answer with [`INVALID_PARAMS`].
    pub const LEGACY_RESOURCE_NOT_FOUND: i32 = -32002;
    /// The user has to open a URL first, in the legacy era; modern servers ask for input instead.
    pub const LEGACY_URL_ELICITATION_REQUIRED: i32 = -32042;
    /// The headers do not agree with the body.
    pub const HEADER_MISMATCH: i32 = -32020;
    /// The client lacks a capability that the request needs.
    pub const MISSING_CLIENT_CAPABILITY: i32 = -32021;
    /// The version is not spoken.
    pub const UNSUPPORTED_PROTOCOL_VERSION: i32 = -32022;

    /// The codes that only the modern era has: a server that answers with one of them is modern.
    pub const MODERN_ONLY: [i32; 3] =
        [HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION];

    /// Returns the HTTP status that the modern transport gives an error with this code.
    ///
    /// Any other failure is an answer like others for HTTP, with status 200.
    ///
    /// ```
    /// use mcp_attune_wire::protocol::code;
    ///
    /// assert_eq!(code::http_status(code::HEADER_MISMATCH), 400);
    /// assert_eq!(code::http_status(-32000), 200);
    /// ```
    #[must_use]
    pub const fn http_status(code: i32) -> u16 {
        match code {
            METHOD_NOT_FOUND => 404,
            PARSE_ERROR
            | INVALID_REQUEST
            | INVALID_PARAMS
            | HEADER_MISMATCH
            | MISSING_CLIENT_CAPABILITY
            | UNSUPPORTED_PROTOCOL_VERSION => 400,
            _ => 200,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_stand_in_order_so_that_they_can_be_searched() {
        assert!(method::ALL.is_sorted());
        assert_eq!(method::ALL.len(), 36);
    }

    #[test]
    fn lower_case_names_are_the_names_in_lower_case() {
        for (name, lower) in [
            (header::PROTOCOL_VERSION, header::lowercase::PROTOCOL_VERSION),
            (header::METHOD, header::lowercase::METHOD),
            (header::NAME, header::lowercase::NAME),
            (header::PARAM_PREFIX, header::lowercase::PARAM_PREFIX),
            (header::SESSION_ID, header::lowercase::SESSION_ID),
            (header::LAST_EVENT_ID, header::lowercase::LAST_EVENT_ID),
            (header::ACCEPT_LANGUAGE, header::lowercase::ACCEPT_LANGUAGE),
            (header::CONTENT_LANGUAGE, header::lowercase::CONTENT_LANGUAGE),
        ] {
            assert_eq!(lower, name.to_ascii_lowercase());
            assert!(lower.len() > 7, "{name}");
        }
    }

    #[test]
    fn codes_have_the_statuses_of_the_modern_transport() {
        for (code, status) in [
            (-32601, 404),
            (-32700, 400),
            (-32600, 400),
            (-32602, 400),
            (-32020, 400),
            (-32021, 400),
            (-32022, 400),
            (-32603, 200),
            (-32000, 200),
            (7, 200),
        ] {
            assert_eq!(code::http_status(code), status, "{code}");
        }
        assert!(code::MODERN_ONLY.iter().all(|code| code::http_status(*code) == 400));
    }

    #[test]
    fn versions_stand_in_order_and_the_modern_one_is_newer() {
        assert!(version::LEGACY.is_sorted());
        assert!(version::LEGACY.iter().all(|legacy| *legacy < version::MODERN));
        assert_eq!(version::LEGACY.last(), Some(&version::NEWEST_LEGACY));
    }
}
