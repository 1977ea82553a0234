//! What a site costs: nanoseconds a call, for stacks that were seen before.
//!
//! Each figure is the least of 20 rounds of 100 000 calls, less what the same calls cost with a body that does nothing:
//! `cargo run --release -p commsee-sites --example cost`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::ffi::c_void;
use std::hint::black_box;
use std::time::Instant;

use commsee_sites::sites;

const CALLS: u32 = 100_000;

extern "C" fn nothing(_depth: *mut c_void, return_address: usize) {
    black_box(return_address);
}

extern "C" fn of_caller(_depth: *mut c_void, return_address: usize) {
    black_box(sites::of_caller(return_address));
}

extern "C" fn of_stack_body(depth: *mut c_void, return_address: usize) {
    black_box(sites::of_stack(return_address, depth as usize));
}

#[inline(never)]
fn at(levels: usize, work: &mut dyn FnMut()) -> usize {
    let room = black_box([levels; 5]);
    if levels == 0 {
        work()
    } else {
        _ = at(levels - 1, work)
    }
    black_box(room)[0]
}

#[inline(never)]
fn one(body: Body, depth: usize) {
    // SAFETY: the bodies take a number.
    unsafe { common::call(black_box(body), depth as *mut c_void) };
    black_box(());
}

type Body = extern "C" fn(*mut c_void, usize);

/// From one call in the program, or from four in turn.
fn ns(body: Body, depth: usize, calls: usize) -> f64 {
    // SAFETY: as above.
    let call = |body| unsafe { common::call(body, depth as *mut c_void) };
    let round = || {
        let begin = Instant::now();
        for _ in 0..CALLS / 4 {
            if calls == 1 {
                for at in 0..4 {
                    // Not four calls of the program's.
                    black_box(at);
                    one(body, depth);
                }
            } else {
                call(black_box(body));
                black_box(1);
                call(black_box(body));
                black_box(2);
                call(black_box(body));
                black_box(3);
                call(black_box(body));
            }
        }
        begin.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    (0..20).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// A stack of one shape for each number.
#[inline(never)]
fn ways(way: usize, body: Body, depth: usize) {
    match way & 1 {
        0 => up(way, body, depth),
        _ => down(way, body, depth),
    }
    black_box(());
}

/// Their frames are alike, so that stack pointers are, too.
macro_rules! way {
    ($name:ident) => {
        #[inline(never)]
        fn $name(way: usize, body: Body, depth: usize) {
            match way >> 1 & 7 {
                0 => leg(way, body, depth),
                1 => (leg(way, body, depth), black_box(1)).0,
                2 => (leg(way, body, depth), black_box(2)).0,
                3 => (leg(way, body, depth), black_box(3)).0,
                4 => (leg(way, body, depth), black_box(4)).0,
                5 => (leg(way, body, depth), black_box(5)).0,
                6 => (leg(way, body, depth), black_box(6)).0,
                _ => (leg(way, body, depth), black_box(7)).0,
            }
            black_box(());
        }
    };
}
way!(up);
way!(down);

#[inline(never)]
fn leg(way: usize, body: Body, depth: usize) {
    if way >> 4 & 1 == 0 {
        one(body, depth);
    } else {
        one(body, depth);
        black_box(2);
    }
    black_box(());
}

fn main() {
    common::start(&[]);
    let mut figures = Vec::new();
    at(30, &mut || {
        for calls in [1, 4] {
            let floor = ns(nothing, 0, calls);
            let less = |name: String, body, depth| (name, calls, ns(body, depth, calls) - floor);
            figures.push(less("of_caller".to_owned(), of_caller as Body, 1));
            for depth in [1, 4, 8, 16] {
                figures.push(less(format!("of_stack {depth}"), of_stack_body as Body, depth));
            }
        }
    });
    // So many ways to one call that none is remembered.
    for depth in [4, 8, 16] {
        let ns = |body: Body| {
            let round = |_| {
                let begin = Instant::now();
                (0..4000).for_each(|way| ways(way % 40, body, depth));
                begin.elapsed().as_secs_f64() * 1e9 / 4000.0
            };
            (0..20).map(round).fold(f64::INFINITY, f64::min)
        };
        let mut of_stack = (0.0, 0.0);
        at(30, &mut || of_stack = (ns(of_stack_body), ns(nothing)));
        figures.push((format!("of_stack {depth}"), 40, of_stack.0 - of_stack.1));
    }
    for (name, calls, ns) in figures {
        println!("{name:12} from {calls} calls in turn: {ns:6.1} ns");
    }
}
