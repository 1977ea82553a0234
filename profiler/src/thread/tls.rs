//! This thread's counters, by a pointer that is reached without a call.

commsee_hook::thread_pointer!(crate::thread::Thread, "commsee_thread");
