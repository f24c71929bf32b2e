//! What a user, a device or a full disk can do wrong: each gets a clear error that names the
//! device and the remedy, and nothing is lost.

mod common;

mod bad_input {
    mod arguments;
    mod corrupt;
    mod devices;
    mod early;
    mod full;
    mod in_use;
    mod mkfs;
    mod read_only;
    mod repair;
}
