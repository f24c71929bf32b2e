use clap::CommandFactory;

use super::*;

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_has_an_example() {
    for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let example = format!("tandem {}", command.get_name());
        assert!(help.contains("Examples:") && help.contains(&example), "{}", command.get_name());
    }
}

#[test]
fn options_may_stand_between_the_devices() {
    let cli = Cli::try_parse_from(["tandem", "mount", "m", "--data", "d", "/mnt", "-o", "ro"]);
    let Ok(Cli { command: Command::Mount(args) }) = cli else { panic!("{cli:?}") };
    assert_eq!((args.data, args.dir), (Some("d".into()), "/mnt".into()));
}

#[test]
fn dump_takes_words() {
    let cli = Cli::try_parse_from(["tandem", "dump", "m", "inode", "12"]);
    let Ok(Cli { command: Command::Dump(args) }) = cli else { panic!("{cli:?}") };
    assert_eq!(args.what, DumpWhat::Inode { number: 12 });
    assert!(Cli::try_parse_from(["tandem", "dump", "m", "inode"]).is_err());
}

#[test]
fn bad_figures_are_refused() {
    for line in [
        "tandem mkfs m --data-block-size 3000",
        "tandem mkfs m --data-block-size 128K",
        "tandem mkfs m --metadata-size many",
        "tandem mkfs m --uuid x",
        "tandem stats d --interval 0",
    ] {
        assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{line}");
    }
}
