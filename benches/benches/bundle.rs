//! What it costs to open a bundle and see it in one language, when it comes in two hundred: as a folder, as an archive, and
//! as an archive with twenty thousand other files.
#![allow(missing_docs, reason = "criterion's macros write undocumented items")]

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use mcp_attune::language::Tag;
use mcp_attune_files::bundle::{Bundle, pack};

const LOCALES: usize = 200;
const OTHERS: usize = 20_000;

const MANIFEST: &str = r#"{"manifest_version": "0.3", "name": "weather", "version": "1.0.0", "display_name": "Weather",
    "description": "The weather anywhere", "long_description": "The weather anywhere, now and in the days to come.",
    "author": {"name": "Ann"}, "keywords": ["weather", "forecast"], "localization": {"resources": "texts/${locale}.json",
    "default_locale": "en"}, "tools": [{"name": "now", "description": "The weather now"}]}"#;

/// Has every text, so that no other file is needed.
const LOCALE: &str = r#"{"display_name": "Wetter", "description": "Das Wetter überall", "long_description":
    "Das Wetter überall, jetzt und in den nächsten Tagen.", "author": {"name": "Anna"}, "keywords": ["Wetter", "Vorhersage"],
    "tools": {"now": {"description": "Das Wetter jetzt"}}}"#;

fn bundle(at: &Path, others: usize) -> PathBuf {
    fs::create_dir_all(at.join("texts")).unwrap();
    fs::create_dir_all(at.join("node_modules")).unwrap();
    fs::write(at.join("manifest.json"), MANIFEST).unwrap();
    let letters = |number: usize| char::from(b'a' + u8::try_from(number % 26).unwrap());
    for number in 0..LOCALES {
        // Codes that are kept for private use, so that none is a relative of another.
        let name = format!("q{}{}.json", letters(number / 26), letters(number));
        fs::write(at.join("texts").join(name), LOCALE).unwrap();
    }
    for number in 0..others {
        fs::write(at.join(format!("node_modules/file-{number}.js")), "").unwrap();
    }
    at.to_owned()
}

fn open(c: &mut Criterion) {
    let place = std::env::temp_dir().join(format!("attune-bench-bundle-{}", std::process::id()));
    let folder = bundle(&place.join("small"), 0);
    let large = bundle(&place.join("large"), OTHERS);
    let [archive, large_archive] = ["small.mcpb", "large.mcpb"].map(|name| place.join(name));
    pack(&folder, &archive).unwrap();
    pack(&large, &large_archive).unwrap();
    let locale = Tag::parse("qcd-CH").unwrap();
    let mut group = c.benchmark_group("open and resolve, 200 locales");
    for (name, path) in [
        ("folder", folder),
        ("folder with 20,000 other files", large),
        ("archive", archive),
        ("archive with 20,000 other files", large_archive),
    ] {
        let bundle = Bundle::open(&path).unwrap();
        assert!(bundle.resolve(&locale).text.contains("Wetter"));
        assert_eq!((bundle.locales().files.len(), bundle.read_count()), (LOCALES, 2));
        group.bench_function(name, |b| {
            b.iter(|| Bundle::open(black_box(&path)).unwrap().resolve(black_box(&locale)));
        });
    }
    group.finish();
    fs::remove_dir_all(place).unwrap();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = open
}
criterion_main!(benches);
