//! Which instruction of the program called. Exported functions have no prologue, so that the return address lies where the stack
//! pointer points, or in the link register; they pass it on in a register that no MPI function takes an argument in, a floating-point one. So neither does a
//! function with arguments on the stack move them, nor does anything have to unwind (`wrappers/shell.rs`).

/// A return address, or 0 where nobody knows it, as the bits of a number that nobody calculates with.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Caller(f64);

impl Caller {
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub const UNKNOWN: Caller = Caller(0.0);

    #[inline(always)]
    pub fn address(self) -> u64 {
        self.0.to_bits()
    }
}

/// The address of something that an exported function passes on in the same way.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Address(f64);

impl Address {
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub fn of<T>(place: &'static T) -> Address {
        Address(f64::from_bits(std::ptr::from_ref(place) as u64))
    }

    /// SAFETY: it is the address of such a thing.
    #[inline(always)]
    pub unsafe fn as_ref<T>(self) -> &'static T {
        // SAFETY: the caller says so.
        unsafe { &*(self.0.to_bits() as *const T) }
    }
}
