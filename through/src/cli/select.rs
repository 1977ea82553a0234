//! Which profile, and which of its rows: what views have in common.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::query::range::{BucketPick, ByteRange, TimeRange};
use crate::query::selection::Selection;

#[derive(Clone, Debug, Default, Args)]
pub struct Input {
    /// Profile to read [default: newest *.db in the current directory]
    pub profile: Option<PathBuf>,
    /// Profile to read, as an option
    #[arg(short = 'i', long = "input", value_name = "FILE", conflicts_with = "profile", hide_short_help = true)]
    pub input: Option<PathBuf>,
}

impl Input {
    pub fn path(&self) -> Option<&Path> {
        self.profile.as_deref().or(self.input.as_deref())
    }
}

/// What to show of what ranks counted. Every filter that is given must hold.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Filters (a call must match all of them)")]
pub struct Select {
    #[command(flatten)]
    pub calls: SelectCalls,
    /// Seconds of a rank in one row: 0.1:2.5, 0.1: or :2.5
    #[arg(short, long, value_name = "LOW:HIGH", value_parser = TimeRange::parse, hide_short_help = true)]
    pub time: Option<TimeRange>,
    /// Call sites, by line, file or function: grid.c:88,halo::*, also of outer frames [needs run --sites]
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub site: Vec<String>,
    /// Phases, by name; '' selects calls outside any phase [default: all, added up]
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub phase: Vec<String>,
}

/// MPI calls, and whatever was done for them.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Filters (a call must match all of them)")]
pub struct SelectCalls {
    /// Communicators, by name, label or birthplace: s0.1,rows,made@grid.c:88
    #[arg(long, value_name = "LIST")]
    pub comm: Vec<String>,
    /// Communicators similar to these: the same parent, creator, size and birthplace
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub family: Vec<String>,
    /// Operations, with or without MPI_: Allreduce,isend
    #[arg(long, value_name = "LIST")]
    pub op: Vec<String>,
    /// Ranks in MPI_COMM_WORLD: 0,4-7
    #[arg(short, long, value_name = "LIST", value_parser = commsee::ranks::RankSet::parse)]
    pub rank: Vec<commsee::ranks::RankSet>,
    /// Ranks of these hosts, with or without the domain: node3,node4
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub host: Vec<String>,
    /// Buckets that overlap these sizes: 1K:1M, 1M: or :128
    #[arg(short, long, value_name = "LOW:HIGH", value_parser = ByteRange::parse)]
    pub bytes: Option<ByteRange>,
    /// Buckets, by number from 0 or by edges: 2 or 1K:8K
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = BucketPick::parse, hide_short_help = true)]
    pub bucket: Vec<BucketPick>,
    /// Point-to-point operations only
    #[arg(short)]
    pub p2p: bool,
    /// Collective operations only, also neighborhood ones
    #[arg(short)]
    pub collectives: bool,
}

/// Routes by which layers below MPI moved data, and when. '' is what has none.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Filters (a call must match all of them)")]
pub struct SelectRoutes {
    /// Layers, by name
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub layer: Vec<String>,
    /// Functions of the layer: uct_ep_get_zcopy,uct_ep_put_zcopy
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub function: Vec<String>,
    /// Transports: posix,cma
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub transport: Vec<String>,
    /// Devices: mlx5_0:1,memory
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub device: Vec<String>,
    /// Protocols: eager,rndv-get
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub protocol: Vec<String>,
    /// Part of the timeline: what began between these seconds, 1.2:1.5, 1.2: or :1.5 [needs run --trace]
    #[arg(long, value_name = "BEGIN:END", value_parser = TimeRange::parse, hide_short_help = true)]
    pub window: Option<TimeRange>,
}

impl Select {
    pub fn selection(&self) -> Selection {
        Selection {
            time: self.time,
            site: self.site.clone(),
            phase: self.phase.clone(),
            ..self.calls.selection(&SelectRoutes::default())
        }
    }
}

impl SelectCalls {
    pub fn selection(&self, routes: &SelectRoutes) -> Selection {
        Selection {
            comm: self.comm.clone(),
            family: self.family.clone(),
            op: self.op.clone(),
            rank: self.rank.clone(),
            host: self.host.clone(),
            bytes: self.bytes,
            bucket: self.bucket.clone(),
            p2p: self.p2p,
            collectives: self.collectives,
            layer: routes.layer.clone(),
            function: routes.function.clone(),
            transport: routes.transport.clone(),
            device: routes.device.clone(),
            protocol: routes.protocol.clone(),
            window: routes.window,
            ..Selection::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::cli::{Layers, Select, parsed};
    use crate::query::filter::Filter;
    use crate::query::{Error, sample};

    fn resolve(words: &[&str]) -> Result<Filter, Error> {
        Filter::resolve(&parsed::<Select>(words).unwrap().selection(), &sample::catalog())
    }

    #[test]
    fn names_become_numbers() {
        let filter = resolve(&["--comm", "s0.1,a, b", "--comm", "W0.0", "--op", "allreduce,MPI_SEND"]).unwrap();
        assert_eq!(filter.comms.unwrap().into_iter().collect::<Vec<_>>(), [2, 3]);
        assert_eq!(filter.ops.unwrap().len(), 2);
        assert_eq!(filter.absent, ["communicator a", "communicator b"]);
    }

    #[test]
    fn a_label_may_hold_a_comma() {
        let filter = resolve(&["--comm", "rows, odd"]).unwrap();
        assert_eq!(filter.comms.unwrap().into_iter().collect::<Vec<_>>(), [4]);
        assert!(filter.absent.is_empty());
    }

    #[test]
    fn classes_narrow_the_operations() {
        assert_eq!(resolve(&["-p"]).unwrap().ops.unwrap().len(), 1);
        assert_eq!(resolve(&["-p", "-c"]).unwrap().ops.unwrap().len(), 2);
        assert!(resolve(&["-p", "--op", "allreduce"]).unwrap().ops.unwrap().is_empty());
    }

    #[test]
    fn an_unknown_operation_names_similar_ones() {
        let error = resolve(&["--op", "Alreduce"]).unwrap_err().to_string();
        assert!(error.contains("MPI_Allreduce"), "{error}");
        assert!(resolve(&["--op", "zzz"]).unwrap_err().to_string().contains("write it as"));
    }

    #[test]
    fn an_operation_that_the_profile_lacks_matches_nothing() {
        let filter = resolve(&["--op", "Bcast"]).unwrap();
        assert_eq!((filter.ops, filter.absent), (Some(BTreeSet::new()), vec!["MPI_Bcast".to_owned()]));
    }

    #[test]
    fn phases_are_named_exactly() {
        let phases = |words: &[&str]| resolve(words).unwrap().phases.unwrap().into_iter().collect::<Vec<_>>();
        assert_eq!(phases(&["--phase", "solve,set up"]), [1, 2]);
        assert_eq!(phases(&["--phase", ""]), [0]);
        assert_eq!(phases(&["--phase", "solve", "--phase", ""]), [0, 2]);
        let error = resolve(&["--phase", "Solve"]).unwrap_err().to_string();
        assert!(error.contains("no phase 'Solve'") && error.contains("set up, solve"), "{error}");
    }

    #[test]
    fn routes_are_met_by_all_that_is_asked_of_them() {
        let routes = |words: &[&str]| {
            let layers: Layers = parsed(words).unwrap();
            let filter = Filter::resolve(&layers.calls.selection(&layers.routes), &sample::catalog()).unwrap();
            (filter.routes.map(|routes| routes.into_iter().collect::<Vec<_>>()), filter.absent)
        };
        assert_eq!(routes(&[]), (None, vec![]));
        assert_eq!(routes(&["--layer", "UCT"]), (Some(vec![2, 3]), vec![]));
        assert_eq!(
            routes(&["--layer", "uct", "--transport", "tcp, rc"]),
            (Some(vec![2]), vec!["transport rc".to_owned()])
        );
        assert_eq!(routes(&["--layer", "ucp", "--transport", "tcp"]), (Some(vec![]), vec![]));
        assert_eq!(routes(&["--transport", ""]), (Some(vec![1]), vec![]));
        assert_eq!(routes(&["--function", "UCT_EP_AM_SHORT", "--transport", "tcp"]), (Some(vec![2]), vec![]));
        assert_eq!(routes(&["--function", "uct_ep_get"]).1, ["function uct_ep_get"]);
    }

    #[test]
    fn hosts_stand_for_their_ranks() {
        let mut catalog = sample::catalog();
        for process in &mut catalog.processes {
            process.host = format!("n{}.cluster", process.rank / 2);
        }
        let ranks = |words: &[&str]| {
            let filter = Filter::resolve(&parsed::<Select>(words).unwrap().selection(), &catalog).unwrap();
            (filter.ranks.unwrap().into_iter().collect::<Vec<_>>(), filter.absent)
        };
        assert_eq!(ranks(&["--host", "n1"]), (vec![2, 3], vec![]));
        assert_eq!(ranks(&["--host", "n0.cluster,n1", "--rank", "1-2"]), (vec![1, 2], vec![]));
        assert_eq!(ranks(&["--host", "n", "--rank", "0"]), (vec![], vec!["host n".to_owned()]));
    }

    #[test]
    fn buckets_are_met_from_both_sides() {
        let buckets = |words: &[&str]| resolve(words).unwrap().buckets.unwrap().into_iter().collect::<Vec<_>>();
        assert_eq!(buckets(&["--bytes", "128:1K"]), [0, 1]);
        assert_eq!(buckets(&["--bytes", "129:1K"]), [1]);
        assert_eq!(buckets(&["--bytes", "8K:"]), [2]);
        assert_eq!(buckets(&["--bucket", "0,1K:"]), [0, 2]);
        assert!(buckets(&["--bucket", "128-1K", "--bytes", ":128"]).is_empty());
    }
}
