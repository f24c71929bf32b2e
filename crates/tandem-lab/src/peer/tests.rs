use std::path::Path;

use super::*;

fn asked(name: &str, second: Option<&Path>, journal: Option<u64>) -> Commands {
    commands(&Asked {
        peer: find(name).unwrap(),
        program: Path::new("/bin/tandem"),
        device: Path::new("/dev/a"),
        second,
        journal,
        memory: None,
        mkfs: &[],
        mount: "noatime",
        dir: Path::new("/m"),
    })
}

#[test]
fn everything_has_commands() {
    for peer in ALL.iter().filter(|peer| peer.absent.is_none()) {
        let commands = asked(peer.name, None, None);
        assert!(!commands.mkfs.is_empty() && !commands.unmount.is_empty(), "{}", peer.name);
        let mount = commands.mount.join(" ");
        assert!(mount.contains("noatime") && mount.contains("/m"), "{}: {mount}", peer.name);
        for command in commands.mkfs.iter().chain([&commands.mount]) {
            let own = command[0] == "mount" || command[0] == "/bin/tandem";
            let tool = peer.tools.iter().any(|tool| tool.program == command[0]);
            assert!(own || tool, "{}: {} is no tool of its", peer.name, command[0]);
        }
    }
}

#[test]
fn a_cache_of_its_own_fits_the_bound() {
    let mount = |memory, mount: &str| {
        let asked = Asked {
            peer: find("tandem").unwrap(),
            program: Path::new("/bin/tandem"),
            device: Path::new("/dev/a"),
            second: None,
            journal: None,
            memory,
            mkfs: &[],
            mount,
            dir: Path::new("/m"),
        };
        commands(&asked).mount.join(" ")
    };
    assert!(mount(Some(64 << 20), "").ends_with("-o cache=16M"));
    // The last one counts.
    assert!(mount(Some(64 << 20), "cache=8M").ends_with("-o cache=16M,cache=8M"));
    assert!(!mount(Some(2 << 30), "").contains("cache"));
    assert!(!mount(None, "").contains("cache"));
}

#[test]
fn journals_of_a_size() {
    let second = Some(Path::new("/dev/b"));
    for peer in ALL.iter().filter(|peer| peer.external_journal && peer.name != "tandem") {
        for (second, wanted) in [(None, "64"), (second, "/dev/b")] {
            let commands = asked(peer.name, second, Some(64 << 20));
            let all: Vec<String> = commands.mkfs.iter().map(|words| words.join(" ")).collect();
            let (bytes, blocks) = ((64 << 20).to_string(), "16384");
            let sized = |line: &String| {
                line.contains(wanted) || line.contains(&bytes) || line.contains(blocks)
            };
            assert!(all.iter().any(sized), "{}: {all:?}", peer.name);
        }
    }
}

#[test]
fn what_cannot_be_had_says_why() {
    for name in ["reiser4", "spadfs"] {
        let error = find(name).unwrap().world(&Levels::new()).unwrap_err();
        assert!(matches!(error, StageError::Missing { .. }), "{error}");
    }
    let levels = Levels::from([("world".to_owned(), "moon".to_owned())]);
    assert!(find("ext4").unwrap().world(&levels).is_err());
    assert!(find("ext5").is_none());
}
