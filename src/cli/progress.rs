//! Owns the progress bar: on a terminal's stderr only, and only for work over a second.
//!
//! Invariant: what is piped or kept in a log never sees it.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::tree::Step;

/// A bar that shows once the work has taken a second.
pub(super) struct Progress {
    bar: ProgressBar,
    started: Instant,
}

const PATIENCE: Duration = Duration::from_secs(1);

impl Progress {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        // The template is a constant; a test holds that it is well formed.
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        #[expect(clippy::disallowed_methods, reason = "this is the room that reads the clock")]
        let started = Instant::now();
        Self { bar, started }
    }

    /// Takes a step.
    pub(super) fn step(&self, step: Step) {
        match step {
            Step::Total(bytes) => {
                self.bar.set_position(0);
                self.bar.set_length(bytes);
            }
            Step::Bytes(bytes) => self.bar.inc(bytes),
        }
        if self.bar.is_hidden() && self.started.elapsed() > PATIENCE && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        }
    }
}

const TEMPLATE: &str = "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_well_formed_and_nothing_shows_off_a_terminal() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
        let progress = Progress::new();
        progress.step(Step::Total(10));
        progress.step(Step::Bytes(4));
        assert_eq!(progress.bar.position(), 4);
        assert!(progress.bar.is_hidden());
    }
}
