//! Countries by ISO 3166-1.

use core::fmt;

use super::warning::ClientContextError;

/// The two letters of every country that has some, in the order of the alphabet.
const COUNTRY_CODES: &str = "\
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT \
    BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH \
    ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT \
    HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS \
    LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI \
    NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG \
    SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG \
    UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW";

/// A country by the two letters that ISO 3166-1 gives it.
///
/// Rules: C2.
///
/// ```
/// use mcp_attune::context::{Country, ClientContextError};
///
/// assert_eq!(Country::parse("at").unwrap().as_str(), "AT");
/// assert_eq!(Country::parse("UK"), Err(ClientContextError::UnknownCountry));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Country(&'static str);

impl Country {
    /// Reads a code, in capitals or not.
    ///
    /// # Errors
    ///
    /// [`ClientContextError::UnknownCountry`].
    pub fn parse(text: &str) -> Result<Self, ClientContextError> {
        let wanted = <[u8; 2]>::try_from(text.as_bytes()).map_err(|_| ClientContextError::UnknownCountry)?;
        let wanted = wanted.map(|letter| letter.to_ascii_uppercase());
        // Two letters and a blank each, so a place in the alphabet is a place in the text.
        let (mut low, mut high) = (0, (COUNTRY_CODES.len() + 1) / 3);
        while low < high {
            let middle = low + (high - low) / 2;
            let code =
                COUNTRY_CODES.get(middle * 3..middle * 3 + 2).ok_or(ClientContextError::UnknownCountry)?;
            match code.as_bytes().cmp(&wanted) {
                core::cmp::Ordering::Equal => return Ok(Self(code)),
                core::cmp::Ordering::Less => low = middle + 1,
                core::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(ClientContextError::UnknownCountry)
    }

    /// The code, in capitals.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Debug for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Country({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_can_be_read_in_either_case() {
        let codes: Vec<_> = COUNTRY_CODES.split(' ').collect();
        assert_eq!(codes.len(), 249);
        assert!(codes.is_sorted());
        for code in codes {
            assert_eq!(Country::parse(code).map(Country::as_str), Ok(code));
            assert_eq!(Country::parse(&code.to_lowercase()).map(Country::as_str), Ok(code));
        }
    }

    #[test]
    fn refuses_what_is_no_country() {
        for text in ["", "A", "AUT", "UK", "EU", "XK", "ZZ", "AA", "A ", "Ä", "040", "Austria"] {
            assert_eq!(Country::parse(text), Err(ClientContextError::UnknownCountry), "{text}");
        }
    }
}
