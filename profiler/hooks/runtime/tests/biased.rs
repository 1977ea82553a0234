//! Data whose owner does not lock until others come.

use std::hint;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use commsee_runtime::biased::{Biased, Owners};

/// Two numbers that are equal whenever nobody is at them.
type Numbers = [u64; 2];

/// Returns whether they were.
fn count(numbers: &mut Numbers) -> bool {
    let [one, two] = *numbers;
    // SAFETY: they are borrowed. As the compiler may neither join nor leave out the two stores, whoever comes in between sees it.
    unsafe {
        (&raw mut numbers[0]).write_volatile(one + 1);
        (&raw mut numbers[1]).write_volatile(two + 1);
    }
    one == two
}

/// Over and over again: the moment at which others come for the first time is the one that matters, and another one each time.
#[test]
fn nobody_meets_another_one_inside() {
    const TIMES: u64 = 3;
    for time in 0..1200u64 {
        // With few processors more threads than these wait for each other most of the time.
        let others = if time % 10 == 0 { 2 } else { 1 };
        let owners = Owners::new();
        owners.prepare();
        let data = Biased::new([0; 2]);
        let (is_over, begin) = (AtomicBool::new(false), Barrier::new(1 + others as usize));
        let by_owner = thread::scope(|scope| {
            let owner = scope.spawn(|| {
                let mut counted = 0;
                begin.wait();
                while !is_over.load(Ordering::Relaxed) {
                    // SAFETY: this thread alone enters, and calls nothing inside.
                    let was_whole = match unsafe { data.enter(&owners) } {
                        Some(mut numbers) => count(&mut numbers),
                        None => data.lock(|_| None, || panic!("nobody has left"), count),
                    };
                    assert!(was_whole, "the owner met another one");
                    counted += 1;
                }
                // SAFETY: as above.
                assert!(unsafe { data.enter(&owners) }.is_none(), "the others are not known to the owner");
                counted
            });
            let started = (0..others).map(|other| {
                let (owners, data, begin) = (&owners, &data, &begin);
                scope.spawn(move || {
                    begin.wait();
                    (0..time * (other + 1) % 97 * 20).for_each(|_| hint::spin_loop());
                    (0..TIMES).for_each(|_| {
                        assert!(data.lock_out(owners, || false, count), "one of the others met another one")
                    });
                })
            });
            started.collect::<Vec<_>>().into_iter().for_each(|other| other.join().unwrap());
            is_over.store(true, Ordering::Relaxed);
            owner.join().unwrap()
        });
        assert_eq!(
            data.lock(|_| None, || None, |numbers| Some(*numbers)),
            Some([by_owner + TIMES * others; 2]),
            "at time {time}"
        );
    }
}
