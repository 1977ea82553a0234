//! What a site costs: nanoseconds a call, for stacks that were seen before.
//!
//! Each figure is the least of 20 rounds of 100 000 calls, less what the same calls cost with a body that does nothing:
//! `cargo run --release -p commsee-sites --example cost`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::ffi::c_void;
use std::hint::black_box;
use std::time::Instant;

use commsee_sites::{local, sites};

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

/// Stacks that differ in their outer frames alone: more than are remembered of one call.
macro_rules! ways {
    ($($name:ident)*) => {
        $(
            #[inline(never)]
            fn $name(body: Body, depth: usize) {
                one(body, depth);
                black_box(stringify!($name));
            }
        )*
        const WAYS: &[fn(Body, usize)] = &[$($name),*];
    };
}
ways!(a b c d e f g h i j k l m n o p);

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
                (0..4000).for_each(|way| black_box(WAYS[way % WAYS.len()])(body, depth));
                begin.elapsed().as_secs_f64() * 1e9 / 4000.0
            };
            (0..20).map(round).fold(f64::INFINITY, f64::min)
        };
        let mut of_stack = (0.0, 0.0);
        at(30, &mut || of_stack = (ns(of_stack_body), ns(nothing)));
        figures.push((format!("of_stack {depth}"), WAYS.len(), of_stack.0 - of_stack.1));
    }
    // Everything is new to the thread, though not to the process.
    let mut unknown = f64::INFINITY;
    at(30, &mut || {
        for _ in 0..1000 {
            local::own().expect("memory").forget();
            let begin = Instant::now();
            one(of_stack_body, 8);
            unknown = unknown.min(begin.elapsed().as_secs_f64() * 1e9);
        }
    });
    println!("of_stack 8, all code unknown to the thread: {unknown:.0} ns");
    for (name, calls, ns) in figures {
        println!("{name:12} from {calls} calls in turn: {ns:6.1} ns");
    }
}
