//! What can be found, in words. Names in braces are filled in by the rule: `{comm}`, `{op}` and `{ranks}` always, others as it says.

#[derive(Debug)]
pub struct Topic {
    pub name: &'static str,
    /// One line.
    pub title: &'static str,
    /// What was seen.
    pub text: &'static str,
    /// What to try.
    pub advice: &'static str,
    /// When it is said, for the reference.
    pub rule: &'static str,
    pub source: &'static str,
}

pub fn topic(name: &str) -> &'static Topic {
    TOPICS.iter().find(|topic| topic.name == name).expect("every rule names a topic")
}

pub const TOPICS: &[Topic] = &[
    Topic {
        name: "late-rank",
        title: "{op} on {comm} waits for {ranks}",
        text: "The other members wait {waiting} for {ranks}: who spends least in such a call is late.",
        advice: "Look at what happens there before the call: more work, more input or output, or a slower node. Faster communication does not help.",
        rule: "Bounds of waiting in a barrier or a collective in which all ranks exchange show that the same ranks are late (lower bound at least half of the upper one), and they are at most half of the members. Only `info` where a rank that waits does so for less than 10 ms a call and less than 0.6 of the longest call: that may be the scheduler of a machine with more ranks than cores.",
        source: "bounds: howto/find-the-reason.md; who spends most is the victim: QMCPACK issue 3985",
    },
    Topic {
        name: "changing-late-rank",
        title: "{op} on {comm} waits for another rank each time",
        text: "Up to {waiting} of {op} is waiting, {each} a call, and no rank is late more often than the others.",
        advice: "Look for work that moves between ranks, for noise of the system, and for more ranks than cores. If all ranks share a step that only one does at a time, do it elsewhere or without waiting.",
        rule: "The upper bound of waiting is at least 10 % of the run time of all ranks and 1 ms a call, the lower bound less than half of it; with a timeline its times count. Only `info` where ranks wait for less than 10 ms a call and less than 0.6 of the longest call, as above.",
        source: "simulation: of late ranks in turn the upper bound is within 2 % of the truth",
    },
    Topic {
        name: "load-imbalance",
        title: "Ranks work unevenly: load balance {balance}",
        text: "{ranks} work longest; if all worked as long as the mean, {waiting} of rank time were saved.",
        advice: "Give {ranks} less work, or find out why they are slower: through -e lists the ranks.",
        rule: "Load balance below 0.8, at least 100 ms between the mean and the maximum, and no finding about late ranks that tells the same.",
        source: "POP: 0.8 is acceptable",
    },
    Topic {
        name: "slow-node",
        title: "Node {host} works longer than the others",
        text: "Ranks of {host} spend {ratio} times as long outside MPI as the mean of the other nodes, and alike among themselves: the node is slow, or has more work.",
        advice: "Compare its clock rate, memory and neighbours with those of the others, or run without it.",
        rule: "Balance inside nodes at least 0.9 and between nodes below 0.85, on three nodes or more.",
        source: "TALP splits load balance so",
    },
    Topic {
        name: "needless-barrier",
        title: "Barrier on {comm} may be needless",
        text: "{calls} barriers a rank take {time}; as often the ranks call {other} on the same members, which makes them wait for each other anyway.",
        advice: "Leave the barrier out, unless something beside MPI (a file, shared memory) depends on it.",
        rule: "At least 50 barriers a rank, at most as many as calls of collectives in which all ranks exchange on communicators with the same members; `info` whatever it costs. What ranks wait in it for one that is always late is not counted: they would wait in the next call.",
        source: "Cray, IPM and Scalasca count time before barriers apart",
    },
    Topic {
        name: "small-messages",
        title: "Many small messages on {comm}",
        text: "{op} sends {per_pair} messages of {size} on average from rank to rank, {per_step} for each time that a rank waits for others; calls with so few bytes take {time}.",
        advice: "Collect what goes to the same rank between two points of waiting into one message: a buffer, a derived datatype, or a neighborhood collective.",
        rule: "On average at most 1000 bytes a message, at least 100 messages for each pair of ranks, and at least 4 for each call that waits for several requests or ranks; `info` whatever it costs.",
        source: "Periscope: small messages are below 1000 bytes on average",
    },
    Topic {
        name: "fragmented-collectives",
        title: "Many small {op} on {comm}",
        text: "{calls} calls a rank with {size} each take {time}, {ratio} times as many as any other call that makes ranks wait.",
        advice: "Put values that are wanted at the same time into one call with a longer buffer.",
        rule: "At least 200 collective calls of one kind a rank with at most 1 KiB on average, at least 4 times as many as of any other collective or call over several requests, and on average at most 250 µs of work between two calls.",
        source: "latency counts per call; Periscope",
    },
    Topic {
        name: "communicator-leak",
        title: "{creator} on {comm} makes communicators that nobody frees",
        text: "{count} communicators with the same parent, creator and birthplace{place} were never freed; MPI libraries have room for some thousands.",
        advice: "Call MPI_Comm_free when one is no longer needed, or make it once.",
        rule: "At least 32 communicators of one family with the same rank 0 that were not freed.",
        source: "MPICH: 2048 context ids a process; the reference tool aborts at 65 536",
    },
    Topic {
        name: "communicator-churn",
        title: "{creator} on {comm} makes the same communicators again and again",
        text: "{count} communicators of one family were made and freed{place}; making and freeing takes {time}.",
        advice: "Make the communicator once and keep it.",
        rule: "At least 32 communicators of one family with the same rank 0 that were freed, `info` whatever it costs.",
        source: "creation is collective over the parent (MPI-4.1, 7.4)",
    },
    Topic {
        name: "unused-communicators",
        title: "Communicators that nobody uses are made from {comm}",
        text: "On {count} communicators of one family{place} no rank communicates; making them takes {time}.",
        advice: "Leave them out. A library may make one for itself and not need it: then it is no trouble.",
        rule: "At least 8 communicators of one family with the same rank 0 on which no call but MPI_Comm_free and the like was made.",
        source: "Score-P lists communicators and does not total them",
    },
    Topic {
        name: "polling",
        title: "{op} on {comm} polls",
        text: "{calls} calls of {op} take {time}: {ratio} for each message or request.",
        advice: "Wait for completion (MPI_Wait, MPI_Waitany, MPI_Probe), or do more work between two calls.",
        rule: "At least 20 calls of MPI_Test, MPI_Testall, MPI_Testany, MPI_Testsome, MPI_Iprobe or MPI_Improbe for each request and receive, and 10 000 in all.",
        source: "HPC Challenge's MPIRandomAccess polls with Testany",
    },
    Topic {
        name: "root-funnel",
        title: "All messages on {comm} go to {ranks}",
        text: "{share} of {messages} messages on {comm} end at {ranks}, from all other members: it receives one after the other.",
        advice: "Use MPI_Reduce or MPI_Gather, which form a tree, let ranks send less often, or spread the receiver's work.",
        rule: "At least 90 % of at least 100 messages on a communicator of 4 ranks or more end at one rank, and all other members send to it; `info` whatever it costs.",
        source: "star pattern: Snoopie, Cray grid detection",
    },
    Topic {
        name: "gather-bcast",
        title: "{op} and Bcast on {comm} are an {better}",
        text: "Both are called {calls} times, with the same root, and what is collected there ({size}) is what goes to all.",
        advice: "Call {better}: one call, no root through which everything goes, and algorithms with fewer steps.",
        rule: "MPI_Gather, MPI_Gatherv or MPI_Reduce and MPI_Bcast on one communicator with equal calls, at least 10, one root, and equal bytes to within 1 %.",
        source: "MPI-4.1, 6.7: the outcome of Allgather is that of Gather and Bcast",
    },
    Topic {
        name: "uneven-bytes",
        title: "{ranks} {does} {ratio} times the mean in {op} on {comm}",
        text: "Of {ranks} it is {most}, the mean is {mean}: the others wait for the longest transfer.",
        advice: "Divide the data more evenly over the ranks.",
        rule: "In a v collective or neighborhood collective with at least 10 calls the bytes that a rank sends, or those that it receives, are at least twice the mean.",
        source: "Drishti: 30 % imbalance of sizes; here more, since ranks at borders have less",
    },
    Topic {
        name: "odd-sibling",
        title: "{op} on {comm} is slower than on its siblings",
        text: "With the same calls and bytes {op} takes {time} a rank on {comm}, without waiting, and {other} on {count} communicators that were made alike.",
        advice: "Compare where its members run: more nodes, another switch, a busy node.",
        rule: "Of a family of at least 3 with equal calls and bytes, the least time of a member is at least 1.5 times the median of the others, and its shortest call 1.2 times the shortest of each.",
        source: "the mpisee paper finds such by hand (Fig. 10)",
    },
    Topic {
        name: "slower-though-smaller",
        title: "{op} on {comm} is slower than on larger communicators",
        text: "With {size} a rank and call, {op} takes {each} on {ranks_of} ranks and {other} on {larger} ranks.",
        advice: "Compare algorithms of the collective: through tune writes what to try.",
        rule: "Equal bytes of a rank in a call to within 1 %, at least 10 calls, fewer ranks, at least 1.5 times the least time a call, and 1.2 times the shortest call.",
        source: "mpisee paper: Alltoallv on 16 ranks took 9.5 s, on 64 ranks 3.7 s",
    },
    Topic {
        name: "startup-cost",
        title: "{op} takes {time}",
        text: "The ranks spend {time} in {op}, beside a run time of {run}.",
        advice: "Start fewer, longer jobs; look at the file system that libraries are loaded from and at how the launcher wires up ranks.",
        rule: "MPI_Init or MPI_Finalize takes at least 5 s and a tenth of the run time.",
        source: "MAQAO: profiles shorter than 10 s say little",
    },
];
