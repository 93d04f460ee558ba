//! `features = ["agent", "format=markdown"]`: tags that count as declared.

use mcp_attune::features::FeaturePreferences;
use mcp_attune::session::ClientFeatures;

use super::findings::ConfigProblem;
use super::reader::ConfigTableReader;

/// Reads `features`. Returns `None` if it is absent or not an array; a tag that means nothing is noted.
pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>) -> Option<Vec<String>> {
    let tags = reader.optional_list("features", parse_tag)?;
    let left_out = ClientFeatures::from_tags(tags.iter().map(String::as_str)).left_out;
    if left_out > 0 {
        let what = format!("has {left_out} tags more than fit");
        let hint = "write at most 64 tags, of 1024 characters together";
        reader.report("features", ConfigProblem::new(what, hint));
    }
    Some(tags)
}

/// Parses a feature tag that has a meaning.
fn parse_tag(text: &str) -> Result<String, ConfigProblem> {
    let wanted = FeaturePreferences::read([text]);
    match wanted.ignored().next() {
        Some((_, why)) => {
            let hint = "`attune features parse` says what each tag means";
            Err(ConfigProblem::new(format!("is no feature tag that can be used: {why}"), hint))
        }
        None if text.len() > ClientFeatures::MAX_TAG_BYTES => {
            Err(ConfigProblem::new("is too long for a feature tag", "write at most 256 characters"))
        }
        None => Ok(text.to_owned()),
    }
}
