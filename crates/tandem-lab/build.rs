//! Builds what User-Mode Linux is given to preload (`uml/xstate.c`).

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=uml/xstate.c");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("xstate.so");
    // User-Mode Linux is packaged for this processor only; elsewhere there are no guests.
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch != "x86_64") {
        std::fs::write(out, []).expect("the output directory takes files");
        return;
    }
    let mut compiler = cc::Build::new().opt_level(2).debug(false).get_compiler().to_command();
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&out).args(["uml/xstate.c", "-ldl"]);
    let status = compiler.status().expect("a C compiler");
    assert!(status.success(), "{compiler:?}: {status}");
}
