//! What was written comes out of the shard.

use commsee::calls::op;
use commsee::shard::{Cell, FIRST_COMM, Frame, NO_MODULE, NO_SITE, Shard, Site, read_file};

use crate::process::{MODULE_BYTES, Process};
use crate::shard;

#[test]
fn everything_comes_out_by_its_number() {
    let process = Process::new(1, 2);
    let long = format!("/{}/a.out", "deep/".repeat(200));
    let program = process.module(&long, &[7; 20], 0x40_0000);
    let library = process.module("/usr/lib/libmpi.so.40", &[], 0x7f00_0000_0000);
    assert_eq!((program, library), (1, 2));
    let deepest = 5000;
    let mut outer = NO_SITE;
    for depth in 1..=deepest {
        let frame = process.frame(program, u64::from(depth) * 4);
        assert_eq!(frame, depth);
        outer = process.site(frame, outer);
        assert_eq!(outer, depth);
    }
    let python = process.python("Grid.rows", "grid.py", 88);
    let in_python = process.site(python, NO_SITE);
    let key = Cell::key(FIRST_COMM, op::MPI_Send, 1);
    for site in (1..=deepest).chain([in_python, NO_SITE]) {
        process.count(key, site, u64::from(site) + 1);
        process.count(key, site, 1);
    }
    process.communicator(2, b'd', outer);
    let seen = process.shard();
    let path = shard::path().unwrap();
    for shard in [seen, Shard::parse(&read_file(&path).unwrap()).unwrap()] {
        assert_eq!(shard.damaged, 0);
        let code = &shard.code;
        let module = code.module(program).unwrap();
        assert_eq!((code.text(module.path), module.build_id(), module.flags), (long.clone(), &[7; 20][..], 0));
        assert_eq!((code.module(library).unwrap().build_id(), code.modules.len()), (&[][..], 2));
        assert_eq!(code.module_at(0x40_0000 + MODULE_BYTES - 1).unwrap().0, program);
        assert!(code.module_at(0x40_0000 + MODULE_BYTES).is_none());
        assert_eq!((code.frames.len(), code.sites.len()), (deepest as usize + 1, deepest as usize + 1));
        for number in 1..=deepest {
            assert_eq!(code.frame(number), Some(&Frame::of_module(program, u64::from(number) * 4)));
            assert_eq!(code.site(number), Some(&Site { frame: number, outer: number - 1 }));
        }
        let frame = code.frame(python).unwrap();
        assert_eq!((frame.module, frame.line), (NO_MODULE, 88));
        assert_eq!((code.text(frame.function), code.text(frame.file)), ("Grid.rows".into(), "grid.py".into()));
        assert_eq!(shard.site_cells.len(), deepest as usize + 2);
        for cell in &shard.site_cells {
            let calls = u64::from(cell.site) + 2;
            assert_eq!((cell.key, cell.calls, cell.bytes_sent, cell.ticks), (key, calls, 8 * calls, 100 * calls));
        }
        assert_eq!(shard.communicators.iter().map(|comm| comm.site()).collect::<Vec<_>>(), [NO_SITE, deepest]);
    }
}

/// A version that knew nothing of sites left zeros in their places.
#[test]
fn what_has_no_sites_reads_as_before() {
    let process = Process::killed(0, 1);
    process.is_inside(op::MPI_Barrier, 500, 0);
    let shard = process.shard();
    assert_eq!((shard.damaged, shard.code.sites.len(), shard.communicators[0].site()), (0, 0, NO_SITE));
    assert_eq!((shard.thread_states[0].call, shard.thread_states[0].caller), (Some((FIRST_COMM, op::MPI_Barrier)), 0));
}
