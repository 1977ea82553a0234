//! Memory that may be refused: a failure costs counts, never the program. What the standard library asks for by itself ends the program
//! where it is refused, so nothing that grows with what the program does asks by it.

use std::alloc::{GlobalAlloc, Layout, System, alloc};
use std::ptr::{self, NonNull};

use crate::{errno, signals};

/// Room for one value that is never freed, if there is memory for it.
pub fn keep<T>(value: T) -> Option<&'static T> {
    // SAFETY: nobody else knows of it, and nobody frees it.
    kept(value).map(|place| unsafe { place.as_ref() })
}

/// The same for what is written to.
pub fn kept<T>(value: T) -> Option<NonNull<T>> {
    let place = array::<T>(1)?;
    // SAFETY: room for one, which nobody else knows of.
    unsafe { place.write(value) };
    Some(place)
}

/// What is freed again. None if there is no memory.
pub fn boxed<T>(value: T) -> Option<Box<T>> {
    // SAFETY: it fills the place.
    unsafe { boxed_by(|place: *mut T| place.write(value)) }
}

/// The same for what is too large for a stack.
///
/// # Safety
/// `fill` makes a value where there is room for it.
pub unsafe fn boxed_by<T>(fill: impl FnOnce(*mut T)) -> Option<Box<T>> {
    const { assert!(size_of::<T>() != 0) };
    // SAFETY: the layout is not empty, and is the one that the box gives back.
    unsafe {
        let place = alloc(Layout::new::<T>()).cast::<T>();
        if place.is_null() {
            return None;
        }
        fill(place);
        Some(Box::from_raw(place))
    }
}

/// Asks the C library, with its lock held where no handler of a signal may leave it.
pub fn asked<T>(ask: impl FnOnce() -> T) -> T {
    errno::kept(|| signals::undisturbed(ask))
}

/// Room for so many values, which is not filled yet.
#[cold]
pub fn array<T>(length: usize) -> Option<NonNull<T>> {
    let layout = Layout::array::<T>(length).ok().filter(|layout| layout.size() > 0)?;
    // SAFETY: the layout is not empty.
    asked(|| NonNull::new(unsafe { System.alloc(layout) }.cast()))
}

/// So many in a row, all bytes zero. Null if there is no memory.
#[cold]
pub fn zeroed<T>(length: usize) -> *mut T {
    match Layout::array::<T>(length) {
        // SAFETY: the layout is not empty.
        Ok(layout) if layout.size() > 0 => asked(|| unsafe { System.alloc_zeroed(layout) }.cast()),
        _ => ptr::null_mut(),
    }
}

/// # Safety
/// `place` came from [`array`] or [`zeroed`] with this length, and nobody refers to it.
pub unsafe fn free<T>(place: *mut T, length: usize) {
    if let Ok(layout) = Layout::array::<T>(length) {
        // SAFETY: as demanded.
        asked(|| unsafe { System.dealloc(place.cast(), layout) });
    }
}

/// A list of what `make` makes. None if there is no memory.
pub fn list<T>(count: usize, make: impl FnMut() -> T) -> Option<Box<[T]>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).ok()?;
    list.resize_with(count, make);
    Some(list.into_boxed_slice())
}
