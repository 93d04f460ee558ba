//! What the tokens of callers say of them, where the operator names their issuer. Rules: A1, A3, A4, A7.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use crate::assumed::{call, echo, zone};
use crate::outage::Log;
use crate::support::{behind, message, soon};
use crate::whole::{Running, ask, gateway, gateway_here};

const ISSUER: &str = "https://id.example";
const AUDIENCE: &str = "https://mcp.example/mcp";

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Who signs, with a key of each kind.
struct TestSigner {
    ed: Ed25519KeyPair,
    ec: EcdsaKeyPair,
}

impl TestSigner {
    fn new() -> Self {
        let random = SystemRandom::new();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let ec = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self {
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
            ec: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ec.as_ref(), &random).unwrap(),
        }
    }

    /// The public half of the key that is called `ed`.
    fn jwk(&self) -> Value {
        json!({"kty": "OKP", "crv": "Ed25519", "kid": "ed", "use": "sig", "x": encode(self.ed.public_key())})
    }

    fn jwks(&self) -> String {
        let point = self.ec.public_key().as_ref();
        json!({"keys": [
            self.jwk(),
            {"kty": "EC", "crv": "P-256", "kid": "ec", "alg": "ES256", "x": encode(&point[1..33]), "y": encode(&point[33..])},
        ]})
        .to_string()
    }

    /// A token with this header and these claims, signed as the header says.
    fn token(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = match header["alg"].as_str() {
            Some("EdDSA") => encode(self.ed.sign(message.as_bytes())),
            Some("ES256") => encode(self.ec.sign(&SystemRandom::new(), message.as_bytes()).unwrap()),
            // The old attack: a public key taken for a shared secret.
            Some("HS256") => {
                let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, self.ed.public_key().as_ref());
                encode(ring::hmac::sign(&key, message.as_bytes()))
            }
            _ => String::new(),
        };
        format!("{message}.{signature}")
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// The claims of a good token, with these changes; `null` takes a claim out.
fn claims(changes: &Value) -> Value {
    let mut claims = json!({"iss": ISSUER, "aud": AUDIENCE, "exp": now() + 600, "sub": "someone",
        "zoneinfo": "Asia/Kathmandu", "locale": "de_CH"});
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims
}

async fn issuer(document: String) -> SocketAddr {
    behind(move |_, mut tcp| {
        let document = document.clone();
        async move {
            use tokio::io::AsyncWriteExt;
            message(&mut tcp).await;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", document.len());
            let _ = tcp.write_all(format!("{head}{document}").as_bytes()).await;
        }
    })
    .await
}

async fn front(signer: &TestSigner) -> Running {
    gateway(&file(signer).await, None).await
}

/// The configuration of a gateway that knows this signer.
async fn file(signer: &TestSigner) -> String {
    let (server, keys) = (echo().await, issuer(signer.jwks()).await);
    format!(
        "default_language = 'en'\nlog = 'debug'\n[upstream]\nurl = 'http://{server}/mcp'\n\
         [tools.day.context]\ntz = {{ from = 'timezone', default = 'UTC' }}\nlang = {{ from = 'locale', default = 'none' }}\n\
         [auth]\nissuer = '{ISSUER}'\naudience = ['other', '{AUDIENCE}']\njwks = 'http://{keys}/keys'\n"
    )
}

#[tokio::test]
async fn claims_of_a_verified_token_fill_bound_arguments() {
    let signer = TestSigner::new();
    let gateway = front(&signer).await;
    for header in [
        json!({"alg": "EdDSA", "kid": "ed"}),
        json!({"alg": "ES256", "kid": "ec", "typ": "at+jwt"}),
        // Without a key id, the keys that fit are tried.
        json!({"alg": "ES256"}),
    ] {
        // The issuer's clock may be ahead, or ours.
        let times = json!({"nbf": now() + 30, "exp": now() - 30});
        let token = signer.token(&header, &claims(&times));
        let (status, head, answer) =
            call(gateway.callers, &[("Authorization", &format!("bearer {token}"))]).await;
        assert_eq!((status, zone(&answer).as_str()), (200, "Asia/Kathmandu"), "{header}");
        assert!(answer.contains(r#"\"lang\":\"de-CH\""#), "{answer}");
        // What was assumed for one caller is nobody else's.
        assert!(head.to_ascii_lowercase().contains("cache-control: private"), "{head}");
    }
    let (_, _, counted) = ask(gateway.admin, "GET /metrics", &[], "").await;
    for line in [
        r#"attune_assumed_total{mount="default",field="timezone",source="claim"} 3"#,
        r#"attune_tokens_total{mount="default",outcome="verified"} 3"#,
    ] {
        assert!(counted.contains(line), "{line}\n{counted}");
    }
}

#[tokio::test]
async fn any_other_token_contributes_nothing_and_the_request_goes_on() {
    let (signer, stranger) = (TestSigner::new(), TestSigner::new());
    let gateway = front(&signer).await;
    let ed = json!({"alg": "EdDSA", "kid": "ed"});
    let good = signer.token(&ed, &claims(&json!({})));
    let (parts, signature) = good.rsplit_once('.').unwrap();
    let other = if signature.starts_with('A') { "B" } else { "A" };
    let with = |changes: Value| signer.token(&ed, &claims(&changes));
    // A made-up token without dots is not looked at, and the answer to it is what every other one has to be like.
    let (_, head_without, without) = call(gateway.callers, &[("Authorization", "Bearer opaque")]).await;
    for (token, outcome) in [
        (format!("{parts}.{other}{}", &signature[1..]), "signature"),
        (format!("{parts}."), "signature"),
        (stranger.token(&ed, &claims(&json!({}))), "signature"),
        (with(json!({"iss": "https://id.example/"})), "issuer"),
        (with(json!({"iss": null})), "malformed"),
        (with(json!({"aud": "https://mcp.example"})), "audience"),
        (with(json!({"aud": []})), "audience"),
        (with(json!({"aud": null})), "malformed"),
        (with(json!({"exp": now() - 120})), "time"),
        (with(json!({"exp": null})), "malformed"),
        (with(json!({"exp": "never"})), "malformed"),
        (with(json!({"nbf": now() + 120})), "time"),
        (signer.token(&json!({"alg": "none"}), &claims(&json!({}))), "malformed"),
        (signer.token(&json!({"alg": "HS256", "kid": "ed"}), &claims(&json!({}))), "algorithm"),
        (signer.token(&json!({"alg": "ES256", "kid": "ed"}), &claims(&json!({}))), "unknown-key"),
        (signer.token(&json!({"alg": "EdDSA", "kid": "made-up"}), &claims(&json!({}))), "unknown-key"),
        // What a header demands and nobody here understands; `b64` would say that the claims are not encoded.
        (
            signer.token(
                &json!({"alg": "EdDSA", "kid": "ed", "crit": ["b64"], "b64": false}),
                &claims(&json!({})),
            ),
            "critical",
        ),
        (signer.token(&json!({"alg": "EdDSA", "kid": "ed", "crit": []}), &claims(&json!({}))), "critical"),
        ("a.b.c".to_owned(), "malformed"),
        ("..".to_owned(), "malformed"),
    ] {
        let before = counted(&gateway, outcome).await;
        let (status, head, answer) =
            call(gateway.callers, &[("Authorization", &format!("Bearer {token}"))]).await;
        assert_eq!((status, &answer), (200, &without), "{outcome}: {token}");
        assert_eq!(lines_for_caches(&head), lines_for_caches(&head_without), "{outcome}: {token}");
        assert_eq!(counted(&gateway, outcome).await, before + 1, "{outcome}: {token}");
    }
}

#[tokio::test]
async fn what_a_token_leaves_open_is_taken_from_a_trusted_header() {
    let signer = TestSigner::new();
    let headers = "[callers]\nheaders = { timezone = 'CF-Timezone', language = 'Accept-Language' }\n";
    let gateway = gateway(&(file(&signer).await + headers), None).await;
    for (changes, expected) in [
        (json!({}), "Asia/Kathmandu"),
        (json!({"zoneinfo": null}), "Pacific/Apia"),
        (json!({"zoneinfo": "Mars/Olympus"}), "Pacific/Apia"),
        (json!({"aud": "another"}), "Pacific/Apia"),
    ] {
        let token = signer.token(&json!({"alg": "EdDSA", "kid": "ed"}), &claims(&changes));
        let bearer = format!("Bearer {token}");
        let sent = [("Authorization", &*bearer), ("CF-Timezone", "Pacific/Apia")];
        assert_eq!(zone(&call(gateway.callers, &sent).await.2), expected, "{changes}");
    }
}

#[tokio::test]
async fn a_token_cannot_bring_its_own_key() {
    let (signer, stranger) = (TestSigner::new(), TestSigner::new());
    let gateway = front(&signer).await;
    let (asked, mut is_asked) = tokio::sync::mpsc::unbounded_channel();
    let elsewhere = behind(move |_, _| {
        let _ = asked.send(());
        async {}
    })
    .await;
    let url = format!("http://{elsewhere}/keys");
    for (kid, outcome) in [("ed", "signature"), ("made-up", "unknown-key")] {
        let mut jwk = stranger.jwk();
        jwk["kid"] = json!(kid);
        let header = json!({"alg": "EdDSA", "kid": kid, "jwk": jwk, "jku": url, "x5u": url, "x5c": ["AAAA"]});
        let token = stranger.token(&header, &claims(&json!({})));
        let (status, _, answer) =
            call(gateway.callers, &[("Authorization", &format!("Bearer {token}"))]).await;
        assert_eq!((status, zone(&answer).as_str()), (200, "UTC"), "{kid}");
        assert_eq!(counted(&gateway, outcome).await, 1, "{kid}");
    }
    assert!(is_asked.try_recv().is_err(), "the URL in a token was asked");
}

#[tokio::test]
async fn no_log_has_anything_of_a_token() {
    let signer = TestSigner::new();
    let log = Log::default();
    let _listening = log.listen_from(tracing::Level::TRACE);
    let gateway = gateway_here(&file(&signer).await).await;
    let tokens = [
        signer.token(&json!({"alg": "EdDSA", "kid": "ed"}), &claims(&json!({}))),
        signer.token(&json!({"alg": "EdDSA", "kid": "ed"}), &claims(&json!({"aud": "another-audience"}))),
        signer.token(&json!({"alg": "EdDSA", "kid": "secret-kid"}), &claims(&json!({}))),
    ];
    // Whether anybody listens is remembered for each line of the log, and the logs of tests that begin or end beside this one
    // can make that wrong for a moment.
    let logged = soon(async {
        loop {
            for token in tokens.iter().cycle().take(10 * tokens.len()) {
                tracing::callsite::rebuild_interest_cache();
                call(gateway.callers, &[("Authorization", &format!("Bearer {token}"))]).await;
            }
            let until = log.until("why=its issuer has no such key");
            if let Ok(logged) = tokio::time::timeout(std::time::Duration::from_secs(1), until).await {
                break logged;
            }
        }
    })
    .await;
    assert!(logged.contains("the token of a request says nothing of its caller"), "{logged}");
    assert!(logged.contains("timezone=claim"), "{logged}");
    let parts = tokens.iter().flat_map(|token| token.split('.'));
    for secret in parts.chain(["someone", "another-audience", "secret-kid", "Kathmandu", "de_CH", "de-CH"]) {
        assert!(!logged.contains(secret), "{secret} in {logged}");
    }
}

/// What an answer says to caches.
fn lines_for_caches(head: &str) -> Vec<String> {
    let lines = head.lines().map(str::to_ascii_lowercase);
    lines.filter(|line| line.starts_with("cache-control") || line.starts_with("vary")).collect()
}

/// How many tokens had this outcome.
async fn counted(gateway: &Running, outcome: &str) -> u64 {
    let (_, _, counted) = ask(gateway.admin, "GET /metrics", &[], "").await;
    let start = format!(r#"attune_tokens_total{{mount="default",outcome="{outcome}"}} "#);
    counted
        .lines()
        .find_map(|line| line.strip_prefix(&start))
        .map_or(0, |count| count.trim().parse().unwrap())
}

#[tokio::test]
async fn what_is_no_jwt_is_not_looked_at() {
    let signer = TestSigner::new();
    let gateway = front(&signer).await;
    let good = signer.token(&json!({"alg": "EdDSA", "kid": "ed"}), &claims(&json!({})));
    let (bearer, basic) = (format!("Bearer {good}"), format!("Basic {good}"));
    let long = format!(
        "Bearer {}",
        signer.token(&json!({"alg": "EdDSA", "kid": "ed"}), &claims(&json!({"pad": "x".repeat(16 << 10)})))
    );
    for headers in [
        &[("Authorization", "Bearer opaque")][..],
        &[("Authorization", "Basic bWU6c2VjcmV0")],
        &[("Authorization", &basic)],
        &[("Authorization", &*good)],
        &[("Authorization", &bearer), ("Authorization", &bearer)],
        &[("Authorization", &long)],
        &[("X-Token", &bearer)],
    ] {
        let (status, _, answer) = call(gateway.callers, headers).await;
        assert_eq!((status, zone(&answer).as_str()), (200, "UTC"), "{headers:?}");
    }
    let (_, _, counted) = ask(gateway.admin, "GET /metrics", &[], "").await;
    assert!(!counted.contains("attune_tokens_total{"), "{counted}");
}

#[tokio::test]
async fn claims_of_wrong_types_count_as_absent() {
    let signer = TestSigner::new();
    let gateway = front(&signer).await;
    for (changes, zone_is, locale) in [
        (json!({"zoneinfo": 7}), "UTC", "de-CH"),
        (json!({"zoneinfo": ["Asia/Kathmandu"], "locale": {"de": 1}}), "UTC", "none"),
        (json!({"zoneinfo": "Mars/Olympus", "locale": "not a locale"}), "UTC", "none"),
        (json!({"zoneinfo": "x".repeat(9000), "locale": null}), "UTC", "none"),
        (json!({"locale": 1}), "Asia/Kathmandu", "none"),
    ] {
        let token = signer.token(&json!({"alg": "EdDSA", "kid": "ed"}), &claims(&changes));
        let (status, _, answer) =
            call(gateway.callers, &[("Authorization", &format!("Bearer {token}"))]).await;
        assert_eq!((status, zone(&answer).as_str()), (200, zone_is), "{answer}");
        assert!(answer.contains(&format!(r#"\"lang\":\"{locale}\""#)), "{answer}");
    }
}

#[tokio::test]
async fn callers_at_the_same_time_never_get_each_others_claims() {
    let signer = TestSigner::new();
    let gateway = front(&signer).await;
    let zones = ["Asia/Kathmandu", "Pacific/Apia", "America/Los_Angeles", ""];
    let calls = (0..80).map(|number| {
        let (address, zone) = (gateway.callers, zones[number % zones.len()]);
        let claims = claims(&json!({"zoneinfo": zone}));
        let token = format!("Bearer {}", signer.token(&json!({"alg": "EdDSA", "kid": "ed"}), &claims));
        tokio::spawn(async move { (zone, call(address, &[("Authorization", &token)]).await.2) })
    });
    for call in calls.collect::<Vec<_>>() {
        let (asked, answer) = call.await.unwrap();
        assert_eq!(zone(&answer), if asked.is_empty() { "UTC" } else { asked });
    }
}

#[tokio::test]
async fn without_keys_no_token_counts_and_no_request_fails() {
    let signer = TestSigner::new();
    let server = echo().await;
    let file = format!(
        "[upstream]\nurl = 'http://{server}/mcp'\n[tools.day.context]\ntz = {{ from = 'timezone', default = 'UTC' }}\n\
         [auth]\nissuer = '{ISSUER}'\naudience = '{AUDIENCE}'\njwks = 'http://127.0.0.1:1/keys'\n"
    );
    let gateway = gateway(&file, None).await;
    let token = signer.token(&json!({"alg": "EdDSA", "kid": "ed"}), &claims(&json!({})));
    let (status, _, answer) = call(gateway.callers, &[("Authorization", &format!("Bearer {token}"))]).await;
    assert_eq!((status, zone(&answer).as_str()), (200, "UTC"));
    assert_eq!(counted(&gateway, "no-keys").await, 1);
}
