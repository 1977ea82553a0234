//! What this thread is in the middle of, by a pointer that is reached without a call.

commsee_hook::thread_pointer!(crate::thread::Thread, "commsee_ucx_thread");
