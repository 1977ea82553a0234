//! Why calls take longer or shorter than before: the change of their time in four parts that add up to it.

/// What is counted is named if it explains so much of a change of the time, and else what explains more. More ranks are, if so much at most is left of it.
const LEAST_PART: f64 = 0.25;
/// Of the time before: by so much a single run may be longer or shorter by chance.
const CHANCE: f64 = 0.1;

/// What one side did in one operation on one communicator: means over its runs, all ranks together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Side {
    pub ranks: f64,
    pub time_ns: f64,
    /// Of every rank.
    pub calls: f64,
    pub bytes: f64,
    /// The least that was waited for; nothing: the calls are of no kind that tells.
    pub waiting_ns: Option<f64>,
    /// The most.
    pub waiting_most_ns: Option<f64>,
}

/// Over all ranks; together the whole change.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// The time before, as if as many ranks had spent it as now.
    pub before_ns: f64,
    /// As much for each rank more or less.
    pub ranks_ns: f64,
    /// As many calls more or less, as long as those before.
    pub calls_ns: f64,
    /// As many bytes more or less in each call, as fast as those before.
    pub bytes_ns: f64,
    /// What members waited longer for the last one to enter.
    pub waiting_ns: f64,
    /// What else each call, or each byte, took longer.
    pub speed_ns: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    MoreRanks,
    FewerRanks,
    MoreCalls,
    FewerCalls,
    Bigger,
    Smaller,
    MoreWaiting,
    LessWaiting,
    SlowerPerByte,
    FasterPerByte,
    SlowerPerCall,
    FasterPerCall,
    MoreWork,
    LessWork,
    MoreEndSkew,
    LessEndSkew,
    MoreUnexplained,
    LessUnexplained,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Reason::MoreRanks => "more ranks",
            Reason::FewerRanks => "fewer ranks",
            Reason::MoreCalls => "more calls",
            Reason::FewerCalls => "fewer calls",
            Reason::Bigger => "bigger",
            Reason::Smaller => "smaller",
            Reason::MoreWaiting => "more waiting",
            Reason::LessWaiting => "less waiting",
            Reason::SlowerPerByte => "slower per byte",
            Reason::FasterPerByte => "faster per byte",
            Reason::SlowerPerCall => "slower per call",
            Reason::FasterPerCall => "faster per call",
            Reason::MoreWork => "more work",
            Reason::LessWork => "less work",
            Reason::MoreEndSkew => "more end skew",
            Reason::LessEndSkew => "less end skew",
            Reason::MoreUnexplained => "more unexplained",
            Reason::LessUnexplained => "less unexplained",
        }
    }

    /// Where it tells of what is counted: 1 if that is more, -1 if it is less.
    pub fn of_counts(self) -> Option<i64> {
        match self {
            Reason::MoreRanks | Reason::MoreCalls | Reason::Bigger => Some(1),
            Reason::FewerRanks | Reason::FewerCalls | Reason::Smaller => Some(-1),
            _ => None,
        }
    }

    /// For people, behind "because of".
    pub fn words(self) -> &'static str {
        match self {
            Reason::Bigger => "bigger messages",
            Reason::Smaller => "smaller messages",
            Reason::SlowerPerByte => "more time per byte",
            Reason::FasterPerByte => "less time per byte",
            Reason::SlowerPerCall => "more time per call",
            Reason::FasterPerCall => "less time per call",
            Reason::MoreEndSkew => "ends further apart",
            Reason::LessEndSkew => "ends closer together",
            Reason::MoreUnexplained => "more uncounted time",
            Reason::LessUnexplained => "less uncounted time",
            _ => self.name(),
        }
    }
}

impl Side {
    /// As if so many times as many ranks had done the same.
    fn times(&self, more: f64) -> Side {
        let times = |of: f64| of * more;
        Side {
            ranks: times(self.ranks),
            time_ns: times(self.time_ns),
            calls: times(self.calls),
            bytes: times(self.bytes),
            waiting_ns: self.waiting_ns.map(times),
            waiting_most_ns: self.waiting_most_ns.map(times),
        }
    }
}

impl Parts {
    pub fn of(a: &Side, b: &Side) -> Parts {
        let more = if a.ranks > 0.0 { b.ranks / a.ranks } else { 1.0 };
        let ranks_ns = (more - 1.0) * a.time_ns;
        Parts { before_ns: a.time_ns + ranks_ns, ranks_ns, ..Parts::of_equal_ranks(&a.times(more), b) }
    }

    fn of_equal_ranks(a: &Side, b: &Side) -> Parts {
        let change = b.time_ns - a.time_ns;
        if a.calls <= 0.0 || b.calls <= 0.0 {
            return Parts { calls_ns: change, ..Parts::default() };
        }
        let calls_ns = (b.calls - a.calls) * a.time_ns / a.calls;
        let (waited, waits) = waiting(a, b);
        let waiting_ns = waits - waited * b.calls / a.calls;
        let sizes = (b.bytes / b.calls, a.bytes / a.calls);
        let bytes_ns = match sizes {
            (now, before) if before > 0.0 && now > 0.0 => {
                (now / before - 1.0) * (a.time_ns - waited).max(0.0) * b.calls / a.calls
            }
            _ => 0.0,
        };
        let speed_ns = change - calls_ns - bytes_ns - waiting_ns;
        Parts { calls_ns, bytes_ns, waiting_ns, speed_ns, ..Parts::default() }
    }

    /// Of the change of what each rank did.
    fn of_each_rank(&self) -> f64 {
        self.calls_ns + self.bytes_ns + self.waiting_ns + self.speed_ns
    }

    /// What explains most of the change. `has_changed`: whether calls, and bytes per call, are others for certain. `is_certain`: whether the change of the
    /// time is; nothing: too few runs tell.
    pub fn reason(&self, has_changed: (bool, bool), is_certain: Option<bool>, has_bytes: bool) -> Reason {
        let others = self.of_each_rank();
        let are_ranks = others * self.ranks_ns >= 0.0 && others.abs() <= LEAST_PART * self.ranks_ns.abs();
        if self.ranks_ns != 0.0 && are_ranks && has_changed == (false, false) {
            return if self.ranks_ns > 0.0 { Reason::MoreRanks } else { Reason::FewerRanks };
        }
        let (calls_ns, bytes_ns) =
            (if has_changed.0 { self.calls_ns } else { 0.0 }, if has_changed.1 { self.bytes_ns } else { 0.0 });
        // What is counted is certain, what is measured may be chance.
        let counted = calls_ns + bytes_ns;
        let explains = counted * others > 0.0 && counted.abs() >= others.abs() * LEAST_PART;
        let is_counted = match is_certain {
            Some(true) => explains,
            Some(false) => true,
            None => {
                let is_large = counted.abs() >= LEAST_PART * self.before_ns;
                explains || is_large || (others - counted).abs() <= CHANCE * self.before_ns
            }
        };
        if has_changed != (false, false) && is_counted {
            return match calls_ns.abs() >= bytes_ns.abs() && has_changed.0 {
                true if self.calls_ns >= 0.0 => Reason::MoreCalls,
                true => Reason::FewerCalls,
                false if self.bytes_ns >= 0.0 => Reason::Bigger,
                false => Reason::Smaller,
            };
        }
        // Numbers that vary from run to run explain as well, if only the time tells that there is a change.
        let of_sign = |part: f64| if part * others > 0.0 { part.abs() } else { 0.0 };
        let [calls, bytes, waiting, speed] =
            [self.calls_ns, self.bytes_ns, self.waiting_ns, self.speed_ns].map(of_sign);
        let most = calls.max(bytes).max(waiting).max(speed);
        match others > 0.0 {
            true if waiting == most => Reason::MoreWaiting,
            true if speed == most && has_bytes => Reason::SlowerPerByte,
            true if speed == most => Reason::SlowerPerCall,
            true if calls == most => Reason::MoreCalls,
            true => Reason::Bigger,
            false if waiting == most && waiting > 0.0 => Reason::LessWaiting,
            false if speed == most && has_bytes => Reason::FasterPerByte,
            false if speed == most => Reason::FasterPerCall,
            false if calls == most => Reason::FewerCalls,
            false => Reason::Smaller,
        }
    }
}

/// What was waited, on both sides. Where another member is late each time, the least is nothing though all wait: where no byte is moved, the most
/// tells better.
fn waiting(a: &Side, b: &Side) -> (f64, f64) {
    let both = |of: fn(&Side) -> Option<f64>| Some((of(a)?, of(b)?));
    match both(|side| side.waiting_ns) {
        None => (0.0, 0.0),
        Some(least) => match both(|side| side.waiting_most_ns) {
            Some(most) if a.bytes == 0.0 && b.bytes == 0.0 => most,
            _ => least,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: Side = Side {
        ranks: 4.0,
        time_ns: 1000.0,
        calls: 100.0,
        bytes: 6400.0,
        waiting_ns: Some(200.0),
        waiting_most_ns: Some(300.0),
    };

    #[track_caller]
    fn is(now: Side, has_changed: (bool, bool), reason: Reason) {
        let parts = Parts::of(&BEFORE, &now);
        let sum = parts.calls_ns + parts.bytes_ns + parts.waiting_ns + parts.speed_ns;
        assert!((sum - (now.time_ns - BEFORE.time_ns)).abs() < 1e-9, "{parts:?}");
        assert_eq!(parts.reason(has_changed, Some(true), true), reason, "{parts:?}");
    }

    #[test]
    fn one_change_is_named() {
        let (more, most) = (Some(240.0), Some(360.0));
        is(
            Side { time_ns: 1200.0, calls: 120.0, bytes: 7680.0, waiting_ns: more, waiting_most_ns: most, ..BEFORE },
            (true, false),
            Reason::MoreCalls,
        );
        is(Side { time_ns: 1800.0, bytes: 12800.0, ..BEFORE }, (false, true), Reason::Bigger);
        is(
            Side { time_ns: 1500.0, waiting_ns: Some(700.0), waiting_most_ns: Some(800.0), ..BEFORE },
            (false, false),
            Reason::MoreWaiting,
        );
        is(Side { time_ns: 1500.0, ..BEFORE }, (false, false), Reason::SlowerPerByte);
        is(Side { time_ns: 700.0, ..BEFORE }, (false, false), Reason::FasterPerByte);
        is(Side { time_ns: 900.0, waiting_ns: Some(100.0), ..BEFORE }, (false, false), Reason::LessWaiting);
    }

    /// One call more in a hundred does not explain three times the time.
    #[test]
    fn the_larger_part_is_named() {
        is(Side { time_ns: 3000.0, calls: 101.0, bytes: 6464.0, ..BEFORE }, (true, false), Reason::SlowerPerByte);
    }

    /// Calls that take longer do so because of no fewer calls. Of single runs counts tell more than times: if they change by much, or the rest may be chance.
    #[test]
    fn a_reason_has_the_sign_of_its_change() {
        let halved = Side { time_ns: 1500.0, calls: 50.0, bytes: 3200.0, ..BEFORE };
        is(halved, (true, false), Reason::SlowerPerByte);
        assert_eq!(Parts::of(&BEFORE, &halved).reason((true, false), None, true), Reason::FewerCalls);
        let one_more = Side { calls: 101.0, bytes: 6464.0, ..BEFORE };
        for (time_ns, reason) in
            [(3000.0, Reason::SlowerPerByte), (1050.0, Reason::MoreCalls), (950.0, Reason::MoreCalls)]
        {
            let parts = Parts::of(&BEFORE, &Side { time_ns, ..one_more });
            assert_eq!(parts.reason((true, false), None, true), reason, "{parts:?}");
            assert_eq!(parts.reason((true, false), Some(false), true), Reason::MoreCalls);
        }
    }

    #[test]
    fn of_calls_without_bytes_all_waiting_counts() {
        let before = Side { bytes: 0.0, waiting_ns: Some(0.0), ..BEFORE };
        let now = Side { time_ns: 2000.0, waiting_most_ns: Some(1300.0), ..before };
        assert_eq!(Parts::of(&before, &now).reason((false, false), Some(true), false), Reason::MoreWaiting);
        let slow = Side { time_ns: 2000.0, ..before };
        assert_eq!(Parts::of(&before, &slow).reason((false, false), Some(true), false), Reason::SlowerPerCall);
    }

    #[test]
    fn more_ranks_are_told_from_more_per_rank() {
        let now = Side { ranks: 8.0, ..BEFORE.times(2.0) };
        let parts = Parts::of(&BEFORE, &now);
        assert_eq!((parts.ranks_ns, parts.speed_ns), (1000.0, 0.0));
        assert_eq!(parts.reason((false, false), Some(true), true), Reason::MoreRanks);
        let slow = Side { time_ns: 6000.0, ..now };
        assert_eq!(Parts::of(&BEFORE, &slow).reason((false, false), Some(true), true), Reason::SlowerPerByte);
        // All ranks together take longer, each takes less.
        let fast = Side { time_ns: 1900.0, ..now };
        assert_eq!(Parts::of(&BEFORE, &fast).reason((false, false), Some(true), true), Reason::FasterPerByte);
    }

    #[test]
    fn what_is_new_is_more_calls() {
        let parts = Parts::of(&Side { ranks: 4.0, ..Side::default() }, &BEFORE);
        assert_eq!((parts.calls_ns, parts.reason((true, true), Some(true), true)), (1000.0, Reason::MoreCalls));
        let gone = Parts::of(&BEFORE, &Side { ranks: 4.0, ..Side::default() });
        assert_eq!(gone.reason((true, true), Some(true), true), Reason::FewerCalls);
    }
}
