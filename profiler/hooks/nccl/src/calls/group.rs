//! Groups: what is called between `ncclGroupStart` and the end of the outermost group is done there, in one.

use commsee_runtime::{guard, stack};

use super::operation::ended as as_ended;
use super::thread::{Thread, take};
use super::{Amount, Begun, Ended, count, is_taken};
use crate::abi::{Code, SUCCESS};
use crate::communicators::Communicator;
use crate::functions::Function;
use crate::library::Vendor;
use crate::module::{self, Module};
use crate::{expected, unseen};

/// A group begins. It does nothing by itself, so it is not counted.
pub fn start<V: Vendor>(real: impl FnOnce() -> Code) -> Code {
    let code = real();
    if code == SUCCESS
        && let Some(thread) = outside()
    {
        thread.groups.set(thread.groups.get() + 1);
    }
    code
}

/// A group ends; with the outermost, what was called in it is done.
pub fn end<V: Vendor>(function: Function, real: impl FnOnce() -> Code) -> Code {
    let Some(thread) = outside().filter(|thread| thread.groups.get() > 0) else { return real() };
    if thread.groups.get() > 1 {
        thread.groups.set(thread.groups.get() - 1);
        return real();
    }
    if V::HAS_PLUGIN && is_of_others(thread) {
        thread.groups.set(0);
        return real();
    }
    let (communicator, is_over_several) = over(thread);
    let number = communicator.map_or(0, |communicator| communicator.number);
    let route = |thread: &Thread, module: &Module| thread.latest.of_call(module, V::LAYER, function);
    let Some(begun) = Begun::new(number, route) else { return real() };
    let code = real();
    let end = begun.leave();
    thread.groups.set(0);
    guard::recorded(|| {
        made::<V>(&begun, code);
        let called = take(&thread.ended);
        if !is_taken::<V>(code) {
            thread.with_chosen(|_| ());
            return;
        }
        if code == SUCCESS {
            called.iter().filter_map(|ended| ended.communicator).for_each(Communicator::is_used::<V>);
        }
        count::all(begun.module, thread, &called);
        if begun.is_counted {
            let group = as_ended::<V>(&begun, function, communicator, Amount::None, -1, end);
            count::one(begun.module, thread, &Ended { is_over_several, ..group });
        }
        thread.give_back(called);
    });
    code
}

/// `ncclGroupSimulateEnd`: the group is over, and nothing of it was done.
pub fn simulate<V: Vendor>(real: impl FnOnce() -> Code) -> Code {
    let code = real();
    if let Some(thread) = outside().filter(|thread| thread.groups.get() > 0) {
        thread.groups.set(thread.groups.get() - 1);
        if thread.groups.get() == 0 {
            guard::recorded(|| {
                drop(take(&thread.ended));
                drop(take(&thread.unfinished));
                take(&thread.expected).into_iter().for_each(expected::withdraw);
            });
        }
    }
    code
}

/// The thread, where the program calls and not the library.
fn outside() -> Option<&'static Thread> {
    let thread = super::thread::current(module::get()?)?;
    (!thread.is_inside(stack::pointer())).then_some(thread)
}

/// Whether nothing was called in it that a wrapper counts, in a program that passes the wrappers by: the plugin counts what is done.
fn is_of_others(thread: &Thread) -> bool {
    unseen::has_been()
        && thread.ended.try_borrow().is_ok_and(|ended| ended.is_empty())
        && thread.expected.try_borrow().is_ok_and(|expected| expected.is_empty())
}

/// The communicator that all calls of the open group are on; none if there are several, or none.
fn over(thread: &Thread) -> (Option<&'static Communicator>, bool) {
    let Ok(ended) = thread.ended.try_borrow() else { return (None, false) };
    let mut of_calls = ended.iter().filter_map(|ended| ended.communicator);
    let Some(first) = of_calls.next() else { return (None, false) };
    let is_one = of_calls.all(|other| first.is_same(other));
    (is_one.then_some(first), !is_one)
}

/// Communicators whose making the group has completed.
fn made<V: Vendor>(begun: &Begun, code: Code) {
    let unfinished = take(&begun.thread.unfinished);
    for one in unfinished {
        match code {
            SUCCESS => _ = one.finish::<V>(begun.module),
            code if code == V::IN_PROGRESS => one.leave(),
            _ => {}
        }
    }
    let begun_in_it = take(&begun.thread.expected);
    if code != V::IN_PROGRESS {
        begun_in_it.into_iter().for_each(expected::withdraw);
    }
}
