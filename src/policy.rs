//! Owns policies: what one study approved, its redacted files and the runs that its release must hold.
//!
//! Refuses documents that don't follow `exhibit-policy/1`, with all their faults. Invariant: what a study approved is
//! data; no path, digest or rule of any study stands in code.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::digest::{GitBlob, Sha256};
use crate::document::Format;
use crate::error::Error;
use crate::form::{self, Project};
use crate::json;
use crate::limits::Limits;
use crate::name::EntryName;

/// The format of policies. Version 1 is the first.
pub const FORMAT: Format =
    Format { kind: "policy", name: "exhibit-policy/1", schema: include_str!("../schemas/exhibit-policy-1.json") };

/// The policies that come with the tool, each with the name of its file.
const EMBEDDED: &[(&str, &str)] = &[(
    "release/policies/mcp-continuation-replay.json",
    include_str!("../release/policies/mcp-continuation-replay.json"),
)];

/// What one study approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Name and major version of the format.
    pub format: String,
    /// The project that it speaks for.
    pub project: Project,
    /// The redacted files: exactly these.
    #[serde(deserialize_with = "json::objects")]
    pub derivatives: Vec<Approved>,
    /// The runs that a release holds.
    #[serde(deserialize_with = "json::objects")]
    pub retained_runs: Vec<RetainedRun>,
    /// For people only.
    #[serde(default, deserialize_with = "json::optional", skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// One redacted file as it was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approved {
    /// Where it is.
    pub path: EntryName,
    /// SHA-256 of what was published.
    pub public_sha256: Sha256,
    /// SHA-256 of the private original: an assertion.
    pub private_origin_sha256: Sha256,
    /// Git blob id of the private original: an assertion.
    pub private_origin_git_blob: GitBlob,
    /// The name of the rule that was applied.
    #[serde(deserialize_with = "form::filled")]
    pub transform: String,
}

/// A run that a release holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetainedRun {
    /// The run's folder from the release's root.
    pub path: EntryName,
    /// Its matrix from the release's root.
    pub spec: EntryName,
}

impl Policy {
    /// Reads a policy that a person gave, from the file at `path`.
    ///
    /// # Errors
    /// A newer or foreign format; a document with faults, all of them.
    pub fn load(path: &Path, bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let policy: Self = FORMAT.load(path, bytes, limits)?;
        let faults = policy.repeated();
        if faults.is_empty() {
            return Ok(policy);
        }
        Err(Error::Document { path: path.to_path_buf(), kind: FORMAT.kind, faults })
    }

    /// The policy for a project that comes with the tool, if there is one.
    ///
    /// # Errors
    /// None in a build whose tests passed: the documents are part of it.
    pub fn for_project(project: &str) -> Result<Option<Self>, Error> {
        for policy in embedded() {
            let policy = policy?;
            if policy.project.as_str() == project {
                return Ok(Some(policy));
            }
        }
        Ok(None)
    }

    /// The redacted file approved at `path`.
    pub fn approved(&self, path: &str) -> Option<&Approved> {
        self.derivatives.iter().find(|approved| approved.path.as_str() == path)
    }

    /// What a schema can't say: each path is approved once.
    fn repeated(&self) -> Vec<String> {
        let derivatives = self.derivatives.iter().map(|approved| &approved.path).enumerate();
        let runs = self.retained_runs.iter().map(|run| &run.path).enumerate();
        let mut faults = twice("derivatives", derivatives);
        faults.extend(twice("retained_runs", runs));
        faults
    }
}

fn twice<'a>(list: &str, paths: impl Iterator<Item = (usize, &'a EntryName)>) -> Vec<String> {
    let mut first = BTreeMap::new();
    let mut faults = Vec::new();
    for (index, path) in paths {
        if let Some(before) = first.insert(path, index) {
            faults.push(format!("/{list}/{index}/path: {path} stands at /{list}/{before} already"));
        }
    }
    faults
}

/// The policy that comes with the tool and names the run at `path`, with what it says of it. `path` may go on above the
/// release's root: it ends in the path that the policy names.
///
/// # Errors
/// As [`Policy::for_project`].
pub fn for_run(path: &str) -> Result<Option<(Policy, RetainedRun)>, Error> {
    for policy in embedded() {
        let policy = policy?;
        let named = |run: &&RetainedRun| {
            path.strip_suffix(run.path.as_str()).is_some_and(|above| above.is_empty() || above.ends_with('/'))
        };
        if let Some(run) = policy.retained_runs.iter().find(named).cloned() {
            return Ok(Some((policy, run)));
        }
    }
    Ok(None)
}

fn embedded() -> impl Iterator<Item = Result<Policy, Error>> {
    EMBEDDED.iter().map(|(path, text)| Policy::load(Path::new(path), text.as_bytes(), &Limits::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = include_str!("../release/policies/mcp-continuation-replay.json");

    fn load(text: &str) -> Result<Policy, Error> {
        Policy::load(Path::new("policy.json"), text.as_bytes(), &Limits::default())
    }

    fn faults(text: &str) -> Vec<String> {
        match load(text) {
            Err(Error::Document { faults, .. }) => faults,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn embedded_policies_load_and_are_picked_by_project_and_by_run() {
        assert_eq!(embedded().collect::<Result<Vec<_>, _>>().unwrap().len(), EMBEDDED.len());
        let policy = Policy::for_project("mcp-continuation-replay").unwrap().unwrap();
        assert_eq!((policy.derivatives.len(), policy.retained_runs.len()), (5, 2));
        assert!(policy.approved("artifacts/evidence/wire-replay-run.txt").is_some());
        assert!(policy.approved("artifacts/evidence").is_none());
        assert_eq!(Policy::for_project("another").unwrap(), None);

        let path = "docs/research-completion-2026-09-22/raw/attempt-20260922T220129Z-1790114489061895000";
        let (_, run) = for_run(path).unwrap().unwrap();
        assert_eq!(run.spec.as_str(), "docs/research-completion-2026-09-22/matrix-spec.json");
        assert!(for_run(&format!("/tmp/x/{path}")).unwrap().is_some());
        assert!(for_run(&format!("x{path}")).unwrap().is_none());
        assert!(for_run("docs").unwrap().is_none());
    }

    #[test]
    fn every_fault_of_a_policy_is_named() {
        assert!(load(STUDY).is_ok());
        let two = STUDY.replacen("d2e246d0", "D2E246D0", 1).replacen("\"transform\"", "\"transforms\"", 1);
        let found = faults(&two);
        assert!(found.len() >= 2 && found.iter().any(|f| f.starts_with("/derivatives/0/public_sha256: ")), "{found:?}");
        let unsafe_path = STUDY.replacen("artifacts/evidence/", "../", 1);
        assert!(faults(&unsafe_path)[0].starts_with("/derivatives/0/path"), "{:?}", faults(&unsafe_path));
        let twice = STUDY.replacen("verification/native-python-and-v2.log", "verification/fresh-install.log", 1);
        assert_eq!(faults(&twice).len(), 1);
        assert!(matches!(load(&STUDY.replace("policy/1", "policy/2")), Err(Error::UnknownFormat { .. })));
    }
}
