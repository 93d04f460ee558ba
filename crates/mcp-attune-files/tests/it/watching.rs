//! One watcher for many files.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mcp_attune::catalog::{LocaleField, LocaleStore, TextSlot};
use mcp_attune::features::{ContentFormat, FeaturePreferences};
use mcp_attune::language::Tag;
use mcp_attune_files::{
    FileWatcher, LocaleFilePattern, LocaleFolder, ServerTemplateFiles, ServerTemplatePaths, WatchedFiles,
};

use crate::place;

const PATIENCE: Duration = Duration::from_secs(20);

fn folder(place: &place::Folder, name: &str) -> Arc<LocaleFolder> {
    let pattern =
        LocaleFilePattern::new(&format!("{}/{name}/${{locale}}.json", place.path().display())).unwrap();
    Arc::new(LocaleFolder::new(pattern, Tag::parse("en").unwrap()))
}

/// Titles of different lengths make files that can be told apart, however coarse the clock of the disk is.
fn write(place: &place::Folder, folder: &str, title: &str) {
    place.write(&format!("{folder}/de.json"), format!(r#"{{"tools":{{"a":{{"title":"{title}"}}}}}}"#));
}

fn title(folder: &LocaleFolder) -> String {
    let locales = folder.load(&Tag::parse("de").unwrap());
    locales[0].find(TextSlot::Tool("a", LocaleField::Title)).unwrap().to_owned()
}

fn prompt(shelves: &ServerTemplateFiles, name: &str) -> String {
    let templates = shelves.current_content().prompts[name].clone();
    templates.choose(&FeaturePreferences::default(), ContentFormat::Markdown).unwrap().source().to_owned()
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn one_watcher_follows_several_folders_and_templates() {
    let place = place::Folder::new("watched");
    write(&place, "one", "eins");
    write(&place, "two", "zwei");
    place.write("p.md", "first");
    let (one, two) = (folder(&place, "one"), folder(&place, "two"));
    let mut places = ServerTemplatePaths::default();
    places.prompts.insert("p".to_owned(), place.path().join("p"));
    let shelves = Arc::new(ServerTemplateFiles::new(places));
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = looks.clone();
    let watcher =
        FileWatcher::new().follow(one.clone()).follow(two.clone()).follow(shelves.clone()).on_refresh(
            move || {
                counted.fetch_add(1, Ordering::Relaxed);
            },
        );
    let all = || (title(&one), title(&two), prompt(&shelves, "p"));
    let told =
        |one: &str, two: &str, prompt: &str| (format!("\"{one}\""), format!("\"{two}\""), prompt.to_owned());
    assert_eq!(all(), told("eins", "zwei", "first"));

    write(&place, "one", "einerlei");
    write(&place, "two", "zweierlei");
    place.write("p.md", "the second");
    assert_eq!(all(), told("eins", "zwei", "first"), "nobody was told to look");
    watcher.refresh();
    assert_eq!(all(), told("einerlei", "zweierlei", "the second"));

    // What is broken leaves what was there, and keeps nothing else from being followed.
    place.write("one/de.json", "{");
    write(&place, "two", "noch etwas");
    place.write("p.md", "{{ broken");
    watcher.refresh();
    assert_eq!(all(), told("einerlei", "noch etwas", "the second"));
    assert_eq!(looks.load(Ordering::Relaxed), 2, "what comes after a look comes after each");
}

#[test]
fn only_what_changed_is_made_again_and_all_of_it() {
    let place = place::Folder::new("unchanged");
    let mut places = ServerTemplatePaths::default();
    for name in ["p", "q"] {
        place.write(&format!("{name}.md"), "first");
        places.prompts.insert(name.to_owned(), place.path().join(name));
    }
    let shelves = ServerTemplateFiles::new(places);
    let before = shelves.current_content();
    shelves.refresh();
    assert!(Arc::ptr_eq(&before, &shelves.current_content()));
    for name in ["p", "q"] {
        place.write(&format!("{name}.md"), "the second");
    }
    shelves.refresh();
    assert_eq!(["p", "q"].map(|name| prompt(&shelves, name)), ["the second"; 2]);
}

#[test]
fn a_thread_follows_files_until_it_is_dropped() {
    struct Counted(AtomicUsize);
    impl WatchedFiles for Counted {
        fn refresh(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let files = Arc::new(Counted(AtomicUsize::new(0)));
    let following = FileWatcher::new().follow(files.clone()).spawn().unwrap();
    until("it looks, again and again", || files.0.load(Ordering::Relaxed) > 1);
    drop(following);
    until("its thread ends", || Arc::strong_count(&files) == 1);
}
