//! Runs made up: a program whose changes are known, with noise that is the same every time.

use commsee::ranks::Ranks;

use super::changes::Comparison;
use super::entry::Verdict;
use super::run::{Cell, Comm, Run};
use crate::statistics::random::Random;

/// What is changed in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    Nothing,
    /// One more in a hundred, of Allreduce on the first row.
    OneMoreCall,
    /// Of its messages.
    DoubleSize,
    /// All its calls take longer.
    Delay,
    /// Rank 0 works longer before the barrier.
    Imbalance,
}

const RANKS: usize = 8;

fn comm(name: &str, parent: Option<usize>, ranks: &str) -> Comm {
    let ranks = Ranks::read(ranks);
    let (root, made) = name[1..].split_once('.').unwrap();
    Comm {
        name: name.to_owned(),
        creator: name[..1].to_owned(),
        size: Some(ranks.count()),
        ranks: Some(ranks),
        parent,
        root: root.parse().unwrap(),
        made: made.parse().unwrap(),
        ..Comm::default()
    }
}

/// What each member spent, as a profile sums it up.
pub fn cell(comm: usize, op: &str, calls: i64, bytes: u128, times_ns: &[f64], shortest_ns: f64) -> Cell {
    let times: Vec<i64> = times_ns.iter().map(|time| time.max(0.0) as i64).collect();
    let (ranks, sum) = (times.len() as i128, times.iter().map(|time| i128::from(*time)).sum::<i128>());
    let least = *times.iter().min().unwrap();
    Cell {
        comm,
        op: op.to_owned(),
        calls,
        rank_calls: calls * times.len() as i64,
        bytes,
        time_ns: sum,
        rank_max_ns: *times.iter().max().unwrap(),
        even_ns: Some(ranks * i128::from(least)),
        floor_ns: Some((ranks * (shortest_ns * calls as f64) as i128).clamp(0, sum)),
        is_synchronising: op != "MPI_Sendrecv" && op != "MPI_Bcast",
    }
}

/// Eight ranks in two rows and four columns that exchange, reduce and meet; all of it takes some hundredths longer or shorter each time.
pub fn run(random: &mut Random, planted: Planted) -> Run {
    let is = |change| planted == change;
    let system = 1.0 + 0.01 * random.normal();
    let mut cost = |mean_ns: f64| mean_ns * system * (1.0 + 0.03 * random.normal());
    let mut comms = vec![comm("W0.0", None, "0-7"), comm("s0.1", Some(0), "0-3"), comm("s4.1", Some(0), "4-7")];
    comms.extend((0..4).map(|column| comm(&format!("s{column}.2"), Some(0), &format!("{column},{}", column + 4))));
    let mut work: Vec<f64> = (0..RANKS).map(|_| cost(10e9)).collect();
    work[0] += if is(Planted::Imbalance) { 2e9 } else { 0.0 };
    let mut cells = Vec::new();
    let mut spent = [0.0; RANKS];
    let mut add =
        |comm: usize, op: &str, calls: i64, bytes: u128, members: &[usize], times: Vec<f64>, shortest: f64| {
            let made = cell(comm, op, calls, bytes, &times, shortest);
            members.iter().zip(&times).for_each(|(rank, time)| spent[*rank] += time.max(0.0).floor());
            cells.push(made);
        };
    for (number, members) in [(1, [0, 1, 2, 3]), (2, [4, 5, 6, 7])] {
        let is_first = number == 1;
        let calls = if is_first && is(Planted::OneMoreCall) { 101 } else { 100 };
        let size = if is_first && is(Planted::DoubleSize) { 2 } else { 1 };
        let mut each = cost(10e6) * f64::from(size);
        each += if is_first && is(Planted::Delay) { 5e6 } else { 0.0 };
        let times: Vec<f64> = members.iter().map(|_| each * calls as f64 + cost(20e6)).collect();
        let bytes = 8 * 8192 * calls as u128 * u128::from(size as u32);
        add(number, "MPI_Allreduce", calls, bytes, &members, times, each * 0.9);
    }
    for column in 0..4 {
        let members = [column, column + 4];
        let times: Vec<f64> = members.iter().map(|_| cost(0.5e9)).collect();
        add(3 + column, "MPI_Sendrecv", 2000, 2000 * 4 * 65536, &members, times, 1e5);
    }
    let all: Vec<usize> = (0..RANKS).collect();
    let times: Vec<f64> = all.iter().map(|_| cost(0.1e9)).collect();
    add(0, "MPI_Bcast", 10, 80 << 20, &all, times, 1e6);
    let last = work.iter().copied().fold(0.0, f64::max);
    let times: Vec<f64> = work.iter().map(|work| last - work + cost(1e6)).collect();
    add(0, "MPI_Barrier", 10, 0, &all, times, 1e5);
    let walls: Vec<i128> = all.iter().map(|rank| work[*rank] as i128 + spent[*rank] as i128).collect();
    let (wall_ns, mpi_ns) = (walls.iter().sum::<i128>(), spent.iter().map(|spent| *spent as i128).sum::<i128>());
    let longest = *walls.iter().max().unwrap();
    Run {
        ranks: RANKS as u64,
        run_time_ns: longest as i64,
        working_ns: wall_ns - mpi_ns,
        unexplained_ns: mpi_ns - cells.iter().map(|cell| cell.time_ns).sum::<i128>(),
        end_skew_ns: RANKS as i128 * longest - wall_ns,
        comms,
        cells,
        ..Run::default()
    }
}

pub fn runs(random: &mut Random, number: usize, planted: Planted) -> Vec<Run> {
    (0..number).map(|_| run(random, planted)).collect()
}

/// Every entry that is named, or that is judged to differ: communicator, operation, reason and verdict.
fn told(comparison: &Comparison) -> Vec<(String, String, Option<&'static str>, Option<Verdict>)> {
    let is_told = |entry: &&super::entry::Entry| {
        entry.reason.is_some() || entry.time.verdict.is_some_and(|verdict| verdict.is_certain())
    };
    let of = |entry: &super::entry::Entry| {
        let comm = entry.comm.name().unwrap_or(entry.what.name()).to_owned();
        let reason = entry.reason.map(|reason| reason.name());
        (comm, entry.what.op().unwrap_or_default().to_owned(), reason, entry.time.verdict)
    };
    comparison.entries.iter().filter(is_told).map(of).collect()
}

#[test]
fn equal_programs_have_hardly_a_verdict() {
    for (seed, number) in [(1, 4), (2, 5), (3, 6), (4, 10)] {
        let mut random = Random::new(seed);
        let pairs = (0..200).map(|_| {
            let (a, b) = (runs(&mut random, number, Planted::Nothing), runs(&mut random, number, Planted::Nothing));
            Comparison::of(a, b)
        });
        let wrong = pairs.filter(|comparison| !told(comparison).is_empty()).count();
        assert!(wrong <= 10, "{wrong} of 200 pairs of {number} and {number} runs");
    }
}

#[test]
fn what_was_planted_is_named_and_nothing_else() {
    let planted = [
        (Planted::OneMoreCall, "s0.1", "MPI_Allreduce", "more calls"),
        (Planted::DoubleSize, "s0.1", "MPI_Allreduce", "bigger"),
        (Planted::Delay, "s0.1", "MPI_Allreduce", "slower per byte"),
        (Planted::Imbalance, "W0.0", "MPI_Barrier", "more waiting"),
    ];
    for (seed, (change, comm, op, reason)) in planted.into_iter().enumerate() {
        let mut random = Random::new(100 + seed as u64);
        let (mut named, mut others) = (0, 0);
        for _ in 0..50 {
            let (a, b) = (runs(&mut random, 5, Planted::Nothing), runs(&mut random, 5, change));
            for (told_comm, told_op, told_reason, verdict) in told(&Comparison::of(a, b)) {
                let is_planted = (told_comm.as_str(), told_op.as_str(), told_reason) == (comm, op, Some(reason));
                // Who works longer before the barrier works longer; where a row takes longer, the other one ends before it.
                let is_work = change == Planted::Imbalance && told_reason == Some("more work")
                    || change != Planted::OneMoreCall && told_reason == Some("more end skew");
                named += i32::from(is_planted);
                others += i32::from(!is_planted && !is_work);
                assert!(
                    !is_planted || change == Planted::OneMoreCall || verdict == Some(Verdict::Slower),
                    "{change:?}"
                );
            }
        }
        // Time may fall by chance, for certain, though there is a call more.
        assert!(named >= 48, "{change:?}: {named} of 50");
        assert!(others <= 2, "{change:?}: {others} others");
    }
}

/// The same of one run each: counts tell what they tell, and nothing is judged.
#[test]
fn of_single_runs_counts_are_told() {
    for (change, reason) in [(Planted::OneMoreCall, "more calls"), (Planted::DoubleSize, "bigger")] {
        let mut random = Random::new(9);
        let comparison = Comparison::of(runs(&mut random, 1, Planted::Nothing), runs(&mut random, 1, change));
        assert!(!comparison.has_verdicts() && comparison.entries.iter().all(|entry| entry.time.verdict.is_none()));
        let counted: Vec<_> = told(&comparison)
            .into_iter()
            .filter(|(.., reason, _)| matches!(reason, Some("more calls" | "fewer calls" | "bigger" | "smaller")))
            .collect();
        assert_eq!(counted, [("s0.1".to_owned(), "MPI_Allreduce".to_owned(), Some(reason), None)]);
    }
}

/// Whatever runs hold: entries add up to the change of ranks times run time, and their parts to each of them.
#[test]
fn entries_add_up_to_the_last_nanosecond() {
    let mut random = Random::new(42);
    for _ in 0..500 {
        let side = |random: &mut Random| -> Vec<Run> {
            let number = 1 + random.below(4);
            let planted =
                [Planted::Nothing, Planted::Imbalance, Planted::Delay, Planted::DoubleSize, Planted::OneMoreCall];
            let planted = planted[random.below(5)];
            let mut runs = runs(random, number, planted);
            for run in &mut runs {
                run.cells.retain(|_| random.below(5) > 0);
                run.comms.truncate(4 + random.below(4));
                let there = run.comms.len();
                run.cells.retain(|cell| cell.comm < there);
                for cell in &mut run.cells {
                    cell.time_ns = i128::from(random.word() as i64 >> random.below(40));
                    cell.bytes = u128::from(random.word());
                    cell.calls = random.word() as i64;
                }
                run.ranks = 1 + random.below(9) as u64;
                run.run_time_ns = (random.word() >> 1) as i64;
                run.end_skew_ns = i128::from(random.word() >> 20);
                run.working_ns = i128::from(random.word() as i64);
                let cells = run.cells.iter().map(|cell| cell.time_ns).sum::<i128>();
                run.unexplained_ns = run.whole_ns() - cells - run.working_ns - run.end_skew_ns;
            }
            runs
        };
        let (a, b) = (side(&mut random), side(&mut random));
        let whole = |runs: &[Run]| runs.iter().map(Run::whole_ns).sum::<i128>();
        let (of_a, of_b) = (a.len() as i128, b.len() as i128);
        let exact = whole(&b) * of_a - whole(&a) * of_b;
        let comparison = Comparison::of(a, b);
        let sum: i128 = comparison.entries.iter().map(|entry| entry.delta_ns).sum();
        assert_eq!(sum, comparison.delta_whole_ns);
        assert!((sum * of_a * of_b - exact).abs() * 2 <= of_a * of_b, "{sum} is not {exact} / {}", of_a * of_b);
        for entry in &comparison.entries {
            assert_eq!(entry.parts_ns.iter().sum::<i128>(), entry.delta_ns);
        }
    }
}
