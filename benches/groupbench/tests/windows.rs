//! Libraries that need windows, where the MPI library makes none.

#[allow(dead_code)]
mod common;

use common::{PROGRAM, alone, done, is_open_mpi, launcher};

/// Open MPI 4.1 promises windows over its component `rdma`, which then has nothing to move data with.
#[test]
fn a_window_that_cannot_be_made_is_left_out() {
    if !is_open_mpi() {
        return;
    }
    let _alone = alone();
    let mut job = launcher(2);
    job.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none").env("OMPI_MCA_osc", "rdma").arg(PROGRAM).arg("run");
    let words = "-g 1 --bytes 8 --library put,twosided,get --in-order --reps 1 --warm-up 0 --format csv";
    let done = done(job.args(words.split(' ')).output().unwrap()).succeeded();
    let rows = done.rows();
    if !done.stderr.contains("left out:") {
        // A later version that can do it.
        return assert_eq!(rows.len(), 3);
    }
    assert_eq!(rows.iter().map(|row| row[5].as_str()).collect::<Vec<_>>(), ["twosided"], "{}", done.stderr);
    for name in ["put", "get"] {
        let said = format!("{name} 8: MPI_Win_create fails: MPI_ERR_");
        assert!(done.stderr.lines().any(|line| line.contains("left out:") && line.contains(&said)), "{}", done.stderr);
    }
}
