//! Messages by which libucp answers others, for which it shows only later to what they belong.

const MOST: usize = 64;

/// A message that a handler sent.
#[derive(Clone, Copy)]
pub struct Answer {
    /// Of the function that sent it, in the table of its interface.
    pub place: u8,
    pub carrier: u8,
    pub peer: u32,
    pub bytes: u64,
    /// Under which its own answer will come, or 0.
    pub number: u64,
}

/// Those of a worker whose own answers have not come yet.
pub struct Answers {
    waiting: [Option<Answer>; MOST],
    next: usize,
}

impl Answers {
    pub const fn new() -> Answers {
        Answers { waiting: [None; MOST], next: 0 }
    }

    /// Keeps an answer until its own comes. Returns one that has waited too long.
    pub fn expect(&mut self, answer: Answer) -> Option<Answer> {
        let place = self.next % MOST;
        self.next = self.next.wrapping_add(1);
        self.waiting[place].replace(answer)
    }

    pub fn expected(&mut self, number: u64) -> Option<Answer> {
        let is_it = |answer: &&mut Option<Answer>| answer.as_ref().is_some_and(|answer| answer.number == number);
        self.waiting.iter_mut().find(is_it)?.take()
    }
}
