//! Who goes first when several want a device or a CPU.

/// From now on this thread yields to everybody else: for the CPU (nice 19), and for block devices
/// whose scheduler knows priorities (the idle class of ioprio_set(2)). A hint: what the system does
/// not grant is left as it is.
pub fn yield_to_all() {
    let _ = rustix::process::setpriority_process(None, 19);
    const WHO_PROCESS: libc::c_int = 1;
    const IDLE: libc::c_int = 3 << 13;
    #[expect(unsafe_code, reason = "ioprio_set takes numbers only; 0 is the calling thread")]
    unsafe {
        libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, IDLE);
    }
}
