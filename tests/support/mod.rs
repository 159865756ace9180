//! What test files share: archives made field by field, and the built binary.

pub(crate) mod rawzip;
pub(crate) mod run;
