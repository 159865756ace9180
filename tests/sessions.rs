//! Holds golden sessions: what each command says, to a person and to a program, with its exit code. A session is a text
//! file in `tests/sessions/`; lines that start with `$ exhibit` are run one after the other in a folder with the inputs
//! (`tests/sessions/inputs/`, the made example and its archive). With `EXHIBIT_UPDATE` set, what they give is written
//! back instead. What the README shows is held in the same way.
#![expect(clippy::disallowed_methods, reason = "a test may read the environment")]
#![expect(clippy::expect_used, reason = "a test that can't read what it checks fails")]

mod desk;

use std::fmt::Write as _;
use std::path::PathBuf;

use desk::Desk;

const PROMPT: &str = "$ exhibit";

/// The sessions, sorted.
fn sessions() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sessions");
    let entries = std::fs::read_dir(folder).expect("the sessions can be listed");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("the sessions can be listed").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    paths.sort();
    paths
}

/// The session's commands with what they give now.
fn play(session: &str) -> String {
    let desk = Desk::new();
    let mut played = String::new();
    for line in session.lines().filter(|line| line.starts_with(PROMPT)) {
        let arguments: Vec<_> = line.trim_start_matches(PROMPT).split_whitespace().collect();
        let output = desk.run(&arguments);
        let stdout = String::from_utf8(output.stdout).expect("reports are UTF-8");
        let stderr = String::from_utf8(output.stderr).expect("complaints are UTF-8");
        let code = output.status.code().expect("the program ends by itself");
        let gap = if played.is_empty() { "" } else { "\n" };
        write!(played, "{gap}{line}\n[stdout]\n{stdout}[stderr]\n{stderr}[exit code] {code}\n").expect("text can grow");
    }
    played
}

#[test]
fn every_command_says_what_its_session_says() {
    let sessions = sessions();
    assert!(sessions.len() > 10, "the sessions were not found: {sessions:?}");
    for path in sessions {
        let session = std::fs::read_to_string(&path).expect("the session can be read");
        let played = play(&session);
        assert!(played.contains(PROMPT), "{} runs nothing", path.display());
        if std::env::var_os("EXHIBIT_UPDATE").is_some() {
            std::fs::write(&path, &played).expect("the session can be written");
        } else {
            assert!(session == played, "{}: run with EXHIBIT_UPDATE=1 and compare\n{played}", path.display());
        }
    }
}

#[test]
fn the_readme_shows_what_the_program_says() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("it can be read");
    let shown: Vec<&str> = readme.split("```\n").filter(|block| block.starts_with(PROMPT)).collect();
    assert!(shown.len() > 3, "the README shows no session");
    for block in shown {
        let (command, report) = block.split_once('\n').expect("a block has lines");
        let desk = Desk::new();
        let arguments: Vec<_> = command.trim_start_matches(PROMPT).split_whitespace().collect();
        let said = String::from_utf8(desk.run(&arguments).stdout).expect("reports are UTF-8");
        assert!(!report.is_empty() && said.starts_with(report), "{command}\n{said}");
    }
}

#[test]
fn every_exit_code_that_a_command_chooses_is_in_a_session() {
    let all: String = sessions().iter().map(|path| std::fs::read_to_string(path).expect("it can be read")).collect();
    for code in 0..=3 {
        assert!(all.contains(&format!("[exit code] {code}\n")), "no session ends with {code}");
    }
}
