//! What a loaded object says of itself: its dynamic section, and the symbols that it defines.

use std::ptr;

pub unsafe fn dynamic_of(headers: *const libc::Elf64_Phdr, count: usize, base: usize) -> Option<*const Dynamic> {
    let mut at = 0;
    while at < count {
        // SAFETY: the loader says that there are so many.
        let header = unsafe { headers.add(at).read() };
        if header.p_type == libc::PT_DYNAMIC {
            return Some((base + header.p_vaddr as usize) as *const Dynamic);
        }
        at += 1;
    }
    None
}

/// An entry of an object's dynamic section.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dynamic {
    pub tag: i64,
    pub value: usize,
}

pub const DT_NULL: i64 = 0;
const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
pub const DT_DEBUG: i64 = 21;
const DT_GNU_HASH: i64 = 0x6fff_fef5;

pub const STT_FUNC: u8 = 2;
pub const STT_GNU_IFUNC: u8 = 10;
pub const STB_WEAK: u8 = 2;

/// The tables of a loaded object.
pub struct Object {
    pub base: usize,
    hash: usize,
    pub gnu: usize,
    pub strings: usize,
    pub symbols: usize,
    pub relocations: usize,
    pub relocations_bytes: usize,
}

impl Object {
    pub unsafe fn of(base: usize, dynamic: *const Dynamic) -> Object {
        let mut object = Object { base, hash: 0, gnu: 0, strings: 0, symbols: 0, relocations: 0, relocations_bytes: 0 };
        let mut entry = dynamic;
        loop {
            // SAFETY: the section ends with an entry of the kind `DT_NULL`, behind which nothing is read.
            let Dynamic { tag, value } = unsafe { entry.read() };
            // glibc makes addresses of them, other loaders leave offsets.
            let address = if value < base { base + value } else { value };
            match tag {
                DT_NULL => return object,
                DT_HASH => object.hash = address,
                DT_GNU_HASH => object.gnu = address,
                DT_STRTAB => object.strings = address,
                DT_SYMTAB => object.symbols = address,
                DT_RELA => object.relocations = address,
                DT_RELASZ => object.relocations_bytes = value,
                _ => {}
            }
            // SAFETY: as above.
            entry = unsafe { entry.add(1) };
        }
    }

    /// The symbol of this name that the object defines.
    pub unsafe fn find(&self, name: *const u8, hash: u32) -> Option<*mut libc::Elf64_Sym> {
        if self.strings == 0 || self.symbols == 0 {
            return None;
        }
        let symbols = self.symbols as *mut libc::Elf64_Sym;
        // SAFETY: an index from the table of names is one of a symbol, whose name ends with a zero byte.
        let is_it = |index: usize| unsafe {
            let symbol = &*symbols.add(index);
            symbol.st_shndx != 0 && symbol.st_value != 0 && is_same(self.name(symbol), name)
        };
        // SAFETY: the tables are those that the loader itself reads.
        unsafe {
            if self.gnu != 0 {
                in_gnu_table(self.gnu as *const u32, hash, is_it).map(|index| symbols.add(index))
            } else if self.hash != 0 {
                // Entries: buckets, chains; then the first of each bucket's chain. There are as many chains as symbols.
                let count = (self.hash as *const u32).add(1).read() as usize;
                let mut index = 1;
                while index < count && !is_it(index) {
                    index += 1;
                }
                if index < count { Some(symbols.add(index)) } else { None }
            } else {
                None
            }
        }
    }

    pub unsafe fn name(&self, symbol: &libc::Elf64_Sym) -> *const u8 {
        (self.strings + symbol.st_name as usize) as *const u8
    }
}

/// The table of `DT_GNU_HASH`: four words, a Bloom filter, buckets, and hashes whose last bit ends a chain.
unsafe fn in_gnu_table(table: *const u32, hash: u32, is_it: impl Fn(usize) -> bool) -> Option<usize> {
    // SAFETY: the table is one that the loader itself reads; its words tell how long its parts are.
    unsafe {
        let buckets = table.read();
        let first_symbol = table.add(1).read();
        let (words, shift) = (table.add(2).read(), table.add(3).read() & 31);
        if buckets == 0 || words == 0 {
            return None;
        }
        let filter = table.add(4).cast::<u64>();
        let word = filter.add(((hash / u64::BITS) & (words - 1)) as usize).read();
        if word >> (hash % u64::BITS) & (word >> ((hash >> shift) % u64::BITS)) & 1 == 0 {
            return None;
        }
        let starts = filter.add(words as usize).cast::<u32>();
        let chains = starts.add(buckets as usize);
        let mut index = starts.add((hash % buckets) as usize).read();
        if index < first_symbol {
            return None;
        }
        loop {
            let known = chains.add((index - first_symbol) as usize).read();
            if known | 1 == hash | 1 && is_it(index as usize) {
                return Some(index as usize);
            }
            if known & 1 == 1 {
                return None;
            }
            index += 1;
        }
    }
}

#[inline(always)]
pub unsafe fn byte(place: *const u8) -> u8 {
    // SAFETY: the caller passes the address of a byte that is there.
    unsafe { ptr::read_volatile(place) }
}

pub unsafe fn gnu_hash(mut name: *const u8) -> u32 {
    let mut hash = 5381u32;
    // SAFETY: names end with a zero byte, behind which nothing is read.
    unsafe {
        while byte(name) != 0 {
            hash = hash.wrapping_mul(33).wrapping_add(byte(name).into());
            name = name.add(1);
        }
    }
    hash
}

pub unsafe fn is_same(mut one: *const u8, mut other: *const u8) -> bool {
    // SAFETY: as above.
    unsafe {
        while byte(one) == byte(other) {
            if byte(one) == 0 {
                return true;
            }
            (one, other) = (one.add(1), other.add(1));
        }
    }
    false
}
