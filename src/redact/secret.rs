//! Owns what private keys and tokens look like.
//!
//! Refuses to show one. Invariant: a match starts at most [`REACH`] bytes before the word that it is looked for by and ends
//! at most [`MAX_SECRET`] bytes after it, so that searching in overlapping windows is exact.

use aho_corasick::{AhoCorasick, Input, MatchKind};
use regex::bytes::{Regex, RegexBuilder};

use crate::limits::{MAX_MATCHER, MAX_SECRET};

/// A rule that refuses contents.
#[derive(Debug)]
pub struct SecretRule {
    /// Its stable name.
    pub name: &'static str,
    /// What it is, as part of a sentence.
    pub what: &'static str,
    /// Words, one of which stands in every match; letters of either case are the same here.
    words: &'static [&'static str],
    /// What is matched. Its group `t`, where it has one, must look random: not a word that stands for a token.
    pattern: &'static str,
}

/// Bytes that a match may start before its word.
pub(super) const REACH: usize = 24;

const fn rule(
    name: &'static str,
    what: &'static str,
    words: &'static [&'static str],
    pattern: &'static str,
) -> SecretRule {
    SecretRule { name, what, words, pattern }
}

/// Every rule on contents. `«` stands for a place where no letter, digit, `_` or `-` is before, `»` for one where none
/// follows, nor one of `+/=`.
#[rustfmt::skip] // A row is a name, what it is, its words and its pattern.
pub static SECRET_RULES: &[SecretRule] = &[
    rule("private-key", "a private key in PEM armour", &["-----begin ", "---- begin "],
        r"-----?[ ]?BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?[ ]?-----?[ \t]{0,4}(?:[\r\n]|\\[nr]|$)"),
    rule("putty-key", "a private key of PuTTY", &["putty-user-key-file-"],
        r"PuTTY-User-Key-File-[123]: [a-z0-9@.-]{3,60}\s{1,4}Encryption: "),
    rule("age-key", "a secret key of age", &["age-secret-key-"],
        r"«(?:AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}|age-secret-key-1[02-9ac-hj-np-z]{58}|AGE-SECRET-KEY-PQ-1[02-9AC-HJ-NP-Z]{58,200})»"),
    rule("minisign-key", "a secret key of minisign or signify", &["untrusted comment:"],
        r"untrusted comment:[^\r\n]{0,400}\r?\n(?:RWRTY0Iy|RWQAAEIy|RWRCS)[A-Za-z0-9+/]{90,300}"),
    rule("aws-key-id", "an access key id of AWS", &["akia", "asia", "abia", "acca"],
        r"«(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}»"),
    rule("aws-secret-key", "a secret access key of AWS", &["secret_access_key", "secretaccesskey", "secret_key", "secret-access-key"],
        r#"(?i:secret[_-]?(?:access[_-]?)?key)["']?\s{0,5}(?:=>|:=|[=:])\s{0,5}["']?(?P<t>[A-Za-z0-9/+]{40})»"#),
    rule("github-token", "a token of GitHub", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"«(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})»"),
    rule("gitlab-token", "a token of GitLab", &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-"],
        r"«gl(?:pat|dt|rt|ptt|cbt|soat)-[A-Za-z0-9_-]{20,300}(?:\.[A-Za-z0-9_.-]{2,60})?"),
    rule("npm-token", "a token of npm", &["npm_"], r"«npm_[A-Za-z0-9]{36}»"),
    rule("pypi-token", "a token of PyPI", &["pypi-age"], r"«pypi-AgE[A-Za-z0-9_-]{50,1000}"),
    rule("crates-io-token", "a token of crates.io", &["cio"], r"«cio(?P<t>[A-Za-z0-9]{32})»"),
    rule("slack-token", "a token or webhook of Slack", &["xoxa-", "xoxb-", "xoxp-", "xoxo-", "xoxr-", "xoxs-", "xoxe-", "xoxe.xox", "xapp-", "hooks.slack.com/"],
        r"«(?:xox[abeoprs]-(?:[0-9]{1,15}-){1,3}[A-Za-z0-9-]{10,250}|xoxe\.xox[bp]-[0-9]-[A-Za-z0-9]{100,250}|xapp-[0-9]-[A-Z0-9]{5,20}-[0-9]{5,20}-[a-z0-9]{20,100}|hooks\.slack\.com/(?:services|workflows|triggers)/(?P<t>[A-Za-z0-9+/]{40,60}))"),
    rule("stripe-key", "a key of Stripe", &["sk_live_", "rk_live_", "whsec_"],
        r"«(?:(?:sk|rk)_live_[A-Za-z0-9]{16,250}|whsec_(?P<t>[A-Za-z0-9+/]{32,64}))"),
    rule("google-key", "a key or client secret of Google", &["aiza", "gocspx-", "ya29.", "\"private_key_id\""],
        r#"«(?:AIza[A-Za-z0-9_-]{35}»|GOCSPX-[A-Za-z0-9_-]{28}»|ya29\.[A-Za-z0-9_-]{60,1000})|"private_key_id"\s{0,5}:\s{0,5}"[0-9a-f]{40}""#),
    rule("azure-key", "a key of an Azure account", &["accountkey=", "sharedaccesskey="],
        r"(?i:AccountKey=)[A-Za-z0-9+/]{86}==|(?i:SharedAccessKey=)[A-Za-z0-9+/]{43}="),
    rule("sendgrid-key", "a key of SendGrid", &["sg."], r"«SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}»"),
    rule("twilio-key", "a key of Twilio", &["sk"], r"«SK[0-9a-f]{32}»"),
    rule("digitalocean-token", "a token of DigitalOcean", &["dop_v1_", "doo_v1_", "dor_v1_"], r"«do[opr]_v1_[0-9a-f]{64}»"),
    rule("huggingface-token", "a token of Hugging Face", &["hf_"], r"«hf_[A-Za-z]{34}»|«hf_(?P<t>[A-Za-z0-9]{34})»"),
    rule("openai-key", "a key of OpenAI", &["sk-"],
        r"«sk-(?:(?:proj|svcacct|admin|None)-(?P<t>[A-Za-z0-9_-]{20,300})|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}»|(?P<u>[A-Za-z0-9]{48})»)"),
    rule("anthropic-key", "a key of Anthropic", &["sk-ant-"], r"«sk-ant-[a-z0-9]{3,12}-[A-Za-z0-9_-]{32,300}"),
    rule("telegram-token", "a token of a Telegram bot", &[":aa"], r"«[0-9]{8,10}:AA[A-Za-z0-9_-]{33}»"),
    rule("discord-token", "a token or webhook of Discord", &["discord"],
        r#"(?i:discord(?:app)?\.com/api/webhooks/)[0-9]{15,22}/[A-Za-z0-9_-]{60,80}|(?i:discord)[A-Za-z0-9_ -]{0,30}["']?\s{0,3}[=:]\s{0,3}["']?[MNO][A-Za-z0-9]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}»"#),
    rule("jwt", "a JSON web token", &["eyj"], r"«eyJ[A-Za-z0-9_-]{10,1500}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{16,1000}"),
    rule("authorization", "the value of an authorization header", &["authorization"],
        r#"(?i:authorization)\\?["']?\s{0,3}[:=,]\s{0,3}\\?["']?(?i:bearer|basic|token|bot)\s{1,3}(?P<t>[A-Za-z0-9._~+/-]{16,4000})"#),
    rule("url-password", "a password in a URL", &["://"],
        r#"://[^\s/:@"'`<>{}()$%\[\]\\]{1,64}:(?P<p>[^\s/:@"'`<>{}()$\[\]\\]{3,128})@[A-Za-z0-9\[]"#),
];

/// Passwords that stand for one in examples.
const STAND_INS: &[&[u8]] = &[b"password", b"passwd", b"pass", b"pwd", b"secret", b"***", b"xxx", b"..."];

/// A secret that was found: which rule, and where it lies in the bytes searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Secret {
    pub(super) rule: &'static SecretRule,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl PartialEq for SecretRule {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for SecretRule {}

/// The rules, ready for use.
#[derive(Debug)]
pub(super) struct Secrets {
    words: AhoCorasick,
    /// For each word its rule and that rule's pattern.
    rules: Vec<(&'static SecretRule, Regex)>,
}

impl Secrets {
    /// # Errors
    /// None in a build whose tests passed: the rules are part of it.
    pub(super) fn new() -> Result<Self, String> {
        let (mut words, mut rules) = (Vec::new(), Vec::new());
        for rule in SECRET_RULES {
            let text = boundaries(rule.pattern);
            let mut builder = RegexBuilder::new(&text);
            let built = builder.unicode(false).size_limit(MAX_MATCHER).dfa_size_limit(MAX_MATCHER).build();
            let pattern = built.map_err(|error| format!("{}: {error}", rule.name))?;
            for word in rule.words {
                words.push(*word);
                rules.push((rule, pattern.clone()));
            }
        }
        let mut builder = AhoCorasick::builder();
        let words = builder.match_kind(MatchKind::Standard).ascii_case_insensitive(true).build(words);
        Ok(Self { words: words.map_err(|error| error.to_string())?, rules })
    }

    /// Calls `found` for each secret whose word starts in the given part of `bytes`, in order of their words.
    pub(super) fn search(&self, bytes: &[u8], from: usize, to: usize, found: &mut dyn FnMut(Secret)) {
        let (mut last, mut end) = (None, 0);
        for word in self.words.find_overlapping_iter(Input::new(bytes).range(from..)) {
            if word.start() >= to {
                continue;
            }
            let Some((rule, pattern)) = self.rules.get(word.pattern().as_usize()) else { continue };
            // One secret may hold its word twice.
            if last == Some(rule.name) && word.start() < end {
                continue;
            }
            if let Some(secret) = at_word(rule, pattern, bytes, word.start(), word.end()) {
                (last, end) = (Some(rule.name), secret.end);
                found(secret);
            }
        }
    }
}

/// The secret of a rule that holds the word that stands there.
fn at_word(rule: &'static SecretRule, pattern: &Regex, bytes: &[u8], word: usize, word_end: usize) -> Option<Secret> {
    let first = word.saturating_sub(REACH);
    let slice = bytes.get(first..bytes.len().min(word.saturating_add(MAX_SECRET)))?;
    // Most words are no secret's, and most secrets start at their word.
    let mut from = 0;
    while let Some(captures) = pattern.captures_at(slice, from) {
        let whole = captures.get(0)?;
        if first + whole.start() > word {
            return None;
        }
        if first + whole.end() >= word_end && is_random(&captures) {
            return Some(Secret { rule, start: first + whole.start(), end: first + whole.end() });
        }
        from = whole.start() + 1;
    }
    None
}

/// Whether what should be random is: a text without digits, or of few different bytes, stands for a token in an example.
fn is_random(captures: &regex::bytes::Captures<'_>) -> bool {
    if let Some(password) = captures.name("p") {
        return !STAND_INS.contains(&password.as_bytes());
    }
    let Some(token) = captures.name("t").or_else(|| captures.name("u")).map(|token| token.as_bytes()) else {
        return true;
    };
    let different: std::collections::BTreeSet<u8> = token.iter().copied().collect();
    different.len() >= 5 && token.iter().any(u8::is_ascii_digit) && token.iter().any(u8::is_ascii_alphabetic)
}

/// The pattern with its marks of boundaries written out.
fn boundaries(pattern: &str) -> String {
    pattern.replace('«', "(?:^|[^A-Za-z0-9_-])").replace('»', "(?:$|[^A-Za-z0-9_+/=-])")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn found(text: &str) -> Vec<&'static str> {
        let mut rules = Vec::new();
        let bytes = text.as_bytes();
        Secrets::new().unwrap().search(bytes, 0, bytes.len(), &mut |secret| {
            assert!(secret.start < secret.end && secret.end <= bytes.len());
            rules.push(secret.rule.name);
        });
        rules
    }

    /// Text that looks random, made so that none stands in this file.
    fn random(length: usize) -> String {
        "a8Kq3ZtR7mWx2VbN9cYd5LfP".chars().cycle().take(length).collect()
    }

    fn digits(length: usize) -> String {
        "4071936582".chars().cycle().take(length).collect()
    }

    fn hex(length: usize) -> String {
        "4f1a9c07b3e2d865".chars().cycle().take(length).collect()
    }

    #[expect(clippy::too_many_lines, reason = "it is a table")]
    fn examples() -> Vec<(&'static str, Vec<String>)> {
        let (r, d) = (random, digits);
        let pem = |kind: &str| format!("{}BEGIN {kind}-----\n{}\n", "-----", r(64));
        vec![
            (
                "private-key",
                vec![
                    pem("PRIVATE KEY"),
                    pem("RSA PRIVATE KEY"),
                    pem("EC PRIVATE KEY"),
                    pem("DSA PRIVATE KEY"),
                    pem("OPENSSH PRIVATE KEY"),
                    pem("ENCRYPTED PRIVATE KEY"),
                    pem("PGP PRIVATE KEY BLOCK"),
                    pem("RSA PRIVATE KEY").replace('\n', "\\n"),
                    format!(
                        "{}BEGIN RSA PRIVATE KEY-----\r\nProc-Type: 4,ENCRYPTED\r\nDEK-Info: AES-128-CBC,AB\r\n\r\n{}",
                        "-----",
                        r(64)
                    ),
                    format!("{} BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: x\n{}", "----", r(64)),
                ],
            ),
            ("putty-key", vec![format!("PuTTY-User-Key-File{}3: ssh-ed25519\nEncryption: none\n", "-")]),
            (
                "age-key",
                vec![format!("AGE-SECRET-KEY-{}{}", 1, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE")],
            ),
            ("minisign-key", vec![format!("untrusted{}comment: key\nRWRTY0Iy{}", ' ', r(200))]),
            (
                "aws-key-id",
                vec![format!("id={}{}", "AKIA", "Q3EGRTZ5AB7MNXK2"), format!("\"{}{}\"", "ASIA", "Q3EGRTZ5AB7MNXK2")],
            ),
            (
                "aws-secret-key",
                vec![
                    format!("aws_secret_access_{} = {}\n", "key", r(40)),
                    format!("\"SecretAccess{}\": \"{}\"", "Key", r(40)),
                ],
            ),
            (
                "github-token",
                ["ghp", "gho", "ghu", "ghs", "ghr"]
                    .iter()
                    .map(|k| format!("{k}_{}", r(36)))
                    .chain([format!("github{}pat_{}_{}", '_', r(22), r(59))])
                    .collect(),
            ),
            ("gitlab-token", vec![format!("glpat{}{}", '-', r(20))]),
            ("npm-token", vec![format!("//registry.npmjs.org/:_authToken=npm{}{}", '_', r(36))]),
            ("pypi-token", vec![format!("pypi{}AgE{}", '-', r(80))]),
            ("crates-io-token", vec![format!("token = \"c{}{}\"", "io", r(32))]),
            (
                "slack-token",
                vec![
                    format!("xoxb{}{}-{}-{}", '-', d(12), d(12), r(24)),
                    format!("https://hooks.slack{}com/services/T{}/B{}/{}", '.', r(9), r(9), r(24)),
                ],
            ),
            ("stripe-key", vec![format!("sk{}live_{}", '_', r(24)), format!("rk{}live_{}", '_', r(24))]),
            (
                "google-key",
                vec![
                    format!("AI{}{}", "za", r(35)),
                    format!("GOCSPX{}{}", '-', r(28)),
                    format!("\"private{}key_id\": \"{}\"", '_', hex(40)),
                ],
            ),
            ("azure-key", vec![format!("Account{}={}==;", "Key", r(86))]),
            ("sendgrid-key", vec![format!("S{}{}.{}", "G.", r(22), r(43))]),
            ("twilio-key", vec![format!("S{}{}", "K", hex(32))]),
            ("digitalocean-token", vec![format!("dop{}v1_{}", '_', hex(64))]),
            ("huggingface-token", vec![format!("hf{}{}", '_', r(34))]),
            (
                "openai-key",
                vec![
                    format!("sk{}{}", '-', r(48)),
                    format!("sk{}proj-{}", '-', r(60)),
                    format!("sk{}{}T3Blbk{}{}", '-', r(20), "FJ", r(20)),
                ],
            ),
            ("anthropic-key", vec![format!("sk{}ant-api03-{}", '-', r(93))]),
            (
                "telegram-token",
                vec![
                    format!("bot{}:{}{}", " ".to_owned() + &d(9), "AA", r(33)),
                    format!("{}:{}{}", d(10), "AA", r(33)),
                ],
            ),
            (
                "discord-token",
                vec![
                    format!("DISCORD_TOKEN={}{}.{}.{}", "M", r(23), r(6), r(27)),
                    format!("https://discord{}com/api/webhooks/{}/{}", '.', d(18), r(68)),
                ],
            ),
            ("jwt", vec![format!("ey{}{}.ey{}{}.{}", "J", r(20), "J", r(40), r(43))]),
            (
                "authorization",
                vec![
                    format!("Authorization{} Bearer {}", ':', r(30)),
                    format!("{{\"authorization\"{}\"Basic {}\"}}", ':', r(24)),
                ],
            ),
            (
                "url-password",
                vec![format!("https{}//alice:{}@example.org/x", ':', r(12)), format!("postgres{}//db:hunter2@h", ':')],
            ),
        ]
    }

    #[test]
    fn each_rule_finds_its_secrets_and_no_other_does() {
        for (rule, texts) in examples() {
            for text in texts {
                for text in [text.clone(), format!("before \"{text}\" after\n"), format!("x\n{text}\n\n")] {
                    assert_eq!(found(&text), [rule], "{text}");
                }
            }
        }
        let tested: BTreeSet<_> = examples().iter().map(|(rule, _)| *rule).collect();
        assert_eq!(tested, SECRET_RULES.iter().map(|rule| rule.name).collect());
        assert_eq!(tested.len(), SECRET_RULES.len(), "a rule's name stands twice");
    }

    #[test]
    fn what_is_no_secret_is_not_found() {
        let r = random;
        for text in [
            format!("{}BEGIN CERTIFICATE-----\n{}", "-----", r(64)),
            format!("{}BEGIN PUBLIC KEY-----\n{}", "-----", r(64)),
            format!("if text.starts_with(\"{}BEGIN PRIVATE KEY-----\") {{ return {} }}", "-----", "x".repeat(40)),
            format!("v1.ey{}{}.{}", "J", r(60), r(43)),
            format!("sha256-{}= {} {}", r(43), hex(64), hex(40)),
            format!("\"integrity\": \"sha512-{}==\"", r(86)),
            "Authorization: Bearer <token>, Authorization: Bearer YOUR_ACCESS_TOKEN_GOES_HERE".to_owned(),
            "https://user:password@example.org https://example.org:8080/a@b ssh://git@host:22/x http://{user}:{pw}@h"
                .to_owned(),
            format!("sk-{} task-{} npm_lifecycle_event_is_no_token_whatever", "x".repeat(48), r(48)),
            format!("precio{} {}AKIA{}", r(32), r(4), "Q3EGRTZ5AB7MNXK2"),
            r(5000),
            "0123456789abcdef".repeat(300),
        ] {
            assert_eq!(found(&text), [""; 0], "{text}");
        }
    }
}
