//! The default build can't open a socket or start a process: it imports nothing that would, and depends on nothing
//! that would. What makes system calls without the C library shows in no symbol table; there the features of its crate
//! are held instead.
#![expect(clippy::disallowed_methods, reason = "the tests ask cargo for the dependency tree")]
#![expect(clippy::expect_used, reason = "a test that can't read what it checks fails")]

mod skip;

use std::path::Path;
use std::process::Command;

use object::Object;

/// Functions that open a socket, start a process or wait for one, or load code that could.
const FORBIDDEN_SYMBOLS: &[&str] = &[
    "socket",
    "socketpair",
    "connect",
    "bind",
    "listen",
    "accept",
    "accept4",
    "getaddrinfo",
    "gethostbyname",
    "getnameinfo",
    "send",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "recv",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "shutdown",
    "getsockopt",
    "setsockopt",
    "fork",
    "vfork",
    "clone",
    "clone3",
    "system",
    "popen",
    "wait",
    "waitpid",
    "waitid",
    "wait3",
    "wait4",
    "pidfd_open",
    "dlopen",
];

/// Families of such functions.
const FORBIDDEN_FAMILIES: &[&str] = &["exec", "fexecve", "posix_spawn", "pidfd_spawn"];

/// Crates that talk to a network or run tasks.
const FORBIDDEN_CRATES: &[&str] = &[
    "tokio",
    "async-std",
    "smol",
    "mio",
    "polling",
    "futures-executor",
    "reqwest",
    "hyper",
    "ureq",
    "isahc",
    "curl",
    "curl-sys",
    "attohttpc",
    "minreq",
    "socket2",
    "rustls",
    "native-tls",
    "openssl",
    "openssl-sys",
    "memmap",
    "memmap2",
];

/// Crates that make system calls of their own, which no symbol table shows.
const OWN_SYSTEM_CALLS: &[&str] = &["rustix", "nix"];

/// Their features that open sockets or start processes.
const FORBIDDEN_FEATURES: &[&str] = &["net", "process", "runtime", "socket", "all-apis"];

fn is_forbidden_symbol(name: &str) -> bool {
    FORBIDDEN_SYMBOLS.contains(&name) || FORBIDDEN_FAMILIES.iter().any(|family| name.starts_with(family))
}

/// The functions that a binary takes from shared libraries, without what macOS puts around their names.
fn imports(binary: &Path) -> Vec<String> {
    let bytes = std::fs::read(binary).expect("the binary can be read");
    let file = object::File::parse(&*bytes).expect("the binary is ELF or Mach-O");
    let mach = file.format() == object::BinaryFormat::MachO;
    let imports = file.imports().expect("the binary has a table of imported symbols");
    let names = imports.iter().map(|import| String::from_utf8(import.name().to_vec()).expect("symbols are UTF-8"));
    names.map(|name| if mach { name.split('$').next().unwrap_or("").replacen('_', "", 1) } else { name }).collect()
}

/// What is forbidden among the imports. An import table that lacks what every program needs was not read.
fn forbidden_imports(binary: &Path) -> Vec<String> {
    let all = imports(binary);
    for needed in [&["read", "pread", "pread64"][..], &["write", "writev"], &["open", "open64", "openat", "openat64"]] {
        assert!(all.iter().any(|name| needed.contains(&name.as_str())), "none of {needed:?} in {all:?}");
    }
    all.into_iter().filter(|name| is_forbidden_symbol(name)).collect()
}

#[test]
fn the_binary_opens_no_socket_and_starts_no_process() {
    // Building the tests themselves for release would take far longer than building the program.
    let given = std::env::var_os("EXHIBIT_RELEASE_BINARY");
    if cfg!(debug_assertions) && given.is_none() {
        // Not in the log of skipped checks: `.ci/run` makes this check in its own step.
        println!("skipped: imported symbols: only a release build drops what it doesn't use (EXHIBIT_RELEASE_BINARY)");
        return;
    }
    if cfg!(target_feature = "crt-static") {
        return skip::skipped("imported symbols: a static build imports none");
    }
    let binary = given.unwrap_or_else(|| env!("CARGO_BIN_EXE_exhibit").into());
    assert_eq!(forbidden_imports(Path::new(&binary)), [""; 0]);
}

#[test]
fn a_binary_that_does_is_caught() {
    // This test's own binary listens here and starts cargo below.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a local port is free");
    assert!(listener.local_addr().is_ok_and(|address| address.port() > 0));
    if cfg!(target_feature = "crt-static") {
        return skip::skipped("imported symbols of the counterexample: a static build imports none");
    }
    let found = forbidden_imports(&std::env::current_exe().expect("this test runs from a file"));
    for needed in ["socket", "bind", "listen"] {
        assert!(found.iter().any(|name| name == needed), "{needed} not in {found:?}");
    }
    assert!(found.iter().any(|name| name.starts_with("posix_spawn") || name.starts_with("exec")), "{found:?}");
}

/// Faults in lines of `name features`, features parted by commas.
fn forbidden_crates(tree: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for line in tree.lines() {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let features = rest.rsplit_once('[').map_or("", |(_, list)| list.trim_end_matches([']', '*', '(', ')', ' ']));
        if FORBIDDEN_CRATES.contains(&name) || name.starts_with("async-") {
            faults.push(name.to_owned());
        }
        if OWN_SYSTEM_CALLS.contains(&name) {
            let bad = features.split(',').filter(|feature| FORBIDDEN_FEATURES.contains(feature));
            faults.extend(bad.map(|feature| format!("{name}/{feature}")));
        }
    }
    faults
}

#[test]
fn no_dependency_talks_or_runs_tasks() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--edges", "normal", "--prefix", "none", "--format", "{p} [{f}]"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("cargo prints UTF-8");
    let has = |name: &str| tree.lines().any(|line| line.starts_with(&format!("{name} ")));
    assert!(has("exhibit") && has("flate2") && has("rustix"), "the dependency tree was not read:\n{tree}");
    assert!(!has("proptest"), "the tree holds what only tests need:\n{tree}");
    assert_eq!(forbidden_crates(&tree), [""; 0]);
}

#[test]
fn a_dependency_that_does_is_caught() {
    let bad = "tokio v1.0.0 []\nasync-io v2.0.0 []\nrustix v1.1.0 [fs,net,std]\nhyper v1.0.0 [] (*)\nrustix v1.1.0 [process] (*)\n";
    assert_eq!(forbidden_crates(bad), ["tokio", "async-io", "rustix/net", "hyper", "rustix/process"]);
    assert_eq!(forbidden_crates("rustix v1.1.0 [fs,std]\nflate2 v1.1.0 [zlib-rs] (*)\n"), [""; 0]);
}
