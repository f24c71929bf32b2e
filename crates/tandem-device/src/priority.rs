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

/// From now on this thread, and those that it starts, run before all ordinary ones (SCHED_RR), as
/// hardware would. Whether the system grants it: root's, or one with CAP_SYS_NICE.
pub fn real_time() -> bool {
    round_robin(0)
}

/// As [`real_time`], for this thread only.
pub fn real_time_alone() -> bool {
    round_robin(libc::SCHED_RESET_ON_FORK)
}

fn round_robin(flags: libc::c_int) -> bool {
    const LOWEST: libc::sched_param = libc::sched_param { sched_priority: 1 };
    #[expect(unsafe_code, reason = "it reads LOWEST only; 0 is the calling thread")]
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_RR | flags, &LOWEST) };
    done == 0
}
