//! The tables of the ABI families say what every installed `mpi.h` says.

// The tables themselves, as the library is compiled with them.
#[allow(dead_code)]
#[path = "../profiler/src/mpi/abi/family.rs"]
mod family;
#[path = "../profiler/src/mpi/abi/mpi5.rs"]
mod mpi5;
#[path = "../profiler/src/mpi/abi/mpich.rs"]
mod mpich;
#[path = "../profiler/src/mpi/abi/openmpi.rs"]
mod openmpi;

use std::collections::HashMap;
use std::process::Command;

use common::{Launch, Mpi, Program, execute};
use family::{Count, Datatypes, Family, Handle, Word};

#[test]
fn openmpi_agrees_with_its_header() {
    agrees(&openmpi::FAMILY, Mpi::OpenMpi);
    let Count::Size { count: 16, cancelled: 12 } = openmpi::FAMILY.status.count else { panic!("_ucount, _cancelled") };
}

#[test]
fn mpich_agrees_with_its_header() {
    agrees(&mpich::FAMILY, Mpi::Mpich);
    let Count::Halves { low: 0, high: 4 } = mpich::FAMILY.status.count else {
        panic!("count_lo, count_hi_and_cancelled")
    };
}

/// The standard fixes these values (MPI-5.0, appendix A); where a library of it is at hand its header is compared as well.
#[test]
fn the_standard_abi_is_as_the_standard_says() {
    let standard = &mpi5::FAMILY;
    assert_eq!(standard.handle_bytes, 8);
    let handles = [standard.world, standard.comm_self, standard.comm_null, standard.request_null, standard.byte];
    assert_eq!(handles.map(value), [0x101, 0x102, 0x100, 0x180, 0x247]);
    assert_eq!(standard.thread_levels, [0, 1024, 2048, 4096]);
    assert_eq!(standard.status.bytes, 8 * 4);
    if Mpi::Standard.is_there() {
        agrees(standard, Mpi::Standard);
    }
}

/// A datatype that older versions lack.
const SINCE_OPEN_MPI_6: &str = "ompi_mpi_logical16";

fn agrees(family: &Family, mpi: Mpi) {
    let program = Program { name: "abi", link: vec!["-ldl".to_owned()] }.compiled(mpi);
    let mut symbols: Vec<&str> = Vec::new();
    let handles = [
        ("MPI_COMM_WORLD", family.world),
        ("MPI_COMM_SELF", family.comm_self),
        ("MPI_COMM_NULL", family.comm_null),
        ("MPI_REQUEST_NULL", family.request_null),
        ("MPI_ERRORS_RETURN", family.errors_return),
        ("MPI_INFO_NULL", family.info_null),
        ("MPI_DATATYPE_NULL", family.datatype_null),
        ("MPI_BYTE", family.byte),
        ("MPI_NO_OP", family.no_op),
    ];
    symbols.extend(handles.iter().filter_map(|(_, handle)| symbol(*handle)));
    if let Datatypes::Symbols(names) = family.datatypes {
        symbols.extend(names.iter().map(|name| name.to_str().unwrap()));
    }
    let run = execute(Command::new(program).args(&symbols));
    assert!(run.status.success(), "{}", run.stderr);
    let said: HashMap<&str, i128> = run
        .stdout
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, text)| (name, text.parse().unwrap()))
        .collect();
    let expect = |name: &str, value: i128| assert_eq!(said[name], value, "{mpi}: {name}");

    expect("handle_bytes", family.handle_bytes as i128);
    for (name, handle) in handles {
        match handle {
            Handle::Value(value) => expect(name, value as i128),
            Handle::Symbol(symbol) => expect(name, said[symbol.to_str().unwrap()]),
        }
    }
    // Sentinels of 32-bit families are compared as the addresses that they are.
    expect("MPI_IN_PLACE", family.in_place as i128);
    expect("MPI_STATUS_IGNORE", family.status_ignore as i128);
    expect("MPI_STATUSES_IGNORE", family.status_ignore as i128);
    expect("MPI_PROC_NULL", family.proc_null.into());
    expect("MPI_ROOT", family.root.into());
    expect("MPI_UNDEFINED", family.undefined.into());
    expect("MPI_SUCCESS", 0);
    expect("MPI_ERR_IN_STATUS", family.err_in_status.into());
    let levels = ["MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"];
    levels.iter().zip(family.thread_levels).for_each(|(name, level)| expect(name, level.into()));
    expect("MPI_CART", family.cart.into());
    expect("MPI_GRAPH", family.graph.into());
    expect("MPI_DIST_GRAPH", family.dist_graph.into());
    assert_eq!(family.combiners.len(), 16);
    for (value, name) in family.combiners {
        expect(&format!("MPI_COMBINER_{}", name.to_uppercase()), (*value).into());
    }
    expect("status_bytes", family.status.bytes as i128);
    expect("status_error", family.status.error as i128);

    let known: Vec<i128> = match family.datatypes {
        Datatypes::Values { handles, .. } => handles.iter().map(|handle| *handle as i128).collect(),
        Datatypes::Symbols(names) => {
            let names = names.iter().map(|name| name.to_str().unwrap()).filter(|name| *name != SINCE_OPEN_MPI_6);
            names.map(|name| said[name]).collect()
        }
    };
    assert!(known.iter().all(|datatype| *datatype != 0), "{mpi}: a datatype that the library does not have");
    for name in ["MPI_INT", "MPI_DOUBLE", "MPI_CHAR", "MPI_BYTE", "MPI_FLOAT_INT", "MPI_UINT64_T", "MPI_C_BOOL"] {
        // printf has the sign of an `int` handle extended; a wrapper sees its 32 bits only.
        let datatype = if family.handle_bytes == 4 { said[name] & 0xffff_ffff } else { said[name] };
        assert!(known.contains(&datatype), "{mpi}: {name} is not among the predefined datatypes");
    }
}

/// What handles tell of sizes is what the library says.
#[test]
fn sizes_are_those_of_the_library() {
    for (family, mpi) in [(&mpich::FAMILY, Mpi::Mpich), (&mpi5::FAMILY, Mpi::Standard)] {
        if !mpi.is_there() {
            continue;
        }
        let Datatypes::Values { handles, told_bytes } = family.datatypes else { panic!("handles of {mpi} are values") };
        let told: HashMap<String, u64> =
            handles.iter().filter_map(|handle| Some((handle.to_string(), told_bytes(*handle)?))).collect();
        let words: Vec<&str> = told.keys().map(String::as_str).collect();
        let run = Launch::new(mpi, "sizes").plain().ranks(1).arguments(&words).run().succeeded();
        let said: Vec<(&str, u64)> = run
            .stdout
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(handle, bytes)| (handle, bytes.parse().unwrap()))
            .collect();
        assert!(said.len() > told.len() / 2, "{mpi} has {} of {} datatypes", said.len(), told.len());
        for (handle, bytes) in said {
            assert_eq!(told[handle], bytes, "{mpi}: {handle}");
        }
    }
}

fn value(handle: Handle) -> Word {
    match handle {
        Handle::Value(value) => value,
        Handle::Symbol(name) => panic!("{name:?} has no value"),
    }
}

fn symbol(handle: Handle) -> Option<&'static str> {
    match handle {
        Handle::Value(_) => None,
        Handle::Symbol(name) => Some(name.to_str().unwrap()),
    }
}
