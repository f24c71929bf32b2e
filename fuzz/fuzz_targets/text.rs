#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    _ = tandem_fuzz::text(bytes);
});
