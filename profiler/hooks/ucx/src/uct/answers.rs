//! Messages by which libucp answers others, counted when it shows to what they belong.

use commsee_hook::{AT_ONCE, Call};

use super::route;
use crate::inflight::answers::Answer;
use crate::inflight::operation::Link;
use crate::inflight::workers;
use crate::module::Module;
use crate::module::protocol::Protocol;

/// Answers that a handler sent, now that it is through.
#[cold]
pub fn count_all(module: &Module, worker: u32, answers: &[Answer], link: Option<&Link>) {
    for answer in answers {
        if link.is_some() || !expect(module, worker, *answer) {
            count(module, *answer, link);
        }
    }
}

/// Keeps one until its own answer comes. False where none will.
#[cold]
pub fn expect(module: &Module, worker: u32, answer: Answer) -> bool {
    let Some(worker) = workers::by_number(worker).filter(|_| answer.number != 0) else { return false };
    let older = worker.with(|in_flight| in_flight.answers.expect(answer));
    if let Some(Some(older)) = older {
        count(module, older, None);
    }
    older.is_some()
}

/// The answer of an answer came, and something was complete with it.
#[cold]
pub fn count_expected(module: &Module, worker: u32, number: u64, link: &Link) {
    let Some(worker) = workers::by_number(worker) else { return };
    if let Some(Some(answer)) = worker.with(|in_flight| in_flight.answers.expected(number)) {
        count(module, answer, Some(link));
    }
}

fn count(module: &Module, answer: Answer, link: Option<&Link>) {
    let Answer { place, carrier, peer, bytes, .. } = answer;
    let (call, protocol) = match link {
        Some(link) => (&link.call, Protocol::Control),
        None => (&Call::NONE, Protocol::Reply),
    };
    let route = route::number(module, usize::from(place), protocol, carrier);
    module.count(call, route, peer, bytes, bytes, AT_ONCE);
    if call.is_traced() {
        // It was sent just before it showed to what it belongs.
        let now = module.now_ns();
        module.event(call, route, peer, bytes, now, now);
    }
}
