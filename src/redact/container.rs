//! Owns nothing yet.
