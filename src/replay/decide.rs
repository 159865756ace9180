//! Owns deciding: explained, contradicted or undecided, with the means to see why.
//!
//! Refuses nothing. Invariant: what can't be known is taken once as it suits the history and once against it; only where
//! both come to the same is that the verdict.

use super::cell::Sight;
use super::problem::Problem;
use super::solve::{Broken, Solution, solve};
use super::{Class, Decision, Verdict, lost, missing, reason, rows, unordered, witness};
use crate::history::History;

/// Decides a history.
pub fn decide(history: &History) -> Decision {
    let faults = history.end.as_ref().map(|end| rows::faults(&end.rows)).unwrap_or_default();
    let problem = Problem::of(history);
    let class = if history.is_ordered { Class::Ordered } else { Class::Forward };
    if !faults.is_empty() {
        let mut found = faults;
        if let Err(broken) = solve(&problem, Sight::Lenient, false) {
            found.extend(reason::reasons(&problem, &broken));
        }
        return Decision { class, verdict: Verdict::Contradicted(found), lost: Vec::new() };
    }
    let lenient = match solve(&problem, Sight::Lenient, true) {
        Ok(solution) => solution,
        Err(broken) => return without(&problem, class, &broken),
    };
    let lost = lost::losses(&problem, &lenient);
    let explained = |solution: &Solution| Verdict::Explained { order: witness::order(&problem, solution) };
    let verdict = if missing::is_settled(&problem) {
        explained(&lenient)
    } else {
        match solve(&problem, Sight::Strict, false) {
            Ok(strict) => explained(&strict),
            Err(_) => Verdict::Undecided { missing: missing::sentences(&problem) },
        }
    };
    Decision { class: lenient.class, verdict, lost }
}

/// There is no solution, or none was found.
fn without(problem: &Problem<'_>, class: Class, broken: &Broken) -> Decision {
    let verdict = match broken {
        Broken::TooLarge(number) => Verdict::Undecided { missing: vec![missing::too_large(problem, *number)] },
        Broken::Operations(_) | Broken::Together(_) | Broken::Ids(_) => {
            Verdict::Contradicted(reason::reasons(problem, broken))
        }
    };
    let class = match broken {
        Broken::TooLarge(_) if class == Class::Forward => Class::Searched,
        Broken::Together(_) | Broken::Ids(_) if class == Class::Forward => unordered::class(problem),
        Broken::TooLarge(_) | Broken::Operations(_) | Broken::Together(_) | Broken::Ids(_) => class,
    };
    Decision { class, verdict, lost: Vec::new() }
}
