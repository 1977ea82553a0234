//! Ranks that others wait for.

use serde_json::Value;

use super::{changed, none, of, one};
use crate::common::{Builder, Did, Folder, MS};

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
    // Three of four ranks wait 300 ms each.
    assert_eq!((finding["gain_s"].as_f64(), finding["confidence"].as_str()), (Some(0.225), Some("bound")));
    assert_eq!(finding["title"], "Rank 2 works 300 ms longer than the others of W0.0");
    let text = finding["text"].as_str().unwrap();
    assert!(
        text.starts_with("The others wait at least 300 ms each for rank 2 in MPI_Barrier, by the counters."),
        "{text}"
    );
    // Waits of less than 30 ms a call may be the scheduler's, but not 100 ms more of work.
    assert_eq!((one(told(299))["level"].as_str(), one(told(99))["level"].as_str()), (Some("high"), Some("info")));
    one(told(67));
    none(told(66));
}

/// Rank 2 comes 300 ms late. For so many milliseconds it was ready to run and had no processor, nearly all of them outside of MPI.
#[test]
fn a_rank_without_a_processor() {
    let told = |ready: i64| {
        let build = |profile: &mut Builder| {
            for rank in 0..4 {
                let more = if rank == 2 { 0 } else { 300 };
                profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(10, 0, 0, (100 + more) * MS));
            }
        };
        let sql = format!(
            "UPDATE process SET ran_ns = wall_ns, ready_ns = 0; \
             UPDATE process SET ran_ns = wall_ns - {ready}, ready_ns = {ready} WHERE rank = 2",
            ready = ready * MS
        );
        changed("late-rank", 4, 2000, build, &sql)
    };
    // It works 1900 of 2000 ms, and so it lacks a processor outside of MPI for 95 of 100 ms.
    let finding = one(told(100));
    assert_eq!((finding["level"].as_str(), finding["gain_s"].as_f64()), (Some("warn"), Some(0.153_75)));
    assert_eq!(finding["title"], "Rank 2 works 205 ms longer than the others of W0.0");
    none(told(300));
}

/// A timeline of so many barriers of four ranks, in each of which one is 25 ms behind the others.
fn barriers(calls: i64, late: impl Fn(i64) -> i64) -> String {
    let mut sql = String::from("INSERT INTO clock SELECT rank, 0, 1000, 0, 2000, 10, 0 FROM process;");
    for (rank, call) in (0..4).flat_map(|rank| (0..calls).map(move |call| (rank, call))) {
        let begin = call * 100 * MS + if rank == late(call) { 25 * MS } else { 0 };
        let end = call * 100 * MS + 40 * MS;
        sql += &format!(
            "INSERT INTO event (rank, thread, kind, begin_ns, end_ns, cause_ns, comm, op, bytes, sequence) \
             SELECT {rank}, 0, 0, {begin}, {end}, {begin}, c.id, o.id, 0, {call} FROM communicator c, operation o \
             WHERE c.name = 'W0.0' AND o.name = 'MPI_Barrier';"
        );
    }
    sql
}

/// Counters bound the waiting by 900 ms; a timeline with the last rank 25 ms behind the others in each of ten barriers says 750 ms.
#[test]
fn what_a_timeline_says_is_no_bound() {
    let sql = barriers(10, |_| 2);
    let build = |profile: &mut Builder| {
        for rank in 0..4 {
            let more = if rank == 2 { 0 } else { 300 };
            profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(10, 0, 0, (100 + more) * MS));
        }
    };
    let finding = one(changed("late-rank", 4, 2000, build, &sql));
    assert_eq!((finding["gain_s"].as_f64(), finding["confidence"].as_str()), (Some(0.1875), Some("timeline")));
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("wait 250 ms each for rank 2") && !text.contains("at least"), "{text}");
}

/// So many sends of one size, which take 100 ms together; the shortest took so many nanoseconds.
#[test]
fn sends_that_wait() {
    let told = |calls: i64, shortest_ns: i64| {
        let build = |profile: &mut Builder| {
            profile.cell("W0.0", "MPI_Send", 1, 0, Did(calls, calls << 10, 0, 100 * MS));
            profile.cell("W0.0", "MPI_Recv", 1, 1, Did(calls, 0, calls << 10, 100 * MS));
        };
        let sql = format!(
            "UPDATE total SET time_min_ns = {shortest_ns} WHERE op = (SELECT id FROM operation WHERE name = 'MPI_Send')"
        );
        changed("waiting-sends", 2, 200, build, &sql)
    };
    let finding = one(told(10, 100_000));
    assert_eq!((finding["op"].as_str(), finding["level"].as_str()), (Some("MPI_Send"), Some("info")));
    // All but ten times the shortest.
    assert_eq!(finding["gain_s"].as_f64(), Some(0.099));
    none(told(10, 100_001));
    none(told(9, 100_000));
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
    assert_eq!(finding["title"], "Ranks 1,4 work 900 ms longer than the others of s0.1 (and 1 more)");
    // What is said of one of them names it, and its own late rank.
    let text = finding["text"].as_str().unwrap();
    let told_of = "On s0.1: the others wait at least 900 ms each for rank 1 in MPI_Barrier, by the counters.";
    assert!(text.starts_with(told_of), "{text}");
    // What a scheduler may have done stands apart.
    let findings = told(2000, &[900, 99]);
    let found = |at: usize| (findings[at]["ranks"].as_str().unwrap(), findings[at]["level"].as_str());
    // Rank 4 is hardly in MPI: the run gains no more than work that is spread over all. The node of rank 4 is slow.
    assert_eq!((found(0), found(1)), (("4", None), ("1", Some("high"))));
    assert!(findings[0]["cause"].as_str().unwrap().starts_with("Ranks 4-5 on node node2 work"), "{findings:#?}");
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
    assert!(text.starts_with("By the counters a rank waits up to 200 ms in MPI_Allreduce, 40.0 ms a call"), "{text}");
    assert_eq!(one(told(10, 400))["level"], "info");
    none(told(10, 399));
    one(told(200, 400));
    none(told(201, 400));
}

/// What ranks wait in a barrier they would wait in the next call: by a timeline 25 ms of 40, of all but one.
#[test]
fn a_needless_barrier_is_priced_without_the_waiting_of_a_timeline() {
    // Another rank is late each time, so that counters show no waiting.
    let sql = barriers(50, |call| call % 4);
    let build = |profile: &mut Builder| {
        for rank in 0..4 {
            profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(50, 0, 0, 2000 * MS));
            profile.cell("W0.0", "MPI_Allreduce", 0, rank, Did(50, 8, 8, MS));
        }
    };
    let gain_s = |sql: &str| one(changed("needless-barrier", 4, 10_000, build, sql))["gain_s"].as_f64().unwrap();
    assert_eq!(gain_s(""), 2.0);
    // A rank waits in 37 or 38 of 50 barriers.
    assert_eq!(gain_s(&sql), 2.0 - 37.0 * 0.025);
}

/// What would have kept all events, not what the run had.
#[test]
fn of_a_timeline_that_lacks_its_beginning_the_size_is_said() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("made.db"), 2);
    profile.comm("W0.0", None, None, 2, "0-1");
    profile.cell("W0.0", "MPI_Barrier", 0, 0, Did(1, 0, 0, MS));
    profile.finish(|_| 2000 * MS);
    let sql = "INSERT INTO clock SELECT rank, 0, 1000, 0, 2000, 1400000, 900000 FROM process";
    rusqlite::Connection::open(folder.path("made.db")).unwrap().execute_batch(sql).unwrap();
    let text = folder.through(&["advise", "made.db"]).ok().replace('\n', " ");
    // 2.3 million events of 48 bytes, and a quarter more.
    assert!(text.contains("(through run --trace=256M keeps all)"), "{text}");
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
    assert_eq!((finding["ranks"].as_str(), finding["level"].as_str()), (Some("0"), Some("high")));
    // Not the little time of a rank that waits less: moving the work of rank 0 saves all that rank 1 waits.
    assert_eq!(finding["gain_s"].as_f64(), Some(0.2));
    // 1 % of 2 s.
    one(one_after_the_other("late-sender", 2, 20));
    none(one_after_the_other("late-sender", 2, 19));
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
