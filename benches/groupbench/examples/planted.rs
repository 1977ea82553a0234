//! Faults that the measurement must find: `planted wrong` delivers one byte wrong, `planted skew` lets the receiver begin late, `planted none` is sound.
//! It is also how a program adds a library, or a way to begin together, of its own.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use groupbench::library::{Choice, Exchange, Library, Task, Unavailable};
use groupbench::measure::{Case, Clock, Limits, Measurement, Sync, Synchroniser, Together};
use groupbench::mpi::World;
use groupbench::pattern::{Direction, Family, Shape};

/// Damages a byte on the way to rank 1.
struct Damaging {
    whole: Box<dyn Library>,
}

impl Library for Damaging {
    fn name(&self) -> String {
        "damaging".to_owned()
    }

    fn prepare(&self, task: &Task) -> Result<Box<dyn Exchange>, Unavailable> {
        let received = task.messages.iter().find(|message| message.destination == 1 && task.world.rank() == 1);
        let byte = received.map(|message| task.memory.at(message.to).wrapping_add(message.bytes as usize / 2));
        Ok(Box::new(Damaged { whole: self.whole.prepare(task)?, byte, is_first: true }))
    }
}

struct Damaged {
    whole: Box<dyn Exchange>,
    byte: Option<*mut u8>,
    is_first: bool,
}

impl Exchange for Damaged {
    fn arm(&mut self) {
        self.whole.arm();
    }

    fn start(&mut self) {
        self.whole.start();
    }

    fn wait(&mut self) {
        self.whole.wait();
        if let Some(byte) = self.byte.filter(|_| std::mem::take(&mut self.is_first)) {
            // SAFETY: a byte of the message, which has arrived.
            unsafe { *byte = !*byte };
        }
    }
}

/// Rank 1 begins late, as after a bad barrier.
struct Late {
    sound: Synchroniser,
}

impl Together for Late {
    fn wait(&mut self, world: &World, clock: &Clock) -> bool {
        let in_time = self.sound.wait(world, clock);
        if world.rank() == 1 {
            std::thread::sleep(Duration::from_millis(50));
        }
        in_time
    }
}

fn main() {
    let fault = std::env::args().nth(1).unwrap_or_default();
    let universe = mpi::initialize().expect("MPI is not initialised yet");
    let world = World::new(&universe.world());
    let sound = Synchroniser::new(Sync::Barrier);
    let two_sided = "twosided".parse::<Choice>().expect("a library").library();
    let library: Box<dyn Library> = if fault == "wrong" { Box::new(Damaging { whole: two_sided }) } else { two_sided };
    let mut measurement = Measurement {
        world: &world,
        clock: Clock::new(&world),
        together: if fault == "skew" { Box::new(Late { sound }) } else { Box::new(sound) },
        limits: Limits {
            least_reps: 10,
            most_reps: 10,
            most_s: 10.0,
            precision: 0.0,
            warm_up: Some(2),
            is_verified: true,
            is_cold: false,
        },
        groups: vec![Some(0), Some(1)],
        seed: 1,
        interrupted: &AtomicBool::new(false),
    };
    let pattern = Family::Rail.pattern(Direction::Uni, Shape { n: 2, g: 1 }, 1, 1024).expect("a pattern");
    let measured = measurement.measure(&Case { pattern, is_one_way: true }, &*library).expect("measured");
    if world.is_root() {
        println!("wrong={} flag={}", measured.wrong, measured.flag().unwrap_or("none"));
    }
}
