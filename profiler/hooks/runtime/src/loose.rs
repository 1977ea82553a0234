//! Values that several threads may read and write at any time. Each is read and written as a whole; it orders nothing else, and costs
//! what a plain one does.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};

/// Its representation in the atomic type that is as large.
pub trait Word: Copy {
    type Atomic;
    /// What is there before anything is.
    const NONE: Self;
    fn new(value: Self) -> Self::Atomic;
    fn load(place: &Self::Atomic) -> Self;
    fn store(place: &Self::Atomic, value: Self);
}

/// All zeros are a value of it if they are one of `T`.
#[repr(transparent)]
pub struct Loose<T: Word>(T::Atomic);

impl<T: Word> Loose<T> {
    pub fn new(value: T) -> Loose<T> {
        Loose(T::new(value))
    }

    #[inline(always)]
    pub fn get(&self) -> T {
        T::load(&self.0)
    }

    #[inline(always)]
    pub fn set(&self, value: T) {
        T::store(&self.0, value);
    }
}

macro_rules! words {
    ($($type:ty: $atomic:ty, $none:expr;)*) => {$(
        impl Word for $type {
            type Atomic = $atomic;
            const NONE: $type = $none;

            fn new(value: $type) -> $atomic {
                <$atomic>::new(value)
            }

            #[inline(always)]
            fn load(place: &$atomic) -> $type {
                place.load(Relaxed)
            }

            #[inline(always)]
            fn store(place: &$atomic, value: $type) {
                place.store(value, Relaxed);
            }
        }
    )*};
}

words! {
    bool: AtomicBool, false;
    u8: AtomicU8, 0;
    u32: AtomicU32, 0;
    u64: AtomicU64, 0;
    usize: AtomicUsize, 0;
}

impl<P> Word for *mut P {
    type Atomic = AtomicPtr<P>;
    const NONE: *mut P = std::ptr::null_mut();

    fn new(value: *mut P) -> AtomicPtr<P> {
        AtomicPtr::new(value)
    }

    #[inline(always)]
    fn load(place: &AtomicPtr<P>) -> *mut P {
        place.load(Relaxed)
    }

    #[inline(always)]
    fn store(place: &AtomicPtr<P>, value: *mut P) {
        place.store(value, Relaxed);
    }
}
