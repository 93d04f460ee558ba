//! Folders as archives.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::time::{Duration, SystemTime};

use mcp_attune_files::bundle::{Bundle, BundlePackError, pack, pack_with_progress};
use proptest::prelude::*;

use crate::place::{Folder, tree};

fn names(packed: &mcp_attune_files::bundle::PackedBundle) -> Vec<&str> {
    packed.files.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let place = Folder::new("same");
    let files = [("manifest.json", "{}"), ("b/c.txt", "cccccccccccccccccc"), ("b-a", ""), ("\u{fc}", "x")];
    let mut packed = Vec::new();
    for (folder, backwards) in [("one", false), ("two", true)] {
        let mut files = files.to_vec();
        if backwards {
            files.reverse();
        }
        for (name, text) in files {
            let path = place.write(&format!("{folder}/{name}"), text);
            let then =
                SystemTime::UNIX_EPOCH + Duration::from_secs(if backwards { 1 << 30 } else { 1 << 20 });
            File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                let mode = if backwards { 0o600 } else { 0o664 };
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        let out = place.path().join(format!("{folder}.mcpb"));
        let told = pack(place.path().join(folder), &out).unwrap();
        let bytes = fs::read(&out).unwrap();
        assert_eq!(told.bytes, bytes.len() as u64);
        assert_eq!(names(&told), ["b-a", "b/c.txt", "manifest.json", "\u{fc}"]);
        packed.push((bytes, told));
    }
    assert_eq!(packed[0], packed[1]);
    // The same on every machine, until what packs it changes.
    let hex: String = packed[0].1.sha256.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "902efe2a9679c4a87b917d23757793772f9aed815ab8522331e7de2755b4902b");
}

#[test]
fn what_nobody_needs_is_left_out() {
    let place = Folder::new("left-out");
    for name in [
        "manifest.json",
        ".env.production",
        ".git/config",
        "a/.ds_store",
        "a/debug.log",
        "a/keep.log",
        "node_modules/.bin/x",
        "node_modules/x/index.js",
        "src/x.ts",
        "types.d.ts",
        "old.mcpb",
        "tests/deep/x",
    ] {
        place.write(name, name);
    }
    place.write(".mcpbignore", "# ours\n\n  src  \r\ntests/\n!keep.log\n");
    let out = place.path().join("out.zip");
    for _ in 0..2 {
        let packed = pack(place.path(), &out).unwrap();
        assert_eq!(names(&packed), ["a/keep.log", "manifest.json", "node_modules/x/index.js"]);
        let mut left_out = packed.left_out.clone();
        left_out.retain(|name| &**name != "out.zip");
        assert_eq!(
            left_out.iter().map(|name| &**name).collect::<Vec<_>>(),
            [
                ".env.production",
                ".git/",
                ".mcpbignore",
                "a/.ds_store",
                "a/debug.log",
                "node_modules/.bin/",
                "old.mcpb",
                "src/",
                "tests/",
                "types.d.ts"
            ]
        );
    }
    assert!(place.tree().keys().all(|name| !name.ends_with(".tmp")));
}

#[test]
fn what_could_not_be_opened_is_not_packed() {
    let place = Folder::new("unpackable");
    let check = |expected: &str| {
        let out = place.write("out.mcpb", "before");
        let found = pack(place.path().join("in"), &out).unwrap_err();
        assert_eq!(found.to_string(), expected);
        assert!(!found.hint().is_empty());
        assert_eq!(place.tree()["out.mcpb"], b"before");
        assert!(place.tree().keys().all(|name| !name.ends_with(".tmp")));
    };
    check("cannot be read as a folder: entity not found");
    place.write("in/a", "");
    check("has no manifest.json at its top, or it is left out");
    place.write("in/manifest.json", "{}");
    place.write("in/.mcpbignore", "fine\n*.json\n");
    check("has no manifest.json at its top, or it is left out");
    place.write("in/.mcpbignore", "fine\n[z-a]\n");
    check("its .mcpbignore has no pattern in line 2");
    fs::remove_file(place.path().join("in/.mcpbignore")).unwrap();
    let large = File::create(place.path().join("in/large")).unwrap();
    large.set_len(17 << 20).unwrap();
    check("its file \"large\" is more than 200 times as large as packed, and over 16 MiB");
    fs::remove_file(place.path().join("in/large")).unwrap();
    assert!(pack(place.path().join("in"), place.path().join("none/out.mcpb")).is_err());
}

#[cfg(unix)]
#[test]
fn what_is_there_and_no_file_is_not_replaced_by_an_archive() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let place = Folder::new("pack-over");
    place.write("in/manifest.json", "{}");
    let (root, at) = (place.path().join("in"), |name: &str| place.path().join(name));
    let socket = at("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    symlink(&socket, at("to-socket")).unwrap();
    symlink(at("nowhere"), at("to-nowhere")).unwrap();
    for name in ["socket", "to-socket", "to-nowhere", "in"] {
        let found = pack(&root, at(name)).unwrap_err();
        assert_eq!(found, BundlePackError::NotAFile, "{name}");
        assert_eq!(found.to_string(), "the archive cannot be written: what is at its place is no file");
        assert!(!found.hint().is_empty());
    }
    assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
    assert!(fs::symlink_metadata(at("to-nowhere")).unwrap().is_symlink() && !at("nowhere").exists());
    // A link to a file stays one, and the file gets the archive.
    place.write("real.mcpb", "before");
    symlink(at("real.mcpb"), at("link.mcpb")).unwrap();
    pack(&root, at("link.mcpb")).unwrap();
    assert!(fs::symlink_metadata(at("link.mcpb")).unwrap().is_symlink());
    assert_eq!(fs::read(at("real.mcpb")).unwrap()[..2], *b"PK");
    assert!(
        fs::read_dir(place.path()).unwrap().all(|it| !it
            .unwrap()
            .file_name()
            .to_string_lossy()
            .ends_with(".tmp"))
    );
}

#[cfg(unix)]
#[test]
fn links_are_packed_as_files_and_never_from_outside() {
    use std::os::unix::fs::symlink;
    let place = Folder::new("pack-links");
    place.write("in/manifest.json", "{}");
    place.write("in/real/x", "x");
    place.write("secret", "secret");
    let root = place.path().join("in");
    let out = place.path().join("out.mcpb");
    symlink("real/x", root.join("file")).unwrap();
    symlink("real", root.join("folder")).unwrap();
    let packed = pack(&root, &out).unwrap();
    assert_eq!(names(&packed), ["file", "folder/x", "manifest.json", "real/x"]);
    let check = |to: &str, expected: &str| {
        symlink(to, root.join("link")).unwrap();
        let found = pack(&root, &out).unwrap_err();
        assert!(found.to_string().ends_with(expected), "{found}");
        assert!(matches!(found, BundlePackError::File { .. }));
        fs::remove_file(root.join("link")).unwrap();
    };
    check("../secret", "its file \"link\" is a link that leads out of the bundle");
    check("../../", "its file \"link\" is a link that leads out of the bundle");
    check("nowhere", "its file \"link\" cannot be read: entity not found");
    check(".", "has too many folders inside each other");
    place.write("in/RUN", "");
    place.write("in/run", "");
    let found = pack(&root, &out).unwrap_err().to_string();
    assert!(found.ends_with("in other letters, the same file on many systems"), "{found}");
}

/// A few files in a few folders; names that would be the same file somewhere are left out.
fn files() -> impl Strategy<Value = BTreeMap<String, Vec<u8>>> {
    let file = (
        "[a-z\u{e9}\u{df}\u{4e00}]{1,3}",
        "[a-z]{1,2}",
        0..3_usize,
        prop::collection::vec(any::<u8>(), 0..300),
    );
    prop::collection::vec(file, 0..8).prop_map(|files| {
        let named = files.into_iter().map(|(name, folder, depth, bytes)| {
            (format!("{}x-{name}.txt", format!("d-{folder}/").repeat(depth)), bytes)
        });
        [("manifest.json".to_owned(), b"{}".to_vec())].into_iter().chain(named).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_packed_opens_and_unpacks_as_it_was(files in files()) {
        let place = Folder::new("property");
        for (name, bytes) in &files {
            place.write(&format!("in/{name}"), bytes);
        }
        let out = place.path().join("out.mcpb");
        // Names such as Straße and strasse.
        let Ok(packed) = pack(place.path().join("in"), &out) else { return Ok(()) };
        prop_assert_eq!(packed.files.len(), files.len());
        let bundle = Bundle::open(&out).unwrap();
        bundle.unpack(place.path().join("again")).unwrap();
        prop_assert_eq!(tree(&place.path().join("in")), tree(&place.path().join("again")));
        // Somebody else's reader finds the same.
        let mut other = zip::ZipArchive::new(File::open(&out).unwrap()).unwrap();
        prop_assert_eq!(other.len(), files.len());
        for (name, bytes) in &files {
            let mut found = Vec::new();
            other.by_name(name).unwrap().read_to_end(&mut found).unwrap();
            prop_assert_eq!(&found, bytes);
        }
    }
}

/// Nothing is packed, and so nobody is told of progress.
#[test]
fn bounds_are_looked_at_before_anything_is_packed() {
    let folder = Folder::new("bounds");
    folder.write("bundle/manifest.json", "{}");
    let bundle = folder.path().join("bundle");
    let out = folder.path().join("a.mcpb");
    let pack = || {
        let mut told = Vec::new();
        let packed = pack_with_progress(&bundle, &out, &mut |progress| told.push(progress));
        (packed, told)
    };
    // Sparse files: of zeros, and no room on the disk.
    let large = |name: &str, bytes: u64| {
        File::create(bundle.join(name)).unwrap().set_len(bytes).unwrap();
    };
    large("too-large.bin", (512 << 20) + 1);
    let (packed, told) = pack();
    assert_eq!(packed.unwrap_err().to_string(), "its file \"too-large.bin\" is larger than 512 MiB");
    assert!(told.is_empty() && !out.exists());
    fs::remove_file(bundle.join("too-large.bin")).unwrap();
    large("zeros.bin", 40 << 20);
    let (packed, told) = pack();
    assert!(packed.unwrap_err().to_string().contains("zeros.bin"));
    assert!(told.is_empty() && !out.exists());
    // Up to a size, files may be as repetitive as they like.
    large("zeros.bin", 3 << 20);
    let (packed, told) = pack();
    assert_eq!(packed.unwrap().files.len(), 2);
    assert_eq!(told.last().map(|last| (last.done, last.total)), Some(((3 << 20) + 2, (3 << 20) + 2)));
    assert!(told.len() >= 4 && told.windows(2).all(|pair| pair[0].done < pair[1].done), "{told:?}");
}
