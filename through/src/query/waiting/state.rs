//! Wait states, by the names that Scalasca gives them (<https://apps.fz-juelich.de/scalasca/releases/scalasca/2.6/help/scout_patterns.html>).

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    LateSender,
    /// An earlier message was there, and was received later.
    WrongOrder,
    LateReceiver,
    Barrier,
    NxN,
    EarlyReduce,
    LateBroadcast,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            State::LateSender => "Late Sender",
            State::WrongOrder => "Late Sender, Wrong Order",
            State::LateReceiver => "Late Receiver",
            State::Barrier => "Wait at Barrier",
            State::NxN => "Wait at N x N",
            State::EarlyReduce => "Early Reduce",
            State::LateBroadcast => "Late Broadcast",
        }
    }
}
