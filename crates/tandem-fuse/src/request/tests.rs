use proptest::prelude::*;
use zerocopy::IntoBytes;

use super::*;
use crate::abi::{MknodIn, Rename2In, SetxattrIn, WriteIn};

const LONG: Layout = Layout { setxattr_ext: true };
const SHORT: Layout = Layout { setxattr_ext: false };

fn message(opcode: Opcode, parts: &[&[u8]]) -> Vec<u8> {
    let len = 40 + parts.iter().map(|p| p.len()).sum::<usize>();
    let header = InHeader {
        len: len as u32,
        opcode: opcode.code(),
        unique: 7,
        nodeid: 3,
        ..Default::default()
    };
    let mut out = header.as_bytes().to_vec();
    parts.iter().for_each(|p| out.extend_from_slice(p));
    out
}

#[test]
fn names_are_cut_at_their_nul() {
    let bytes = message(Opcode::Lookup, &[b"etc\0"]);
    let req = Request::from_message(&bytes, LONG).unwrap();
    assert_eq!(req.nodeid(), 3);
    assert_eq!(req.operation(), Ok(Operation::Lookup { name: b"etc" }));

    let args = Rename2In { newdir: 9, flags: 1, padding: 0 };
    let bytes = message(Opcode::Rename2, &[args.as_bytes(), b"old\0new\0"]);
    assert_eq!(
        Request::from_message(&bytes, LONG).unwrap().operation(),
        Ok(Operation::Rename { newdir: 9, flags: 1, name: b"old", newname: b"new" })
    );
}

#[test]
fn a_symlink_may_point_to_nothing_but_must_have_a_name() {
    let bytes = message(Opcode::Symlink, &[b"l\0\0"]);
    let req = Request::from_message(&bytes, LONG).unwrap();
    assert_eq!(req.operation(), Ok(Operation::Symlink { name: b"l", target: b"" }));
    let bytes = message(Opcode::Symlink, &[b"\0x\0"]);
    assert!(Request::from_message(&bytes, LONG).unwrap().operation().is_err());
}

#[test]
fn extensions_are_not_part_of_the_payload() {
    let args = MknodIn { mode: 0o644, rdev: 0, umask: 0o22, padding: 0 };
    let mut bytes = message(Opcode::Mknod, &[args.as_bytes(), b"abc\0", &[0xff; 16]]);
    bytes[36..38].copy_from_slice(&2u16.to_ne_bytes());
    let req = Request::from_message(&bytes, LONG).unwrap();
    assert_eq!(req.operation(), Ok(Operation::Mknod { args, name: b"abc" }));
    bytes[36..38].copy_from_slice(&3u16.to_ne_bytes());
    assert!(Request::from_message(&bytes, LONG).is_err());
}

#[test]
fn data_must_be_as_long_as_it_says() {
    let args = WriteIn { size: 4, ..Default::default() };
    let bytes = message(Opcode::Write, &[args.as_bytes(), b"1234"]);
    let req = Request::from_message(&bytes, LONG).unwrap();
    assert_eq!(req.operation(), Ok(Operation::Write { args, data: b"1234" }));
    let bytes = message(Opcode::Write, &[args.as_bytes(), b"123"]);
    assert!(Request::from_message(&bytes, LONG).unwrap().operation().is_err());
}

#[test]
fn both_forms_of_setxattr() {
    let args = SetxattrIn { size: 1, flags: 2, setxattr_flags: 1, padding: 0 };
    let bytes = message(Opcode::Setxattr, &[args.as_bytes(), b"user.a\0v"]);
    let req = Request::from_message(&bytes, LONG).unwrap();
    assert_eq!(req.operation(), Ok(Operation::Setxattr { args, name: b"user.a", value: b"v" }));
    let bytes = message(Opcode::Setxattr, &[&args.as_bytes()[..8], b"user.a\0v"]);
    let req = Request::from_message(&bytes, SHORT).unwrap();
    let args = SetxattrIn { setxattr_flags: 0, ..args };
    assert_eq!(req.operation(), Ok(Operation::Setxattr { args, name: b"user.a", value: b"v" }));
}

#[test]
fn lengths_must_agree() {
    let mut bytes = message(Opcode::Lookup, &[b"etc\0"]);
    bytes.push(0);
    assert!(Request::from_message(&bytes, LONG).is_err());
    assert!(Request::from_message(&bytes[..10], LONG).is_err());
}

fn any_opcode() -> impl Strategy<Value = Opcode> {
    prop_oneof![proptest::sample::select(Opcode::ALL), any::<u32>().prop_map(Opcode::from_code),]
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(req) = Request::from_message(&bytes, LONG) {
            let _ = req.operation();
        }
    }

    #[test]
    fn arbitrary_arguments_never_panic(
        op in any_opcode(),
        ext in 0u16..4,
        long in any::<bool>(),
        body in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut bytes = message(op, &[&body]);
        bytes[36..38].copy_from_slice(&ext.to_ne_bytes());
        let layout = Layout { setxattr_ext: long };
        if let Ok(req) = Request::from_message(&bytes, layout) {
            if let Ok(Operation::BatchForget { list }) = req.operation() {
                prop_assert!(list.count() <= 300 / 16);
            }
        }
        let header = InHeader { opcode: op.code(), total_extlen: ext, ..Default::default() };
        let (op_in, payload) = body.split_at(body.len().min(128));
        if let Ok(req) = Request::from_parts(header, op_in, payload, layout) {
            let _ = req.operation();
        }
    }
}
