//! The pointer to what a thread is in the middle of.

commsee_runtime::thread_pointer!(crate::calls::thread::Thread, "commsee_nccl_thread");
