//! The signature that may follow a zip archive.
//!
//! Its layout is: the mark `MCPB_SIG_V1`, the length of the message as four bytes in little-endian order, a CMS
//! message in DER (also known as PKCS #7), and the mark `MCPB_SIG_END`, with which the file ends.
//!
//! The signature is found and parsed for display only. It is not verified: that takes a clock and the
//! certificates that the system trusts, and is up to the host that installs bundles.

use cms::cert::CertificateChoices;
use cms::cert::x509::der::oid::ObjectIdentifier;
use cms::cert::x509::der::{Decode, Encode};
use cms::content_info::ContentInfo;
use cms::signed_data::SignedData;

use super::fault::{ArchiveError, BundleOpenError};
use super::limits::MAX_SIGNATURE_BYTES;
use super::source::ArchiveSource;

const BEGIN: &[u8] = b"MCPB_SIG_V1";
const END: &[u8] = b"MCPB_SIG_END";
/// The content type of a signed CMS message.
const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");

/// A signature that was found, and not verified.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BundleSignature {
    /// The CMS message in DER.
    pub der: Box<[u8]>,
    /// What the message claims; `None` if it cannot be parsed as signed data.
    pub signed: Option<SignatureClaims>,
}

/// What a signature claims. Nothing of it is verified, and anybody can claim anything.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SignatureClaims {
    /// Number of signers.
    pub signers: usize,
    /// Subjects of the certificates in the message, written as by RFC 4514. Their order has no meaning.
    pub subjects: Vec<String>,
}

impl BundleSignature {
    /// Parses the DER of a signature.
    pub(super) fn read(der: &[u8]) -> Self {
        Self { der: der.into(), signed: read_claims(der) }
    }
}

/// Parses what the message claims; `None` if it is not valid signed data.
fn read_claims(der: &[u8]) -> Option<SignatureClaims> {
    let message = ContentInfo::from_der(der).ok().filter(|it| it.content_type == SIGNED_DATA)?;
    let data = SignedData::from_der(&message.content.to_der().ok()?).ok()?;
    let certificates = data.certificates.iter().flat_map(|it| it.0.iter());
    let subjects = certificates.filter_map(|it| match it {
        CertificateChoices::Certificate(it) => Some(it.tbs_certificate.subject.to_string()),
        CertificateChoices::Other(_) => None,
    });
    Some(SignatureClaims { signers: data.signer_infos.0.len(), subjects: subjects.collect() })
}

/// The signature at the end of a file.
pub(super) struct SignatureBlock {
    /// Offset of its first mark, which is the length of the archive proper.
    pub(super) at: u64,
    pub(super) der: Box<[u8]>,
}

/// Finds the signature at the end of a file. Returns `None` if the file does not end with the second mark.
///
/// # Errors
///
/// [`ArchiveError::Signature`] if it does, but no first mark with a fitting length is found before it.
pub(super) fn find(source: &ArchiveSource) -> Result<Option<SignatureBlock>, BundleOpenError> {
    let around = (BEGIN.len() + 4 + END.len()) as u64;
    let start = source.len().saturating_sub(MAX_SIGNATURE_BYTES + around);
    let unreadable = |error: std::io::Error| BundleOpenError::Unreadable(error.kind());
    let end = source.len().saturating_sub(END.len() as u64);
    if start >= end || source.read_exact_at(end, END.len()).map_err(unreadable)? != END {
        return Ok(None);
    }
    let tail = source
        .read_exact_at(start, usize::try_from(end - start).unwrap_or(usize::MAX))
        .map_err(unreadable)?;
    let fits = |at: &usize| {
        let rest = tail.get(*at..)?.strip_prefix(BEGIN)?;
        let (length, der) = rest.split_first_chunk()?;
        (u32::from_le_bytes(*length) as usize == der.len()).then_some(der)
    };
    // From the end: data of an entry may have the mark in it.
    let found = (0..tail.len()).rev().find_map(|at| Some((at, fits(&at)?)));
    let (at, der) = found.ok_or(BundleOpenError::Archive(ArchiveError::Signature))?;
    Ok(Some(SignatureBlock { at: start + at as u64, der: der.into() }))
}
