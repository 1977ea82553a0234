//! A message between groups in three dependent steps (split, translate, assemble), with work of the program's own while a step is under way.

use groupbench::composition::Composition;
use groupbench::library::Choice;
use groupbench::mpi::World;
use groupbench::pattern::{Direction, Family, Shape, striped};

fn main() {
    let universe = mpi::initialize().expect("MPI is not initialised yet");
    let world = World::new(&universe.world());
    if world.size() < 4 {
        eprintln!("start it on four ranks or more");
        return;
    }
    let shape = Shape { n: 2, g: world.size() / 2 };
    let pattern = Family::Rail.pattern(Direction::Uni, shape, 1, 1 << 20).expect("a pattern");
    let library: Choice = "shared/twosided".parse().expect("a library");
    let mut composition =
        Composition::new(&world, striped(&pattern, shape), shape, &*library.library()).expect("a composition");
    composition.fill(1);
    composition.arm();
    let mut worked = 0u64;
    for step in 0..composition.steps() {
        composition.start(step);
        worked += (0..1_000_000u64).map(std::hint::black_box).sum::<u64>() % 7;
        composition.wait(step);
    }
    let wrong = composition.verify(&world, 2);
    if world.is_root() {
        println!("{} steps, {wrong} bytes wrong, {worked} units of work", composition.steps());
    }
}
