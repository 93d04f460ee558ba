//! Header lines as they are changed on the way.

use mcp_attune::exchange::{HeaderChange, HeaderLines};
use mcp_attune_wire::reply::{is_stale_after_edit, trailer_after_edit};

/// Header lines in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headers(pub(crate) Vec<(String, String)>);

impl<'h> HeaderLines<'h> for &'h Headers {
    fn all(self) -> impl Iterator<Item = (&'h str, &'h [u8])> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_bytes()))
    }
}

impl Headers {
    /// Makes changes, in their order.
    pub(crate) fn change(&mut self, changes: Vec<HeaderChange>) {
        for change in changes {
            match change {
                HeaderChange::Remove(name) => self.remove(&name),
                HeaderChange::RemoveParams => self.0.retain(|(name, _)| !is_param(name)),
                HeaderChange::Set(name, value) => {
                    self.remove(&name);
                    self.append(&name, value);
                }
                HeaderChange::Append(name, value) => self.append(&name, value),
                HeaderChange::ForgetOldBytes => self.forget_old_bytes(),
            }
        }
    }

    fn append(&mut self, name: &str, value: Vec<u8>) {
        self.0.push((name.to_owned(), String::from_utf8(value).unwrap()));
    }

    fn remove(&mut self, name: &str) {
        self.0.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
    }

    fn forget_old_bytes(&mut self) {
        self.0.retain(|(name, _)| !is_stale_after_edit(&name.to_ascii_lowercase()));
        let is_trailer = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("trailer");
        let trailers: Vec<_> = self.0.iter().filter(is_trailer).map(|(_, value)| value.clone()).collect();
        self.remove("trailer");
        if let Some(trailer) = trailer_after_edit(trailers.iter().map(String::as_str)) {
            self.append("trailer", trailer.into_bytes());
        }
    }
}

fn is_param(name: &str) -> bool {
    name.to_ascii_lowercase().starts_with("mcp-param-")
}
