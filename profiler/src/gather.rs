//! Brings the shards of all ranks to rank 0, which writes the profile. Rank 0 asks one rank after the other, a few
//! ahead, so that it never holds more than one image and the few that are on their way.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::path::Path;

use vocabulary::profile::Writer;
use vocabulary::settings;
use vocabulary::shard::Shard;

use crate::abi::{Word, abi};
use crate::guard::guarded;
use crate::pmpi::{self, Group};
use crate::{say, shard, signals, snapshots};

/// How many ranks may send at a time.
const AHEAD: u32 = 8;
/// Large images go in messages of at most this size: far below what an `int` counts.
const MESSAGE_BYTES: usize = 1 << 20;

const TAG_ASK: c_int = 1;
const TAG_SIZE: c_int = 2;
const TAG_DATA: c_int = 3;

/// A communicator of our own over all of `MPI_COMM_WORLD`.
pub struct Gathering {
    comm: u64,
    /// The snapshots that some rank still has, as far as this one knows: bit n for number n.
    left: Cell<u64>,
}

/// Collective. Not a duplicate of `MPI_COMM_WORLD`: duplicating calls the copy functions of the program's attributes.
pub unsafe fn open() -> Option<Gathering> {
    let mut gathering = Gathering { comm: 0, left: Cell::new(0) };
    unsafe {
        let group = Group::of(abi().world)?;
        pmpi::comm_create(abi().world, group.handle(), &mut gathering.comm)?;
        // What goes wrong here must not end the program.
        pmpi::comm_set_errhandler(gathering.comm(), abi().errors_return);
    }
    Some(gathering)
}

impl Gathering {
    fn comm(&self) -> Word {
        self.comm as Word
    }

    /// Collective. Gathers what was counted, then the snapshots that nobody has written yet; `left` says which this process has.
    /// Returns whether the profile is written, so that shards are needed no more.
    pub unsafe fn run(mut self, wanted: &Path, left: u64) -> bool {
        unsafe {
            self.left.set(left);
            let written = self.round(wanted, &shard::image(), say_lost).unwrap_or(false);
            let mut state = [u64::from(written), self.left.get()];
            let sent = pmpi::bcast((&raw mut state).cast(), 16, abi().byte, 0, self.comm());
            for number in (1..=snapshots::MOST).filter(|number| sent.is_some() && state[1] >> number & 1 == 1) {
                self.round(&snapshots::wanted(number), &snapshots::image(number), snapshots::say_lost);
            }
            pmpi::comm_free(&mut self.comm);
            sent.is_some() && state[0] == 1
        }
    }

    /// Collective. One profile of the images that all ranks have: `Some(true)` at rank 0 if it is written. `lost` says why not.
    unsafe fn round(&self, wanted: &Path, image: &[u8], lost: fn(&str)) -> Option<bool> {
        unsafe {
            let rank = pmpi::comm_rank(self.comm()).unwrap_or(0);
            let ranks = pmpi::comm_size(self.comm()).unwrap_or(1) as u32;
            if rank == 0 {
                return Some(self.collect(ranks, wanted, image, lost));
            }
            if self.answer(image).is_none() {
                say::warn("the counters could not be sent to rank 0; `through recover` can still read them");
            }
            None
        }
    }

    /// Rank 0: one image after the other into the profile.
    unsafe fn collect(&self, ranks: u32, output: &Path, own: &[u8], lost: fn(&str)) -> bool {
        let mut writer = match signals::held_back(|| create(output)) {
            Ok(writer) => Some(writer),
            Err(trouble) => {
                lost(&trouble);
                None
            }
        };
        let mut asked = 1;
        // Ranks below this one were told to send: what they send is received even if it is of no use any more.
        let mut sending = 1;
        let mut missing = 0;
        for rank in 0..ranks {
            while asked < ranks && asked < rank.saturating_add(AHEAD) {
                let wanted = u64::from(writer.is_some());
                unsafe { self.send(&wanted.to_ne_bytes(), asked, TAG_ASK) };
                asked += 1;
                if wanted == 1 {
                    sending = asked;
                }
            }
            let image = match rank {
                0 => Some(own.to_vec()),
                _ if rank < sending => unsafe { self.receive_image(rank) },
                _ => continue,
            };
            let Some(open) = &mut writer else { continue };
            match image.as_deref().map(Shard::parse) {
                Some(Ok(shard)) => match guarded(|| signals::held_back(|| open.add(&shard))) {
                    Some(Ok(())) => {}
                    Some(Err(error)) => {
                        lost(&error.to_string());
                        writer = None;
                    }
                    None => writer = None,
                },
                _ => missing += 1,
            }
        }
        // With none at all there is no profile, which is said below.
        if missing > 0 && missing < ranks {
            say::warn(&format!("the counters of {missing} ranks did not arrive and are missing from the profile"));
        }
        match writer.and_then(|writer| guarded(|| signals::held_back(|| writer.finish()))) {
            Some(Ok(path)) => {
                say_where(&path, output);
                missing == 0
            }
            Some(Err(error)) => {
                lost(&error.to_string());
                false
            }
            None => false,
        }
    }

    /// All others: wait to be asked, then send.
    unsafe fn answer(&self, image: &[u8]) -> Option<()> {
        unsafe {
            let mut wanted = [0u8; 8];
            self.receive(&mut wanted, 0, TAG_ASK)?;
            if u64::from_ne_bytes(wanted) == 0 {
                return Some(());
            }
            self.send(bytemuck::cast_slice(&[image.len() as u64, self.left.get()]), 0, TAG_SIZE)?;
            image.chunks(MESSAGE_BYTES).try_for_each(|part| self.send(part, 0, TAG_DATA))
        }
    }

    unsafe fn receive_image(&self, rank: u32) -> Option<Vec<u8>> {
        unsafe {
            let mut facts = [0u64; 2];
            self.receive(bytemuck::cast_slice_mut(&mut facts), rank, TAG_SIZE)?;
            self.left.set(self.left.get() | facts[1]);
            let mut image = vec![0u8; usize::try_from(facts[0]).ok()?];
            image.chunks_mut(MESSAGE_BYTES).try_for_each(|part| self.receive(part, rank, TAG_DATA))?;
            Some(image)
        }
    }

    unsafe fn send(&self, bytes: &[u8], to: u32, tag: c_int) -> Option<()> {
        let place = bytes.as_ptr().cast::<c_void>();
        unsafe { pmpi::send(place, bytes.len() as c_int, abi().byte, to as c_int, tag, self.comm()) }
    }

    unsafe fn receive(&self, bytes: &mut [u8], from: u32, tag: c_int) -> Option<()> {
        let place = bytes.as_mut_ptr().cast::<c_void>();
        let ignore = abi().status_ignore;
        unsafe { pmpi::recv(place, bytes.len() as c_int, abi().byte, from as c_int, tag, self.comm(), ignore) }
    }
}

pub fn say_lost(trouble: &str) {
    say::warn(&match shard::path() {
        Some(_) => format!("no profile could be written ({trouble}); `through recover` can make it of the shards"),
        None => format!(
            "no profile could be written ({trouble}), and what this process counted is lost; `through recover` reads the shards \
             that other ranks may have left"
        ),
    });
}

/// Opens the profile under the wanted name, or where that cannot be, under the same name beside the shards.
pub fn create(output: &Path) -> Result<Writer, String> {
    let trouble = match Writer::create(output) {
        Ok(writer) => return Ok(writer),
        Err(error) => error.to_string(),
    };
    let name = output.file_name().unwrap_or_default();
    let directories = settings::shard_directories(std::env::var(settings::DIR).ok(), std::env::var("TMPDIR").ok());
    let others = directories.iter().map(|directory| Path::new(directory).join(name));
    let found = others.filter(|path| path != output).find_map(|path| Writer::create(&path).ok());
    found.ok_or(trouble)
}

/// Silent where the profile is where the user wants it and `COMMSEE_LOG` asks for warnings only.
pub fn say_where(path: &Path, wanted: &Path) {
    let shown = path.display();
    if path == wanted {
        say::info(&format!("profile in {shown}"));
    } else if path.parent() == wanted.parent() {
        say::warn(&format!("{} exists already; profile in {shown}", wanted.display()));
    } else {
        say::warn(&format!("{} cannot be written; profile in {shown}", wanted.display()));
    }
}
