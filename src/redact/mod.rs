//! Owns what may be in a release and what has to go: export rules, redactions, names and contents that are refused.
//!
//! Refuses nothing by itself: what a release can't hold is told as findings. Invariant: no finding repeats a private
//! string or a secret.

mod private;
mod redaction;
mod refused;
mod rules;
mod scan;
mod secret;

pub use redaction::{Applied, Redactor};
pub use refused::{NAMES, NameRule, is_rule as is_name_rule, refused};
pub use rules::{Allowed, FORMAT as RULES_FORMAT, NotRetained, Omission, RecordedDerivative, Redaction, Rules, Run};
pub use scan::{OPAQUE, Scan, Source};
pub use secret::{SECRETS, Secret};
