//! What this thread is in the middle of, by a pointer that is reached without a call.

commsee_runtime::thread_pointer!(crate::inflight::thread::Thread, "commsee_ucx_thread");
