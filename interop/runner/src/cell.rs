//! One test of the suite, and what several of them share.

use std::sync::OnceLock;

use anyhow::{Result, anyhow};

use super::install::Unavailable;

/// One test. It returns what is wrong, a line each; an error says that it could not be done.
pub(crate) struct Cell {
    pub(crate) name: String,
    /// Cells of one group run one after the other, in their order.
    pub(crate) group: Option<String>,
    test: Box<dyn FnOnce() -> Result<Vec<String>> + Send>,
}

impl Cell {
    pub(crate) fn new(
        name: impl Into<String>,
        test: impl FnOnce() -> Result<Vec<String>> + Send + 'static,
    ) -> Self {
        Self { name: name.into(), group: None, test: Box::new(test) }
    }

    pub(crate) fn in_group(self, group: &str) -> Self {
        Self { group: Some(group.to_owned()), ..self }
    }

    pub(crate) fn run(self) -> Result<Vec<String>> {
        (self.test)()
    }
}

/// What cells share: made when the first of them asks, and ended with the last of them that holds it.
pub(crate) struct Shared<T> {
    value: OnceLock<Result<T, SharedFailure>>,
    make: Box<dyn Fn() -> Result<T> + Send + Sync>,
}

/// Why it could not be made, for every cell that asks.
struct SharedFailure {
    why: String,
    unavailable: bool,
}

impl<T> Shared<T> {
    pub(crate) fn new(make: impl Fn() -> Result<T> + Send + Sync + 'static) -> Self {
        Self { value: OnceLock::new(), make: Box::new(make) }
    }

    pub(crate) fn get(&self) -> Result<&T> {
        let made = self.value.get_or_init(|| {
            (self.make)().map_err(|error| {
                // The context is put on again for every cell that asks.
                let unavailable = error.is::<Unavailable>();
                let causes = error.chain().skip(usize::from(unavailable)).map(ToString::to_string);
                SharedFailure { why: causes.collect::<Vec<_>>().join(": "), unavailable }
            })
        });
        match made {
            Ok(value) => Ok(value),
            Err(SharedFailure { why, unavailable: true }) => Err(anyhow!("{why}").context(Unavailable)),
            Err(SharedFailure { why, .. }) => Err(anyhow!("{why}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn what_is_shared_is_made_once_even_where_it_cannot_be() {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let shared = Shared::<()>::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Err(anyhow!("no network").context(Unavailable))
        });
        for _ in 0..2 {
            let error = shared.get().unwrap_err();
            assert!(error.is::<Unavailable>());
            assert_eq!(format!("{error:#}"), "what other people wrote could not be installed: no network");
        }
        assert_eq!(count.load(Ordering::Relaxed), 1);
        assert!(!Shared::<()>::new(|| Err(anyhow!("broken"))).get().unwrap_err().is::<Unavailable>());
    }
}
