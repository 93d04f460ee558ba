//! Units of measure, steps of time, kinds of lists and plural categories, by the names that CLDR gives them.

/// An enum whose variants have the names of CLDR.
macro_rules! named {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// All of them.
            ///
            /// Rules: C6.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name in CLDR.
            ///
            /// Rules: C6.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The one of this name, if there is one.
            ///
            /// Rules: C6.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == name)
            }
        }
    };
}

named! {
    /// A unit of measure.
    ///
    /// Times, lengths, masses and volumes are written as CLDR has them. Of temperatures, speeds and amounts of data the
    /// library has no names yet: those have their international symbol behind a no-break space, in every language.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::MeasureUnit;
    ///
    /// assert_eq!(MeasureUnit::named("kilometer-per-hour"), Some(MeasureUnit::KilometerPerHour));
    /// assert_eq!(MeasureUnit::named("furlong"), None);
    /// ```
    MeasureUnit {
        /// `5 sec`
        Second = "second",
        /// `5 min`
        Minute = "minute",
        /// `5 hr`
        Hour = "hour",
        /// `5 days`
        Day = "day",
        /// `5 wks`
        Week = "week",
        /// `5 mths`
        Month = "month",
        /// `5 yrs`
        Year = "year",
        /// `5 cm`
        Centimeter = "centimeter",
        /// `5 m`
        Meter = "meter",
        /// `5 km`
        Kilometer = "kilometer",
        /// `5 ft`
        Foot = "foot",
        /// `5 mi`
        Mile = "mile",
        /// `5 g`
        Gram = "gram",
        /// `5 kg`
        Kilogram = "kilogram",
        /// `5 L`
        Liter = "liter",
        /// `5 °C`
        Celsius = "celsius",
        /// `5 °F`
        Fahrenheit = "fahrenheit",
        /// `5 km/h`
        KilometerPerHour = "kilometer-per-hour",
        /// `5 mph`
        MilePerHour = "mile-per-hour",
        /// `5 m/s`
        MeterPerSecond = "meter-per-second",
        /// `5 B`
        Byte = "byte",
        /// `5 kB`
        Kilobyte = "kilobyte",
        /// `5 MB`
        Megabyte = "megabyte",
        /// `5 GB`
        Gigabyte = "gigabyte",
        /// `5 TB`
        Terabyte = "terabyte",
    }
}

impl MeasureUnit {
    /// The international symbol of a unit for which the library has no names.
    #[must_use]
    pub const fn symbol(self) -> Option<&'static str> {
        Some(match self {
            Self::Celsius => "°C",
            Self::Fahrenheit => "°F",
            Self::KilometerPerHour => "km/h",
            Self::MilePerHour => "mph",
            Self::MeterPerSecond => "m/s",
            Self::Byte => "B",
            Self::Kilobyte => "kB",
            Self::Megabyte => "MB",
            Self::Gigabyte => "GB",
            Self::Terabyte => "TB",
            _ => return None,
        })
    }
}

named! {
    /// What a relative time is counted in.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::RelativeTimeUnit;
    ///
    /// assert_eq!(RelativeTimeUnit::named("week"), Some(RelativeTimeUnit::Week));
    /// assert_eq!(RelativeTimeUnit::ALL.len(), 8);
    /// ```
    RelativeTimeUnit {
        /// `in 3 seconds`
        Second = "second",
        /// `in 3 minutes`
        Minute = "minute",
        /// `in 3 hours`
        Hour = "hour",
        /// `in 3 days`
        Day = "day",
        /// `in 3 weeks`
        Week = "week",
        /// `in 3 months`
        Month = "month",
        /// `in 3 quarters`
        Quarter = "quarter",
        /// `in 3 years`
        Year = "year",
    }
}

named! {
    /// How the items of a list belong together.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::ListStyle;
    ///
    /// assert_eq!(ListStyle::named("or"), Some(ListStyle::Or));
    /// ```
    ListStyle {
        /// All of them: `a, b, and c`
        And = "and",
        /// One of them: `a, b, or c`
        Or = "or",
        /// Parts of one value: `3 hours, 5 minutes`
        Unit = "unit",
    }
}

named! {
    /// The plural category of a number in a language.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::PluralForm;
    ///
    /// assert_eq!(PluralForm::Few.as_str(), "few");
    /// ```
    PluralForm {
        /// Arabic 0
        Zero = "zero",
        /// English 1
        One = "one",
        /// Arabic 2
        Two = "two",
        /// Polish 3
        Few = "few",
        /// Polish 5
        Many = "many",
        /// All else
        Other = "other",
    }
}
