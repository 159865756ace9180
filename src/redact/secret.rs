//! Owns the forms of private keys and tokens: what issuers give a fixed mark, so that it can be told from other text.
//!
//! Refuses nothing: a form is no proof of a secret, and a secret without a form is not seen. Invariant: ordinary code,
//! digests, base64 and signed state strings have none of these forms; the project's own files are held to that.
//!
//! The marks are published by the issuers or collected by public scanners (gitleaks, trufflehog, GitHub's list of
//! supported secret patterns); the patterns here are written for this program.

use regex::bytes::{Regex, RegexSet};

/// A form of secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Secret {
    /// The rule's stable name.
    pub rule: &'static str,
    /// What has the form.
    pub what: &'static str,
    /// The form. ASCII only, so that it means the same for any bytes.
    pattern: &'static str,
}

const fn secret(rule: &'static str, what: &'static str, pattern: &'static str) -> Secret {
    Secret { rule, what, pattern }
}

/// The forms.
pub const SECRETS: &[Secret] = &[
    secret("private-key", "a private key", r"-----? ?BEGIN (?:[A-Z0-9]{2,16} ){0,3}PRIVATE KEY(?: BLOCK)? ?-----?"),
    secret("putty-key", "a PuTTY key", r"PuTTY-User-Key-File-[0-9]: "),
    secret("age-key", "an age key", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    secret(
        "signing-key",
        "a minisign or signify key",
        r"(?:minisign (?:encrypted )?|signify )secret key\r?\nR[WU][A-Za-z0-9+/]{40}",
    ),
    secret("aws-key", "an AWS access key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    secret(
        "aws-secret",
        "an AWS secret access key",
        r#"(?i:aws_?secret_?access_?key|secretaccesskey)["']?\s{0,4}[:=]\s{0,4}["']?[A-Za-z0-9/+]{40}(?:[^A-Za-z0-9/+=]|\z)"#,
    ),
    secret("github-token", "a GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{82})"),
    secret("gitlab-token", "a GitLab token", r"\bgl(?:pat|ptt|rt|dt|soat|ft|imt|agent|cbt|oas)-[A-Za-z0-9_-]{20}"),
    secret("npm-token", "an npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    secret("pypi-token", "a PyPI token", r"\bpypi-AgE[A-Za-z0-9_-]{50}"),
    secret("crates-io-token", "a crates.io token", r"\bcio[A-Za-z0-9]{32}\b"),
    secret(
        "slack-token",
        "a Slack token",
        r"\bxox[abeoprs]-[A-Za-z0-9-]{20}|hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{40}",
    ),
    secret("stripe-key", "a Stripe key", r"\b[rs]k_live_[A-Za-z0-9]{20}"),
    secret(
        "google-key",
        "a Google key",
        r"\bAIza[A-Za-z0-9_-]{35}\b|\bGOCSPX-[A-Za-z0-9_-]{28}|\bya29\.[A-Za-z0-9_-]{40}",
    ),
    secret("azure-key", "an Azure storage key", r"AccountKey=[A-Za-z0-9+/]{86}=="),
    secret("sendgrid-key", "a SendGrid key", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b"),
    secret("twilio-key", "a Twilio key", r"\bSK[0-9a-f]{32}\b"),
    secret("digitalocean-token", "a DigitalOcean token", r"\bdo[opr]_v1_[0-9a-f]{64}\b"),
    secret("huggingface-token", "a Hugging Face token", r"\bhf_[A-Za-z0-9]{34}"),
    secret(
        "openai-key",
        "an OpenAI key",
        r"\bsk-(?:[A-Za-z0-9]{48}\b|(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40}|[A-Za-z0-9_-]{20,74}T3BlbkFJ[A-Za-z0-9_-]{20})",
    ),
    secret("anthropic-key", "an Anthropic key", r"\bsk-ant-[a-z0-9]{1,10}-[A-Za-z0-9_-]{40}"),
    secret("telegram-token", "a Telegram bot's token", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b"),
    secret(
        "discord-token",
        "a Discord bot's token",
        r"\b[MNO][A-Za-z0-9]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}\b",
    ),
    secret("json-web-token", "a JSON web token", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16}"),
    secret(
        "authorization",
        "a value of an Authorization header",
        r#"(?i:\bauthorization\\?["']?\s{0,4}[:=,]\s{0,4}\\?["']?(?:bearer|basic|token)\s{1,4})[A-Za-z0-9+/_.~=-]{16}"#,
    ),
    secret(
        "url-password",
        "a URL with a password",
        r#"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@"'<>{}$\\]{1,100}:[^\s/:@"'<>{}$\\]{1,100}@[A-Za-z0-9]"#,
    ),
];

/// The forms, ready for a search.
#[derive(Debug)]
pub(super) struct Forms {
    any: RegexSet,
    each: Vec<Regex>,
}

impl Forms {
    /// # Errors
    /// None in a build whose tests passed: the patterns are part of it.
    pub(super) fn new() -> Result<Self, regex::Error> {
        let ascii: Vec<String> = SECRETS.iter().map(|secret| format!("(?-u){}", secret.pattern)).collect();
        Ok(Self {
            any: RegexSet::new(&ascii)?,
            each: ascii.iter().map(|pattern| Regex::new(pattern)).collect::<Result<_, _>>()?,
        })
    }

    /// The forms that a text has, each with where it first has it.
    pub(super) fn find(&self, text: &[u8]) -> Vec<(&'static Secret, usize)> {
        let found = self.any.matches(text);
        let at = |index: usize| Some((SECRETS.get(index)?, self.each.get(index)?.find(text)?.start()));
        found.iter().filter_map(at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<&'static str> {
        Forms::new().unwrap().find(text.as_bytes()).into_iter().map(|(secret, _)| secret.rule).collect()
    }

    /// Made up, and put together here so that no file of the project has the form.
    fn made(parts: &[&str], fill: &str, count: usize) -> String {
        format!("{}{}", parts.concat(), fill.repeat(count).chars().take(count).collect::<String>())
    }

    /// A rule, a text of its form, and one that lacks a little.
    type Case = (&'static str, String, String);

    const ALNUM: &str = "aB3dE5gH7j";

    fn keys() -> Vec<Case> {
        vec![
            ("private-key", ["-----BEGIN ", "RSA PRIVATE KEY-----"].concat(), "-----BEGIN RSA PUBLIC KEY-----".into()),
            ("private-key", ["-----BEGIN ", "PRIVATE KEY-----"].concat(), "-----BEGIN CERTIFICATE-----".into()),
            ("private-key", ["-----BEGIN ", "OPENSSH PRIVATE KEY-----"].concat(), "PRIVATE KEY".into()),
            ("private-key", ["-----BEGIN ", "ENCRYPTED PRIVATE KEY-----"].concat(), String::new()),
            (
                "private-key",
                ["-----BEGIN ", "PGP PRIVATE KEY BLOCK-----"].concat(),
                "BEGIN PGP PUBLIC KEY BLOCK".into(),
            ),
            ("private-key", ["---- BEGIN ", "SSH2 ENCRYPTED PRIVATE KEY ----"].concat(), String::new()),
            ("putty-key", ["PuTTY-User-", "Key-File-3: ssh-ed25519"].concat(), "PuTTY".into()),
            (
                "age-key",
                made(&["AGE-SECRET-", "KEY-1"], "QPZRY9X8GF", 58),
                made(&["AGE-SECRET-", "KEY-1"], "QPZRY9X8GF", 57),
            ),
            (
                "signing-key",
                made(&["comment: minisign encrypted secret key\n", "RWRTY"], ALNUM, 60),
                "minisign secret key".into(),
            ),
            ("aws-key", made(&["AK", "IA"], "Q2W3E4R5T6", 16), made(&["AK", "IA"], "Q2W3E4R5T6", 15)),
            (
                "aws-secret",
                made(&["aws_secret", "_access_key = "], ALNUM, 40),
                made(&["aws_secret", "_access_key = "], ALNUM, 39),
            ),
        ]
    }

    fn tokens() -> Vec<Case> {
        vec![
            ("github-token", made(&["gh", "p_"], ALNUM, 36), made(&["gh", "p_"], ALNUM, 35)),
            ("github-token", made(&["github", "_pat_"], ALNUM, 82), made(&["github", "_pat_"], ALNUM, 81)),
            ("gitlab-token", made(&["gl", "pat-"], ALNUM, 20), made(&["gl", "pat-"], ALNUM, 19)),
            ("npm-token", made(&["np", "m_"], ALNUM, 36), made(&["np", "m_"], ALNUM, 35)),
            ("pypi-token", made(&["pypi-", "AgE"], ALNUM, 50), made(&["pypi-", "AgE"], ALNUM, 49)),
            ("crates-io-token", made(&["ci", "o"], ALNUM, 32), made(&["ci", "o"], ALNUM, 33)),
            ("slack-token", made(&["xo", "xb-"], ALNUM, 20), made(&["xo", "xb-"], ALNUM, 19)),
            ("stripe-key", made(&["sk_", "live_"], ALNUM, 20), made(&["sk_", "test_"], ALNUM, 20)),
            ("google-key", made(&["AI", "za"], ALNUM, 35), made(&["AI", "za"], ALNUM, 34)),
            ("azure-key", made(&["Account", "Key="], ALNUM, 86) + "==", made(&["Account", "Key="], ALNUM, 85) + "=="),
            (
                "sendgrid-key",
                made(&["S", "G."], ALNUM, 22) + "." + &made(&[], ALNUM, 43),
                made(&["S", "G."], ALNUM, 22),
            ),
            ("twilio-key", made(&["S", "K"], "0a1b2c3d4e", 32), made(&["S", "K"], "0a1b2c3d4e", 31)),
            ("digitalocean-token", made(&["dop", "_v1_"], "0a1b2c3d4e", 64), made(&["dop", "_v1_"], "0a1b2c3d4e", 63)),
            ("huggingface-token", made(&["h", "f_"], ALNUM, 34), made(&["h", "f_"], ALNUM, 33)),
            ("openai-key", made(&["s", "k-"], ALNUM, 48), made(&["s", "k-"], ALNUM, 47)),
            ("openai-key", made(&["sk-", "proj-"], ALNUM, 40), made(&["sk-", "proj-"], ALNUM, 39)),
            ("anthropic-key", made(&["sk-", "ant-api03-"], ALNUM, 40), made(&["sk-", "ant-api03-"], ALNUM, 39)),
            ("telegram-token", made(&["123456789", ":AA"], ALNUM, 33), made(&["123456789", ":AA"], ALNUM, 32)),
            ("discord-token", made(&["M"], ALNUM, 23) + ".AbCdEf." + &made(&[], ALNUM, 27), made(&["M"], ALNUM, 23)),
            (
                "json-web-token",
                made(&["ey", "J"], ALNUM, 20) + "." + &made(&["ey", "J"], ALNUM, 20) + "." + &made(&[], ALNUM, 43),
                made(&["ey", "J"], ALNUM, 20) + "." + &made(&[], ALNUM, 43),
            ),
            (
                "authorization",
                made(&["Authorization", ": Bearer "], ALNUM, 16),
                made(&["Authorization", ": Bearer "], ALNUM, 15),
            ),
            (
                "authorization",
                made(&["\"authorization", "\":\"Basic "], ALNUM, 16),
                "authorization: Bearer <token>".into(),
            ),
            (
                "url-password",
                ["https://user:", "hunter2@example.org"].concat(),
                "https://user@example.org:8080/a@b".into(),
            ),
        ]
    }

    #[test]
    fn each_form_is_seen_and_a_shorter_one_is_not() {
        let cases = [keys(), tokens()].concat();
        for (rule, bad, good) in &cases {
            assert_eq!(rules(bad), [*rule], "{bad}");
            assert_eq!(rules(&format!("x={bad};")), [*rule], "{bad}");
            assert_eq!(rules(good), [""; 0], "{good}");
        }
        for secret in SECRETS {
            assert!(cases.iter().any(|(rule, ..)| *rule == secret.rule), "{} is not tried", secret.rule);
        }
    }

    #[test]
    fn ordinary_text_has_no_form() {
        for text in [
            "v1.eyJvcGVyYXRpb25JZCI6ImNhc2UtMDMifQ.q1w2e3r4t5y6u7i8o9p0q1w2e3r4t5y6",
            "588c0c70128a40c9604de91396a20c69e80f345fdb044c91fa4b57a93760127b",
            "sha512-4v0bkqVKTRpCvw8lJPIx1sGmLSGVn8+Kc0m5CM2jz3mTuYQnXqUZyL0gH5l3tR1oLZq0cF1Z9m8wJ0kX0aPzNg==",
            "git+ssh://git@example.org/a/b.git",
            "http://[::1]:8080/path@x",
            "let key = \"a-task-id\"; // sk-a",
        ] {
            assert_eq!(rules(text), [""; 0], "{text}");
        }
    }
}
