//! Owns the tests of the historical manifests: every rule of each version by one mutation of a valid release.

use serde_json::{Value, json};

use super::Version;
use crate::digest::Sha256;
use crate::finding::Code;
use crate::manifest::MANIFEST;
use crate::manifest::samples::*;

const EARLY: [Version; 2] = [Version::V1, Version::V2];

/// The findings of version 3 after one mutation.
fn last_places(mutate: impl FnOnce(&mut Value)) -> Vec<(Code, String)> {
    let mut value = historical_json();
    mutate(&mut value);
    places(&read_with(&serde_json::to_vec_pretty(&value).unwrap(), Some(&policy())).unwrap().1)
}

/// The findings of the two early versions after one mutation: they say the same.
fn early_places(mutate: impl Fn(&mut Value)) -> Vec<(Code, String)> {
    let [first, second] = EARLY.map(|version| {
        let mut value = early_json(version);
        mutate(&mut value);
        places(&read_with(&serde_json::to_vec(&value).unwrap(), Some(&policy())).unwrap().1)
    });
    assert_eq!(first, second);
    first
}

#[test]
fn fields_of_version_3_have_one_form() {
    assert_eq!(last_places(|_| {}), []);
    assert_eq!(last_places(|value| value["privacy_contract"] = json!({"terms": [1]})), []);
    assert_eq!(last_places(|value| value["origin_private_commit"] = Value::Null), []);
    for (pointer, bad) in [
        ("/project", json!("a/b")),
        ("/source_commit", json!("c".repeat(64))),
        ("/source_kind", json!("private")),
        ("/origin_private_commit", json!("e")),
        ("/privacy_contract", Value::Null),
        ("/exported_file_count", json!(true)),
        ("/omitted_file_count", json!(1.0)),
        ("/omissions", Value::Null),
        ("/files/0", json!(["README.md"])),
        ("/files/0/path", json!("a\\b")),
        ("/files/0/git_mode", json!("0644")),
        ("/files/0/git_mode", json!("120000")),
        ("/files/0/git_mode", json!({"100644": null})),
        ("/files/0/git_blob_sha1", json!("0")),
        ("/files/0/status", json!("redacted_derivative")),
        ("/files/0/status", json!({"byte_identical": null})),
        ("/files/0/transforms", Value::Null),
        ("/files/1/contract", Value::Null),
        ("/files/1/private_origin_sha256", Value::Null),
    ] {
        let found = last_places(|value| *value.pointer_mut(pointer).unwrap() = bad.clone());
        assert_eq!(found, [(Code::ManifestField, pointer.to_owned())], "{bad}");
    }
    for key in ["project", "source_commit", "source_kind", "origin_private_commit", "privacy_contract", "omissions"] {
        assert_eq!(last_places(|value| remove(value, key))[0].0, Code::ManifestField, "{key}");
    }
    assert_eq!(last_places(|value| value["files"][0]["size"] = json!(6))[0].0, Code::ManifestField);
    let found = last_places(|value| value["files"][0]["transforms"] = json!([{}]));
    assert_eq!(found[0].0, Code::ManifestField);
}

#[test]
fn rules_of_version_3_are_each_checked() {
    let check = |code: Code, pointer: &str, mutate: &dyn Fn(&mut Value)| {
        assert_eq!(last_places(mutate), [(code, pointer.to_owned())]);
    };
    for field in ["exported_file_count", "omitted_file_count", "tracked_source_file_count"] {
        check(Code::ManifestCount, &format!("/{field}"), &|value| value[field] = json!(7));
    }
    check(Code::ManifestOmission, "/omissions/0", &|value| value["omissions"][0]["path"] = "x".into());
    check(Code::ManifestOmission, "/omissions/0", &|value| value["omissions"][0]["reason"] = "x".into());
    check(Code::ManifestOmission, "/omissions/1", &|value| {
        let again = value["omissions"][0].clone();
        value["omissions"].as_array_mut().unwrap().push(again);
        value["omitted_file_count"] = json!(2);
        value["tracked_source_file_count"] = json!(5);
    });
    assert_eq!(
        last_places(|value| {
            value["omissions"] = json!([]);
            value["omitted_file_count"] = json!(0);
            value["tracked_source_file_count"] = json!(3);
        }),
        []
    );
    check(Code::ManifestPath, "/files/0/path", &|value| value["files"][0]["path"] = MANIFEST.into());
    check(Code::ManifestPath, "/files/0/path", &|value| value["files"][0]["path"] = ".git/config".into());
    check(Code::ManifestPath, "/files/2/path", &|value| value["files"][2]["path"] = "Readme.md".into());

    let zeros = || Value::from("0".repeat(64));
    check(Code::ManifestBlob, "/files/0/original_sha256", &|value| value["files"][0]["original_sha256"] = zeros());
    check(Code::ManifestBlob, "/files/1/original_sha256", &|value| value["files"][1]["original_sha256"] = zeros());
    for index in [0, 1] {
        let pointer = format!("/files/{index}/transforms");
        check(Code::ManifestBlob, &pointer, &|value| {
            value["files"][index]["transforms"] = early_json(Version::V1)["files"][1]["transforms"].clone();
        });
    }
    for field in ["private_origin_sha256", "private_origin_git_blob_sha1"] {
        check(Code::ManifestBlob, &format!("/files/1/{field}"), &|value| remove(&mut value["files"][1], field));
        check(Code::ManifestBlob, &format!("/files/0/{field}"), &|value| {
            value["files"][0][field] = value["files"][1][field].clone();
        });
    }
}

#[test]
fn derivatives_of_version_3_are_exactly_the_approved_ones() {
    let check = |code: Code, pointer: &str, mutate: &dyn Fn(&mut Value)| {
        assert_eq!(last_places(mutate), [(code, pointer.to_owned())]);
    };
    let make = |file: &mut Value, derivative: &Value| {
        for field in ["status", "private_origin_sha256", "private_origin_git_blob_sha1"] {
            file[field] = derivative[field].clone();
        }
    };
    check(Code::DerivativeSet, "/files/0/status", &|value| {
        let derivative = value["files"][1].clone();
        make(&mut value["files"][0], &derivative);
    });
    check(Code::DerivativeSet, "/files/1/status", &|value| {
        value["files"][1]["status"] = "byte_identical".into();
        remove(&mut value["files"][1], "private_origin_sha256");
        remove(&mut value["files"][1], "private_origin_git_blob_sha1");
    });
    check(Code::DerivativeSet, "/files", &|value| {
        value["files"].as_array_mut().unwrap().remove(1);
        value["exported_file_count"] = json!(2);
        value["tracked_source_file_count"] = json!(3);
    });
    let zeros = || Value::from("0".repeat(64));
    check(Code::DerivativeRecord, "/files/1/exported_sha256", &|value| {
        value["files"][1]["exported_sha256"] = zeros();
        value["files"][1]["original_sha256"] = zeros();
    });
    check(Code::DerivativeRecord, "/files/1/private_origin_sha256", &|value| {
        value["files"][1]["private_origin_sha256"] = zeros();
    });
    check(Code::DerivativeRecord, "/files/1/private_origin_git_blob_sha1", &|value| {
        value["files"][1]["private_origin_git_blob_sha1"] = "0".repeat(40).into();
    });

    // Without a policy nothing is approved; a project that comes with the tool is held against its own.
    let bytes = |value: &Value| serde_json::to_vec(value).unwrap();
    let found = places(&read_with(&bytes(&historical_json()), None).unwrap().1);
    assert_eq!(found, [(Code::DerivativeSet, "/files/1/status".to_owned())]);
    let mut study = historical_json();
    study["project"] = "mcp-continuation-replay".into();
    assert_eq!(places(&read_with(&bytes(&study), None).unwrap().1).len(), 6);
}

#[test]
fn early_fields_have_one_form() {
    assert_eq!(early_places(|_| {}), []);
    assert_eq!(early_places(|value| value["privacy_contract"] = json!({"terms": [1]})), []);
    let transform = |field: &str, bad: Value| ("/files/1/transforms/0/".to_owned() + field, bad);
    for (pointer, bad) in [
        transform("occurrences", json!(true)),
        transform("occurrences", json!(1.0)),
        transform("occurrences", json!(-1)),
        transform("occurrences", json!("1")),
        transform("occurrences", Value::Null),
        transform("occurrences", json!(1_u64 << 53)),
        transform("transform", Value::Null),
        transform("matched_prefix", Value::Null),
        ("/files/1/transforms/0".into(), json!(["home", 1, "/home/"])),
        ("/files/1/transforms/0".into(), json!("home")),
        ("/files/1/transforms".into(), json!({"transform": "home", "occurrences": 1, "matched_prefix": "/home/"})),
        ("/files/1/contract".into(), Value::Null),
        ("/files/1/contract".into(), json!(1)),
        ("/files/1/status".into(), json!("retained_redacted_derivative")),
        ("/files/0/status".into(), json!("retained_redacted_derivative")),
        ("/source_commit".into(), json!("c".repeat(64))),
        ("/exported_file_count".into(), json!(true)),
        ("/omitted_file_count".into(), json!(false)),
        ("/tracked_source_file_count".into(), json!(3.0)),
        ("/omissions".into(), Value::Null),
        ("/omissions".into(), json!(0)),
        ("/privacy_contract".into(), Value::Null),
    ] {
        let found = early_places(|value| *value.pointer_mut(&pointer).unwrap() = bad.clone());
        assert_eq!(found, [(Code::ManifestField, pointer)], "{bad}");
    }
    let added = |at: &str, field: &str, more: &Value| {
        let found = early_places(|value| value.pointer_mut(at).unwrap()[field] = more.clone());
        assert_eq!(found, [(Code::ManifestField, format!("{at}/{field}"))]);
    };
    let last = historical_json();
    added("", "source_kind", &last["source_kind"]);
    added("", "origin_private_commit", &last["origin_private_commit"]);
    added("", "origin_private_commit", &Value::Null);
    added("", "more", &json!(1));
    for field in ["private_origin_sha256", "private_origin_git_blob_sha1"] {
        added("/files/0", field, &last["files"][1][field]);
        added("/files/1", field, &last["files"][1][field]);
    }
    added("/files/0", "size", &json!(6));
    added("/files/1/transforms/0", "more", &json!(1));
    for field in ["transform", "occurrences", "matched_prefix"] {
        let found = early_places(|value| remove(&mut value["files"][1]["transforms"][0], field));
        assert_eq!((found.len(), found[0].0), (1, Code::ManifestField), "{field}");
    }

    // All fields that another version has are named, and nothing else is judged.
    let mut value = early_json(Version::V1);
    value["format"] = Version::V3.name().into();
    let (manifest, findings) = read_with(&serde_json::to_vec(&value).unwrap(), Some(&policy())).unwrap();
    assert_eq!(manifest, None);
    let pointers = ["/source_kind", "/origin_private_commit", "/files/1/status"];
    assert_eq!(places(&findings), pointers.map(|pointer| (Code::ManifestField, pointer.to_owned())));
}

#[test]
fn early_rules_are_each_checked() {
    let check = |code: Code, pointer: &str, mutate: &dyn Fn(&mut Value)| {
        assert_eq!(early_places(mutate), [(code, pointer.to_owned())]);
    };
    for field in ["exported_file_count", "omitted_file_count", "tracked_source_file_count"] {
        check(Code::ManifestCount, &format!("/{field}"), &|value| value[field] = json!(7));
    }
    check(Code::ManifestOmission, "/omissions/0", &|value| {
        let last = historical_json();
        for field in ["omissions", "omitted_file_count", "tracked_source_file_count"] {
            value[field] = last[field].clone();
        }
    });
    check(Code::ManifestPath, "/files/0/path", &|value| value["files"][0]["path"] = ".git/config".into());
    check(Code::ManifestPath, "/files/2/path", &|value| value["files"][2]["path"] = "Readme.md".into());

    let file = |code: Code, field: &str, bad: Value| {
        check(code, &format!("/files/0/{field}"), &|value| value["files"][0][field] = bad.clone());
    };
    file(Code::ManifestBlob, "original_sha256", json!("0".repeat(64)));
    file(Code::ManifestBlob, "transforms", early_json(Version::V1)["files"][1]["transforms"].clone());

    let redacted = |code: Code, field: &str, bad: Value| {
        check(code, &format!("/files/1/{field}"), &|value| {
            *value.pointer_mut(&format!("/files/1/{field}")).unwrap() = bad.clone();
        });
    };
    redacted(Code::ManifestBlob, "original_sha256", json!(Sha256::of(b"at <HOME>\n")));
    redacted(Code::ManifestBlob, "transforms", json!([]));
    redacted(Code::ManifestBlob, "transforms/0/occurrences", json!(0));
    redacted(Code::ManifestBlob, "contract", json!(""));
    redacted(Code::ManifestBlob, "contract", json!(" \n"));
    check(Code::ManifestBlob, "/files/1/contract", &|value| remove(&mut value["files"][1], "contract"));

    // The rules ask for a contract where something was redacted, and say nothing of one elsewhere.
    assert_eq!(early_places(|value| value["files"][0]["contract"] = "every byte is kept".into()), []);
}

#[test]
fn early_derivatives_are_exactly_the_approved_ones() {
    let check = |code: Code, pointer: &str, mutate: &dyn Fn(&mut Value)| {
        assert_eq!(early_places(mutate), [(code, pointer.to_owned())]);
    };
    check(Code::DerivativeSet, "/files/0/status", &|value| {
        let derivative = value["files"][1].clone();
        for field in ["status", "transforms", "contract", "original_sha256"] {
            value["files"][0][field] = derivative[field].clone();
        }
    });
    check(Code::DerivativeSet, "/files/1/status", &|value| {
        let file = &mut value["files"][1];
        file["status"] = "byte_identical".into();
        file["transforms"] = json!([]);
        file["original_sha256"] = file["exported_sha256"].clone();
        remove(file, "contract");
    });
    check(Code::DerivativeSet, "/files", &|value| {
        value["files"].as_array_mut().unwrap().remove(1);
        value["exported_file_count"] = json!(2);
        value["tracked_source_file_count"] = json!(2);
    });
    check(Code::DerivativeRecord, "/files/1/transforms/0/transform", &|value| {
        value["files"][1]["transforms"][0]["transform"] = "user".into();
    });
    check(Code::DerivativeRecord, "/files/1/transforms/1/transform", &|value| {
        let mut more = value["files"][1]["transforms"][0].clone();
        more["transform"] = "user".into();
        value["files"][1]["transforms"].as_array_mut().unwrap().push(more);
    });
    for version in EARLY {
        let found = places(&read_with(&serde_json::to_vec(&early_json(version)).unwrap(), None).unwrap().1);
        assert_eq!(found, [(Code::DerivativeSet, "/files/1/status".to_owned())]);
    }
}

#[test]
fn digests_that_an_early_version_does_not_bind_are_a_warning() {
    for (field, bad) in
        [("exported_sha256", "0".repeat(64)), ("original_sha256", "0".repeat(64)), ("git_blob_sha1", "0".repeat(40))]
    {
        for version in EARLY {
            let mut value = early_json(version);
            value["files"][1][field] = bad.clone().into();
            let findings = read_with(&serde_json::to_vec(&value).unwrap(), Some(&policy())).unwrap().1;
            assert_eq!(places(&findings), [(Code::DerivativeDigest, format!("/files/1/{field}"))]);
            assert!(findings.none_broken());
            assert_eq!(findings.iter().next().unwrap().recorded.as_deref(), Some(bad.as_str()));
        }
    }
}

#[test]
fn what_an_early_version_says_of_a_redaction_is_kept() {
    let read = |transforms: Value| {
        let mut value = early_json(Version::V2);
        value["files"][1]["transforms"] = transforms;
        let (manifest, findings) = read_with(&serde_json::to_vec(&value).unwrap(), Some(&policy())).unwrap();
        assert_eq!(places(&findings), []);
        let manifest = manifest.unwrap();
        let derivative = manifest.derivatives()["logs/a.log"];
        (derivative.matched_prefix.clone(), derivative.occurrences)
    };
    let one = |prefix: &str, occurrences: u64| json!({"transform": "home", "occurrences": occurrences, "matched_prefix": prefix});
    assert_eq!(read(json!([one("/home/", 7)])), (Some("/home/".into()), Some(7)));
    assert_eq!(read(json!([one("/home/", 7), one("/Users/", 2)])), (None, Some(9)));
    let most = crate::form::MAX_INTEGER;
    assert_eq!(read(Value::Array(vec![one("a", most); 2049])), (None, None));
}
