//! Complete listings: all pages together, and the tools among them that cannot be used.
//!
//! Over HTTP in the modern era, a tool with an invalid `x-mcp-header` is dropped, because nobody can tell which
//! headers a call of it needs. What is dropped is kept beside the others, with the reason.
//!
//! Rules: H5.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, PoisonError, RwLock};

use mcp_attune_wire::schema::{DeclaredHeaders, HeaderDeclarationError};
use serde_json::Value;

/// All items of a listing, from all of its pages, in order. It dereferences to a slice of the items as JSON.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CompleteListing {
    items: Vec<Value>,
    dropped: Vec<DroppedTool>,
    /// The headers that the tools declare, in a listing of tools whose calls mirror arguments in headers.
    declared: Arc<ToolHeaders>,
}

/// A tool that was left out of a listing.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct DroppedTool {
    /// The tool as the server listed it.
    pub tool: Value,
    /// What is wrong with the headers that its schema declares, and where.
    pub why: HeaderDeclarationError,
}

impl DroppedTool {
    /// Returns its name; empty if it has none.
    #[must_use]
    pub fn name(&self) -> &str {
        self.tool.get("name").and_then(Value::as_str).unwrap_or_default()
    }
}

impl CompleteListing {
    /// Makes a listing of everything that was listed.
    pub(crate) fn of_items(items: Vec<Value>) -> Self {
        Self { items, ..Self::default() }
    }

    /// Makes a listing of tools, without those whose header declarations are invalid.
    pub(crate) fn of_tools(listed: Vec<Value>) -> Self {
        let (mut items, mut dropped, mut tools) =
            (Vec::with_capacity(listed.len()), Vec::new(), HashMap::new());
        for tool in listed {
            let name: Option<Box<str>> = tool.get("name").and_then(Value::as_str).map(Into::into);
            let read = match tool.get("inputSchema") {
                None => Ok(DeclaredHeaders::default()),
                Some(schema) => DeclaredHeaders::read(schema.to_string().as_bytes()),
            };
            match read {
                Ok(declared) => {
                    if let Some(name) = name.filter(|_| !declared.is_empty()) {
                        tools.insert(name, Ok(Arc::new(declared)));
                    }
                    items.push(tool);
                }
                Err(why) => {
                    if let Some(name) = name {
                        tools.insert(name, Err(why.clone()));
                    }
                    dropped.push(DroppedTool { tool, why });
                }
            }
        }
        Self { items, dropped, declared: Arc::new(ToolHeaders(tools)) }
    }

    /// Returns the tools that were left out, and why.
    ///
    /// Rules: H5.
    #[must_use]
    pub fn dropped(&self) -> &[DroppedTool] {
        &self.dropped
    }

    pub(crate) fn tool_headers(&self) -> &Arc<ToolHeaders> {
        &self.declared
    }
}

/// The items.
impl Deref for CompleteListing {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.items
    }
}

/// The headers that tools declare, or why they cannot be known, by the tool's name. Tools without any are not
/// in it.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct ToolHeaders(HashMap<Box<str>, Result<Arc<DeclaredHeaders>, HeaderDeclarationError>>);

/// The headers of the latest listing of tools on a connection, shared with its transport. `None` inside means
/// that the tools were not listed yet.
#[derive(Debug, Default)]
pub(crate) struct LatestToolHeaders(RwLock<Option<Arc<ToolHeaders>>>);

impl LatestToolHeaders {
    /// Takes the headers of a listing over, in place of those before.
    pub(crate) fn learn(&self, headers: &Arc<ToolHeaders>) {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if !known.as_ref().is_some_and(|known| Arc::ptr_eq(known, headers)) {
            drop(known);
            *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(headers.clone());
        }
    }

    /// Notes that the tools cannot be listed, so that calls do not try again. Headers that are known stay.
    pub(crate) fn give_up(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
    }

    /// Returns whether the tools were listed, or are known not to be listable.
    pub(crate) fn is_known(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Returns the headers that a tool declares, or what is wrong with them. `None` if it declares none or is
    /// not known.
    pub(crate) fn declared_by(
        &self,
        tool: &str,
    ) -> Option<Result<Arc<DeclaredHeaders>, HeaderDeclarationError>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref()?.0.get(tool).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_attune_wire::schema::HeaderDeclarationFault;
    use serde_json::json;

    fn tool(name: &str, property: &Value) -> Value {
        json!({ "name": name, "inputSchema": { "type": "object", "properties": { "p": property } } })
    }

    #[test]
    fn drops_tools_with_invalid_annotations_and_says_why() {
        let good = tool("good", &json!({ "type": "string", "x-mcp-header": "P" }));
        let plain = json!({ "name": "plain" });
        let bad = tool("bad", &json!({ "type": "number", "x-mcp-header": "P" }));
        let listing = CompleteListing::of_tools(vec![good.clone(), bad.clone(), plain.clone()]);
        assert_eq!(*listing, [good, plain]);
        let [dropped] = listing.dropped() else { panic!("{listing:?}") };
        assert_eq!(
            (dropped.name(), &dropped.tool, dropped.why.why),
            ("bad", &bad, HeaderDeclarationFault::Type)
        );
        let learned = LatestToolHeaders::default();
        assert!(!learned.is_known());
        learned.learn(listing.tool_headers());
        assert_eq!(learned.declared_by("good").unwrap().unwrap().iter().len(), 1);
        assert!(learned.declared_by("bad").unwrap().is_err());
        assert!(learned.declared_by("plain").is_none());
    }
}
