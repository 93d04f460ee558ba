//! What a server says of itself and of what it has.

use mcp_attune::catalog::{Draft, Sheet};
use mcp_attune::language::Tag;
use mcp_attune::localize::{Asked, texts};
use mcp_attune_rmcp::{Connection, Era, Error};
use mcp_attune_wire::json::{Text, Value};
use mcp_attune_wire::message::{Message, meta::CONTENT_LANGUAGE};
use serde_json::json;

use crate::exit::hinted;

/// How many pages a listing may have.
const MOST_PAGES: usize = 1000;

/// The error of a server that does not know a method.
const UNKNOWN_METHOD: i32 = -32601;

/// All texts of a server.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) draft: Draft,
    /// The language that the server says they are in.
    pub(super) language: Option<Tag>,
    /// How many came, and how many of them are too long for a locale file.
    pub(super) count: usize,
    pub(super) too_long: usize,
}

/// Asks a server for all that it lists, page by page; `progress` is told the method, the page, and how many texts there are.
pub(super) async fn ask(
    connection: &Connection,
    progress: impl Fn(&str, usize, usize),
) -> anyhow::Result<Texts> {
    let mut all = Texts::default();
    let method = if connection.era() == Era::Modern { "server/discover" } else { "initialize" };
    if let Some(raw) = connection.introduction() {
        all.take(method, raw.get())?;
    }
    let can = &connection.info().capabilities;
    for (method, can) in [
        ("tools/list", can.tools.is_some()),
        ("prompts/list", can.prompts.is_some()),
        ("resources/list", can.resources.is_some()),
        ("resources/templates/list", can.resources.is_some()),
    ] {
        if can {
            list(connection, method, &mut all, &progress).await?;
        }
    }
    Ok(all)
}

async fn list(
    connection: &Connection,
    method: &str,
    all: &mut Texts,
    progress: &impl Fn(&str, usize, usize),
) -> anyhow::Result<()> {
    let mut params = serde_json::Value::Null;
    for page in 1..=MOST_PAGES {
        progress(method, page, all.count);
        let raw = match connection.request_raw(method, params.clone()).await {
            // Many have resources and do not know that there are templates of them.
            Err(Error::Refused { code: UNKNOWN_METHOD, .. }) if page == 1 => return Ok(()),
            answered => answered?,
        };
        let Some(cursor) = all.take(method, raw.get())? else { return Ok(()) };
        let next = json!({ "cursor": cursor });
        if next == params {
            return Err(endless(&format!("a page of `{method}` that follows itself")));
        }
        params = next;
    }
    Err(endless(&format!("{MOST_PAGES} pages of `{method}` and no end")))
}

fn endless(what: &str) -> anyhow::Error {
    hinted(format!("the server has {what}"), "see whether it gives the same page again and again")
}

impl Texts {
    /// Takes the texts of a result, and gives the cursor of the next page.
    fn take(&mut self, method: &str, result: &str) -> anyhow::Result<Option<String>> {
        // As it came, with a frame around it.
        let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let message = Message::parse(answer.as_bytes()).map_err(|why| {
            let hint = "this is the server's mistake, and others may read its answer in another way";
            hinted(format!("the answer to `{method}` cannot be read in one way: {why}"), hint)
        })?;
        texts(&message, &Asked::new(method), |slot, text| {
            self.count += 1;
            if !self.draft.add(slot, text) && !text.trim().is_empty() {
                self.too_long += 1;
            }
        });
        if self.count > Sheet::MAX_TEXTS {
            return Err(endless(&format!("more than {} texts", Sheet::MAX_TEXTS)));
        }
        let result = message.member("result");
        let said = result.and_then(|it| it.member("_meta")).and_then(|meta| meta.member(CONTENT_LANGUAGE));
        if let Some(said) =
            said.and_then(Value::text).and_then(Text::decode).filter(|_| self.language.is_none())
        {
            self.language = said.split(',').next().and_then(|tag| Tag::parse(tag.trim()).ok());
        }
        let cursor = result.and_then(|it| it.member("nextCursor"));
        Ok(cursor.and_then(Value::text).and_then(Text::decode).map(Into::into))
    }
}
