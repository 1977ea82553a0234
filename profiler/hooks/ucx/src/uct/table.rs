//! The operation table of an interface: which of its places are replaced, and whether it is one at all.

use std::ffi::{c_int, c_void};

use crate::abi::uct::{Iface, TABLE_WORDS};

/// Places in the table.
pub mod place {
    pub const PUT_SHORT: usize = 0;
    pub const PUT_BCOPY: usize = 1;
    pub const PUT_ZCOPY: usize = 2;
    pub const GET_SHORT: usize = 3;
    pub const GET_BCOPY: usize = 4;
    pub const GET_ZCOPY: usize = 5;
    pub const AM_SHORT: usize = 6;
    pub const AM_SHORT_IOV: usize = 7;
    pub const AM_BCOPY: usize = 8;
    pub const AM_ZCOPY: usize = 9;
    pub const ATOMIC_CSWAP64: usize = 10;
    pub const ATOMIC_CSWAP32: usize = 11;
    pub const ATOMIC32_POST: usize = 12;
    pub const ATOMIC64_POST: usize = 13;
    pub const ATOMIC32_FETCH: usize = 14;
    pub const ATOMIC64_FETCH: usize = 15;
    pub const TAG_EAGER_SHORT: usize = 16;
    pub const TAG_EAGER_BCOPY: usize = 17;
    pub const TAG_EAGER_ZCOPY: usize = 18;
    pub const TAG_RNDV_ZCOPY: usize = 19;
    pub const TAG_RNDV_REQUEST: usize = 21;
}

/// The names of the first places, those that are replaced among them.
pub const NAMES: [&str; 22] = [
    "uct_ep_put_short",
    "uct_ep_put_bcopy",
    "uct_ep_put_zcopy",
    "uct_ep_get_short",
    "uct_ep_get_bcopy",
    "uct_ep_get_zcopy",
    "uct_ep_am_short",
    "uct_ep_am_short_iov",
    "uct_ep_am_bcopy",
    "uct_ep_am_zcopy",
    "uct_ep_atomic_cswap64",
    "uct_ep_atomic_cswap32",
    "uct_ep_atomic32_post",
    "uct_ep_atomic64_post",
    "uct_ep_atomic32_fetch",
    "uct_ep_atomic64_fetch",
    "uct_ep_tag_eager_short",
    "uct_ep_tag_eager_bcopy",
    "uct_ep_tag_eager_zcopy",
    "uct_ep_tag_rndv_zcopy",
    "uct_ep_tag_rndv_cancel",
    "uct_ep_tag_rndv_request",
];

/// Functions without which there is no interface: flush and fence, endpoints made and destroyed, progress, close, query,
/// reachability.
const NEVER_NULL: [usize; 12] = [26, 27, 29, 33, 38, 39, 40, 41, 42, 45, 46, 49];

/// Whether what lies there is built like a table of this length: functions or null, none of those missing, and something else
/// behind.
///
/// # Safety
/// An interface that was just opened; it is longer than its table.
pub unsafe fn fits(iface: *const Iface) -> bool {
    // SAFETY: as demanded.
    let (table, behind) = unsafe { ((*iface).table, *iface.add(1).cast::<usize>()) };
    let code = Code::loaded();
    table.iter().all(|word| *word == 0 || code.holds(*word))
        && NEVER_NULL.iter().all(|place| table[*place] != 0)
        && !code.holds(behind)
}

/// The executable parts of what is loaded.
struct Code(Vec<(usize, usize)>);

impl Code {
    fn loaded() -> Code {
        let mut code = Code(Vec::new());
        // SAFETY: the callback gets what is passed here.
        unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut code).cast()) };
        code
    }

    fn holds(&self, address: usize) -> bool {
        self.0.iter().any(|(low, high)| (*low..*high).contains(&address))
    }
}

unsafe extern "C" fn collect(object: *mut libc::dl_phdr_info, _: usize, code: *mut c_void) -> c_int {
    // SAFETY: the loader's own data, and what `loaded` passed.
    unsafe {
        let (object, code) = (&*object, &mut *code.cast::<Code>());
        for number in 0..usize::from(object.dlpi_phnum) {
            let header = &*object.dlpi_phdr.add(number);
            if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0 {
                let low = (object.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
                code.0.push((low, low.wrapping_add(header.p_memsz as usize)));
            }
        }
    }
    0
}

const _: () = assert!(NAMES.len() < TABLE_WORDS);
