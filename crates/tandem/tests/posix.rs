//! POSIX and Linux semantics through a mount.
//!
//! Each test works on a volume of its own, which is unmounted and checked at its end. With
//! `TANDEM_TEST_DIR` set to a directory the same tests run there instead; every one passes on
//! ext4 and tmpfs, so that a failure here is a difference from them.

mod common;

mod posix {
    mod acl;
    mod attributes;
    mod big;
    mod chmod;
    mod chown;
    mod copy;
    mod create;
    mod errors;
    mod fallocate;
    mod handles;
    mod io;
    mod kinds;
    mod links;
    mod locks;
    mod maps;
    mod mkdir;
    mod model;
    mod open;
    mod open_files;
    mod permissions;
    mod readdir;
    mod readonly;
    mod rename;
    mod rename_access;
    mod rename_kinds;
    mod seek;
    mod statfs;
    mod sticky;
    mod symlinks;
    mod times;
    mod tmpfile;
    mod truncate;
    mod unlink;
    mod utimens;
}
