//! What `attune serve` prints first: where it serves, what is behind, and what is around that.

use std::net::SocketAddr;

use mcp_attune::language::Tag;
use mcp_attune_gateway::config::{Config, MountConfig, UpstreamTarget};

/// How many languages are named.
const MAX_LANGUAGES: usize = 12;

/// Where callers and operators connect, every mount with its server, and a line to try.
pub(crate) fn banner(config: &Config, address: SocketAddr, admin: SocketAddr) -> String {
    let scheme = if config.server.tls.is_some() { "https" } else { "http" };
    let urls: Vec<_> =
        config.mounts.iter().map(|mount| format!("{scheme}://{address}{}", mount.path)).collect();
    let mut text = format!("Attune serves {}\n", urls.join(" and "));
    text += &format!("Health is at http://{admin}/healthz, counts at http://{admin}/metrics\n");
    for mount in &config.mounts {
        text +=
            &format!("Behind {}: {}; {}\n", mount.path, upstream_label(mount), mount_summary(config, mount));
    }
    text + &format!("Try: attune tools {}\n", urls.first().map_or("", String::as_str))
}

/// The server, without the arguments of a program, which can be secrets.
fn upstream_label(mount: &MountConfig) -> String {
    match mount.upstream.as_ref().map(|upstream| &upstream.target) {
        Some(UpstreamTarget::Http(url)) => url.to_string(),
        Some(UpstreamTarget::Stdio(child)) => format!("the program `{}`", child.program),
        None => "nowhere".to_owned(),
    }
}

/// What is done for its callers.
fn mount_summary(config: &Config, mount: &MountConfig) -> String {
    let mut parts = vec![languages(config, mount)];
    parts.push(format!("answers {} shaped", if mount.content.enabled { "are" } else { "are not" }));
    match mount.tools.values().map(|tool| tool.context.len()).sum() {
        0 => {}
        1 => parts.push("1 argument is filled from contexts".to_owned()),
        bound => parts.push(format!("{bound} arguments are filled from contexts")),
    }
    parts.join("; ")
}

fn languages(config: &Config, mount: &MountConfig) -> String {
    let own = config.default_language.as_ref();
    let files: Vec<Tag> = match mount.locales.carried {
        [] => mount.locales.path.files().0.into_iter().map(|file| file.tag).collect(),
        carried => carried.iter().filter_map(|(tag, _)| Tag::parse(tag).ok()).collect(),
    };
    let mut tags: Vec<&str> = own.into_iter().chain(&files).map(Tag::as_str).collect();
    let mut seen = std::collections::HashSet::new();
    tags.retain(|tag| seen.insert(*tag));
    match tags.as_slice() {
        [] => "no languages: no locale files are there, and `default_language` is not set".to_owned(),
        [only] => format!("language {only}"),
        tags if tags.len() > MAX_LANGUAGES => format!("{} languages", tags.len()),
        tags => format!("languages {}", tags.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mount_is_named_with_its_server_and_what_is_around_it() {
        let toml = "default_language = 'en'\n\
            server.tls = { cert = 'c', key = 'k' }\n\
            [mounts.shop]\npath = '/shop/mcp'\nupstream = { url = 'http://127.0.0.1:9001/mcp' }\n\
            content = { enabled = true }\n\
            tools.a.context.tz = { from = 'timezone' }\n\
            [mounts.travel]\npath = '/travel/mcp'\nupstream = { command = ['npx', '--token', 'secret'] }\n";
        let config = Config::parse(toml, "attune.toml").unwrap();
        let told = banner(&config, "127.0.0.1:8808".parse().unwrap(), "127.0.0.1:8809".parse().unwrap());
        assert_eq!(
            told,
            "Attune serves https://127.0.0.1:8808/shop/mcp and https://127.0.0.1:8808/travel/mcp\n\
             Health is at http://127.0.0.1:8809/healthz, counts at http://127.0.0.1:8809/metrics\n\
             Behind /shop/mcp: http://127.0.0.1:9001/mcp; language en; answers are shaped; 1 argument is filled from contexts\n\
             Behind /travel/mcp: the program `npx`; language en; answers are not shaped\n\
             Try: attune tools https://127.0.0.1:8808/shop/mcp\n"
        );
    }
}
