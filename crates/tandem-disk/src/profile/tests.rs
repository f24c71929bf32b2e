use super::*;

#[test]
fn shipped_profiles_make_drives() {
    for profile in Profile::shipped().unwrap() {
        let drive = profile.drive().unwrap();
        assert!(drive.sectors() > 1 << 20, "{}", profile.name);
        assert!(!profile.sources.is_empty(), "{}", profile.name);
        let again: Profile = toml::from_str(&toml::to_string(&profile).unwrap()).unwrap();
        assert_eq!(again, profile);
    }
}

#[test]
fn unknown_names_list_what_there_is() {
    let error = Profile::find("st1").unwrap_err().to_string();
    assert!(error.contains("`st1`") && error.contains("hdd20t"), "{error}");
}

#[test]
fn wrong_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.toml");
    std::fs::write(&path, "name = \"x\"\nspeed = 3\n").unwrap();
    let error = Profile::find(&path.display().to_string()).unwrap_err().to_string();
    assert!(error.contains("x.toml") && error.contains("speed"), "{error}");
}
