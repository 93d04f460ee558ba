//! The messages of one language.

use std::collections::HashMap;

use super::error::{MessageDefinitionError, MessageDefinitionPart};
use super::matcher::SourceMatcher;
use super::pattern::{FluentPattern, PatternValue};
use super::source::{SourcePattern, is_name};

/// How many references in a row may lead from one message to another.
const MAX_REFERENCE_DEPTH: u8 = 8;

/// A message as it stands in a locale file.
#[derive(Clone, Copy, Debug)]
pub struct MessageDefinition<'a> {
    /// What it is called; a term, which only other messages use, begins with `-`.
    pub key: &'a str,
    /// What the server says, where the message is recognized in its text.
    pub source: Option<&'a str>,
    /// What the reader gets: a Fluent pattern.
    pub text: &'a str,
}

/// Messages that can be recognized and rendered.
///
/// Rules: L8, L10.
#[derive(Clone, Debug, Default)]
pub struct FluentMessages {
    keys: HashMap<Box<str>, u32>,
    pub(super) patterns: Box<[FluentPattern]>,
    pub(super) matcher: SourceMatcher,
}

impl FluentMessages {
    /// Reads messages; those that are wrong are left out, and told by their keys.
    #[must_use]
    pub fn new<'a>(
        entries: impl IntoIterator<Item = MessageDefinition<'a>>,
    ) -> (Self, Vec<(Box<str>, MessageDefinitionError, MessageDefinitionPart)>) {
        let mut wrong = Vec::new();
        let mut read = Vec::new();
        let mut sources = HashMap::new();
        for entry in entries {
            match ParsedDefinition::new(entry, &mut sources) {
                Ok(message) => read.push(message),
                Err((what, part)) => wrong.push((entry.key.into(), what, part)),
            }
        }
        let unusable = reference_errors(&read);
        let mut messages = Self::default();
        let (mut patterns, mut live) = (Vec::new(), Vec::new());
        for (message, unusable) in read.into_iter().zip(unusable) {
            if let Some(what) = unusable {
                wrong.push((message.key, what, MessageDefinitionPart::Text));
                continue;
            }
            let number = u32::try_from(patterns.len()).unwrap_or(u32::MAX);
            live.extend(message.source.map(|source| (number, source)));
            messages.keys.insert(message.key, number);
            patterns.push(message.pattern);
        }
        messages.patterns = patterns.into();
        let (matcher, left_out) = SourceMatcher::new(live);
        messages.matcher = matcher;
        let mut alike: Vec<_> =
            messages.keys.iter().filter(|(_, number)| left_out.binary_search(number).is_ok()).collect();
        alike.sort_unstable_by_key(|(_, number)| **number);
        wrong.extend(
            alike.into_iter().map(|(key, _)| {
                (key.clone(), MessageDefinitionError::TooAlike, MessageDefinitionPart::Source)
            }),
        );
        (messages, wrong)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether a message fits what a server says.
    #[must_use]
    pub fn matches_source(&self, text: &str) -> bool {
        self.matcher.find(text).is_some()
    }

    pub(super) fn pattern(&self, key: &str) -> Option<&FluentPattern> {
        self.patterns.get(*self.keys.get(key)? as usize)
    }
}

/// A message that is in order by itself.
struct ParsedDefinition {
    key: Box<str>,
    source: Option<SourcePattern>,
    pattern: FluentPattern,
    /// The keys that it refers to.
    refers: Vec<Box<str>>,
}

impl ParsedDefinition {
    fn new(
        entry: MessageDefinition<'_>,
        sources: &mut HashMap<Box<str>, Box<str>>,
    ) -> Result<Self, (MessageDefinitionError, MessageDefinitionPart)> {
        if !is_name(entry.key.strip_prefix('-').unwrap_or(entry.key)) {
            return Err((MessageDefinitionError::Key, MessageDefinitionPart::Key));
        }
        let source = entry
            .source
            .map(SourcePattern::read)
            .transpose()
            .map_err(|wrong| (wrong, MessageDefinitionPart::Source))?;
        let pattern =
            FluentPattern::read(entry.text).map_err(|wrong| (wrong, MessageDefinitionPart::Text))?;
        let (mut refers, mut unknown) = (Vec::new(), None);
        pattern.for_each_value(&mut |value| {
            if let PatternValue::Message(key) = value {
                refers.push(key.clone());
            }
            let has = |name: &str| {
                source.as_ref().is_none_or(|source| source.variable_names().iter().any(|it| **it == *name))
            };
            unknown = unknown.take().or_else(|| value.variable().filter(|name| !has(name)).map(Into::into));
        });
        if let Some(name) = unknown {
            return Err((MessageDefinitionError::UnknownVariable(name), MessageDefinitionPart::Text));
        }
        if let Some(text) = entry.source
            && let Some(first) = sources.insert(text.into(), entry.key.into())
        {
            sources.insert(text.into(), first.clone());
            return Err((MessageDefinitionError::RepeatedSource(first), MessageDefinitionPart::Source));
        }
        refers.sort_unstable();
        refers.dedup();
        Ok(Self { key: entry.key.into(), source, pattern, refers })
    }
}

/// What keeps each message from being used: references that lead nowhere, back, or too far.
///
/// Messages are settled from those without references on; what is never settled goes round in a circle, or refers
/// to what does.
fn reference_errors(read: &[ParsedDefinition]) -> Vec<Option<MessageDefinitionError>> {
    let index: HashMap<&str, usize> = (0..).zip(read).map(|(at, message)| (&*message.key, at)).collect();
    let mut users = vec![Vec::new(); read.len()];
    let mut open: Vec<usize> = read.iter().map(|message| message.refers.len()).collect();
    let mut depth = vec![0u8; read.len()];
    let mut outcome: Vec<Option<MessageDefinitionError>> =
        vec![Some(MessageDefinitionError::Endless); read.len()];
    for (at, message) in (0..).zip(read) {
        for key in &message.refers {
            let slot = index.get(&**key).and_then(|used| users.get_mut(*used));
            if let Some(slot) = slot {
                slot.push(at);
            }
        }
    }
    let missing =
        |message: &ParsedDefinition| message.refers.iter().find(|key| !index.contains_key(&***key)).cloned();
    let mut settled: Vec<usize> = Vec::new();
    for ((at, message), outcome) in (0..).zip(read).zip(&mut outcome) {
        if let Some(key) = missing(message) {
            *outcome = Some(MessageDefinitionError::UnknownMessage(key));
        } else if message.refers.is_empty() {
            *outcome = None;
            settled.push(at);
        }
    }
    while let Some(at) = settled.pop() {
        let below = depth.get(at).copied().unwrap_or_default();
        let usable = outcome.get(at).is_some_and(Option::is_none);
        let key = read.get(at).map(|message| message.key.clone()).unwrap_or_default();
        for &user in users.get(at).map(Vec::as_slice).unwrap_or_default() {
            let (Some(open), Some(depth), Some(outcome)) =
                (open.get_mut(user), depth.get_mut(user), outcome.get_mut(user))
            else {
                continue;
            };
            *open = open.saturating_sub(1);
            *depth = (*depth).max(below.saturating_add(1));
            if !usable && matches!(outcome, Some(MessageDefinitionError::Endless)) {
                *outcome = Some(MessageDefinitionError::UnknownMessage(key.clone()));
            }
            if *open == 0 {
                if matches!(outcome, Some(MessageDefinitionError::Endless)) {
                    *outcome =
                        (*depth > MAX_REFERENCE_DEPTH).then_some(MessageDefinitionError::TooManyReferences);
                }
                settled.push(user);
            }
        }
    }
    outcome
}
