//! Which certificates are accepted over HTTPS, and what is wrong with one that is not.
//!
//! 1. The authorities of the system are trusted (`SSL_CERT_FILE` and `SSL_CERT_DIR` name others), and those
//!    that are [named](CertificateTrust::with_authorities).
//! 2. A server that shows a certificate which was itself named is trusted too, if the host name in it is right:
//!    private servers often sign for themselves, and as an authority at that, which by the book is no
//!    certificate of a server.
//! 3. [`CertificateTrust::accept_any`] checks nothing. Whoever stands between can then read and change
//!    everything.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;

use ::http::Uri;
use ::http::uri::Scheme;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, InvalidMessage, RootCertStore, SignatureScheme,
};

use super::sanitize::sanitized;

/// Which certificates are accepted over HTTPS. The default trusts the authorities of the system.
#[derive(Clone, Debug, Default)]
pub struct CertificateTrust {
    /// Certificates that are trusted in addition, as authorities and as those of a server itself.
    authorities: Vec<CertificateDer<'static>>,
    /// Whether no certificate is checked at all.
    anybody: bool,
}

impl CertificateTrust {
    /// Accepts every certificate, whatever name it is for: only for experiments on one's own machine.
    #[must_use]
    pub fn accept_any() -> Self {
        Self { anybody: true, ..Self::default() }
    }

    /// Also trusts the certificates in a PEM text, beside those of the system.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, in a sentence.
    pub fn with_authorities(mut self, pem: &[u8]) -> Result<Self, String> {
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let read = read.map_err(|error| format!("it is no PEM file: {error}"))?;
        if read.is_empty() {
            return Err("there is no certificate in it".to_owned());
        }
        let mut roots = RootCertStore::empty();
        for certificate in &read {
            let added = roots.add(certificate.clone());
            added.map_err(|error| format!("a certificate in it cannot be read: {error}"))?;
        }
        self.authorities.extend(read);
        Ok(self)
    }

    /// Returns whether every certificate is accepted.
    #[must_use]
    pub fn accepts_any(&self) -> bool {
        self.anybody
    }
}

/// Makes the TLS configuration for a connection to `url`. For a URL without TLS it is one that trusts nobody
/// and loads no certificates.
///
/// # Errors
///
/// What is missing, in a sentence: for instance, the system has no root certificates.
pub fn client_tls_config(url: &Uri, trust: &CertificateTrust) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    if url.scheme() != Some(&Scheme::HTTPS) {
        return Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth());
    }
    let verifier: Arc<dyn ServerCertVerifier> = if trust.anybody {
        Arc::new(AcceptAnyVerifier(provider))
    } else {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots.add_parsable_certificates(trust.authorities.iter().cloned());
        if roots.is_empty() {
            return Err("this system has no root certificates to check it with".to_owned());
        }
        let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let usual = usual.map_err(|error| error.to_string())?;
        Arc::new(NamedOrSignedVerifier { usual, named: trust.authorities.clone() })
    };
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Implements rules 1 and 2: the usual verification, whose verdict is overruled only if the certificate is not
/// signed by anybody trusted, was itself named, and is for the right host. Other verdicts stand.
#[derive(Debug)]
struct NamedOrSignedVerifier {
    usual: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for NamedOrSignedVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.usual.verify_server_cert(certificate, others, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(why))
                if is_unsigned(&why) && self.named.iter().any(|named| named == certificate) =>
            {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// Implements rule 3: accepts every certificate. The signatures of the handshake are still verified.
#[derive(Debug)]
struct AcceptAnyVerifier(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyVerifier {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Returns whether the verdict on a certificate is that nobody trusted has signed it. The second condition has
/// no name of its own in rustls: a certificate of an authority that is shown as that of a server.
fn is_unsigned(why: &CertificateError) -> bool {
    matches!(why, CertificateError::UnknownIssuer) || format!("{why:?}").contains("CaUsedAsEndEntity")
}

/// What is wrong with the certificate of a server. `Display` completes a sentence that begins with "the
/// certificate".
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ServerCertificateProblem {
    /// Nobody who is trusted has signed it.
    Untrusted,
    /// It is for other host names than the one of the URL.
    OtherName {
        /// The names that it is for, safe to show; empty if they are unknown.
        names: String,
    },
    /// Its time of validity is over.
    Expired,
    /// Its time of validity has not begun.
    NotYetValid,
    /// Something else, in the words of the TLS library.
    Other(String),
}

impl fmt::Display for ServerCertificateProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untrusted => f.write_str("is not trusted: it is signed by nobody whom this system trusts"),
            Self::OtherName { names } if names.is_empty() => f.write_str("is for another name"),
            Self::OtherName { names } => write!(f, "is for another name: {names}"),
            Self::Expired => f.write_str("has expired"),
            Self::NotYetValid => f.write_str("is not valid yet"),
            Self::Other(why) => write!(f, "cannot be accepted: {why}"),
        }
    }
}

/// What went wrong with TLS, if that is why a connection failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TlsFault {
    /// The certificate of the server was not accepted.
    Certificate(ServerCertificateProblem),
    /// What answers does not speak TLS.
    NoTls,
}

/// Looks for a failure of TLS among the causes of an error. `None` if there is none, or one that is not in
/// [`TlsFault`].
pub(crate) fn find_tls_fault(error: &(dyn StdError + 'static)) -> Option<TlsFault> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(tls) = error.downcast_ref() {
            return classify_tls_error(tls);
        }
        // An error within an `io::Error` is not among its causes, and may be such an error itself.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

fn classify_tls_error(error: &rustls::Error) -> Option<TlsFault> {
    use CertificateError::{
        Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet, NotValidYetContext,
    };
    match error {
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => Some(TlsFault::NoTls),
        rustls::Error::InvalidCertificate(why) => Some(TlsFault::Certificate(match why {
            Expired | ExpiredContext { .. } => ServerCertificateProblem::Expired,
            NotValidYet | NotValidYetContext { .. } => ServerCertificateProblem::NotYetValid,
            NotValidForName => ServerCertificateProblem::OtherName { names: String::new() },
            NotValidForNameContext { presented, .. } => {
                // rustls names the kind of each: `DnsName("example.com")`.
                let name = |name: &String| name.split('"').nth(1).unwrap_or(name).to_owned();
                let names: Vec<_> = presented.iter().map(name).collect();
                ServerCertificateProblem::OtherName { names: sanitized(&names.join(", ")) }
            }
            why if is_unsigned(why) => ServerCertificateProblem::Untrusted,
            why => ServerCertificateProblem::Other(sanitized(&why.to_string())),
        })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_tls_is_found_however_deep_it_is() {
        let bad = |why| rustls::Error::InvalidCertificate(why);
        let check = |error: rustls::Error, expected: Option<TlsFault>| {
            let error = io::Error::other(io::Error::other(error));
            assert_eq!(find_tls_fault(&error), expected);
        };
        let certificate = |problem| Some(TlsFault::Certificate(problem));
        check(bad(CertificateError::UnknownIssuer), certificate(ServerCertificateProblem::Untrusted));
        check(bad(CertificateError::Expired), certificate(ServerCertificateProblem::Expired));
        check(bad(CertificateError::NotValidYet), certificate(ServerCertificateProblem::NotYetValid));
        check(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType), Some(TlsFault::NoTls));
        check(rustls::Error::HandshakeNotComplete, None);
        assert_eq!(find_tls_fault(&io::Error::other("something else")), None);
    }

    #[test]
    fn a_file_without_certificates_is_no_authority() {
        assert!(CertificateTrust::default().with_authorities(b"words").is_err());
        assert!(
            CertificateTrust::default()
                .with_authorities(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
                .is_err()
        );
    }
}
