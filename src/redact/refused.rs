//! Owns the names that no file of a release may have.
//!
//! Refuses nothing by content, and no evidence: logs, databases with their sidecars, transcripts, archives. Invariant: a
//! rule's name is stable, since allowances name it.

use Match::{Folder, Last, Part, Path, Prefix, Suffix};

/// A rule that refuses names.
#[derive(Debug)]
pub struct NameRule {
    /// Its stable name.
    pub name: &'static str,
    /// What such a file is, as part of a sentence.
    pub what: &'static str,
    /// Any of these is refused. Letters of either case are the same.
    matches: &'static [Match],
}

/// How a name is matched; all texts are in lower case.
#[derive(Debug)]
enum Match {
    /// A file or a folder, by its name.
    Part(&'static [&'static str]),
    /// A file or a folder, by how its name starts.
    Prefix(&'static [&'static str]),
    /// A file or a folder, by how its name ends.
    Suffix(&'static [&'static str]),
    /// The file, not a folder above it, by its name.
    Last(&'static [&'static str]),
    /// Parts that follow each other.
    Path(&'static [&'static str]),
    /// A folder by its name, unless a folder of sources is above it: a part of a program may have the same name.
    Folder(&'static [&'static str]),
}

/// Below these a folder is part of a program, whatever its name.
const SOURCES: &[&str] = &["src", "source", "sources", "lib", "tests", "test", "examples", "docs", "schemas"];

const fn rule(name: &'static str, what: &'static str, matches: &'static [Match]) -> NameRule {
    NameRule { name, what, matches }
}

/// Every rule on names.
#[rustfmt::skip] // A row is a name, what it is and how it matches.
pub static NAME_RULES: &[NameRule] = &[
    rule("environment-file", "a file of environment variables", &[
        Part(&[".env", ".envrc", ".flaskenv"]), Prefix(&[".env.", ".env-", ".env_"]), Suffix(&[".env"]),
    ]),
    rule("git-metadata", "metadata of git, or of submodules, which a release doesn't have", &[
        Part(&[".git", ".gitmodules"]), Suffix(&[".git"]),
    ]),
    rule("version-control", "metadata of a version control system", &[Part(&[".hg", ".svn", ".bzr", ".jj", "cvs"])]),
    rule("ssh", "a private key, or what a machine's SSH knows", &[
        Part(&[".ssh", "id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "authorized_keys",
            "known_hosts"]),
        Prefix(&["id_rsa.old", "id_rsa.bak", "id_dsa.old", "id_dsa.bak", "id_ecdsa.old", "id_ecdsa.bak",
            "id_ed25519.old", "id_ed25519.bak", "known_hosts.", "authorized_keys."]),
        Last(&["ssh_host_rsa_key", "ssh_host_dsa_key", "ssh_host_ecdsa_key", "ssh_host_ed25519_key"]),
    ]),
    rule("key-file", "a file or store of keys", &[
        Suffix(&[".pem", ".key", ".p8", ".p12", ".pfx", ".pkcs12", ".jks", ".jceks", ".bcfks", ".keystore", ".ppk",
            ".kdb", ".kdbx", ".keychain", ".keychain-db"]),
        Last(&["key3.db", "key4.db", "logins.json", "wallet.dat"]),
    ]),
    rule("gnupg", "a key ring of GnuPG", &[
        Part(&[".gnupg", ".password-store", "private-keys-v1.d", "trustdb.gpg"]), Prefix(&["secring.", "pubring."]),
    ]),
    rule("cloud-credentials", "credentials of a cloud or a cluster", &[
        Part(&[".aws", ".azure", ".gcloud", ".kube", ".boto", ".s3cfg", ".oci", ".terraformrc", ".vault-token"]),
        Path(&[".config", "gcloud"]), Path(&[".docker", "config.json"]), Part(&[".dockercfg", ".dockerconfigjson"]),
        Last(&["application_default_credentials.json", "kubeconfig"]), Suffix(&[".tfstate", ".tfstate.backup"]),
    ]),
    rule("tool-credentials", "where a tool keeps passwords or tokens", &[
        Part(&[".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".gitconfig", ".htpasswd", ".htdigest",
            ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".gitcookies", ".curlrc", ".wgetrc"]),
        Path(&[".cargo", "credentials"]), Path(&[".cargo", "credentials.toml"]), Path(&[".gem", "credentials"]),
        Path(&[".m2", "settings.xml"]), Path(&[".config", "gh"]), Path(&[".config", "hub"]),
        Path(&[".bundle", "config"]), Path(&[".composer", "auth.json"]),
    ]),
    rule("history", "what somebody typed", &[
        Part(&[".bash_history", ".zsh_history", ".sh_history", ".python_history", ".node_repl_history", ".psql_history",
            ".mysql_history", ".sqlite_history", ".rediscli_history", ".irb_history", ".lesshst", ".viminfo"]),
    ]),
    rule("installed-packages", "packages that a tool installed", &[
        Part(&["node_modules", "bower_components", "jspm_packages", "site-packages", "dist-packages", ".pnpm-store",
            "__pypackages__", ".eggs"]),
        Path(&[".yarn", "cache"]), Path(&[".yarn", "unplugged"]), Path(&["vendor", "bundle"]), Suffix(&[".egg-info"]),
    ]),
    rule("virtual-environment", "a virtual environment", &[
        Part(&[".venv", "venv", ".virtualenv", "virtualenv", ".virtualenvs", ".direnv", ".conda", "conda-meta"]),
        Last(&["pyvenv.cfg"]),
    ]),
    rule("cache", "a cache", &[
        Part(&["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox", ".cache", ".npm", ".gradle",
            ".terraform", ".ipynb_checkpoints", ".nyc_output", ".hypothesis", ".eslintcache", ".parcel-cache",
            ".sass-cache", ".turbo", ".vagrant", ".bundler", ".ccache", ".sccache", ".coverage", "cachedir.tag"]),
        Prefix(&[".coverage."]), Suffix(&[".pyc", ".pyo", ".profraw", ".profdata", ".gcda", ".gcno", ".tsbuildinfo"]),
        Path(&[".yarn", "install-state.gz"]), Path(&[".cargo", "registry"]), Path(&[".cargo", "git"]),
    ]),
    rule("build-output", "what a build made", &[
        Folder(&["target", "dist", "build", "_build"]),
        Path(&["target", "debug"]), Path(&["target", "release"]), Path(&["target", "package"]),
        Part(&[".next", ".nuxt", ".svelte-kit", ".output", ".build", "cmakefiles", "cmakecache.txt", ".rustc_info.json",
            "deriveddata"]),
        Prefix(&["cmake-build-"]),
        Suffix(&[".o", ".a", ".so", ".dylib", ".dll", ".exe", ".class", ".rlib", ".rmeta", ".pyd", ".dsym"]),
    ]),
    rule("litter", "what an operating system or an editor left", &[
        Part(&[".ds_store", "thumbs.db", "ehthumbs.db", "desktop.ini", "__macosx", ".spotlight-v100", ".trashes",
            ".fseventsd", ".idea", ".vs", ".history"]),
        Prefix(&["._", ".#", ".trash-"]), Suffix(&["~", ".swp", ".swo", ".swx"]),
    ]),
];

/// The first rule that refuses `path`.
pub fn refused(path: &str) -> Option<&'static NameRule> {
    let lower = path.to_ascii_lowercase();
    let parts: Vec<&str> = lower.split('/').collect();
    NAME_RULES.iter().find(|rule| rule.matches.iter().any(|one| one.holds(&parts)))
}

impl Match {
    fn holds(&self, parts: &[&str]) -> bool {
        let any = |test: &dyn Fn(&str) -> bool| parts.iter().any(|part| test(part));
        match self {
            Self::Part(names) => any(&|part| names.contains(&part)),
            Self::Prefix(starts) => any(&|part| starts.iter().any(|start| part.starts_with(start))),
            Self::Suffix(ends) => any(&|part| ends.iter().any(|end| part.ends_with(end))),
            Self::Last(names) => parts.last().is_some_and(|last| names.contains(last)),
            Self::Path(path) => parts.windows(path.len()).any(|window| window == *path),
            Self::Folder(names) => {
                let folders = parts.split_last().map_or(&[][..], |(_, folders)| folders);
                let found = folders.iter().position(|part| names.contains(part));
                let above = found.and_then(|at| folders.get(..at));
                above.is_some_and(|above| !above.iter().any(|part| SOURCES.contains(part)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    #[expect(clippy::too_many_lines, reason = "most of it is a table")]
    fn each_rule_refuses_its_names() {
        let rows: &[(&str, &[&str])] = &[
            ("environment-file", &[".env", "a/.ENV", ".env.local", ".env.example", "prod.env", ".envrc", ".env-old"]),
            ("git-metadata", &[".git", ".git/HEAD", "tools/.Git", ".gitmodules", "mirror.git/HEAD"]),
            ("version-control", &[".hg/store", "a/.svn/entries", ".jj/repo", "CVS/Root"]),
            ("ssh", &[".ssh/config", "keys/id_rsa", "ID_ED25519", "id_rsa.bak", "known_hosts", "ssh_host_rsa_key"]),
            (
                "key-file",
                &["a.pem", "tls/server.KEY", "x.p12", "x.pfx", "x.jks", "x.keystore", "x.kdbx", "x.ppk", "x.p8"],
            ),
            ("gnupg", &[".gnupg/x", "secring.gpg", "pubring.kbx", "trustdb.gpg"]),
            (
                "cloud-credentials",
                &[
                    ".aws/config",
                    ".azure/x",
                    ".kube/config",
                    ".config/gcloud/x",
                    ".docker/config.json",
                    "terraform.tfstate",
                ],
            ),
            (
                "tool-credentials",
                &[
                    ".netrc",
                    "_netrc",
                    ".npmrc",
                    "web/.npmrc",
                    ".pypirc",
                    ".cargo/credentials",
                    ".cargo/credentials.toml",
                    ".git-credentials",
                    ".gem/credentials",
                    ".htpasswd",
                    ".pgpass",
                    ".my.cnf",
                ],
            ),
            ("history", &[".bash_history"]),
            (
                "installed-packages",
                &[
                    "node_modules/a/index.js",
                    "web/bower_components/x",
                    "lib/site-packages/x.py",
                    ".yarn/cache/x.zip",
                    ".pnpm-store/v3",
                ],
            ),
            ("virtual-environment", &[".venv/bin/python", "venv/x", "env/pyvenv.cfg"]),
            (
                "cache",
                &[
                    "a/__pycache__/a.pyc",
                    "x.pyc",
                    ".pytest_cache/README.md",
                    ".coverage",
                    ".coverage.host.1",
                    ".tox/x",
                    ".cache/x",
                    ".gradle/x",
                    ".hypothesis/x",
                    "a/CACHEDIR.TAG",
                    ".ipynb_checkpoints/x",
                ],
            ),
            (
                "build-output",
                &[
                    "target/debug/x",
                    "crates/a/target/doc/x",
                    "dist/a.js",
                    "packages/a/dist/a.js",
                    "build/x",
                    "src/target/release/x",
                    "a.o",
                    "lib/a.so",
                    "b.dll",
                    "A.class",
                ],
            ),
            ("litter", &[".DS_Store", "a/Thumbs.db", "desktop.ini", "a.swp", "a.txt~", ".idea/x", "._a", "__MACOSX/a"]),
        ];
        for (rule, names) in rows {
            for name in *names {
                assert_eq!(refused(name).map(|rule| rule.name), Some(*rule), "{name}");
            }
        }
        let tested: BTreeSet<_> = rows.iter().map(|(rule, _)| *rule).collect();
        assert_eq!(tested, NAME_RULES.iter().map(|rule| rule.name).collect());
        assert_eq!(tested.len(), NAME_RULES.len(), "a rule's name stands twice");
    }

    #[test]
    fn texts_of_the_table_are_in_lower_case() {
        for one in NAME_RULES.iter().flat_map(|rule| rule.matches) {
            let (Part(texts) | Prefix(texts) | Suffix(texts) | Last(texts) | Path(texts) | Folder(texts)) = one;
            assert!(texts.iter().all(|text| *text == text.to_ascii_lowercase()), "{texts:?}");
        }
    }

    #[test]
    fn sources_and_evidence_are_not_refused() {
        for name in [
            "README.md",
            ".gitignore",
            ".gitattributes",
            ".gitkeep",
            ".github/workflows/ci.yml",
            "environment.rs",
            "src/env.rs",
            "src/build/mod.rs",
            "src/target.rs",
            "src/dist/x.rs",
            "build.rs",
            "src/target/mod.rs",
            "dist.md",
            "cases/01/store.sqlite3",
            "cases/01/store.sqlite3-wal",
            "store.sqlite3-journal",
            "a.db",
            "case.stdout.log",
            "server.transcript.jsonl",
            "server.transcript.log",
            "source.tar.gz",
            "release/a.zip",
            "id_rsa.pub",
            "src/keys.rs",
            "keyboard.md",
            "a.pub",
            "sig.asc",
            "monkey",
            ".vscode/settings.json",
            "docs/build/x.md",
            "package-lock.json",
            "Cargo.lock",
            ".cargo/config.toml",
            "results.jsonl",
            "a.pem.md",
            "history.md",
        ] {
            assert_eq!(refused(name).map(|rule| rule.name), None, "{name}");
        }
    }
}
