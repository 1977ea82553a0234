//! Memory that may not be had: a failure costs counts, never the program.

use std::alloc::{Layout, alloc, alloc_zeroed};

/// None if there is no memory.
pub fn boxed<T>(value: T) -> Option<Box<T>> {
    const { assert!(size_of::<T>() != 0) };
    // SAFETY: the layout is not empty, and is the one that the box gives back.
    unsafe {
        let place = alloc(Layout::new::<T>()).cast::<T>();
        if place.is_null() {
            return None;
        }
        place.write(value);
        Some(Box::from_raw(place))
    }
}

/// So many in a row, all zeros. Null if there is no memory.
pub fn zeroed<T>(count: usize) -> *mut T {
    match Layout::array::<T>(count) {
        // SAFETY: the layout is not empty.
        Ok(layout) if layout.size() != 0 => unsafe { alloc_zeroed(layout).cast() },
        _ => std::ptr::null_mut(),
    }
}

/// A list of what `make` makes. None if there is no memory.
pub fn list<T>(count: usize, make: impl FnMut() -> T) -> Option<Box<[T]>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).ok()?;
    list.resize_with(count, make);
    Some(list.into_boxed_slice())
}
