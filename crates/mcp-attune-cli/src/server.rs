//! Servers that commands ask: where one is, and its listings page by page.

use std::path::PathBuf;

use mcp_attune_rmcp::{
    CertificateTrust, ClientError, Connection, ConnectionOptions, CustomHeader, ServerTarget,
};
use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::SpannedValue;
use mcp_attune_wire::listing::{EndlessListingError, ListingStep};
use mcp_attune_wire::protocol::code::METHOD_NOT_FOUND;

use crate::exit::{self, hinted};

/// Where a token may stand that should not be on a command line.
const TOKEN_VARIABLE: &str = "ATTUNE_TOKEN";

/// How many bytes a file of certificates may have.
const MAX_AUTHORITIES_BYTES: u64 = 4 << 20;

/// A server on the command line: a URL, or a program after `--`.
#[derive(clap::Args)]
pub(crate) struct ServerArgs {
    /// The URL of the server
    url: Option<String>,
    /// A header of every request, for servers that want to know who asks
    #[arg(long, value_name = "NAME:VALUE")]
    header: Vec<String>,
    /// A bearer token; better in the environment variable ATTUNE_TOKEN, where other users do not see it
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    #[command(flatten)]
    trusted: TrustArgs,
    /// The program that is the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl ServerArgs {
    /// Where it is, and how it is spoken to. Nothing is started yet.
    pub(crate) fn read(&self) -> anyhow::Result<(ServerTarget, ConnectionOptions)> {
        let target = parse_target(self.url.as_deref(), &self.command)?;
        let mut options = ConnectionOptions::default();
        options.headers = parse_headers(&self.header)?;
        authorize(self.token.as_deref(), &target, &mut options)?;
        options.trust = self.trusted.read()?;
        Ok((target, options))
    }

    /// The URL as it was written, where the server has one.
    pub(crate) fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// The program and its arguments; empty where the server has a URL.
    pub(crate) fn command(&self) -> &[String] {
        &self.command
    }
}

/// Whose certificates are accepted.
#[derive(clap::Args)]
pub(crate) struct TrustArgs {
    /// A PEM file with the certificate of the authority that signed for the server, or with the server's own; the
    /// system's are trusted too, and SSL_CERT_FILE in the environment names others in their place
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// Accept every certificate: whoever stands between can then read and change everything
    #[arg(long, conflicts_with = "cacert")]
    insecure: bool,
}

impl TrustArgs {
    pub(crate) fn read(&self) -> anyhow::Result<CertificateTrust> {
        if self.insecure {
            exit::print_warning(
                "no certificate is checked, so this may be another server, and others may listen",
            );
            return Ok(CertificateTrust::accept_any());
        }
        let Some(file) = &self.cacert else { return Ok(CertificateTrust::default()) };
        let wrong = |why: String| {
            let hint = "name a PEM file, which begins with -----BEGIN CERTIFICATE-----";
            hinted(format!("--cacert {}: {why}", file.display()), hint)
        };
        let size = std::fs::metadata(file).map_err(|error| wrong(error.to_string()))?.len();
        if size > MAX_AUTHORITIES_BYTES {
            return Err(wrong(format!("it has more than {MAX_AUTHORITIES_BYTES} bytes")));
        }
        let pem = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
        CertificateTrust::default().with_authorities(&pem).map_err(wrong)
    }
}

/// Where a server is: at a URL, or a program.
pub(crate) fn parse_target(url: Option<&str>, command: &[String]) -> anyhow::Result<ServerTarget> {
    ServerTarget::new(url, command).map_err(|why| hinted(why.what(), why.hint()))
}

/// Header lines as they stand on a command line.
pub(crate) fn parse_headers(lines: &[String]) -> anyhow::Result<Vec<CustomHeader>> {
    let read = |line: &String| line.parse().map_err(|why| anyhow::anyhow!("--header: {why}"));
    lines.iter().map(read).collect()
}

/// Adds a token as a header: the one that is given, or that of the environment. A program has none; the variable is for
/// others then.
pub(crate) fn authorize(
    token: Option<&str>,
    target: &ServerTarget,
    options: &mut ConnectionOptions,
) -> anyhow::Result<()> {
    let is_url = matches!(target, ServerTarget::Url(_));
    let set = || std::env::var(TOKEN_VARIABLE).ok().filter(|token| is_url && !token.trim().is_empty());
    let Some(token) = token.map(str::to_owned).or_else(set) else { return Ok(()) };
    let header: CustomHeader = format!("Authorization: Bearer {}", token.trim()).parse().map_err(|_| {
        hinted("the token holds a character that no header can carry", "see whether it was copied whole")
    })?;
    options.headers.push(header);
    if let ServerTarget::Url(url) = target
        && url.scheme_str() == Some("http")
        && !url.host().is_some_and(is_loopback)
    {
        exit::print_warning("the token goes over the network unencrypted; use https:// if the server has it");
    }
    Ok(())
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Reads the result of an answer to `method`, as it came.
pub(crate) fn read_result<'a>(method: &str, result: &'a str) -> anyhow::Result<Document<'a>> {
    Document::parse(result.as_bytes()).map_err(|why| {
        let hint = "this is the server's mistake, and others may read its answer in another way";
        let what = why.notice().what();
        hinted(format!("the answer to `{method}` cannot be read in one way: {what}"), hint)
    })
}

/// Writes the answer that a result came in, for the rules that take whole messages.
pub(crate) fn wrap_in_answer(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)
}

/// Asks for a listing, page by page, up to the bound of all pages together. `turn` is told before each page which one it is, and `take` is given the result.
pub(crate) async fn for_each_page(
    connection: &Connection,
    method: &str,
    mut turn: impl FnMut(usize),
    mut take: impl FnMut(SpannedValue<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut pages = connection.pages(method);
    loop {
        turn(pages.page_number());
        let raw = match connection.request_page(method, &pages).await {
            // Many have resources and do not know that there are templates of them.
            Err(ClientError::Refused { code: METHOD_NOT_FOUND, .. }) if pages.page_number() == 1 => {
                return Ok(());
            }
            answered => answered?,
        };
        let result = read_result(method, raw.get())?.root();
        let next = pages.take_result(result);
        if let ListingStep::Endless(why) = next {
            return Err(endless_listing_error(method, why)
                .unwrap_or_else(|| connection.endless_listing_error(method, why).into()));
        }
        take(result)?;
        if next == ListingStep::Done {
            return Ok(());
        }
    }
}

/// Why a listing was not read to its end; `None` where that is its size, which the connection's own error tells.
pub(crate) fn endless_listing_error(method: &str, why: EndlessListingError) -> Option<anyhow::Error> {
    match why {
        EndlessListingError::Bytes(_) => None,
        EndlessListingError::RepeatedCursor => {
            Some(endless_error(&format!("a page of `{method}` that leads back to one before it")))
        }
        why => Some(endless_error(&format!("{why} of `{method}`"))),
    }
}

/// A server that does not come to an end.
pub(crate) fn endless_error(what: &str) -> anyhow::Error {
    hinted(format!("the server has {what}"), "see whether it gives the same page again and again")
}
