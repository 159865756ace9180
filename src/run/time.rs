//! Owns the two forms in which a run writes its time.
//!
//! Refuses times that no calendar has. Invariant: what leaves this file is `YYYY-MM-DDTHH:MM:SSZ`, second exact, UTC.

/// The time in an attempt's folder name, `attempt-YYYYMMDDTHHMMSSZ-<ns>`.
pub(super) fn of_attempt(folder: &str) -> Option<String> {
    let (stamp, nanoseconds) = folder.strip_prefix("attempt-")?.split_once('-')?;
    if nanoseconds.is_empty() || !nanoseconds.bytes().all(|byte| byte.is_ascii_digit()) || !stamp.is_ascii() {
        return None;
    }
    let (date, time) = stamp.strip_suffix('Z')?.split_once('T')?;
    if (date.len(), time.len()) != (8, 6) {
        return None;
    }
    let part = |text: &str, from: usize, to: usize| text.get(from..to).map(str::to_owned);
    let date = [part(date, 0, 4)?, part(date, 4, 6)?, part(date, 6, 8)?].join("-");
    let time = [part(time, 0, 2)?, part(time, 2, 4)?, part(time, 4, 6)?].join(":");
    let text = format!("{date}T{time}Z");
    is_utc_second(&text).then_some(text)
}

/// Whether a text is `YYYY-MM-DDTHH:MM:SSZ` and names a second of the calendar.
pub(super) fn is_utc_second(text: &str) -> bool {
    let form = "dddd-dd-ddTdd:dd:ddZ";
    let fits = text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(c, want)| if want == b'd' { c.is_ascii_digit() } else { c == want });
    let number = |from: usize, to: usize| text.get(from..to).and_then(|digits| digits.parse::<u32>().ok());
    let parts = (number(0, 4), number(5, 7), number(8, 10), number(11, 13), number(14, 16), number(17, 19));
    let (Some(year), Some(month), Some(day), Some(hour), Some(minute), Some(second)) = parts else { return false };
    fits && day >= 1 && day <= days(year, month) && hour < 24 && minute < 60 && second < 60
}

/// Days of a month; none for a month that isn't one.
fn days(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_seconds_of_the_calendar_are_times() {
        for good in ["2026-09-22T22:01:29Z", "2024-02-29T00:00:00Z", "2000-02-29T23:59:59Z"] {
            assert!(is_utc_second(good), "{good}");
        }
        for bad in [
            "",
            "2026-09-22",
            "2026-09-22T22:01:29",
            "2026-09-22T22:01:29z",
            "2026-09-22T22:01:29+00:00",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:60Z",
            "2026-+1-01T00:00:00Z",
            "é026-01-01T00:00:0Z",
        ] {
            assert!(!is_utc_second(bad), "{bad}");
        }
    }

    #[test]
    fn an_attempts_name_gives_its_time() {
        assert_eq!(of_attempt("attempt-20260922T220129Z-1790114489061895000").as_deref(), Some("2026-09-22T22:01:29Z"));
        for bad in [
            "attempt-20260922T220129Z",
            "attempt-20260922T220129Z-",
            "attempt-20260922T220129Z-12x",
            "attempt-20260932T220129Z-1",
            "attempt-2026922T220129Z-1",
            "run-20260922T220129Z-1",
            "attempt-é260922T220129Z-1",
        ] {
            assert_eq!(of_attempt(bad), None, "{bad}");
        }
    }
}
