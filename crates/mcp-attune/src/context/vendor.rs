//! The keys of `_meta` in which clients already send what a context holds, before there is a standard.
//!
//! 1. Each key is one row of [`VENDOR_KEYS`]; each of its members fills one field.
//! 2. A row fills only what `clientContext` and the rows above it left open. Names of places and coordinates are one
//!    field, the place: it is filled as a whole, from one row.
//! 3. A member that is null counts as absent.
//!
//! Rules: C11.

/// A key of `_meta` and what its value fills.
pub(super) struct VendorKey {
    /// The key.
    pub(super) key: &'static str,
    /// Whether the value itself is the field, or an object with fields in it.
    pub(super) carries: VendorValueShape,
}

/// What the value of a vendor key is.
pub(super) enum VendorValueShape {
    /// The value is this field.
    Value(VendorField),
    /// The value is an object. Where two members fill one field, the one that is listed first counts.
    Members(&'static [(&'static [&'static str], VendorField)]),
}

/// A field of a context, or a part of its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum VendorField {
    Locale,
    Timezone,
    City,
    Region,
    Country,
    Latitude,
    Longitude,
}

/// What is understood, newer names before older ones.
pub(super) const VENDOR_KEYS: &[VendorKey] = &[
    VendorKey { key: "openai/locale", carries: VendorValueShape::Value(VendorField::Locale) },
    // The same, as earlier versions of the same client send it.
    VendorKey { key: "webplus/i18n", carries: VendorValueShape::Value(VendorField::Locale) },
    VendorKey {
        key: "openai/userLocation",
        carries: VendorValueShape::Members(&[
            (&["timezone"], VendorField::Timezone),
            (&["city"], VendorField::City),
            (&["region"], VendorField::Region),
            (&["country"], VendorField::Country),
            (&["coordinates", "latitude"], VendorField::Latitude),
            (&["coordinates", "longitude"], VendorField::Longitude),
            (&["latitude"], VendorField::Latitude),
            (&["longitude"], VendorField::Longitude),
        ]),
    },
];
