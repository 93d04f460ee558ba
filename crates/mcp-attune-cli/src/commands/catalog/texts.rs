//! What a server says of itself and of what it has.

use std::cell::Cell;

use mcp_attune::catalog::{Draft, Sheet};
use mcp_attune::language::Tag;
use mcp_attune::localize::{Asked, texts};
use mcp_attune_rmcp::{Connection, Era};
use mcp_attune_wire::json::{Text, Value};
use mcp_attune_wire::message::{Message, meta::CONTENT_LANGUAGE};

use crate::server::{answer, endless, framed, pages};

/// All texts of a server.
#[derive(Default)]
pub(in crate::commands) struct Texts {
    pub(in crate::commands) draft: Draft,
    /// The language that the server says they are in.
    pub(in crate::commands) language: Option<Tag>,
    /// How many came, and how many of them are too long for a locale file.
    pub(in crate::commands) count: usize,
    pub(in crate::commands) too_long: usize,
}

/// Asks a server for all that it lists, page by page; `progress` is told the method, the page, and how many texts there are.
pub(in crate::commands) async fn ask(
    connection: &Connection,
    progress: impl Fn(&str, usize, usize),
) -> anyhow::Result<Texts> {
    let mut all = Texts::default();
    let method = if connection.era() == Era::Modern { "server/discover" } else { "initialize" };
    if let Some(raw) = connection.introduction() {
        all.take(method, &answer(method, &framed(raw.get()))?)?;
    }
    let can = &connection.info().capabilities;
    for (method, can) in [
        ("tools/list", can.tools.is_some()),
        ("prompts/list", can.prompts.is_some()),
        ("resources/list", can.resources.is_some()),
        ("resources/templates/list", can.resources.is_some()),
    ] {
        if can {
            let so_far = Cell::new(all.count);
            let turn = |page| progress(method, page, so_far.get());
            let take = |message: &Message<'_>| {
                let taken = all.take(method, message);
                so_far.set(all.count);
                taken
            };
            pages(connection, method, turn, take).await?;
        }
    }
    Ok(all)
}

impl Texts {
    /// Takes the texts of a result.
    fn take(&mut self, method: &str, message: &Message<'_>) -> anyhow::Result<()> {
        texts(message, &Asked::new(method), |slot, text| {
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
        Ok(())
    }
}
