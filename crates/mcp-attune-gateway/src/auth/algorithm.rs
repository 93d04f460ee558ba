//! The cryptography of tokens: what `jsonwebtoken` asks for, done by `ring`, which TLS uses already.
//!
//! Only signatures of public keys are verified, and nothing is ever signed. `jsonwebtoken` takes its cryptography from one
//! place for the whole process; where a program that embeds the gateway has chosen another one before, that is used.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind};
use ring::signature::{
    self as ring_signature, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

/// Verifies signatures with `ring`, and refuses everything else.
static RING: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    verifier_factory,
    key_utils: KeyUtils {
        rsa_pub_components_from_private_key: |_| Err(ErrorKind::UnsupportedAlgorithm.into()),
        rsa_pub_components_from_public_key: |_| Err(ErrorKind::UnsupportedAlgorithm.into()),
        ec_pub_components_from_private_key: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
        ed_pub_components_from_private_key: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
        compute_digest: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    },
};

/// Makes `ring` the cryptography of `jsonwebtoken`, unless this process has one already.
pub(super) fn install() {
    let _ = RING.install_default();
}

/// Returns whether an algorithm verifies with a public key, and not with a shared secret.
pub(super) fn is_asymmetric(algorithm: Algorithm) -> bool {
    algorithm.family() != AlgorithmFamily::Hmac
}

/// A public key that verifies with one algorithm.
struct RingVerifier {
    algorithm: Algorithm,
    key: DecodingKey,
}

fn verifier_factory(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    if key.family() != algorithm.family() || !is_asymmetric(*algorithm) {
        return Err(ErrorKind::InvalidAlgorithm.into());
    }
    Ok(Box::new(RingVerifier { algorithm: *algorithm, key: key.clone() }))
}

impl RingVerifier {
    /// Verifies with the bytes of a public key: a point of a curve.
    fn verify_point(&self, by: &'static dyn VerificationAlgorithm, message: &[u8], signature: &[u8]) -> bool {
        let DecodingKeyKind::SecretOrDer(point) = self.key.kind() else { return false };
        UnparsedPublicKey::new(by, point).verify(message, signature).is_ok()
    }

    /// Verifies with the modulus and exponent of an RSA key.
    fn verify_rsa(
        &self,
        by: &'static ring_signature::RsaParameters,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        let DecodingKeyKind::RsaModulusExponent { n, e } = self.key.kind() else { return false };
        // A JWK may write leading zeros, which `ring` does not take.
        let trimmed = |bytes: &'_ [u8]| bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
        let n = n.get(trimmed(n)..).unwrap_or_default();
        let e = e.get(trimmed(e)..).unwrap_or_default();
        RsaPublicKeyComponents { n, e }.verify(by, message, signature).is_ok()
    }
}

impl signature::Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), signature::Error> {
        let is_good = match self.algorithm {
            Algorithm::RS256 => {
                self.verify_rsa(&ring_signature::RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            Algorithm::RS384 => {
                self.verify_rsa(&ring_signature::RSA_PKCS1_2048_8192_SHA384, message, signature)
            }
            Algorithm::RS512 => {
                self.verify_rsa(&ring_signature::RSA_PKCS1_2048_8192_SHA512, message, signature)
            }
            Algorithm::PS256 => {
                self.verify_rsa(&ring_signature::RSA_PSS_2048_8192_SHA256, message, signature)
            }
            Algorithm::PS384 => {
                self.verify_rsa(&ring_signature::RSA_PSS_2048_8192_SHA384, message, signature)
            }
            Algorithm::PS512 => {
                self.verify_rsa(&ring_signature::RSA_PSS_2048_8192_SHA512, message, signature)
            }
            Algorithm::ES256 => {
                self.verify_point(&ring_signature::ECDSA_P256_SHA256_FIXED, message, signature)
            }
            Algorithm::ES384 => {
                self.verify_point(&ring_signature::ECDSA_P384_SHA384_FIXED, message, signature)
            }
            Algorithm::EdDSA => self.verify_point(&ring_signature::ED25519, message, signature),
            _ => false,
        };
        is_good.then_some(()).ok_or_else(signature::Error::new)
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::crypto::verify;

    use super::*;

    /// The modulus of a key that openssl made, and what it signed with it: `openssl dgst -shaN -sign`, and the same with
    /// `-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:(N / 8)`.
    const MODULUS: &str = "sk2O1GikVywpVlE3V8YwP5avFxarA96z-dBu3SQSjWqKtkJ0oCG1U_4A78Um2Hbj0O6TCPiDhf69NCwr3VfqRarZaEyL8PhfvlXTeXPbq7iI-Q2dGvBa6LP56YBC812ruhquVRGi1ASrsiUeP8U2qsp8pAMw71kN3KPta74s6VYtnpJu8Ft1tqjxv-6JyW54FQWf3kkvy3WvqqVDUWCLLvgMHNlzOsOc9tT271WVc__B8lGu48zhpI1EK5qSpVacVeGAI5C86ah6WUp4nnv0VvlAGp_Js2zI08O-GPn_MGUnsiwE4ejxySZRZQcy01f2ycf8UbNpgQOWcKzLl_vcKQ";
    const MESSAGE: &[u8] = b"header.claims";
    const SIGNATURES: [(Algorithm, &str); 6] = [
        (
            Algorithm::RS256,
            "qJMDlz6BCg9-0a4Z6C0heo7RE59foC2F4Nbl6W8F199Qx-pL1ei001MZMwvo8vICHNT34qcxFw00LPpT5oC6BAND-HNsMDjuH4-jF1YojKwu0cjya7nhB4TWy5Bdw2zlQIs4oTRZFWOSGm5D7TVbPwPVkoyF6VFEgrw88lsZZOkR3ZUHUVTXH6X3a0xuBHKQ0qPAtwJzAh8dvmR8MMdTWWBTJPTiMC2ZtYzwe7VRyWE_qa5iei9EIJDemYepeXJtc4RO3pbClbiT8SoEo9CZchy-0IaigBuQsII4tgRD1UKfMhxFQfyXK51vNaD4-y6PjSR2oyG2IZsrsMcdbLo6Fg",
        ),
        (
            Algorithm::PS256,
            "J4H-3_AcFqi5r81t4rQYXlaBDsZB3CHO08RSu0Ctbhfznv3g8ReARUc0_3zhIFAI8Xk6BReh6AvTY0fkYWWExBBm3dizcBTTey9EHLFoiTEuGJ01vrx91j0fYN-SHB5ZP0-1ZQ4RUR2aIpWTvu6IlfaQDDdNkSYucqYUlwt2qQT6lS0K7y34SrCqN_bgUZnWgd9pi_LEy4FnkqTOKEGmWP0jvN0MsSFbqfkrCExzq-1eSkmXpeD3mCref4k_xXt8MI0Io-pT_7eJDAhN1T7WIAcSHFcIiblovQxAHAZO_0e30620YG8mFHIxsyJqPbm5YUn8MM-ht8JnXRYE1fL3nw",
        ),
        (
            Algorithm::RS384,
            "Cv0u16vohwr4eMbipEj_SPkKg3YQhTVhhQq5TX7hAwIR9fR2WxNizq4zVX-DcgCuVv8iQ1Dwo4k1oCRb_nkaWEDPZCpBWhgjRR7eSloIwbFZoQx21oAxR_G5QhuVGt14J_hHL8pYlKY7EL9JlguYEzU1N1FNgRPRci6Pqa9etTlcirxoRXc0_QzIJA3sXwzs3jhy2rm5uhdoKaBFIx0J_aC4uem_0MMao6Q_KpZnOqaBCK5EATK5wJKEFvLMPxN6z4JSsuWwDSvg6zgHMhdBUgLcrZ-dr3TKeKqyY8BZ9w7uugOK6vu-uLmAsabNgVJGHuLIpkHhBn7QJ-WuYD7-Ug",
        ),
        (
            Algorithm::PS384,
            "PqHq1dxICq6lAs6lofW_w2J9fXvvZL2T5NIfxOmgmh1Do8hl8DbD3rJ-SSMeUT_pW1ytS3Mgho-bq4kvJ-agol51dnUKIfwqgypNWOxPR6jrpreVQDxTDjbP1Ynvbb7UBq52RolFUnz0I-fGGOKTYV8YdrBOXzKzrCb4II-SNhmDN4okfYfSnT2ryMasa5FcRbP83nFt3LeUw86LxbGMggqsoiHAcUDyCI98sKH3gJhS8nHlWlCUWPRuxzUjvXrYw8HJgSM4-gWFQtI3OcAXYxnP7NPi5UbNEUzagEeTGz1nMduC--DihRRyKRhmDduNrOh-yDf3gUaz_DlG5v8lDg",
        ),
        (
            Algorithm::RS512,
            "NvL_hppXrinTNmgFsDVKvISEsWy-qANsCwEprYllEjurV3hiT_YdD0OeIVQj-8nF7lHdi5x62P6FyRGZLqcJkI-jLK_dV-HmopoWiOmhEKeRwORT0ZdH_dnpx0vjKPwCPG4V-8UaPt4jLcZ5ymv1WYh40P_h4XtVO74uxq_FPoieyG6F4Susfp2VRXREOcSVO1DdWVRiX5yn_kgiRLMmWYxrfjdA_b58LiyQ-qbVcUeVtgm-nTlKmXqVDIDAIwSLaFBrIKHOcC3NwSvFbtrGEhvLi3kkEEM6XIOnbK62cwDWij9mgDF3Umm9ryoroEr7l8sCBYTebhIqxMitmUT7ag",
        ),
        (
            Algorithm::PS512,
            "a1FBmRKEsvU0_HkcGm6YCN6Zi7Ln5fQMgv4s9zOEyfsY3zYFHvHXy-EXz0a2eLWgBFqLdAXhqR4PvvmTWUK1pyQwpM2b2c8xfYBKUG00cAsNpLl-WJYNCSPr47X4-ZUd1bMNs2tUEi2K68uXKSWMH_LjrqRJ6VL75zkqMCUp8NdsoHIiXCmRhDpTQk8-CUM8AoLnGm0wH1JutjUL77ZCsFZr7zEpA2IyNT-cf7mWGcdHFK-sFy63hfKzjbAec7is83GK9Ntsz20EWiBZqDFHUVr131HsydVmJLO-bGTerb4u4ljlsQ6OGKmCDcDTMMgGzOOy0-i0hd-hpbQc52vB3g",
        ),
    ];

    #[test]
    fn verifies_what_openssl_signed_and_nothing_else() {
        install();
        let key = DecodingKey::from_rsa_components(MODULUS, "AQAB").unwrap();
        // A leading zero is the same number.
        let padded =
            DecodingKey::from_rsa_raw_components(&[&[0][..], &base64_of(MODULUS)].concat(), &[0, 1, 0, 1]);
        let other = DecodingKey::from_rsa_components(MODULUS, "Aw").unwrap();
        for (algorithm, signature) in SIGNATURES {
            assert!(verify(signature, MESSAGE, &key, algorithm).unwrap(), "{algorithm:?}");
            assert!(verify(signature, MESSAGE, &padded, algorithm).unwrap(), "{algorithm:?}");
            assert!(!verify(signature, b"header.other", &key, algorithm).unwrap(), "{algorithm:?}");
            assert!(!verify(signature, MESSAGE, &other, algorithm).unwrap(), "{algorithm:?}");
            assert!(!verify("AAAA", MESSAGE, &key, algorithm).unwrap(), "{algorithm:?}");
            for (another, _) in SIGNATURES.iter().filter(|(another, _)| *another != algorithm) {
                assert!(!verify(signature, MESSAGE, &key, *another).unwrap(), "{algorithm:?} {another:?}");
            }
        }
    }

    /// Keys on curves that openssl made, and what it signed with them, in the form of RFC 7518, 3.4.
    const ON_CURVES: [(Algorithm, &[&str], &str); 3] = [
        (
            Algorithm::ES256,
            &["X84Lxzgm_WO3MLcx6ahPCCcQUWNhP5YNJ4Oornjaaz4", "1P3pmUZHFgi6YmtpjMgcUVD88MAUapmN2kt1Z_sxxEw"],
            "2pO63v6UYDm0dHQ8BC2lF0ll7UfwxR87n538qtXLX1bi9LI1D8n-1V5xwHneBpMNB_jjp8JhURFEar1hI9r8ow",
        ),
        (
            Algorithm::ES384,
            &[
                "splDaRbKiAB_KYl0u2Nh-NUkz7qpQLt4bk761Lm_AdIDLZfbvuU5gIiVslxIczsr",
                "3MCnKtF6XhTArYKXD9hu0C4TUYSxXkLXQc-Hi8CgzLjAMEjTQXwBhWEAdMDr9lMU",
            ],
            "esw4a4iUGu_QpH_p_pV0H-ueVIWY9u_mP-m8cuNHNu4EpngmP_kco84Q9jWMcD05TV0eqIXfqY8gc11lbSc8QnZVJmMQrBMg0aaktUQK8dZcLLuWLikhd5rmydysLm3i",
        ),
        (
            Algorithm::EdDSA,
            &["2itkHt7NOoG7PK_XGHk81Aem7RyYrSonl7RAAQNWoFA"],
            "xuT6bGm2LXxMF1E5MsRdXy1YLd0GzWnUMOPv24X2TlZb-OiZkSconlAPMqXRy1D6CnxeQFe3ckan22604rEZAQ",
        ),
    ];

    #[test]
    fn verifies_what_openssl_signed_on_a_curve_and_nothing_else() {
        install();
        for (algorithm, point, signature) in ON_CURVES {
            let key = match point {
                [x, y] => DecodingKey::from_ec_components(x, y),
                point => DecodingKey::from_ed_components(&point.concat()),
            };
            let key = key.unwrap();
            assert!(verify(signature, MESSAGE, &key, algorithm).unwrap(), "{algorithm:?}");
            assert!(!verify(signature, b"header.other", &key, algorithm).unwrap(), "{algorithm:?}");
            for (another, _, forged) in ON_CURVES {
                let is_good = verify(forged, MESSAGE, &key, another).unwrap_or(false);
                assert_eq!(is_good, another == algorithm, "{algorithm:?} {another:?}");
            }
            // Zeros were once a good signature of everything in another implementation of ECDSA.
            let zeros = "A".repeat(signature.len());
            assert!(!verify(&zeros, MESSAGE, &key, algorithm).unwrap(), "{algorithm:?}");
        }
    }

    #[test]
    fn a_key_verifies_only_with_algorithms_of_its_kind() {
        install();
        let rsa = DecodingKey::from_rsa_components(MODULUS, "AQAB").unwrap();
        let secret = DecodingKey::from_secret(b"secret");
        for (key, algorithm) in [
            (&rsa, Algorithm::HS256),
            (&rsa, Algorithm::ES256),
            (&rsa, Algorithm::EdDSA),
            (&secret, Algorithm::HS256),
        ] {
            assert!(verify("AAAA", MESSAGE, key, algorithm).is_err(), "{algorithm:?}");
        }
        assert!(!is_asymmetric(Algorithm::HS512) && is_asymmetric(Algorithm::PS256));
    }

    fn base64_of(text: &str) -> Vec<u8> {
        use base64::Engine;
        base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).unwrap()
    }
}
