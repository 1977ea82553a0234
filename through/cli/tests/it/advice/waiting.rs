//! Ranks that others wait for.

use serde_json::Value;

use super::{changed, none, of, one};
use crate::common::{Builder, Did, MS};

#[test]
fn a_late_rank() {
    // Ten barriers in which three ranks spend so many milliseconds more than the late one, which spends 100.
    let told = |more: i64| {
        of("late-rank", 4, 2000, |profile| {
            for rank in 0..4 {
                let more = if rank == 2 { 0 } else { more };
                profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(10, 0, 0, (100 + more) * MS));
            }
        })
    };
    // The builder's shortest call is half of the mean, 5 ms: at least 3 × more, at most 200 above that.
    let finding = one(told(300));
    assert_eq!((finding["ranks"].as_str(), finding["level"].as_str()), (Some("2"), Some("high")));
    assert_eq!((finding["severity_rank_s"].as_f64(), finding["confidence"].as_str()), (Some(0.9), Some("bound")));
    let text = finding["text"].as_str().unwrap();
    assert!(
        text.starts_with("By the counters the other members wait at least 900 ms (11.2 % of the run time) for rank 2:"),
        "{text}"
    );
    assert!(!text.contains("Only info"), "{text}");
    // 30 ms a call are told from time slices, if waiting is not steady.
    let finding = one(told(299));
    assert_eq!(finding["level"], "info");
    assert!(finding["text"].as_str().unwrap().contains("Only info: "), "{finding}");
    one(told(67));
    none(told(66));
}

/// Counters bound the waiting by 900 ms; a timeline with the last rank 25 ms behind the others in each of ten barriers says 750 ms.
#[test]
fn what_a_timeline_says_is_no_bound() {
    let mut sql = String::from("INSERT INTO clock SELECT rank, 0, 1000, 0, 2000, 10, 0 FROM process;");
    for (rank, call) in (0..4).flat_map(|rank| (0..10).map(move |call| (rank, call))) {
        let begin = call * 100 * MS + if rank == 2 { 25 * MS } else { 0 };
        let end = call * 100 * MS + 40 * MS;
        sql += &format!(
            "INSERT INTO event (rank, thread, kind, begin_ns, end_ns, cause_ns, comm, op, bytes, sequence) \
             SELECT {rank}, 0, 0, {begin}, {end}, {begin}, c.id, o.id, 0, {call} FROM communicator c, operation o \
             WHERE c.name = 'W0.0' AND o.name = 'MPI_Barrier';"
        );
    }
    let build = |profile: &mut Builder| {
        for rank in 0..4 {
            let more = if rank == 2 { 0 } else { 300 };
            profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(10, 0, 0, (100 + more) * MS));
        }
    };
    let finding = one(changed("late-rank", 4, 2000, build, &sql));
    assert_eq!((finding["severity_rank_s"].as_f64(), finding["confidence"].as_str()), (Some(0.75), Some("timeline")));
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("wait 750 ms (9.4 % of the run time)") && !text.contains("at least"), "{text}");
}

#[test]
fn late_ranks_of_communicators_made_alike() {
    // Rows of three, of which the middle one is late: the others spend so many milliseconds more in ten barriers.
    let told = |wall: i64, more: &[i64]| {
        of("late-rank", 3 * more.len(), wall, |profile| {
            for (row, more) in more.iter().enumerate() {
                let (first, name) = (3 * row, format!("s{}.1", 3 * row));
                profile.comm(&name, None, Some("W0.0"), 3, &format!("{first}-{}", first + 2));
                for rank in first..first + 3 {
                    let more = if rank == first + 1 { 0 } else { *more };
                    profile.cell(&name, "MPI_Barrier", 0, rank, Did(10, 0, 0, (100 + more) * MS));
                }
            }
        })
    };
    let finding = one(told(2000, &[900, 900]));
    assert_eq!((finding["ranks"].as_str(), finding["alike"].as_i64()), (Some("1,4"), Some(1)));
    assert_eq!(finding["title"], "MPI_Barrier on s0.1 (and 1 more) waits for ranks 1,4");
    // What is said of one of them names it, and its own late rank.
    let text = finding["text"].as_str().unwrap();
    let told_of =
        "On s0.1: by the counters the other members wait at least 1.80 s (15.0 % of the run time) for rank 1:";
    assert!(text.starts_with(told_of), "{text}");
    // What a scheduler may have done stands apart.
    let findings = told(2000, &[900, 200]);
    let found = |at: usize| (findings[at]["ranks"].as_str().unwrap(), findings[at]["level"].as_str().unwrap());
    assert_eq!((found(0), found(1)), (("1", "high"), ("4", "info")));
    // The ranks of what is little beside the other are not named.
    assert_eq!(one(told(20_000, &[2000, 500]))["ranks"], "1,4");
    assert_eq!(one(told(20_000, &[2000, 499]))["ranks"], "1");
    // Each by itself is below 1 % of twelve ranks and 20 s.
    assert_eq!(one(told(20_000, &[900, 900, 900, 900]))["level"], "warn");
}

#[test]
fn most_ranks_are_not_late() {
    none(of("late-rank", 4, 2000, |profile| {
        for rank in 0..4 {
            let more = if rank == 2 { 900 } else { 0 };
            profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(10, 0, 0, (100 + more) * MS));
        }
    }));
}

#[test]
fn another_late_rank_each_time() {
    // Half of the time is more than the shortest call. 10 % of four ranks and 2 s are 800 ms.
    let told = |calls: i64, each: i64| {
        of("changing-late-rank", 4, 2000, |profile| {
            for rank in 0..4 {
                profile.cell("W0.0", "MPI_Allreduce", 0, rank, Did(calls, 8, 8, each * MS));
            }
        })
    };
    let finding = one(told(5, 400));
    assert_eq!(finding["level"], "high");
    let text = finding["text"].as_str().unwrap();
    assert!(text.starts_with("By the counters up to 800 ms of MPI_Allreduce is waiting, 40.0 ms a call"), "{text}");
    assert_eq!(one(told(10, 400))["level"], "info");
    none(told(10, 399));
    one(told(200, 400));
    none(told(201, 400));
}

/// Messages of a timeline, as SQL.
struct Messages(String);

impl Messages {
    fn none() -> Self {
        Self(String::from("INSERT INTO clock SELECT rank, 0, 1000, 0, 2000, 10, 0 FROM process;"))
    }

    /// `receiver` waits for it from `begin`, `sender` sends it at `sent`, both in nanoseconds.
    fn waited_for(&mut self, receiver: usize, begin: i64, sender: usize, sent: i64) {
        let end = (sent + 10).to_string();
        self.event(receiver, 0, begin, &end, "MPI_Recv", "NULL, NULL, NULL, NULL");
        self.event(receiver, 3, begin, "NULL", "MPI_Recv", &format!("NULL, {sender}, 0, 0"));
        self.event(sender, 0, sent, &end, "MPI_Send", "NULL, NULL, NULL, NULL");
        self.event(sender, 2, sent, "NULL", "MPI_Send", &format!("{receiver}, {sender}, 0, NULL"));
    }

    fn event(&mut self, rank: usize, kind: i64, begin: i64, end: &str, op: &str, message: &str) {
        self.0 += &format!(
            "INSERT INTO event (rank, thread, kind, begin_ns, end_ns, cause_ns, comm, op, bytes, peer, source, tag, posted) \
             SELECT {rank}, 0, {kind}, {begin}, {end}, {begin}, c.id, o.id, 40, {message} FROM communicator c, operation o \
             WHERE c.name = 'W0.0' AND o.name = '{op}';"
        );
    }
}

/// Each rank sends so many milliseconds after the one before it, which the next one waits for.
fn one_after_the_other(topic: &str, ranks: usize, each: i64) -> Vec<Value> {
    let mut messages = Messages::none();
    for rank in 1..ranks {
        messages.waited_for(rank, 0, rank - 1, each * rank as i64 * MS);
    }
    let build = |profile: &mut Builder| {
        for rank in 0..ranks {
            profile.cell("W0.0", "MPI_Send", 0, rank, Did(1, 40, 0, MS));
            profile.cell("W0.0", "MPI_Recv", 0, rank, Did(1, 0, 40, each * rank as i64 * MS));
        }
    };
    changed(topic, ranks, 2000, build, &messages.0)
}

#[test]
fn ranks_that_work_one_after_the_other() {
    let finding = one(one_after_the_other("serial-chain", 4, 30));
    assert_eq!((finding["ranks"].as_str(), finding["confidence"].as_str()), (Some("0-3"), Some("timeline")));
    none(one_after_the_other("serial-chain", 3, 30));
    // The last rank waits for less than some time slices.
    none(one_after_the_other("serial-chain", 4, 9));
}

#[test]
fn a_late_sender() {
    let finding = one(one_after_the_other("late-sender", 2, 200));
    assert_eq!((finding["ranks"].as_str(), finding["level"].as_str()), (Some("0"), Some("warn")));
    // 1 % of two ranks and 2 s.
    one(one_after_the_other("late-sender", 2, 40));
    none(one_after_the_other("late-sender", 2, 39));
    assert_eq!(one(one_after_the_other("late-sender", 2, 130))["level"], "warn");
    assert_eq!(one(one_after_the_other("late-sender", 3, 29))["level"], "info");
}

/// Rank 0 waits for each of the others, so many milliseconds for each.
fn late_senders(each: &[i64]) -> Value {
    let mut messages = Messages::none();
    let mut now = 0;
    for (sender, each) in (1..).zip(each) {
        let sent = now + each * MS;
        messages.waited_for(0, now, sender, sent);
        now = sent + 20;
    }
    let build = |profile: &mut Builder| {
        profile.cell("W0.0", "MPI_Recv", 0, 0, Did(each.len() as i64, 0, 40, now));
        for sender in 1..=each.len() {
            profile.cell("W0.0", "MPI_Send", 0, sender, Did(1, 40, 0, MS));
        }
    };
    one(changed("late-sender", each.len() + 1, 2000, build, &messages.0))
}

#[test]
fn senders_that_stand_out_are_named() {
    let named = |each: &[i64]| late_senders(each)["ranks"].as_str().unwrap().to_string();
    assert_eq!(named(&[40, 600, 40]), "2");
    // As a busy machine makes it: what is for the others adds up to a fifth and more of the whole.
    assert_eq!(named(&[100, 500, 80, 90, 70, 110]), "2");
    assert_eq!(named(&[500, 90, 80, 450, 70]), "1,4");
    // Nobody stands out, or too little.
    assert_eq!(named(&[200, 210, 190, 200]), "");
    assert_eq!(named(&[200, 200, 500, 190, 195]), "");
}
