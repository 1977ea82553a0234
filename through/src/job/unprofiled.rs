//! Why nothing was profiled, as far as it is proved: by the command line and the files that it names, by what processes told, and by how the job ended.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::thread;

use commsee::loaded::Stage;
use object::Architecture;

use crate::job::preload::PRELOAD;
use crate::job::programs::{Elf, Program, named};
use crate::job::signals;

pub struct Reason {
    pub what: String,
    /// What to do.
    pub advice: String,
}

/// What is known of a job that left nothing.
pub struct Evidence<'a> {
    pub command: &'a [OsString],
    pub status: ExitStatus,
    /// Programs that loaded the profiler here, and how far they came.
    pub told: Vec<(Stage, PathBuf)>,
}

const ABOVE: &str = "see its messages above";
const LINK: &str = "link it with libcommsee.a: see docs/howto/preload.md of the sources";
/// Words by which launchers are told of other hosts, whose processes tell nothing here.
const HOSTS: [&str; 9] =
    ["-H", "-host", "--host", "-hosts", "-hostfile", "--hostfile", "-f", "-machinefile", "--machinefile"];
/// Batch systems that give jobs several hosts.
const BATCH: [&str; 5] = ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE", "COBALT_JOBID"];
const RANKS: [&str; 5] = ["-n", "-np", "--n", "--np", "-c"];

impl Evidence<'_> {
    /// The first reason that is proved.
    pub fn reason(&self) -> Option<Reason> {
        let all = named(self.command);
        let is_launched = all.len() > 1;
        let programs = if is_launched { &all[1..] } else { &all[..] };
        self.came_to_init()
            .or_else(|| self.other_preload())
            .or_else(|| programs.iter().find_map(|program| self.of_file(program)))
            .or_else(|| self.missing(&all))
            .or_else(|| self.without_init(programs))
            .or_else(|| self.never_loaded(&all, programs))
    }

    fn came_to_init(&self) -> Option<Reason> {
        let returned = self.told.iter().find(|(stage, _)| *stage == Stage::Returned);
        let (stage, program) = returned.or_else(|| self.told.iter().find(|(stage, _)| *stage == Stage::Entered))?;
        let program = short(program);
        Some(match stage {
            Stage::Returned => Reason {
                what: format!("{program} called MPI_Init, but nothing was recorded"),
                advice: "see the messages of commsee above, and whether the job sets COMMSEE_DISABLE".to_owned(),
            },
            _ => Reason {
                what: format!("{program} called MPI_Init, which did not return"),
                advice: format!("the job {}: {ABOVE}", self.ended()),
            },
        })
    }

    /// A value of `LD_PRELOAD` that the command line sets takes the place of the one with the profiler.
    fn other_preload(&self) -> Option<Reason> {
        let words: Vec<_> = self.command.iter().map(|word| word.to_string_lossy()).collect();
        let set = |place: usize| {
            let word = &words[place];
            let value = word.strip_prefix(PRELOAD).and_then(|rest| rest.strip_prefix('='));
            let is_next = place > 1 && words[place - 1] == PRELOAD && words[place - 2].ends_with("env");
            value.or_else(|| is_next.then_some(&**word))
        };
        let value = (0..words.len()).find_map(set)?;
        let Some((in_front, _)) = value.split_once("libcommsee") else {
            return Some(Reason {
                what: format!("the command line sets {PRELOAD}='{value}', without libcommsee.so"),
                advice: match value {
                    "" => "remove that".to_owned(),
                    value => format!("set it for `through run`, which keeps it: {PRELOAD}={value} through run …"),
                },
            });
        };
        let hides = |file: &&str| Elf::open(Path::new(file)).is_some_and(|elf| elf.defines_init);
        let tool = in_front.split([':', ' ']).find(hides)?;
        Some(Reason {
            what: format!("{tool} defines MPI_Init, in front of libcommsee.so"),
            advice: format!("put libcommsee.so first in {PRELOAD}, or remove the tool"),
        })
    }

    /// What keeps the loader from taking the profiler, or programs from calling it.
    fn of_file(&self, program: &Program) -> Option<Reason> {
        let elf = program.elf.as_ref()?;
        let word = &program.word;
        let of = |what: &str, advice: &str| Some(Reason { what: format!("{word} {what}"), advice: advice.to_owned() });
        let (own, is_64) = own_architecture()?;
        if (elf.architecture, elf.is_64) != (own, is_64) {
            let what = format!("is built for {:?}, libcommsee.so for {own:?}", elf.architecture);
            return of(&what, "build the program and commsee for the same processor and word size");
        }
        if program.is_secure() {
            let advice =
                "remove them (chmod ug-s, setcap -r), or link libcommsee.a: see docs/howto/preload.md of the sources";
            return of("is setuid, setgid or has capabilities: LD_PRELOAD is ignored", advice);
        }
        if !elf.is_dynamic {
            return of("is statically linked: preloading has no effect", LINK);
        }
        if elf.defines_init && elf.needs_mpi() {
            let advice = "link it without the tool that defines it, or with libcommsee.a first";
            return of("defines MPI_Init itself, which hides commsee's", advice);
        }
        if elf.defines_init {
            return of("is statically linked with MPI, which hides commsee's MPI_Init", LINK);
        }
        None
    }

    /// A program that ran with the profiler, and never came to `MPI_Init`. What stands between it and the launcher (env, shells) did as well.
    fn without_init(&self, programs: &[Program]) -> Option<Reason> {
        let loaded = self.told.iter().rev().map(|(_, path)| path);
        let is_missing = programs.iter().any(needs_mpi);
        let of_line = || programs.iter().rev().find(|program| !is_missing && self.has_loaded(&program.path));
        let program = loaded.clone().find(|path| Elf::open(path).is_some_and(|elf| elf.needs_mpi()));
        let program = program.or_else(|| of_line().map(|program| &program.path))?;
        Some(Reason {
            what: format!("{} ran with the profiler but did not call MPI_Init", short(program)),
            advice: match self.status.success() {
                true => "does it open libmpi.so (ctypes, Julia)? See docs/howto/languages.md of the sources. If it has no MPI, \
                         add --hooks nccl,gpu"
                    .to_owned(),
                false => format!("the job {}: {ABOVE}", self.ended()),
            },
        })
    }

    /// A path of the command line at which there is no program.
    fn missing(&self, all: &[Program]) -> Option<Reason> {
        if all.len() > 1 || all.iter().any(needs_mpi) || self.status.success() {
            return None;
        }
        let words = self.command.iter().skip(1).filter(|word| word.to_string_lossy().contains('/'));
        let missing = words.map(Path::new).find(|path| path.is_relative() && !path.exists())?;
        Some(Reason {
            what: format!("{} does not exist", missing.display()),
            advice: format!("the job ended with {}", self.status()),
        })
    }

    /// The launcher loaded the profiler, and no program did.
    fn never_loaded(&self, all: &[Program], programs: &[Program]) -> Option<Reason> {
        let launcher = all.first().filter(|launcher| self.has_loaded(&launcher.path) && self.is_here())?;
        let name = &launcher.word;
        if !self.status.success() {
            let advice = match self.needs_sanitizer(programs) {
                Some(program) => {
                    format!(
                        "{program} needs ASAN_OPTIONS=verify_asan_link_order=0, also in scripts that set ASAN_OPTIONS"
                    )
                }
                None if self.lacks_slots() => {
                    format!("this host has {} processors: for more ranks, add --oversubscribe", processors())
                }
                None => ABOVE.to_owned(),
            };
            return Some(Reason {
                what: format!("{name} ended with {}, and no MPI program had loaded commsee", self.status()),
                advice,
            });
        }
        let program = programs.iter().find(|program| needs_mpi(program))?;
        Some(Reason {
            what: format!("{name} loaded commsee, but {} did not: LD_PRELOAD was dropped", program.word),
            advice: format!("replace it by `through exec -- {}`", program.word),
        })
    }

    fn needs_sanitizer<'b>(&self, programs: &'b [Program]) -> Option<&'b str> {
        let needs = |elf: &Elf| elf.needed.iter().any(|name| name.contains("asan"));
        let found = programs.iter().find(|program| program.elf.as_ref().is_some_and(needs));
        found.map(|program| program.word.as_str())
    }

    /// Open MPI starts no more ranks on this host than it has processors.
    fn lacks_slots(&self) -> bool {
        let words: Vec<_> = self.command.iter().map(|word| word.to_string_lossy()).collect();
        let ranks =
            words.windows(2).filter(|pair| RANKS.contains(&&*pair[0])).filter_map(|pair| pair[1].parse::<usize>().ok());
        let may_share = words.iter().any(|word| word.to_lowercase().contains("oversubscribe"));
        ranks.sum::<usize>() > processors() && !may_share && crate::job::launcher::is_open_mpi(&self.command[0])
    }

    /// Whether all processes of the job are on this host, and so could tell.
    fn is_here(&self) -> bool {
        let is_elsewhere = |word: &OsString| HOSTS.iter().any(|option| word == option);
        !self.command.iter().any(is_elsewhere) && BATCH.iter().all(|name| env::var_os(name).is_none())
    }

    fn has_loaded(&self, program: &Path) -> bool {
        self.told.iter().any(|(_, told)| told == program)
    }

    /// The status of the launcher, whose own errors may be numbers that others have for signals.
    fn status(&self) -> String {
        self.status
            .code()
            .map_or_else(|| signals::name(self.status.signal().unwrap_or(0)), |code| format!("status {code}"))
    }

    /// How the job of a program that ran ended.
    fn ended(&self) -> String {
        match (self.status.code(), self.status.signal()) {
            // As shells and launchers tell of a process that a signal ended.
            (Some(code @ 129..=159), _) => format!("ended with status {code} ({})", signals::name(code - 128)),
            (Some(code), _) => format!("ended with status {code}"),
            (None, signal) => format!("was ended by {}", signals::name(signal.unwrap_or(0))),
        }
    }
}

fn needs_mpi(program: &Program) -> bool {
    program.elf.as_ref().is_some_and(Elf::needs_mpi)
}

fn short(program: &Path) -> String {
    program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned()
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// This program's own, which is that of `libcommsee.so` beside it.
fn own_architecture() -> Option<(Architecture, bool)> {
    let elf = Elf::open(&env::current_exe().ok()?)?;
    Some((elf.architecture, elf.is_64))
}
