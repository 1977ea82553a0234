//! `through run`: a job under the profiler, and what there is to say when it has ended.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::SystemTime;
use std::{env, fs};

use commsee::settings;

use crate::cli::Run;
use crate::collect::Reach;
use crate::error::Error;
use crate::harvest::{self, Harvest};
use crate::message::say;
use crate::{launcher, preload, signals, summary};

/// Returns the status of the job.
pub fn run(run: &Run) -> Result<u8, Error> {
    let pattern = preload::pattern(&run.profiling);
    let launch = launch_token().map_err(Error::Random)?;
    let mut variables = preload::variables(&run.profiling)?;
    variables.retain(|(name, _)| *name != settings::OUT);
    variables.push((settings::OUT, pattern.clone().into_os_string()));
    variables.push((settings::LAUNCH, OsString::from(&launch)));
    if env::var_os(settings::LOG).is_none() {
        // The summary says what the profiler would say when all goes well.
        variables.push((settings::LOG, "warn".into()));
    }
    let started = SystemTime::now();
    let status = signals::run(&mut launcher::command(&run.command, &variables))
        .map_err(|source| Error::Start { program: PathBuf::from(&run.command[0]), source })?;
    let reach = Reach::of_launcher(&run.command);
    report(&harvest::gather(&pattern, &launch, started, &reach), status);
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8)
}

/// Whatever goes wrong here, the job's status stands.
fn report(harvest: &Harvest, status: ExitStatus) {
    harvest.remarks.iter().for_each(say);
    let is_disabled = settings::is_on(env::var(settings::DISABLE).ok().as_deref());
    match harvest.profiles.first() {
        Some(_) => summary::print(harvest, status),
        None if is_disabled => say(format_args!("nothing was profiled: {} is set", settings::DISABLE)),
        None if !harvest.remarks.is_empty() => {}
        None if harvest.is_alive => say("ranks of the job still run; when they have ended: through recover"),
        None => {
            say("nothing was profiled: no MPI_Init passed through the profiler. Either");
            say("- the job ended before that, or the program does not call it;");
            say("- it takes MPI from a library handle (ctypes, Julia), past LD_PRELOAD;");
            say("- it is setuid, or statically linked with MPI: link libcommsee.a;");
            say("- the launcher drops LD_PRELOAD: it wants `through exec -- PROGRAM`;");
            say("- or a host has no libcommsee.so at that path.");
        }
    }
}

/// 32 hexadecimal digits that no other run has.
fn launch_token() -> io::Result<String> {
    let mut bytes = [0; 16];
    io::Read::read_exact(&mut fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
