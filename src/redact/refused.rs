//! Owns the names that a release doesn't hold: credentials, and what programs leave in a working tree.
//!
//! Refuses by name alone, whatever is in the file. Invariant: a name is held part by part and without case (ASCII), as
//! some file systems take it; names that evidence has (logs, databases with their journals, archives) pass.

/// A rule on names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameRule {
    /// Its stable name.
    pub rule: &'static str,
    /// What such a file is.
    pub what: &'static str,
    /// Parts of a path, of a folder or of the file.
    parts: &'static [&'static str],
    /// Parts that follow each other.
    sequences: &'static [&'static [&'static str]],
    /// How a file's name begins.
    starts: &'static [&'static str],
    /// How a file's name ends.
    ends: &'static [&'static str],
}

const NONE: NameRule = NameRule { rule: "", what: "", parts: &[], sequences: &[], starts: &[], ends: &[] };

/// The rules, in the order in which they are tried.
pub const NAMES: &[NameRule] = &[
    NameRule {
        rule: "repository-metadata",
        what: "a version control system keeps its own data there",
        parts: &[".git", ".hg", ".svn", ".bzr", ".jj"],
        ..NONE
    },
    NameRule {
        rule: "environment-file",
        what: "files of environment variables hold passwords",
        parts: &[".env", ".envrc"],
        starts: &[".env."],
        ends: &[".env"],
        ..NONE
    },
    NameRule {
        rule: "ssh",
        what: "SSH keeps keys and hosts there",
        parts: &[
            ".ssh",
            "id_rsa",
            "id_dsa",
            "id_ecdsa",
            "id_ecdsa_sk",
            "id_ed25519",
            "id_ed25519_sk",
            "authorized_keys",
            "known_hosts",
        ],
        ..NONE
    },
    NameRule {
        rule: "gnupg",
        what: "GnuPG keeps private keys there",
        parts: &[".gnupg", "private-keys-v1.d", "secring.gpg", "secring.pgp"],
        ..NONE
    },
    NameRule {
        rule: "cloud-credentials",
        what: "a cloud's tools keep credentials there",
        parts: &[
            ".aws",
            ".azure",
            ".gcloud",
            ".kube",
            ".oci",
            ".boto",
            ".s3cfg",
            ".dockercfg",
            ".terraformrc",
            ".vault-token",
            "application_default_credentials.json",
        ],
        sequences: &[&[".config", "gcloud"], &[".docker", "config.json"]],
        starts: &["client_secret"],
        ..NONE
    },
    NameRule {
        rule: "credentials",
        what: "a program keeps passwords or tokens there",
        parts: &[
            ".netrc",
            "_netrc",
            ".npmrc",
            ".pypirc",
            ".git-credentials",
            ".htpasswd",
            ".pgpass",
            ".my.cnf",
            ".mylogin.cnf",
            ".vault_pass",
            ".authinfo",
            ".authinfo.gpg",
            "credentials.json",
        ],
        sequences: &[
            &[".cargo", "credentials"],
            &[".cargo", "credentials.toml"],
            &[".gem", "credentials"],
            &["gh", "hosts.yml"],
            &[".m2", "settings.xml"],
        ],
        ..NONE
    },
    NameRule {
        rule: "key-file",
        what: "such files hold keys",
        ends: &[
            ".pem",
            ".key",
            ".p8",
            ".p12",
            ".pkcs12",
            ".pfx",
            ".jks",
            ".keystore",
            ".bks",
            ".kdb",
            ".kdbx",
            ".ppk",
            ".agekey",
            ".ovpn",
        ],
        ..NONE
    },
    NameRule {
        rule: "history-file",
        what: "it is a record of what a person typed",
        parts: &[
            ".bash_history",
            ".zsh_history",
            ".sh_history",
            ".python_history",
            ".node_repl_history",
            ".psql_history",
            ".mysql_history",
            ".sqlite_history",
            ".lesshst",
            ".viminfo",
        ],
        ..NONE
    },
    NameRule {
        rule: "dependencies",
        what: "a package manager puts other people's code there",
        parts: &["node_modules", "bower_components", "jspm_packages", "site-packages", ".pnpm-store"],
        sequences: &[&[".yarn", "cache"]],
        ..NONE
    },
    NameRule {
        rule: "virtual-environment",
        what: "it is an installed environment of one machine",
        parts: &[".venv", "venv", ".virtualenv", "virtualenv", ".conda", "pyvenv.cfg"],
        ..NONE
    },
    NameRule {
        rule: "cache",
        what: "a program keeps what it can make again there",
        parts: &[
            "__pycache__",
            ".pytest_cache",
            ".mypy_cache",
            ".ruff_cache",
            ".pytype",
            ".tox",
            ".nox",
            ".cache",
            ".npm",
            ".gradle",
            ".terraform",
            ".ipynb_checkpoints",
            ".coverage",
            ".nyc_output",
            ".hypothesis",
            ".parcel-cache",
            ".turbo",
            ".next",
            ".nuxt",
            ".svelte-kit",
            ".sass-cache",
            ".eslintcache",
            ".dart_tool",
        ],
        ends: &[".pyc", ".pyo"],
        ..NONE
    },
    NameRule {
        rule: "build-output",
        what: "a build makes it",
        parts: &["cmakefiles", "cmakecache.txt", "deriveddata", ".eggs"],
        sequences: &[&["target", "debug"], &["target", "release"]],
        starts: &["cmake-build-"],
        ends: &[".o", ".obj", ".a", ".so", ".dylib", ".dll", ".exe", ".class", ".rlib", ".rmeta", ".pdb", ".egg-info"],
    },
    NameRule {
        rule: "runtime-file",
        what: "a running program or system leaves it behind",
        parts: &["nohup.out", "lost+found", ".ds_store", "thumbs.db", "desktop.ini", ".idea"],
        ends: &[".pid", ".sock", ".swp", ".swo", ".core", "~"],
        ..NONE
    },
];

/// Folders of build output, where they don't lie among sources.
const OUTPUTS: [&str; 4] = ["target", "dist", "build", "_build"];

/// Folders below which a folder of such a name is a part of a program or of its documents.
const SOURCES: [&str; 10] = ["src", "lib", "include", "tests", "test", "docs", "doc", "tools", "scripts", "examples"];

/// The rule that refuses a path.
pub fn refused(path: &str) -> Option<&'static NameRule> {
    let lower = path.to_ascii_lowercase();
    let parts: Vec<&str> = lower.split('/').collect();
    NAMES.iter().find(|rule| rule.is_met(&parts) || (rule.rule == "build-output" && is_output(&parts)))
}

/// Whether a rule on names has this name.
pub fn is_rule(name: &str) -> bool {
    NAMES.iter().any(|rule| rule.rule == name)
}

impl NameRule {
    fn is_met(&self, parts: &[&str]) -> bool {
        let starts = |part: &&str| self.starts.iter().any(|start| part.starts_with(start));
        // A name that is nothing but the ending says what it is as well.
        let ends = |part: &&str| self.ends.iter().any(|end| part.ends_with(end));
        parts.iter().any(|part| self.parts.contains(part))
            || self.sequences.iter().any(|sequence| parts.windows(sequence.len()).any(|window| window == *sequence))
            || parts.iter().any(starts)
            || parts.iter().any(ends)
    }
}

fn is_output(parts: &[&str]) -> bool {
    let folders = parts.split_last().map_or(&[][..], |(_, folders)| folders);
    let among_sources = |part: &&str| SOURCES.contains(part);
    folders.iter().take_while(|part| !among_sources(part)).any(|part| OUTPUTS.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(path: &str) -> &'static str {
        refused(path).map_or("", |rule| rule.rule)
    }

    #[test]
    fn names_of_credentials_and_leftovers_are_refused_at_any_depth_and_in_any_case() {
        for (name, wanted) in [
            (".env", "environment-file"),
            (".env.local", "environment-file"),
            ("prod.env", "environment-file"),
            (".envrc", "environment-file"),
            (".ssh/config", "ssh"),
            ("id_ed25519", "ssh"),
            (".aws/credentials", "cloud-credentials"),
            (".docker/config.json", "cloud-credentials"),
            (".config/gcloud/a", "cloud-credentials"),
            (".netrc", "credentials"),
            ("_netrc", "credentials"),
            (".npmrc", "credentials"),
            (".cargo/credentials.toml", "credentials"),
            ("server.key", "key-file"),
            ("cert.pem", "key-file"),
            ("store.p12", "key-file"),
            (".gnupg/pubring.kbx", "gnupg"),
            ("node_modules/a/index.js", "dependencies"),
            (".venv/bin/python", "virtual-environment"),
            ("venv/pyvenv.cfg", "virtual-environment"),
            ("__pycache__/a.py", "cache"),
            ("a.pyc", "cache"),
            (".pytest_cache/v/x", "cache"),
            ("dist/a.js", "build-output"),
            ("build/a.txt", "build-output"),
            ("target/debug/a", "build-output"),
            ("main.o", "build-output"),
            ("pkg.egg-info/PKG-INFO", "build-output"),
            (".DS_Store", "runtime-file"),
            ("notes.txt~", "runtime-file"),
            ("server.pid", "runtime-file"),
            (".git", "repository-metadata"),
            (".bash_history", "history-file"),
        ] {
            assert_eq!(rule(name), wanted, "{name}");
            assert_eq!(rule(&name.to_ascii_uppercase()), wanted, "{name}");
            assert_eq!(rule(&format!("a/b/{name}")), wanted, "{name}");
        }
    }

    #[test]
    fn names_of_sources_and_evidence_pass() {
        for name in [
            ".gitignore",
            ".gitattributes",
            ".gitmodules",
            ".github/workflows/ci.yml",
            "id_rsa.pub",
            "src/build/mod.rs",
            "crates/a/src/target/mod.rs",
            "docs/build/index.md",
            "build",
            "dist",
            "build.rs",
            "environment.md",
            "src/env.rs",
            "keys.md",
            "matrices/a/runs/r1/cases/01/store.sqlite3-journal",
            "matrices/a/runs/r1/cases/01/store.sqlite3-wal",
            "case-08.pytest.stdout.log",
            "source-snapshots/final-71e0.tar.gz",
            "a.transcript.jsonl",
            "package-lock.json",
            "Cargo.lock",
            "release/a.zip",
        ] {
            assert_eq!(rule(name), "", "{name}");
        }
    }

    #[test]
    fn names_of_rules_are_unique() {
        let names: std::collections::BTreeSet<_> = NAMES.iter().map(|rule| rule.rule).collect();
        assert_eq!(names.len(), NAMES.len());
    }
}
