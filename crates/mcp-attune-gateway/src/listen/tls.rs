//! TLS for callers: a certificate chain and its key, from PEM, replaceable while the listener runs.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

/// The TLS configuration of a listener: TLS 1.3 and 1.2, with HTTP/2 and HTTP/1.1 offered (ALPN), and no
/// client certificates. A clone is the same one, so [`replace`](Self::replace) on any clone changes the
/// certificate for all new connections.
#[derive(Clone)]
pub struct ListenerTls {
    pub(super) acceptor: TlsAcceptor,
    /// Shared with the configuration inside `acceptor`.
    certificate: Arc<CurrentCertificate>,
}

impl fmt::Debug for ListenerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListenerTls").finish_non_exhaustive()
    }
}

/// What is wrong with a certificate or a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum PemError {
    /// There is no `-----BEGIN CERTIFICATE-----` in the certificate's file, or it cannot be read.
    Certificate,
    /// There is no `-----BEGIN … PRIVATE KEY-----` in the key's file, or it cannot be read.
    Key,
    /// The key belongs to another certificate, or one of them is of a kind that is not supported.
    Pair,
}

impl fmt::Display for PemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certificate => "no certificate in PEM can be read there",
            Self::Key => "no private key in PEM can be read there",
            Self::Pair => {
                "the certificate and the key do not belong together, or are of a kind that is not known"
            }
        })
    }
}

impl Error for PemError {}

/// The certificate that new connections are shown, the same for every server name.
#[derive(Debug)]
struct CurrentCertificate(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Parses a chain and its key, and checks that they belong together.
fn certified_key(chain: &[u8], key: &[u8]) -> Result<Arc<CertifiedKey>, PemError> {
    let chain = parse_certificates(chain)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| PemError::Key)?;
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(chain, key, &provider).map(Arc::new).map_err(|_| PemError::Pair)
}

impl ListenerTls {
    /// Parses a certificate chain, the server's own certificate first, and its private key, both as PEM.
    ///
    /// # Errors
    ///
    /// [`PemError`], if they cannot be used.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, PemError> {
        let certificate = Arc::new(CurrentCertificate(RwLock::new(certified_key(chain, key)?)));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| PemError::Pair)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&certificate) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), certificate })
    }

    /// Shows this certificate to whoever connects from now on. Connections that are open keep the one they
    /// began with.
    ///
    /// # Errors
    ///
    /// [`PemError`], if it cannot be used; then the old one stays.
    pub fn replace(&self, chain: &[u8], key: &[u8]) -> Result<(), PemError> {
        let certified = certified_key(chain, key)?;
        *self.certificate.0.write().unwrap_or_else(PoisonError::into_inner) = certified;
        Ok(())
    }
}

/// Parses all certificates of a PEM text, at least one: for [`ListenerTls`], or for
/// [`HttpUpstreamOptions::trust`](crate::upstream::HttpUpstreamOptions::trust).
///
/// # Errors
///
/// [`PemError::Certificate`], if there is none or one cannot be read.
pub fn parse_certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    read.ok().filter(|chain| !chain.is_empty()).ok_or(PemError::Certificate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_which_of_the_two_is_wrong() {
        let made = |name: &str| rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let (ours, other) = (made("localhost"), made("localhost"));
        let (chain, key) = (ours.cert.pem(), ours.signing_key.serialize_pem());
        let check = |chain: &str, key: &str| ListenerTls::from_pem(chain.as_bytes(), key.as_bytes()).err();
        assert_eq!(check(&chain, &key), None);
        assert_eq!(check("", &key), Some(PemError::Certificate));
        assert_eq!(check(&chain.replace("CERTIFICATE", "CABBAGE"), &key), Some(PemError::Certificate));
        assert_eq!(check(&chain, &chain), Some(PemError::Key));
        assert_eq!(check(&chain, &other.signing_key.serialize_pem()), Some(PemError::Pair));
    }
}
