//! Values that several threads may read and write at any time. Each is read and written as a whole; it orders nothing else, and costs
//! what a plain one does.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};

use crate::protocol::Protocol;

/// Its representation in the atomic type that is as large.
pub trait Word: Copy {
    type Atomic;
    fn load(place: &Self::Atomic) -> Self;
    fn store(place: &Self::Atomic, value: Self);
}

/// All zeros are a value of it if they are one of `T`.
#[repr(transparent)]
pub struct Loose<T: Word>(T::Atomic);

impl<T: Word> Loose<T> {
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
    ($($type:ty: $atomic:ty;)*) => {$(
        impl Word for $type {
            type Atomic = $atomic;

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
    bool: AtomicBool;
    u8: AtomicU8;
    u32: AtomicU32;
    u64: AtomicU64;
    usize: AtomicUsize;
}

impl<P> Word for *mut P {
    type Atomic = AtomicPtr<P>;

    #[inline(always)]
    fn load(place: &AtomicPtr<P>) -> *mut P {
        place.load(Relaxed)
    }

    #[inline(always)]
    fn store(place: &AtomicPtr<P>, value: *mut P) {
        place.store(value, Relaxed);
    }
}

impl Word for Protocol {
    type Atomic = AtomicU8;

    #[inline(always)]
    fn load(place: &AtomicU8) -> Protocol {
        // SAFETY: `store` alone writes it, and 0 is one, too.
        unsafe { std::mem::transmute::<u8, Protocol>(place.load(Relaxed)) }
    }

    #[inline(always)]
    fn store(place: &AtomicU8, value: Protocol) {
        place.store(value as u8, Relaxed);
    }
}
