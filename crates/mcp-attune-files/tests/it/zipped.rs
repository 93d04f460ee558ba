//! Archives made by hand, because no tool makes those that are wrong.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// One entry. Everything in it can be made to lie.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    /// The name before the data, where it is another.
    pub(crate) local_name: Option<Vec<u8>>,
    pub(crate) flags: u16,
    pub(crate) method: u16,
    pub(crate) mode: u32,
    /// The data as it stands in the archive.
    pub(crate) packed: Vec<u8>,
    pub(crate) checksum: u32,
    pub(crate) size: u32,
    /// The size that the directory says that it has packed, where it is another.
    pub(crate) packed_size: Option<u32>,
    /// Where the directory says that it is, where it is elsewhere.
    pub(crate) at: Option<u32>,
    pub(crate) extra: Vec<u8>,
    /// What stands after its data.
    pub(crate) after: Vec<u8>,
}

impl Entry {
    pub(crate) fn stored(name: &str, data: &[u8]) -> Self {
        Self {
            name: name.as_bytes().to_vec(),
            local_name: None,
            flags: if name.is_ascii() { 0 } else { 1 << 11 },
            method: 0,
            mode: 0o100_644,
            packed: data.to_vec(),
            checksum: crc32fast::hash(data),
            size: data.len().try_into().unwrap(),
            packed_size: None,
            at: None,
            extra: Vec::new(),
            after: Vec::new(),
        }
    }

    pub(crate) fn deflated(name: &str, data: &[u8]) -> Self {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(data).unwrap();
        Self { method: 8, packed: encoder.finish().unwrap(), ..Self::stored(name, data) }
    }

    fn sizes(&self) -> [u32; 3] {
        let packed = self.packed_size.unwrap_or_else(|| self.packed.len().try_into().unwrap());
        [self.checksum, packed, self.size]
    }

    fn local(&self, into: &mut Vec<u8>) {
        let name = self.local_name.as_ref().unwrap_or(&self.name);
        into.extend(b"PK\x03\x04");
        twos(into, &[20, self.flags, self.method, 0, 0x21]);
        fours(into, &if self.flags & 8 == 0 { self.sizes() } else { [0; 3] });
        twos(into, &[length(name), 0]);
        into.extend(name);
        into.extend(&self.packed);
        into.extend(&self.after);
    }

    fn central(&self, at: u32, into: &mut Vec<u8>) {
        into.extend(b"PK\x01\x02");
        twos(into, &[3 << 8 | 20, 20, self.flags, self.method, 0, 0x21]);
        fours(into, &self.sizes());
        twos(into, &[length(&self.name), length(&self.extra), 0, 0, 0]);
        fours(into, &[self.mode << 16, self.at.unwrap_or(at)]);
        into.extend(&self.name);
        into.extend(&self.extra);
    }
}

/// An archive of these entries.
pub(crate) fn archive(entries: &[Entry]) -> Vec<u8> {
    let count = entries.len().try_into().unwrap_or(u16::MAX);
    archive_of(entries, count, b"")
}

/// An archive whose end record says so many entries, with a comment.
pub(crate) fn archive_of(entries: &[Entry], count: u16, comment: &[u8]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        entry.central(bytes.len().try_into().unwrap(), &mut directory);
        entry.local(&mut bytes);
    }
    let at = bytes.len().try_into().unwrap();
    bytes.extend(&directory);
    end(&mut bytes, count, directory.len().try_into().unwrap(), at, comment);
    bytes
}

/// An end record.
pub(crate) fn end(bytes: &mut Vec<u8>, count: u16, length_of: u32, at: u32, comment: &[u8]) {
    bytes.extend(b"PK\x05\x06");
    twos(bytes, &[0, 0, count, count]);
    fours(bytes, &[length_of, at]);
    twos(bytes, &[length(comment)]);
    bytes.extend(comment);
}

/// The manifest that these bundles have.
pub(crate) fn manifest() -> Entry {
    Entry::deflated("manifest.json", br#"{"manifest_version": "0.3", "name": "sample"}"#)
}

fn length(bytes: &[u8]) -> u16 {
    bytes.len().try_into().unwrap()
}

fn twos(into: &mut Vec<u8>, numbers: &[u16]) {
    into.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn fours(into: &mut Vec<u8>, numbers: &[u32]) {
    into.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}
