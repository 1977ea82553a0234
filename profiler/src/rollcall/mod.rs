//! Whether all ranks of the job record. A preload may reach some of them only, and then a message of ours is the program's next
//! message on the others; so before any is sent all must be known to have joined, and known to know it. The launcher's words tell
//! which processes belong together (`job.rs`). On one host they share memory (`host.rs`), between hosts a directory (`hosts.rs`).
//! Of all that see the same, the first who asks decides, once and for all, so that every rank gets the same answer.

mod host;
mod hosts;
mod job;
mod launcher;
mod spawned;
pub mod told;
mod verdict;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use host::Roll;
use hosts::Hosts;
pub use job::{Job, find};
use verdict::Verdict;
use vocabulary::profile::Claim;
use vocabulary::profile::hosts::{Folder, Note};
use vocabulary::profile::recover::host_name;
use xxhash_rust::xxh3::xxh3_64;

use crate::guest::signals;

/// Kinds of roll calls: of all ranks that record, of those that keep a timeline, the same of a host without MPI, and of programs with
/// sessions only, which need not meet.
pub const JOINED: &str = hosts::JOINED;
pub const TRACED: &str = "traced";
pub const TRACED_ALONE: &str = "alone";
pub const SESSIONS: &str = "sessions";

/// How long after its `MPI_Init` a rank gives others to come out of theirs, which all enter together. A job that ran longer
/// has nobody to wait for.
const LATE: Duration = Duration::from_secs(2);
/// The same between hosts: file servers take their time.
const LATE_BETWEEN_HOSTS: Duration = Duration::from_secs(5);
/// Hosts on which ranks are missing tell so when these are late: the others read that a little later.
const TOLD_LATE: Duration = Duration::from_secs(1);
/// What each host adds to the time that the last one of them leaves to the others.
const TURN: Duration = Duration::from_micros(100);
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);
/// The same for ranks that have come to `MPI_Finalize`: its time is that until all have.
const LONGEST_PAUSE_OF_ARRIVED: Duration = Duration::from_micros(500);
/// How long a launcher may take to end a job of which a rank has died. What is left then is for those who come after the job.
const LAUNCHER_ENDS_JOB: Duration = Duration::from_secs(5);
/// How often they look whether others still live.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
/// The longest pause in what a file server is asked.
const LONGEST_PAUSE_BETWEEN_HOSTS: Duration = Duration::from_millis(100);

pub struct RollCall {
    rank: u32,
    ranks: u32,
    local_ranks: Option<u32>,
    joined: Instant,
    /// Since when ranks have been missed that died.
    missed: OnceLock<Instant>,
    /// `None`: no directory takes it.
    roll: Option<Roll>,
    /// `None`: all ranks are on this host.
    hosts: Option<Hosts>,
}

/// The shards of a job, of which no rank counts any more, and which nobody gathered.
pub struct Remains {
    /// Where they lie, if not where the ranks left them, and the right to join them.
    pub carried: Option<(Folder, Claim)>,
    /// Whose shards the ranks left on this host.
    pub local: Vec<u32>,
}

impl RollCall {
    /// Enters this rank, after its `MPI_Init`. `kind`: one of those above.
    pub fn join(job: &Job, kind: &str, rank: u32, ranks: u32, shards: &[String], beside: &Path) -> RollCall {
        let run = vocabulary::profile::recover::run_name(job.run);
        let last_resort = ["/dev/shm", "/tmp"];
        let directories = shards.iter().map(Path::new).chain([beside]).chain(last_resort.iter().map(Path::new));
        let roll = if ranks == 1 { None } else { Roll::join(directories, &roll_name(&run, kind), rank, ranks) };
        let spans_hosts = job.spans_hosts && job.local_ranks != Some(ranks);
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let seen: Vec<PathBuf> =
            [Some(beside.to_owned()), std::env::current_dir().ok(), home].into_iter().flatten().collect();
        let folder = if kind == TRACED { TRACED } else { JOINED };
        let hosts = spans_hosts.then(|| Hosts::new(&seen, &run, folder));
        let call = RollCall {
            rank,
            ranks,
            local_ranks: job.local_ranks,
            joined: Instant::now(),
            missed: OnceLock::new(),
            roll,
            hosts,
        };
        call.publish_if_last();
        call
    }

    /// The last rank of a host to join tells the other hosts.
    fn publish_if_last(&self) {
        let (Some(roll), Some(hosts)) = (&self.roll, &self.hosts) else { return };
        if self.local_ranks == Some(roll.joined()) && roll.publish() {
            let present = roll.present();
            roll.set_told(hosts.tell(&present, &present).ok());
        }
    }

    /// Of a job over several hosts, the first rank of each leaves a note of where its shards lie.
    pub fn announce(&self, note: impl FnOnce(&Path) -> Note) {
        if let Some((roll, hosts)) = self.opened() {
            // Whoever cannot tell keeps its shards.
            let _ = hosts.folder().tell(&note(roll.path()));
        }
    }

    /// Of a job over several hosts, if this rank is the first one here.
    fn opened(&self) -> Option<(&Roll, &Hosts)> {
        let roll = self.roll.as_ref().filter(|roll| roll.opener() == Some(self.rank))?;
        Some((roll, self.hosts.as_ref()?))
    }

    /// Whether the job may have ranks on other hosts.
    pub fn spans_hosts(&self) -> bool {
        self.hosts.is_some()
    }

    /// Whether so many are all ranks of this host, and those on others cannot be found.
    pub fn is_all_of_host(&self, count: u64) -> bool {
        self.hosts.is_none() && self.local_ranks.is_some_and(|local| local < self.ranks && u64::from(local) == count)
    }

    /// Ranks of this host that have joined so far.
    pub fn joined(&self) -> u32 {
        self.roll.as_ref().map_or(0, Roll::joined)
    }

    /// A moment that all ranks of this host count from: what the first of them offers.
    pub fn origin_ns(&self, offered_ns: u64) -> u64 {
        self.roll.as_ref().map_or(offered_ns, |roll| roll.origin_ns(offered_ns))
    }

    /// Of this process in `MPI_COMM_WORLD`.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Whether all ranks joined: the same answer on every rank that asks. For ranks that are late it waits until `patience` after
    /// this one joined, while `goes_on` says that they may still come; in between MPI must make progress, which `goes_on` sees to.
    pub fn all_joined(&self, patience: Option<Duration>, goes_on: impl Fn() -> bool) -> bool {
        if self.ranks == 1 {
            return true;
        }
        let Some(roll) = &self.roll else { return false };
        match &self.hosts {
            None => self.ask_here(roll, patience.unwrap_or(LATE), &goes_on),
            Some(hosts) => self.ask_hosts(roll, hosts, patience.unwrap_or(LATE_BETWEEN_HOSTS), &goes_on),
        }
        // Whoever asks other hosts does so for a bounded time, or is dead, and the job with it.
        let far = Instant::now() + 10 * LATE_BETWEEN_HOSTS + patience.unwrap_or_default();
        let until_answered = || {
            goes_on();
            true
        };
        wait(far, &until_answered, || roll.verdict()) == Some(Verdict::All)
    }

    fn ask_here(&self, roll: &Roll, patience: Duration, goes_on: &impl Fn() -> bool) {
        let is_settled = || (roll.verdict().is_some() || roll.joined() == self.ranks).then_some(());
        wait(self.joined + patience, goes_on, is_settled);
        roll.decide(if roll.joined() == self.ranks { Verdict::All } else { Verdict::Some });
    }

    fn ask_hosts(&self, roll: &Roll, hosts: &Hosts, patience: Duration, goes_on: &impl Fn() -> bool) {
        let until = self.joined + patience;
        // This host first: it has told the others already if all its ranks are known to have joined. Where nobody says how many they are, as
        // in containers, it tells of those that have, and of more when they do.
        let is_counted = self.local_ranks.is_some();
        let is_known = || roll.is_published() || roll.verdict().is_some() || roll.joined() == self.ranks;
        wait(until, goes_on, || (!is_counted || is_known()).then_some(()));
        if !roll.ask() {
            return;
        }
        let mut told = Vec::new();
        let mut tell = || {
            // Never again of the same: whoever lists the folder meanwhile would count them twice.
            let present = roll.present();
            let more: Vec<u32> = present.iter().copied().filter(|rank| !told.contains(rank)).collect();
            if !more.is_empty() {
                roll.set_told(hosts.tell(&more, &present).ok());
                told = present;
            }
        };
        if roll.told().is_none() {
            tell();
        }
        let is_own_turn = Instant::now() + self.turn(roll);
        let until = until.max(is_own_turn) + TOLD_LATE;
        let all = || hosts.count() == u64::from(self.ranks);
        let mut pace = Pace::new();
        let mut ask = || {
            if !pace.is_due() {
                return None;
            }
            if !is_counted {
                tell();
            }
            let counted = || (Instant::now() >= is_own_turn && all()).then(|| hosts.decide(Verdict::All, roll.told()));
            hosts.verdict().or_else(counted)
        };
        let verdict = roll.told().and_then(|_| wait(until, goes_on, &mut ask));
        roll.answer(verdict.unwrap_or_else(|| hosts.decide(Verdict::Some, roll.told())));
    }

    /// All record, and this rank will gather: waits until all others of this host have come so far. `false`: some will not come, since
    /// they have died, or stand on another roll; then nobody here may gather. Ranks that still compute are waited for, as in any
    /// `MPI_Finalize`.
    pub fn arrive(&self, goes_on: impl Fn()) -> bool {
        let Some(roll) = &self.roll else { return self.ranks == 1 };
        roll.arrive();
        let mut pause = FIRST_PAUSE;
        let mut look = Instant::now() + BETWEEN_LOOKS;
        while !roll.have_arrived() {
            if Instant::now() >= look {
                look = Instant::now() + BETWEEN_LOOKS;
                if self.have_died() {
                    roll.give_up();
                }
            }
            if roll.verdict() != Some(Verdict::All) {
                return false;
            }
            goes_on();
            signals::rest(pause);
            pause = (pause * 2).min(LONGEST_PAUSE_OF_ARRIVED);
        }
        roll.verdict() == Some(Verdict::All)
    }

    /// This rank has gathered, and may end before others.
    pub fn leave(&self) {
        self.roll.iter().for_each(|roll| roll.set_done(self.rank));
    }

    /// Whether ranks of this host have died that were to gather, and the launcher does not end the others for that.
    pub fn have_died(&self) -> bool {
        let died = self.roll.as_ref().is_some_and(|roll| roll.died() > 0);
        died && self.missed.get_or_init(Instant::now).elapsed() >= LAUNCHER_ENDS_JOB
    }

    /// How long this host leaves it to others to count, so that not thousands read the same folder at the same time. The host of rank 0
    /// does it at once.
    fn turn(&self, roll: &Roll) -> Duration {
        let hosts = self.ranks / self.local_ranks.unwrap_or(1).max(1);
        let rank = roll.told().unwrap_or(0);
        TURN * (u64::from(hosts) * u64::from(rank) / u64::from(self.ranks)) as u32
    }

    /// All ranks of this host have the answer that all record: it is needed no more. Before any of them goes on, so that a next
    /// program under the same launcher finds nothing of this one.
    pub fn clear_here(&self) {
        if let Some(roll) = self.roll.as_ref().filter(|roll| roll.is_first(self.rank)) {
            roll.remove();
        }
    }

    /// All hosts have the answer: the first rank of each takes away what it told for it.
    pub fn settle_between(&self) {
        if let Some((roll, hosts)) = self.opened() {
            hosts.settle(&roll.present());
        }
    }

    /// The profile is made: nobody comes after this job.
    pub fn forget(&self) {
        if let Some((_, hosts)) = self.opened() {
            hosts.forget(self.rank);
        }
    }

    /// This rank's shard is final. The last rank of a host has `bring` copy the shards of all of them into a folder that other
    /// hosts may see; the last rank of all gets what is to be made a profile of.
    pub fn finish(&self, bring: impl FnOnce(&[u32], &Folder) -> bool) -> Option<Remains> {
        let Some(roll) = &self.roll else { return Some(Remains { carried: None, local: Vec::new() }) };
        if !roll.finish(self.rank) {
            return None;
        }
        let local = roll.present();
        let carried = match &self.hosts {
            Some(hosts) if bring(&local, hosts.folder()) => {
                let claim = roll.opener().and_then(|opener| hosts.carried(opener));
                if claim.is_none() {
                    roll.remove();
                }
                Some((hosts.folder().clone(), claim?))
            }
            _ => None,
        };
        Some(Remains { carried, local })
    }

    /// This process has left its shard, and meets nobody: it brings the shard to where processes of other hosts see it. `None`: that
    /// cannot be.
    pub fn bring(&self, shard: &Path) -> Option<Folder> {
        let folder = self.hosts.as_ref()?.folder();
        let brought = folder.carry(shard);
        self.take_leave(false);
        folder.look_again();
        brought.ok().map(|()| folder.clone())
    }

    /// The last rank of this host to leave takes the roll away: of those that joined, or of all that the launcher started here.
    pub fn take_leave(&self, is_for_all: bool) {
        let Some(roll) = self.roll.as_ref().filter(|roll| roll.finish(self.rank)) else { return };
        if !is_for_all || self.local_ranks.is_none_or(|local| roll.joined() >= local) {
            roll.remove();
        }
    }

    /// The profile is made.
    pub fn clear(&self) {
        if let Some(roll) = &self.roll {
            roll.remove();
        }
        if let Some(hosts) = &self.hosts {
            hosts.remove();
        }
    }
}

/// A host's own: in a directory that several hosts share, memory is still each one's.
fn roll_name(run: &str, kind: &str) -> String {
    let names = std::fs::read_link("/proc/self/ns/uts").unwrap_or_default();
    let host = format!("{}\n{:x?}\n{}", host_name(), vocabulary::profile::boot(), names.display());
    format!("commsee-{run}-{:08x}.{kind}", xxh3_64(host.as_bytes()) as u32)
}

/// Asks again and again, until there is an answer, the time is up, or nothing goes on.
fn wait<T>(until: Instant, goes_on: &impl Fn() -> bool, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let mut pause = FIRST_PAUSE;
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if Instant::now() >= until || !goes_on() {
            return None;
        }
        signals::rest(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// When to ask a file server again: ever more rarely, as MPI must make progress more often than that.
struct Pace {
    due: Instant,
    pause: Duration,
}

impl Pace {
    fn new() -> Pace {
        Pace { due: Instant::now(), pause: FIRST_PAUSE }
    }

    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = now >= self.due;
        if is_due {
            self.pause = (self.pause * 3 / 2).min(LONGEST_PAUSE_BETWEEN_HOSTS);
            self.due = now + self.pause;
        }
        is_due
    }
}
