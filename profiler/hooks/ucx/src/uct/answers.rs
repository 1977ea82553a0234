//! Messages by which libucp answers others, counted when it shows to what they belong.

use commsee_hook::{AT_ONCE, Call};

use super::transmission;
use crate::inflight::thread::{Answer, Frame, Link};
use crate::inflight::workers::Worker;
use crate::module::Module;
use crate::module::protocol::Protocol;

/// Answers that a handler sent, now that it is through.
#[inline(always)]
pub unsafe fn count_answers(module: &Module, worker: *mut Worker, frame: &Frame) {
    for answer in frame.answers() {
        let link = frame.link();
        // SAFETY: the worker of a watched interface: those are never freed.
        if link.is_some() || !unsafe { wait_for_answer(module, worker, answer) } {
            count_answer(module, answer, link.as_ref());
        }
    }
}

#[cold]
pub unsafe fn wait_for_answer(module: &Module, worker: *mut Worker, answer: Answer) -> bool {
    // SAFETY: workers are never freed.
    let Some(worker) = (unsafe { worker.as_ref() }).filter(|_| answer.number != 0) else { return false };
    if let Some(older) = worker.with(|pending| pending.expect(answer)) {
        count_answer(module, older, None);
    }
    true
}

/// The answer of an answer came, and something was complete with it.
#[cold]
pub unsafe fn count_expected(module: &Module, worker: *mut Worker, number: u64, link: &Link) {
    // SAFETY: workers are never freed.
    let Some(worker) = (unsafe { worker.as_ref() }) else { return };
    if let Some(answer) = worker.with(|pending| pending.expected(number)) {
        count_answer(module, answer, Some(link));
    }
}

#[cold]
fn count_answer(module: &Module, answer: Answer, link: Option<&Link>) {
    let Answer { place, carrier, peer, bytes, .. } = answer;
    let (call, protocol) = match link {
        Some(link) => (&link.call, Protocol::Control),
        None => (&Call::NONE, Protocol::Reply),
    };
    let route = transmission::route(module, usize::from(place), protocol, carrier);
    module.count(call, route, peer, bytes, bytes, AT_ONCE);
    if call.is_traced() {
        // It was sent just before it showed to what it belongs.
        let now = module.now_ns();
        module.event(call, route, peer, bytes, now, now);
    }
}
