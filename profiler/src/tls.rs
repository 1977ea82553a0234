//! This thread's counters, by a pointer that is reached without a call.

commsee_runtime::thread_pointer!(crate::thread::Thread, "commsee_thread");
