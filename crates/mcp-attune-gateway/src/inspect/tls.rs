//! Checks whether the certificate and the key of the gateway can be used, and for how long.
//!
//! The files are read at any depth of the inspection, because there are only two of them and an expired
//! certificate locks all callers out. Errors here are the same that keep the gateway from starting.

use std::path::Path;
use std::time::SystemTime;

use jiff::Timestamp;

use super::validity::validity;
use super::{ConfigIssue, IssueSeverity};
use crate::config;
use crate::listen::{ListenerTls, PemError, parse_certificates};

/// A certificate that is valid for fewer days than this is a warning: it should have been renewed by then.
const EXPIRES_SOON_DAYS: i64 = 14;
const SECONDS_PER_DAY: i64 = 24 * 60 * 60;

/// Reads both files, checks that they belong together, and that the certificate is valid at `now`. A gateway
/// starts with an expired certificate, so that is a warning only.
pub(super) fn inspect(files: &config::TlsFiles, now: SystemTime) -> Vec<ConfigIssue> {
    let read = |path: &Path, name: &str| {
        std::fs::read(path).map_err(|why| {
            let hint = "paths begin at the folder of the configuration; see whether it is there, and who may read it";
            error(name).with_message(format!("{} cannot be read: {why}", path.display()), hint)
        })
    };
    let (cert, key) = match (read(&files.cert, "cert"), read(&files.key, "key")) {
        (Ok(cert), Ok(key)) => (cert, key),
        (cert, key) => return [cert.err(), key.err()].into_iter().flatten().collect(),
    };
    match ListenerTls::from_pem(&cert, &key) {
        Ok(_) => expiry(&files.cert, &cert, now).into_iter().collect(),
        Err(PemError::Certificate) => vec![not_pem("cert", &files.cert, &cert)],
        Err(PemError::Key) => vec![not_pem("key", &files.key, &key)],
        Err(why @ PemError::Pair) => {
            vec![
                error("key").with_message(why.to_string(), "name the key that the certificate was made with"),
            ]
        }
    }
}

/// Makes an error about one of the two files; `name` is `cert` or `key`.
fn error(name: &str) -> ConfigIssue {
    issue(IssueSeverity::Error, name)
}

/// Makes an issue about one of the two files.
fn issue(severity: IssueSeverity, name: &str) -> ConfigIssue {
    ConfigIssue::new("tls", severity, ["server", "tls", name].map(str::to_owned).to_vec())
}

/// Returns the issue of a file without the PEM block that is wanted. It says so if the file has what belongs
/// into the other one.
fn not_pem(name: &str, path: &Path, text: &[u8]) -> ConfigIssue {
    let text = String::from_utf8_lossy(text);
    let path = path.display();
    let holds = |what: &str| text.contains(&format!("{what}-----"));
    let says = match name {
        "cert" if holds("PRIVATE KEY") => format!("{path} holds a private key, and no certificate"),
        "cert" => format!("{path} holds no certificate in PEM"),
        _ if holds("CERTIFICATE") => format!("{path} holds a certificate, and no private key"),
        _ => format!("{path} holds no private key in PEM"),
    };
    error(name)
        .with_message(says, "`cert` is the chain of certificates, `key` the private key, both PEM files")
}

/// Returns a warning if the certificate is not valid yet, expired, or expires soon. `None` also if its
/// validity cannot be read.
fn expiry(path: &Path, pem: &[u8], now: SystemTime) -> Option<ConfigIssue> {
    let chain = parse_certificates(pem).ok()?;
    let (from, until) = validity(chain.first()?)?;
    let now = Timestamp::try_from(now).ok()?;
    let path = path.display();
    let left = until.as_second() - now.as_second();
    let says = if now < from {
        format!("the certificate {path} is valid from {from} on, and not yet")
    } else if left < 0 {
        format!("the certificate {path} expired at {until}")
    } else if left < EXPIRES_SOON_DAYS * SECONDS_PER_DAY {
        format!("the certificate {path} expires in {} days, at {until}", left / SECONDS_PER_DAY)
    } else {
        return None;
    };
    let hint = "renew it; a running gateway takes a new one when the files change";
    Some(issue(IssueSeverity::Warning, "cert").with_message(says, hint))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_wrong_with_a_certificate_is_told_before_it_is_served() {
        let folder = std::env::temp_dir().join(format!("attune-inspect-tls-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let made = |until: (i32, u8, u8)| {
            let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
            params.not_before = rcgen::date_time_ymd(2026, 1, 1);
            params.not_after = rcgen::date_time_ymd(until.0, until.1, until.2);
            let key = rcgen::KeyPair::generate().unwrap();
            (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
        };
        let (cert, key) = made((2026, 6, 1));
        let (_, other) = made((2026, 6, 1));
        let new_year = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        let now = |day: u64| new_year + Duration::from_secs(day * 86_400);
        let check = |cert: &str, key: &str, now| {
            let files = config::TlsFiles { cert: folder.join("cert.pem"), key: folder.join("key.pem") };
            std::fs::write(&files.cert, cert).unwrap();
            std::fs::write(&files.key, key).unwrap();
            let shown = format!("{}/", folder.display());
            let issues = inspect(&files, now);
            let told = issues.iter().map(|it| {
                format!("{} {}: {}", it.severity.as_str(), it.key.join("."), it.says.replace(&shown, ""))
            });
            told.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(check(&cert, &key, now(10)), "");
        for (cert, key, now, told) in [
            (
                &cert,
                &key,
                now(140),
                "warning server.tls.cert: the certificate cert.pem expires in 11 days, at 2026-06-01T00:00:00Z",
            ),
            (
                &cert,
                &key,
                new_year - Duration::from_secs(1),
                "warning server.tls.cert: the certificate cert.pem is valid from 2026-01-01T00:00:00Z on, and not yet",
            ),
            (
                &cert,
                &key,
                now(200),
                "warning server.tls.cert: the certificate cert.pem expired at 2026-06-01T00:00:00Z",
            ),
            (&key, &cert, now(10), "error server.tls.cert: cert.pem holds a private key, and no certificate"),
            (&cert, &cert, now(10), "error server.tls.key: key.pem holds a certificate, and no private key"),
            (
                &cert,
                &other,
                now(10),
                "error server.tls.key: the certificate and the key do not belong together, or are of a kind that is not known",
            ),
        ] {
            assert_eq!(check(cert, key, now), told);
        }
        std::fs::remove_dir_all(&folder).unwrap();
        let gone = config::TlsFiles { cert: "gone/cert.pem".into(), key: "gone/key.pem".into() };
        let issues = inspect(&gone, now(1));
        assert_eq!(issues.len(), 2, "{issues:?}");
        assert!(issues[1].says.starts_with("gone/key.pem cannot be read: "), "{issues:?}");
    }
}
