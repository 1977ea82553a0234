//! Files that tell launchers which rank goes where.

use std::io::{self, Write};

use through_core::document::{Document, Drawing};
use through_core::text::terminal::Terminal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Open MPI: <https://www.open-mpi.org/doc/v4.1/man1/mpirun.1.php>, "Rankfiles"
    Rankfile,
    /// Cray MPICH: `MPICH_RANK_ORDER`, see `intro_mpi`(3).
    Cray,
    /// Slurm: `SLURM_HOSTFILE` for `--distribution=arbitrary`, <https://slurm.schedmd.com/srun.html>
    Slurm,
    /// MPICH's mpiexec: `-f`, <https://github.com/pmodels/mpich/blob/main/doc/wiki/how_to/Using_the_Hydra_Process_Manager.md>
    Hydra,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Rankfile, Kind::Cray, Kind::Slurm, Kind::Hydra];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Rankfile => "rankfile",
            Kind::Cray => "cray",
            Kind::Slurm => "slurm",
            Kind::Hydra => "hydra",
        }
    }

    pub fn of(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether the file names hosts, and cannot do without.
    pub fn needs_hosts(self) -> bool {
        matches!(self, Kind::Slurm | Kind::Hydra)
    }
}

pub struct OrderFile {
    pub kind: Kind,
    /// What it is, for formats with comments.
    pub about: String,
    /// Nothing: a host that is not known yet.
    pub hosts: Vec<Option<String>>,
    /// Ranks of each host, in the order of its slots.
    pub by_host: Vec<Vec<i64>>,
}

impl Drawing for OrderFile {
    fn draw(&self, _: &Document, _: &Terminal, out: &mut dyn Write) -> io::Result<()> {
        match self.kind {
            Kind::Rankfile => self.rankfile(out),
            Kind::Cray => self.cray(out),
            Kind::Slurm => self.by_rank().into_iter().try_for_each(|(_, at, _)| writeln!(out, "{}", self.host(at))),
            Kind::Hydra => self.hydra(out),
        }
    }
}

impl OrderFile {
    /// Of Open MPI's hosts that are not known the first is `+n0`.
    fn host(&self, at: usize) -> String {
        self.hosts[at].clone().unwrap_or_else(|| format!("+n{at}"))
    }

    /// Rank, host and slot, ascending by rank.
    fn by_rank(&self) -> Vec<(i64, usize, usize)> {
        let of_host = |(at, ranks): (usize, &Vec<i64>)| {
            ranks.iter().enumerate().map(move |(slot, rank)| (*rank, at, slot)).collect::<Vec<_>>()
        };
        let mut by_rank: Vec<_> = self.by_host.iter().enumerate().flat_map(of_host).collect();
        by_rank.sort_unstable();
        by_rank
    }

    fn rankfile(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "# {}", self.about)?;
        writeln!(out, "# Open MPI 4: mpirun --rankfile FILE; Open MPI 5 and 6: mpirun --map-by rankfile:file=FILE")?;
        self.by_rank()
            .into_iter()
            .try_for_each(|(rank, at, slot)| writeln!(out, "rank {rank}={} slot={slot}", self.host(at)))
    }

    fn cray(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "# {}", self.about)?;
        writeln!(out, "# As MPICH_RANK_ORDER in the working directory, with MPICH_RANK_REORDER_METHOD=3")?;
        for ranks in self.by_host.iter().filter(|ranks| !ranks.is_empty()) {
            writeln!(out, "{}", ranks.iter().map(i64::to_string).collect::<Vec<_>>().join(","))?;
        }
        Ok(())
    }

    fn hydra(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "# {}", self.about)?;
        writeln!(out, "# mpiexec -machinefile FILE")?;
        let mut ranks = self.by_rank().into_iter().peekable();
        while let Some((_, at, _)) = ranks.next() {
            let mut count = 1;
            while ranks.next_if(|(_, next, _)| *next == at).is_some() {
                count += 1;
            }
            writeln!(out, "{}:{count}", self.host(at))?;
        }
        Ok(())
    }
}
