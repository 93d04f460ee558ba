//! The map: features as GeoJSON.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

const SCHEME: &str = "map://features/";
const JSON: &str = "application/json";

/// Each feature's id and text. Only the first is listed; the others are found through the template.
const FEATURES: [(&str, &str); 3] = [
    (
        "alpine-valley-1",
        r#"{"type": "Feature", "geometry": {"type": "Point", "coordinates": [7.6586, 45.9763]}, "properties": {"name": "Alpine Valley", "elevation_m": 3200, "feature_types": ["valley", "hiking", "scenic"], "boundaries": {"north": 45.98, "south": 45.96, "east": 7.67, "west": 7.65}, "accessibility": "moderate", "area_km2": 4.2}}"#,
    ),
    (
        "aletsch-glacier-1",
        r#"{"type": "Feature", "geometry": {"type": "Point", "coordinates": [8.0772, 46.4425]}, "properties": {"name": "Aletsch Glacier", "elevation_m": 2900, "feature_types": ["glacier", "scenic"], "boundaries": {"north": 46.56, "south": 46.38, "east": 8.12, "west": 7.99}, "accessibility": "demanding", "area_km2": 79.0}}"#,
    ),
    (
        "rhine-falls-1",
        r#"{"type": "Feature", "geometry": {"type": "Point", "coordinates": [8.6155, 47.6779]}, "properties": {"name": "Rhine Falls", "elevation_m": 359, "feature_types": ["waterfall", "scenic"], "boundaries": {"north": 47.68, "south": 47.67, "east": 8.62, "west": 8.61}, "accessibility": "easy", "area_km2": 0.1}}"#,
    ),
];

pub(crate) fn list() -> Vec<Resource> {
    vec![
        Resource::new(format!("{SCHEME}alpine-valley-1"), "alpine-valley-1")
            .with_title("Alpine valley")
            .with_description("A valley for hikers: where it is, how high, how hard to reach")
            .with_mime_type(JSON),
    ]
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{SCHEME}{{id}}"), "map-feature")
            .with_title("Map feature")
            .with_description(
                "A feature of the map by its id: alpine-valley-1, aletsch-glacier-1, rhine-falls-1",
            )
            .with_mime_type(JSON),
    ]
}

pub(crate) fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let feature = uri.strip_prefix(SCHEME).and_then(|id| FEATURES.iter().find(|(known, _)| *known == id));
    let (_, text) = feature
        .ok_or_else(|| ErrorData::resource_not_found("Resource not found", Some(json!({ "uri": uri }))))?;
    Ok(ReadResourceResult::new(vec![ResourceContents::text(*text, uri).with_mime_type(JSON)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_is_geojson() {
        for (id, text) in FEATURES {
            let feature: serde_json::Value = serde_json::from_str(text).expect(id);
            assert_eq!(feature["type"], "Feature");
        }
    }

    #[test]
    fn everything_listed_can_be_read() {
        for resource in list() {
            assert!(read(&resource.uri).is_ok());
        }
    }
}
