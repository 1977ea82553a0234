//! How a datatype is built, in words, from what the MPI library tells of it.

use std::ffi::{c_int, c_void};

use crate::mpi::abi::{Word, abi};
use crate::mpi::pmpi;

/// Levels of datatypes within datatypes that are described.
const MOST_LEVELS: usize = 4;
/// Members of a structure that are described.
const MOST_MEMBERS: usize = 6;
/// Integers and addresses that are read of one datatype: they are copied, once per datatype.
const MOST_NUMBERS: i64 = 1 << 22;
/// What is built by one of these is freed where `MPI_Type_get_contents` returned it; freeing a predefined datatype is an error.
const DERIVED: [&str; 12] = [
    "dup",
    "contiguous",
    "vector",
    "hvector",
    "indexed",
    "hindexed",
    "indexed_block",
    "hindexed_block",
    "struct",
    "subarray",
    "darray",
    "resized",
];

/// What is recorded of a datatype.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Description {
    pub text: String,
    /// An array of its elements has no gaps.
    pub contiguous: bool,
}

/// Describes a datatype that a successful call was given.
pub fn describe(datatype: Word, size_bytes: u64) -> Description {
    Description { text: text(datatype, 0), contiguous: is_contiguous(datatype, size_bytes) }
}

fn is_contiguous(datatype: Word, size_bytes: u64) -> bool {
    let (mut lower, mut extent, mut true_lower, mut true_extent) = (0, 0, 0, 0);
    // SAFETY: the datatype is valid, and so are the places.
    let asked = unsafe {
        pmpi::type_get_extent(datatype, &mut lower, &mut extent).is_some()
            && pmpi::type_get_true_extent(datatype, &mut true_lower, &mut true_extent).is_some()
    };
    let is_size = |bytes: isize| u64::try_from(bytes) == Ok(size_bytes);
    asked && is_size(extent) && is_size(true_extent)
}

/// What `MPI_Type_get_envelope` says.
struct Envelope {
    integers: i64,
    addresses: i64,
    large_counts: i64,
    datatypes: i64,
    combiner: Option<&'static str>,
}

fn envelope(datatype: Word) -> Option<Envelope> {
    let mut combiner: c_int = 0;
    let (mut integers, mut addresses, mut large_counts, mut datatypes) = (0i64, 0i64, 0i64, 0i64);
    // SAFETY: the datatype is valid, and so are the places.
    unsafe {
        if pmpi::has_type_get_envelope_c() {
            let counts = (&mut integers, &mut addresses, &mut large_counts, &mut datatypes);
            pmpi::type_get_envelope_c(datatype, counts.0, counts.1, counts.2, counts.3, &mut combiner)?;
        } else {
            let mut counts: [c_int; 3] = [0; 3];
            let [few, places, types] = &mut counts;
            pmpi::type_get_envelope(datatype, few, places, types, &mut combiner)?;
            [integers, addresses, datatypes] = counts.map(i64::from);
        }
    }
    Some(Envelope { integers, addresses, large_counts, datatypes, combiner: abi().combiner(combiner) })
}

/// What a derived datatype was made with.
struct Contents {
    integers: Vec<c_int>,
    addresses: Vec<isize>,
    /// As many handles as `datatype_count`, of the family's width.
    handles: Vec<u64>,
    datatype_count: usize,
}

impl Contents {
    fn of(datatype: Word, envelope: &Envelope) -> Option<Contents> {
        let length = |number: i64| usize::try_from(number).ok().filter(|_| number <= MOST_NUMBERS);
        let mut contents = Contents {
            integers: vec![0; length(envelope.integers)?],
            addresses: vec![0; length(envelope.addresses)?],
            handles: vec![0; length(envelope.datatypes)?],
            datatype_count: 0,
        };
        let datatype_count = contents.handles.len();
        let lengths = [contents.integers.len(), contents.addresses.len(), datatype_count].map(|length| length as c_int);
        // SAFETY: there is room for what the envelope announced.
        unsafe {
            let handles = contents.handles.as_mut_ptr().cast::<c_void>();
            let (integers, addresses) = (contents.integers.as_mut_ptr(), contents.addresses.as_mut_ptr());
            pmpi::type_get_contents(datatype, lengths[0], lengths[1], lengths[2], integers, addresses, handles)?;
        }
        contents.datatype_count = datatype_count;
        Some(contents)
    }

    fn integer(&self, index: usize) -> i64 {
        self.integers.get(index).copied().unwrap_or(0).into()
    }

    /// So many integers from a place on, such as `4x4`.
    fn shape(&self, first: usize, length: usize) -> String {
        let words: Vec<String> = (first..first + length).map(|index| self.integer(index).to_string()).collect();
        words.join("x")
    }

    fn handle(&self, index: usize) -> Word {
        // SAFETY: so many handles were filled in.
        unsafe { abi().load_at(self.handles.as_ptr() as Word, index) }
    }

    /// The text of the datatype at a place.
    fn text(&self, index: usize, level: usize) -> String {
        if index < self.datatype_count { text(self.handle(index), level + 1) } else { String::new() }
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        for index in 0..self.datatype_count {
            let combiner = envelope(self.handle(index)).and_then(|envelope| envelope.combiner);
            if combiner.is_some_and(|combiner| DERIVED.contains(&combiner)) {
                let place = self.handles.as_mut_ptr().cast::<u8>();
                // SAFETY: the handle is our own, and derived; its place lies within the array.
                unsafe { pmpi::type_free(place.add(index * abi().family.handle_bytes).cast()) };
            }
        }
    }
}

fn text(datatype: Word, level: usize) -> String {
    let Some(envelope) = envelope(datatype) else { return "derived".to_owned() };
    match envelope.combiner {
        None => "derived".to_owned(),
        Some("named") => name(datatype),
        Some(combiner) if envelope.large_counts > 0 => format!("{combiner} (large count)"),
        Some(_) if level >= MOST_LEVELS => "…".to_owned(),
        Some(combiner) => match Contents::of(datatype, &envelope) {
            Some(contents) => written(combiner, &contents, level),
            None => combiner.to_owned(),
        },
    }
}

fn name(datatype: Word) -> String {
    // Longer than any MPI_MAX_OBJECT_NAME: 64 in Open MPI, 128 in MPICH.
    let mut bytes = [0u8; 1024];
    let mut length: c_int = 0;
    // SAFETY: the datatype is valid, and there is room for any name.
    let asked = unsafe { pmpi::type_get_name(datatype, bytes.as_mut_ptr().cast(), &mut length) };
    let text = vocabulary::shard::text(&bytes);
    if asked.is_none() || text.is_empty() { "unnamed".to_owned() } else { text }
}

/// The places of the numbers are those that the standard gives for `MPI_Type_get_contents` (MPI-4.1, 5.1.13).
fn written(combiner: &str, contents: &Contents, level: usize) -> String {
    let integer = |index| contents.integer(index);
    let address = |index: usize| contents.addresses.get(index).copied().unwrap_or(0);
    let length = |index| usize::try_from(integer(index)).unwrap_or(0).min(contents.integers.len());
    let of = || contents.text(0, level);
    match combiner {
        "dup" => format!("dup({})", of()),
        "contiguous" => format!("contiguous({} of {})", integer(0), of()),
        "vector" => format!("vector({} x {} of {}, stride {})", integer(0), integer(1), of(), integer(2)),
        "hvector" => format!("hvector({} x {} of {}, stride {} bytes)", integer(0), integer(1), of(), address(0)),
        "indexed" | "hindexed" => {
            let elements: i64 = (1..=length(0)).map(integer).sum();
            format!("{combiner}({} blocks, {elements} of {})", integer(0), of())
        }
        "indexed_block" | "hindexed_block" => format!("{combiner}({} x {} of {})", integer(0), integer(1), of()),
        "struct" => {
            let members = length(0);
            let member = |index| format!("{} of {}", integer(index + 1), contents.text(index, level));
            let mut words: Vec<String> = (0..members.min(MOST_MEMBERS)).map(member).collect();
            if members > MOST_MEMBERS {
                words.push(format!("… {members} members"));
            }
            format!("struct({})", words.join(", "))
        }
        "subarray" => {
            let dimensions = length(0);
            let (whole, part) = (contents.shape(1, dimensions), contents.shape(1 + dimensions, dimensions));
            format!("subarray({part} in {whole} of {})", of())
        }
        "darray" => format!("darray({} over {} processes of {})", contents.shape(3, length(2)), integer(0), of()),
        "resized" => format!("resized({}, extent {})", of(), address(1)),
        "f90_integer" => format!("f90_integer({})", integer(0)),
        "f90_real" | "f90_complex" => format!("{combiner}({}, {})", integer(0), integer(1)),
        other => other.to_owned(),
    }
}
