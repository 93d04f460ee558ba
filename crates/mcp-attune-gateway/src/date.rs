//! The value of the `Date` header.

use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Appends the current time in the format of `Date`, such as `Sun, 06 Nov 1994 08:49:37 GMT`. It is formatted
/// once a second on each thread, and copied otherwise.
pub(crate) fn write_date(out: &mut Vec<u8>) {
    thread_local! {
        static FORMATTED: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    FORMATTED.with_borrow_mut(|(second, date)| {
        if *second != now {
            *second = now;
            *date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(now));
        }
        out.extend_from_slice(date.as_bytes());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_the_time_of_now() {
        let before = SystemTime::now();
        for _ in 0..2 {
            let mut out = Vec::new();
            write_date(&mut out);
            let date = httpdate::parse_http_date(&String::from_utf8(out).unwrap()).unwrap();
            let late = date.duration_since(UNIX_EPOCH).unwrap().as_secs()
                - before.duration_since(UNIX_EPOCH).unwrap().as_secs();
            assert!(late < 10, "{late}");
        }
    }
}
