//! The signature that can follow an archive: a mark, the length of what follows in four bytes, the lowest first, a CMS
//! message (PKCS #7) in DER, and another mark, with which the file ends.
//!
//! It is found and read, so that it can be told. Nothing is verified: that takes a clock, the certificates that the system
//! trusts, and whoever installs bundles does it.

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
/// What the message must be.
const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");

/// A signature that was found and not verified.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BundleSignature {
    /// The message as it is.
    pub der: Box<[u8]>,
    /// What it says; none where it is no message of signed data.
    pub signed: Option<SignatureClaims>,
}

/// What a signature says of itself. Anybody can say anything.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SignatureClaims {
    /// How many signed.
    pub signers: usize,
    /// Whose certificates are in it, as RFC 4514 writes names, in no order that means anything.
    pub subjects: Vec<String>,
}

impl BundleSignature {
    pub(super) fn read(der: &[u8]) -> Self {
        Self { der: der.into(), signed: read_claims(der) }
    }
}

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

/// What a file ends with.
pub(super) struct SignatureBlock {
    /// How many bytes come before it.
    pub(super) at: u64,
    pub(super) der: Box<[u8]>,
}

/// The signature that a file ends with.
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
