//! The kernel's requests.

use tandem_fuse::{Layout, Operation, Request};

/// Takes apart a FUSE request, as the device file and as io_uring give it.
pub fn request(input: &[u8]) {
    let Some((&form, message)) = input.split_first() else { return };
    let layout = Layout { setxattr_ext: form & 1 != 0 };
    let mut message = message.to_vec();
    if form & 2 != 0 && message.len() >= 4 {
        let len = message.len() as u32;
        message[..4].copy_from_slice(&len.to_le_bytes());
    }
    let Ok(whole) = Request::from_message(&message, layout) else { return };
    visit(&whole);
    let rest = &message[size_of_val(whole.header())..];
    for cut in [0, 8, 16, 40, 104, 128] {
        let (op_in, payload) = rest.split_at(cut.min(rest.len()));
        if let Ok(parts) = Request::from_parts(*whole.header(), op_in, payload, layout) {
            visit(&parts);
        }
    }
}

fn visit(request: &Request<'_>) {
    let name_is_one = |name: &[u8]| assert!(!name.is_empty() && !name.contains(&0));
    match request.operation() {
        Ok(Operation::BatchForget { list }) => assert!(list.count() < 1 << 20),
        Ok(Operation::Lookup { name } | Operation::Unlink { name }) => name_is_one(name),
        Ok(Operation::Rename { name, newname, .. }) => {
            [name, newname].into_iter().for_each(name_is_one)
        }
        Ok(Operation::Write { args, data }) => assert_eq!(data.len(), args.size as usize),
        Ok(Operation::Setxattr { args, value, .. }) => assert_eq!(value.len(), args.size as usize),
        _ => (),
    }
}
