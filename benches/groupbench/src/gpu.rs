//! Memory of an NVIDIA GPU, through the driver's library, which is opened when it is asked for: nothing is linked.
//! (CUDA Driver API, <https://docs.nvidia.com/cuda/cuda-driver-api>)

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// Functions of libcuda that are used; those with a second version by its name.
pub struct Driver {
    init: unsafe extern "C" fn(c_uint) -> c_int,
    device_count: unsafe extern "C" fn(*mut c_int) -> c_int,
    retain: unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int,
    set_current: unsafe extern "C" fn(*mut c_void) -> c_int,
    allocate: unsafe extern "C" fn(*mut u64, usize) -> c_int,
    free: unsafe extern "C" fn(u64) -> c_int,
    to_device: unsafe extern "C" fn(u64, *const c_void, usize) -> c_int,
    to_host: unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int,
    stream: unsafe extern "C" fn(*mut *mut c_void, c_uint) -> c_int,
    synchronize: unsafe extern "C" fn(*mut c_void) -> c_int,
}

/// A function of a library; why it is not there.
///
/// # Safety
/// `F` is the function's type.
pub unsafe fn symbol<F: Copy>(library: *mut c_void, name: &CStr) -> Result<F, String> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: an open library.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    if found.is_null() {
        return Err(format!("{} is missing in the library", name.to_string_lossy()));
    }
    // SAFETY: the caller's.
    Ok(unsafe { std::mem::transmute_copy(&found) })
}

/// An open library; why it cannot be opened.
pub fn open(name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: a name with its end; what libraries do when they are opened is theirs.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        // SAFETY: of this thread, since the call above.
        let said = unsafe { libc::dlerror() };
        return Err(text(said).unwrap_or_else(|| format!("{} cannot be opened", name.to_string_lossy())));
    }
    Ok(library)
}

/// A text of C, if there is one.
pub fn text(text: *const c_char) -> Option<String> {
    // SAFETY: null, or a text with its end that lives through the call.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

impl Driver {
    fn load() -> Result<Driver, String> {
        let library = open(c"libcuda.so.1")?;
        // SAFETY: types as the header cuda.h has them.
        unsafe {
            Ok(Driver {
                init: symbol(library, c"cuInit")?,
                device_count: symbol(library, c"cuDeviceGetCount")?,
                retain: symbol(library, c"cuDevicePrimaryCtxRetain")?,
                set_current: symbol(library, c"cuCtxSetCurrent")?,
                allocate: symbol(library, c"cuMemAlloc_v2")?,
                free: symbol(library, c"cuMemFree_v2")?,
                to_device: symbol(library, c"cuMemcpyHtoD_v2")?,
                to_host: symbol(library, c"cuMemcpyDtoH_v2")?,
                stream: symbol(library, c"cuStreamCreate")?,
                synchronize: symbol(library, c"cuStreamSynchronize")?,
            })
        }
    }

    /// The driver, with this process on a GPU: the one of its place on the host, or `place` modulo their number. Why there is none.
    pub fn get(place: usize) -> Result<&'static Driver, String> {
        static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
        let opened = DRIVER.get_or_init(|| {
            let driver = Driver::load()?;
            let checked = |what: &str, code: c_int| match code {
                0 => Ok(()),
                code => Err(format!("{what} of CUDA's driver failed with {code}")),
            };
            // SAFETY: in the order that the driver asks for; pointers are written before they are read.
            unsafe {
                checked("cuInit", (driver.init)(0))?;
                let (mut count, mut context) = (0, std::ptr::null_mut());
                checked("cuDeviceGetCount", (driver.device_count)(&raw mut count))?;
                if count < 1 {
                    return Err("there is no GPU".to_owned());
                }
                let device = (place % count as usize) as c_int;
                checked("cuDevicePrimaryCtxRetain", (driver.retain)(&raw mut context, device))?;
                checked("cuCtxSetCurrent", (driver.set_current)(context))?;
            }
            Ok(driver)
        });
        opened.as_ref().map_err(Clone::clone)
    }

    /// The begin of new memory of the GPU; `None` where it is refused.
    pub fn allocate(&self, bytes: usize) -> Option<*mut u8> {
        let mut begin = 0;
        // SAFETY: writes to `begin`.
        let code = unsafe { (self.allocate)(&raw mut begin, bytes) };
        (code == 0).then_some(begin as *mut u8)
    }

    /// # Safety
    /// Made by `allocate`, and not used any more.
    pub unsafe fn free(&self, begin: *mut u8) {
        // SAFETY: the caller's.
        unsafe { (self.free)(begin as u64) };
    }

    /// # Safety
    /// `to` has room for them on the GPU.
    pub unsafe fn write(&self, to: *mut u8, bytes: &[u8]) {
        // SAFETY: the caller's.
        let code = unsafe { (self.to_device)(to as u64, bytes.as_ptr().cast(), bytes.len()) };
        assert_eq!(code, 0, "cuMemcpyHtoD failed");
        // The call may return before the bytes are on the GPU, and other streams, such as NCCL's, do not wait for the one that they are on.
        // SAFETY: the driver's stream that copies go over.
        let code = unsafe { (self.synchronize)(std::ptr::null_mut()) };
        assert_eq!(code, 0, "cuStreamSynchronize failed");
    }

    /// # Safety
    /// `from` has as many on the GPU.
    pub unsafe fn read(&self, from: *const u8, bytes: &mut [u8]) {
        // SAFETY: the caller's.
        let code = unsafe { (self.to_host)(bytes.as_mut_ptr().cast(), from as u64, bytes.len()) };
        assert_eq!(code, 0, "cuMemcpyDtoH failed");
    }

    /// A stream of its own, which does not wait for others.
    pub fn stream(&self) -> Result<*mut c_void, String> {
        const NON_BLOCKING: c_uint = 1;
        let mut stream = std::ptr::null_mut();
        // SAFETY: writes to `stream`.
        match unsafe { (self.stream)(&raw mut stream, NON_BLOCKING) } {
            0 => Ok(stream),
            code => Err(format!("cuStreamCreate failed with {code}")),
        }
    }

    /// Returns when all on the stream is done.
    ///
    /// # Safety
    /// Made by `stream`.
    pub unsafe fn synchronize(&self, stream: *mut c_void) {
        // SAFETY: the caller's.
        let code = unsafe { (self.synchronize)(stream) };
        assert_eq!(code, 0, "cuStreamSynchronize failed");
    }
}
