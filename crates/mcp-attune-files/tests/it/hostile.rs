//! Archives that are made to do harm: each is refused with words for its author, and nothing is written.

use std::io::Write;

use flate2::write::DeflateEncoder;
use flate2::{Compress, Compression, FlushCompress};
use mcp_attune_bundle::BundleFileName;
use mcp_attune_files::bundle::Bundle;

use crate::place::Folder;
use crate::zipped::{Entry, archive, archive_of, end, manifest};

/// Opens and unpacks an archive; one or the other is refused in these words, and the disk is as it was.
fn check(name: &str, bytes: &[u8], expected: &str) {
    let place = Folder::new(&format!("hostile-{name}"));
    let path = place.write("folder/a.mcpb", bytes);
    let before = place.tree();
    let said = match Bundle::open(&path) {
        Ok(bundle) => {
            let found = bundle.unpack(place.path().join("folder/out")).unwrap_err();
            assert!(!found.hint().is_empty());
            found.to_string()
        }
        Err(found) => {
            assert!(!found.hint().is_empty());
            found.to_string()
        }
    };
    assert_eq!(said, expected, "{name}");
    assert!(place.tree() == before, "{name}: something was written");
}

/// The same for an archive with a manifest and one entry.
fn check_entry(name: &str, entry: Entry, expected: &str) {
    check(name, &archive(&[manifest(), entry]), expected);
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for (case, name, expected) in [
        ("parent", "../evil.sh", r#"its entry "../evil.sh" leads out of the bundle by `..`"#),
        ("deep-parent", "a/../../evil.sh", r#"its entry "a/../../evil.sh" leads out of the bundle by `..`"#),
        ("absolute", "/etc/cron.d/evil", r#"its entry "/etc/cron.d/evil" is absolute"#),
        ("drive", "C:/evil.exe", r#"its entry "C:/evil.exe" has a `:`, as drives have"#),
        ("drive-backslash", "C:\\evil.exe", r#"its entry "C:\\evil.exe" has a `:`, as drives have"#),
        ("share", "\\\\host\\evil", r#"its entry "\\\\host\\evil" is absolute"#),
        ("backslash", "a\\evil", r#"its entry "a\\evil" has a `\` in it"#),
        ("device", "a/aux.txt", r#"its entry "a/aux.txt" is a name that Windows keeps for itself"#),
        ("control", "a\u{1b}[2Jb", r#"its entry "a\u{1b}[2Jb" has a control character in it"#),
        ("nothing", "./", r#"its entry "./" names no file"#),
    ] {
        check_entry(case, Entry::stored(name, b"x"), expected);
    }
    let (long, deep) = ("n".repeat(1025), "d/".repeat(65));
    let shown = "n".repeat(80);
    check_entry("long", Entry::stored(&long, b""), &format!("its entry \"{shown}\"… is too long"));
    let shown = "d/".repeat(40);
    let expected = format!("its entry \"{shown}\"… has too many folders inside each other");
    check_entry("deep", Entry::stored(&deep, b""), &expected);
}

#[test]
fn names_that_can_be_read_in_two_ways_are_refused() {
    let encoding = "has a name that is not marked as UTF-8, or is none";
    let second = "has another name where it is packed than in the directory";
    let latin = Entry { name: b"\xfcber".to_vec(), flags: 1 << 11, ..Entry::stored("x", b"") };
    check_entry("latin", latin, &format!("its entry \"\u{fffd}ber\" {encoding}"));
    let unmarked = Entry { flags: 0, ..Entry::stored("\u{fc}ber", b"") };
    check_entry("unmarked", unmarked, &format!("its entry \"\u{fc}ber\" {encoding}"));
    let local = Entry { local_name: Some(b"../b".to_vec()), ..Entry::stored("good", b"") };
    check_entry("local", local, &format!("its entry \"good\" {second}"));
    let shorter = Entry { local_name: Some(b"goo".to_vec()), ..Entry::stored("good", b"d") };
    check_entry("shorter", shorter, &format!("its entry \"good\" {second}"));
    let path = [&[0x75, 0x70, 9, 0, 1, 0, 0, 0, 0][..], b"evil"].concat();
    let field = Entry { extra: path, ..Entry::stored("good", b"") };
    check_entry("field", field, &format!("its entry \"good\" {second}"));
}

#[test]
fn names_that_are_one_file_on_some_systems_are_refused() {
    let pair =
        |one: &str, other: &str| archive(&[manifest(), Entry::stored(one, b"1"), Entry::stored(other, b"2")]);
    let twin = "in other letters, the same file on many systems";
    check("twice", &pair("a", "a"), r#"its entry "a" is there twice"#);
    check("dots", &pair("a/b", "a/./b"), r#"its entry "a/./b" is there twice"#);
    check("manifests", &pair("a", "manifest.json"), r#"its entry "manifest.json" is there twice"#);
    check("case", &pair("run.sh", "RUN.sh"), &format!(r#"its entry "RUN.sh" is "run.sh" {twin}"#));
    check("folders", &pair("Lib/a", "lib/b"), &format!(r#"its entry "lib/b" is "Lib" {twin}"#));
    let composed = pair("caf\u{e9}", "cafe\u{301}");
    check("composed", &composed, &format!("its entry \"cafe\\u{{301}}\" is \"caf\u{e9}\" {twin}"));
    check("file-folder", &pair("a", "a/b"), r#"its entry "a/b" is a file and a folder"#);
    check("folder-file", &pair("a/b", "a"), r#"its entry "a" is a file and a folder"#);
}

#[test]
fn what_is_no_plain_file_is_refused() {
    let with = |mode| Entry { mode, ..Entry::stored("a", b"/etc/passwd") };
    check_entry("link", with(0o120_777), r#"its entry "a" is a link"#);
    check_entry("block", with(0o060_644), r#"its entry "a" is no file, but a device or the like"#);
    check_entry("pipe", with(0o010_644), r#"its entry "a" is no file, but a device or the like"#);
    let half = "is a folder by half: by its name, its mode or its size only";
    check_entry("folder-mode", with(0o040_755), &format!(r#"its entry "a" {half}"#));
    check_entry("folder-file", Entry::stored("a/", b""), &format!(r#"its entry "a/" {half}"#));
    let full = Entry { mode: 0, ..Entry::stored("a/", b"data") };
    check_entry("folder-data", full, &format!(r#"its entry "a/" {half}"#));
    let encrypted = Entry { flags: 1, ..Entry::stored("a", b"x") };
    check_entry("encrypted", encrypted, r#"its entry "a" is encrypted"#);
    let bzip = Entry { method: 12, ..Entry::stored("a", b"x") };
    check_entry("method", bzip, r#"its entry "a" is packed by method 12"#);
}

#[test]
fn sizes_that_lie_are_found_out() {
    let size = r#"its entry "a" has another size than the directory says"#;
    let zeros = Entry::deflated("a", &[0; 100_000]);
    check_entry("less", Entry { size: 99_999, ..zeros.clone() }, size);
    check_entry("more", Entry { size: 100_001, ..zeros.clone() }, size);
    let packed = [zeros.packed.clone(), b"and more".to_vec()].concat();
    check_entry("rest", Entry { packed, ..zeros.clone() }, size);
    check_entry("stored", Entry { size: 7, ..Entry::stored("a", b"123") }, size);
    let damaged = r#"its entry "a" is damaged"#;
    check_entry("checksum", Entry { checksum: 7, ..zeros.clone() }, damaged);
    check_entry("no-deflate", Entry { packed: vec![0xff; 9], ..zeros.clone() }, damaged);
    let cut = zeros.packed[..zeros.packed.len() / 2].to_vec();
    check_entry("cut", Entry { packed: cut, ..zeros }, damaged);
}

/// A gigabyte of zeros for every megabyte, with the same piece again and again.
fn zeros(gigabytes: usize) -> Vec<u8> {
    let (mut piece, zeros) = (Vec::with_capacity(1 << 20), vec![0; 4 << 20]);
    let mut compress = Compress::new(Compression::best(), false);
    compress.compress_vec(&zeros, &mut piece, FlushCompress::Full).unwrap();
    assert_eq!(compress.total_in(), zeros.len() as u64);
    let mut packed = piece.repeat(gigabytes << 8);
    packed.extend(DeflateEncoder::new(Vec::new(), Compression::best()).finish().unwrap());
    packed
}

#[test]
fn bombs_do_not_go_off() {
    let packed = zeros(10);
    assert!(packed.len() < 64 << 20, "{}", packed.len());
    let bomb = Entry { packed, ..Entry::deflated("zeros", b"") };
    let size = r#"its entry "zeros" has another size than the directory says"#;
    check_entry("bomb-small", Entry { size: 1000, ..bomb.clone() }, size);
    check_entry("bomb-plausible", Entry { size: 20 << 20, ..bomb.clone() }, size);
    let large = r#"its entry "zeros" is larger than 512 MiB"#;
    check_entry("bomb-honest", Entry { size: u32::MAX - 1, ..bomb.clone() }, large);
    check_entry("bomb-zip64", Entry { size: u32::MAX, ..bomb }, large);
    let ratio = r#"its entry "zeros" is more than 200 times as large as packed, and over 16 MiB"#;
    check_entry("ratio", Entry { size: 100 << 20, ..Entry::deflated("zeros", &[0; 100_000]) }, ratio);
    let part = |at: usize| Entry {
        packed: vec![0; 3 << 20],
        size: 500 << 20,
        ..Entry::deflated(&format!("part{at}"), b"")
    };
    let parts: Vec<Entry> = [manifest()].into_iter().chain((0..5).map(part)).collect();
    check("total", &archive(&parts), "would unpack to more than 2048 MiB");
}

#[test]
fn a_manifest_of_a_hundred_megabytes_is_not_read() {
    let large =
        Entry { packed: vec![b' '; 100 << 20], size: 100 << 20, ..Entry::stored("manifest.json", b"") };
    let expected = "its manifest.json is no manifest: too large for a manifest; at most 4 MiB are read";
    check("manifest", &archive(&[large]), expected);
    let small = Entry { packed: zeros(1), size: 100, ..Entry::deflated("manifest.json", b"") };
    let expected = "its manifest.json has another size than the directory says";
    check("manifest-lies", &archive(&[small]), expected);
}

#[test]
fn more_entries_than_any_bundle_has_are_refused() {
    let entries = |count: usize| -> Vec<Entry> {
        [manifest()].into_iter().chain((1..count).map(|at| Entry::stored(&format!("f{at}"), b""))).collect()
    };
    let many = entries(100_000);
    check("many-zip64", &archive_of(&many, u16::MAX, b""), "is a zip64 archive, which no bundle needs to be");
    let lies = (100_000 % 65_536) as u16;
    check("many-lies", &archive_of(&many, lies, b""), "has a directory that is broken");
    check("many", &archive(&entries(50_001)), "has more than 50000 entries");
    assert_eq!(Bundle::from_archive(archive(&entries(50_000))).unwrap().names().len(), 50_000);
    let wide = |at: usize| Entry { extra: vec![0; 65_000], ..Entry::stored(&format!("f{at}"), b"") };
    let wide: Vec<Entry> = [manifest()].into_iter().chain((0..600).map(wide)).collect();
    check("wide", &archive(&wide), "has a directory of more than 32 MiB");
}

#[test]
fn entries_that_share_their_data_are_refused() {
    let kernel = Entry::deflated("a", &[0; 10_000]);
    let first = u32::try_from(archive(&[manifest()]).len() - 22 - 46 - 13).unwrap();
    // The same place twice, with the same name before the data.
    let twin = Entry { at: Some(first), ..Entry::stored("b", b"") };
    check(
        "same-place",
        &archive(&[manifest(), kernel.clone(), twin]),
        r#"its entry "a" is packed where something else is"#,
    );
    // One entry packed in the data of another, as if it were quoted.
    let mut inner = archive(&[kernel]);
    inner.truncate(inner.len() - 22 - 46 - 1);
    let outer = Entry::stored("outer", &inner);
    let at = first + 30 + 5;
    let quoted = Entry { at: Some(at), packed: Vec::new(), ..Entry::deflated("a", &[0; 10_000]) };
    let quoted = Entry { packed_size: Some(u32::try_from(inner.len() - 31).unwrap()), ..quoted };
    check(
        "quoted",
        &archive(&[manifest(), outer, quoted]),
        r#"its entry "outer" is packed where something else is"#,
    );
    let beyond = Entry { packed_size: Some(5000), size: 5000, ..Entry::stored("a", b"x") };
    check_entry("into-directory", beyond, r#"its entry "a" is packed where something else is"#);
    let nowhere = Entry { at: Some(1 << 29), ..Entry::stored("a", b"x") };
    check_entry("nowhere", nowhere, r#"its entry "a" is not where the directory says, or not as it says"#);
}

#[test]
fn what_stands_before_the_data_must_say_the_same() {
    let whole = archive(&[Entry::stored("a", b"data"), manifest()]);
    // The mark, the flags, the method, the checksum and both sizes.
    for at in [0, 6, 8, 14, 18, 22] {
        let mut changed = whole.clone();
        changed[at] ^= 2;
        let expected = r#"its entry "a" is not where the directory says, or not as it says"#;
        check(&format!("header-{at}"), &changed, expected);
    }
}

#[test]
fn bytes_that_belong_to_nothing_are_refused() {
    let hidden = "has bytes that belong to none of its entries";
    let plain = archive(&[manifest()]);
    check("before", &[b"#!/bin/sh\n", &plain[..]].concat(), hidden);
    let mut moved = b"#!/bin/sh\n".to_vec();
    let data = plain.len() - 22 - 46 - 13;
    let listed = Entry { at: Some(10), ..manifest() };
    moved.extend(&plain[..data]);
    let directory = archive(&[listed]);
    moved.extend(&directory[data..directory.len() - 22]);
    let at = u32::try_from(data + 10).unwrap();
    end(&mut moved, 1, 46 + 13, at, b"");
    check("before-moved", &moved, hidden);
    check_entry("between", Entry { after: b"hidden".to_vec(), ..Entry::stored("a", b"") }, hidden);
    check("after", &[&plain[..], b"more"].concat(), "is no zip archive, or is cut off");
    let mut nothing = b"text".to_vec();
    end(&mut nothing, 0, 0, 4, b"");
    check("nothing", &nothing, hidden);
}

#[test]
fn two_ends_are_refused() {
    // A whole second directory in the comment of the first, with a file more.
    let first = archive(&[manifest()]);
    let evil = Entry { at: Some(first.len().try_into().unwrap()), ..Entry::stored("evil", b"x") };
    let both = archive(&[manifest(), evil.clone()]);
    let (skip, listed) = (first.len() - 22 - 46 - 13, 2 * 46 + 13 + 4);
    let mut comment = both[skip..both.len() - 22].to_vec();
    let at = first.len() + comment.len() - listed;
    end(&mut comment, 2, listed.try_into().unwrap(), at.try_into().unwrap(), b"");
    let whole = archive_of(&[manifest()], 1, &comment);
    check("end-in-comment", &whole, "has bytes that belong to none of its entries");
    let other = archive(&[manifest(), evil]);
    let elsewhere = archive_of(&[manifest()], 1, &other[other.len() - 22..]);
    check("end-elsewhere", &elsewhere, "has a directory that is broken");
    let cut = archive_of(&[manifest()], 1, &[&other[other.len() - 22..], b"x"].concat());
    check("end-cut", &cut, "has two ends, and readers would differ about its entries");
    let commented = archive_of(&[manifest()], 1, "a comment \u{2713}".as_bytes());
    assert!(Bundle::from_archive(commented).is_ok());
}

#[test]
fn zip64_and_parts_are_refused() {
    let mut bytes = archive(&[manifest()]);
    let record = bytes.split_off(bytes.len() - 22);
    let mut locator = b"PK\x06\x06".to_vec();
    locator.extend([0; 52]);
    locator.extend(b"PK\x06\x07");
    locator.extend([0xff; 16]);
    let large = [&bytes[..], &locator, &record].concat();
    check("zip64", &large, "is a zip64 archive, which no bundle needs to be");
    let mut parts = [bytes, record].concat();
    let at = parts.len() - 22 + 4;
    parts[at] = 1;
    check("parts", &parts, "is one part of several");
}

#[test]
fn archives_in_archives_are_files() {
    let inner = archive(&[Entry::stored("../evil", b"x"), manifest()]);
    for entry in [Entry::stored("inner.mcpb", &inner), Entry::deflated("inner.mcpb", &inner)] {
        let bundle = Bundle::from_archive(archive(&[manifest(), entry])).unwrap();
        assert_eq!(bundle.names().len(), 2);
        assert_eq!(bundle.read(&BundleFileName::parse("inner.mcpb").unwrap(), 1000), Ok(inner.clone()));
    }
}

#[test]
fn sizes_may_stand_after_the_data() {
    let streamed = Entry { flags: 1 << 3, after: vec![0; 16], ..Entry::deflated("a", b"streamed") };
    let bundle = Bundle::from_archive(archive(&[streamed, manifest()])).unwrap();
    assert_eq!(bundle.read(&BundleFileName::parse("a").unwrap(), 10), Ok(b"streamed".to_vec()));
}

#[test]
fn what_is_cut_off_or_changed_anywhere_does_no_harm() {
    let mut folder = Entry::stored("r/", b"");
    folder.mode = 0o040_755;
    let whole = archive(&[manifest(), folder, Entry::deflated("r/de.json", b"{\"description\": \"x\"}")]);
    for length in 0..whole.len() {
        let found = Bundle::from_archive(&whole[..length]).unwrap_err();
        assert_eq!(found.to_string(), "is no zip archive, or is cut off", "{length}");
    }
    let place = Folder::new("changed");
    let out = place.path().join("out");
    for at in 0..whole.len() {
        for bit in [1, 0x20, 0x80] {
            let mut changed = whole.clone();
            changed[at] ^= bit;
            let Ok(bundle) = Bundle::from_archive(changed) else { continue };
            let unpacked = bundle.unpack(&out).is_ok();
            let tree = place.tree();
            assert!(tree.keys().all(|name| name.starts_with("out/")), "{at}: {tree:?}");
            assert_eq!(unpacked, !tree.is_empty(), "{at}");
            let _ = std::fs::remove_dir_all(&out);
        }
    }
}

#[test]
fn unpacking_writes_over_nothing() {
    let place = Folder::new("over");
    let bundle = Bundle::from_archive(archive(&[manifest(), Entry::stored("a/b", b"new")])).unwrap();
    place.write("there/x", "old");
    place.write("file", "old");
    std::fs::create_dir(place.path().join("empty")).unwrap();
    for name in ["there", "file"] {
        let before = place.tree();
        let found = bundle.unpack(place.path().join(name)).unwrap_err();
        assert_eq!(found.to_string(), "is there already, and is no empty folder", "{name}");
        assert_eq!(place.tree(), before);
    }
    bundle.unpack(place.path().join("empty")).unwrap();
    assert_eq!(place.tree()["empty/a/b"], b"new");
    let mut one = std::fs::File::options().append(true).open(place.path().join("empty/a/b")).unwrap();
    one.write_all(b"er").unwrap();
    assert!(bundle.unpack(place.path().join("empty")).is_err());
    assert_eq!(place.tree()["empty/a/b"], b"newer");
}
