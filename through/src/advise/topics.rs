//! What can be found, in words. Names in braces are filled in by the rule: `{comm}`, `{op}`, `{ranks}` (`{Ranks}` where a sentence begins) and
//! `{at}`, the line that calls, always, with `{s}` for the verb of one rank; others as it says.

use super::finding::Known;

#[derive(Debug)]
pub struct Topic {
    pub name: &'static str,
    /// One line.
    pub title: &'static str,
    /// What was seen, in a sentence.
    pub text: &'static str,
    /// What to try, in a sentence.
    pub advice: &'static str,
    /// What else there is to know, for `through explain`.
    pub more: &'static str,
    /// When it is said, for the reference.
    pub rule: &'static str,
    pub source: &'static str,
    /// Its ranks are late to its call: why can be looked for.
    pub has_late_ranks: bool,
    /// Without a cause it is not sure.
    pub needs_cause: bool,
    /// An upper bound that others may explain: it claims what they leave.
    pub is_vague: bool,
    /// Waits for the same ranks say more.
    pub is_told_by_waits: bool,
    /// It is why its ranks are late elsewhere.
    pub is_cause: bool,
}

impl Topic {
    /// What the others differ from.
    pub const PLAIN: Topic = Topic {
        name: "",
        title: "",
        text: "",
        advice: "",
        more: "",
        rule: "",
        source: "",
        has_late_ranks: false,
        needs_cause: false,
        is_vague: false,
        is_told_by_waits: false,
        is_cause: false,
    };
}

pub fn topic(name: &str) -> &'static Topic {
    TOPICS.iter().find(|topic| topic.name == name).expect("every rule names a topic")
}

/// Of late ranks that work longer.
pub const WORKS: Known = Known {
    title: "{Ranks} work{s} {longer} longer than the others of {comm}{between}",
    advice: "Move work from there to the others, or find out why the same work takes longer.",
};
/// Of late ranks that are longer in another call.
pub const CALLS: Known = Known {
    title: "{Ranks} {is} {longer} longer than the others in {call}, and late to {op} on {comm}",
    advice: "Find out why that call takes longer there{trace}.",
};

pub const TOPICS: &[Topic] = &[
    Topic {
        name: "late-rank",
        title: "{op} on {comm} waits for {ranks}",
        text: "The others wait {waiting} each for {ranks} in {op}{at}, by the {source}.",
        advice: "Look at what {ranks} do{es} before the call: more work, input or output, or a slower node.",
        more: "No member leaves such a call before the last one enters it. The rank with the least time in it is late, and the others wait for it: faster communication does not help. \
               If counters show that the late ranks work longer, or spend longer in another call, the title says so. Time in which the late ranks had no processor is subtracted, if the kernel records it.",
        rule: "In a barrier or a collective in which all ranks exchange data, the bounds of waiting show the same late ranks (lower bound at least half of the upper one), at most half of the members. Only `info` if ranks wait less than 30 ms a call and less than 0.6 of the longest call: on an oversubscribed machine that may be the scheduler. Also only `info` if the late ranks had no processor for three quarters of the waiting. The title names longer work, or a longer call, that makes up at least half of what each of the others waits.",
        source: "bounds: howto/find-the-reason.md; the rank with the most time is the victim: QMCPACK issue 3985",
        has_late_ranks: true,
        ..Topic::PLAIN
    },
    Topic {
        name: "changing-late-rank",
        title: "{op} on {comm} waits for another rank each time",
        text: "By the {source} a rank waits {waiting} in {op}{at}, {each} a call, for changing ranks.",
        advice: "Look for work that moves between ranks, a step that only one rank does at a time, or more ranks than cores.",
        more: "Counters give an upper bound here: all time beyond the shortest call. A slow collective looks the same; a timeline (through run --trace) decides.",
        rule: "The upper bound of waiting is at least 10 % of the run time of the members and 1 ms a call, the lower bound less than half of it; a timeline replaces both bounds. The mean time of a rank without a processor outside MPI is subtracted; if ranks wait less than 30 ms a call, twice the mean time without one anywhere. Only `info` if ranks wait less than 30 ms a call and less than 0.6 of the longest call.",
        source: "simulation: if ranks are late in turn, the upper bound is within 2 % of the truth",
        is_vague: true,
        ..Topic::PLAIN
    },
    Topic {
        name: "load-imbalance",
        title: "{Ranks} work{s} {longer} longer than the mean",
        text: "Load balance is {balance}: the other ranks wait{calls}.",
        advice: "Move work away from {ranks}, or find out why the same work takes longer there.",
        more: "Load balance is the mean over the maximum of the time outside MPI, without the time in which a rank had no processor. The gain is the maximum minus the mean: the same work, spread evenly. See through show --efficiency (all factors) and through -e (ranks).",
        rule: "Load balance below 0.8, at least 100 ms between the mean and the maximum, and no late-rank finding that names the same ranks and shows at least a quarter as much waiting. From 30 ms to 100 ms only below 0.5 and only `info`: less may be the scheduler.",
        source: "POP: 0.8 is acceptable",
        is_vague: true,
        is_told_by_waits: true,
        ..Topic::PLAIN
    },
    Topic {
        name: "slow-node",
        title: "{Ranks} on node {host} work{s} {longer} longer than the others",
        text: "Ranks of {host} spend {ratio} times as long outside MPI as the mean of the other nodes, all about equally.",
        advice: "Compare the node's clock rate, memory and neighbours with those of the others, or run without it.",
        more: "All ranks of one node are slower by the same factor: either the node is slow, or the program gives it more work.",
        rule: "Balance inside nodes at least 0.9 and between nodes below 0.85, on three nodes or more.",
        source: "TALP splits load balance in the same way",
        is_cause: true,
        ..Topic::PLAIN
    },
    Topic {
        name: "needless-barrier",
        title: "Barrier on {comm} may be needless",
        text: "{calls} barriers a rank{at} take {time}{waiting}, and {other} makes the same ranks wait for each other anyway.",
        advice: "Leave the barrier out, unless files, shared memory, another library or a time measurement depend on it.",
        more: "Without the barrier, ranks would wait for a late rank in the next collective instead, so that waiting is no gain.",
        rule: "At least 50 barriers a rank, and at least as many collectives in which all ranks exchange data, on communicators with the same members; at least `info`. Waiting that counters or a timeline show is not counted.",
        source: "Cray, IPM and Scalasca report the time before barriers separately",
        ..Topic::PLAIN
    },
    Topic {
        name: "small-messages",
        title: "Many small messages on {comm}",
        text: "{op}{at} sends {per_pair} messages of {size} on average from rank to rank, {per_step} for each call in which a rank waits.",
        advice: "Pack data for the same rank into one message: a buffer, a derived datatype, or a neighborhood collective.",
        more: "Each message costs a latency. The gain is the time of sending and posting, without receives and probes, in which ranks wait for others.",
        rule: "On average at most 1000 bytes a message, at least 100 messages for each pair of ranks, and at least 4 for each call in which a rank waits: collectives, receives (also MPI_Sendrecv and MPI_Probe), and completions. At least `info`.",
        source: "Periscope: small messages are below 1000 bytes on average",
        ..Topic::PLAIN
    },
    Topic {
        name: "fragmented-collectives",
        title: "Many small {op} on {comm}",
        text: "{calls} calls a rank{at} with {size} each take {time}{waiting}, {ratio} times as many as any other call that makes ranks wait.",
        advice: "Combine values that are needed at the same time into one call with a longer buffer.",
        more: "A small collective costs its latency, whatever its size. Waiting for a late rank is no gain.",
        rule: "At least 200 collective calls of one kind a rank with at most 1 KiB on average, at least 4 times as many as of any other collective or multi-request completion, and on average at most 250 µs of work between two calls.",
        source: "each call costs a latency; Periscope",
        ..Topic::PLAIN
    },
    Topic {
        name: "communicator-leak",
        title: "{creator} on {comm} makes communicators that are never freed{place}",
        text: "{count} communicators with the same parent, creator and birthplace were never freed{of_root}.",
        advice: "Call MPI_Comm_free when one is no longer needed, or make it once.",
        more: "MPI libraries have room for a few thousand communicators; beyond that the program aborts.",
        rule: "At least 32 communicators of one family with the same rank 0 were not freed.",
        source: "MPICH: 2048 context ids a process; the reference tool aborts at 65 536",
        ..Topic::PLAIN
    },
    Topic {
        name: "communicator-churn",
        title: "{creator} on {comm} makes the same communicators again and again{place}",
        text: "{count} similar communicators were made, and {freed}; making and freeing takes {time}.",
        advice: "Make the communicator once and keep it.",
        more: "Making a communicator is collective over its parent: every rank waits for the last one.",
        rule: "At least 32 communicators of one family with the same rank 0, not all of them kept; at least `info`.",
        source: "creation is collective over the parent (MPI-4.1, 7.4)",
        ..Topic::PLAIN
    },
    Topic {
        name: "unused-communicators",
        title: "Unused communicators are made from {comm}{place}",
        text: "No rank communicates on {count} similar communicators; making them takes {time}.",
        advice: "Do not create them, unless a library does so for its own use.",
        more: "Each takes a context id of the library and a collective call.",
        rule: "At least 8 communicators of one family with the same rank 0, without any call except MPI_Comm_free and similar ones.",
        source: "Score-P lists communicators, without totals",
        ..Topic::PLAIN
    },
    Topic {
        name: "polling",
        title: "{op} on {comm} polls",
        text: "{calls} calls of {op}{at} take {time}: {ratio} calls for each message or request.",
        advice: "Wait for completion (MPI_Wait, MPI_Waitany, MPI_Probe), or do more work between two calls.",
        more: "Most of these calls find nothing. Polling is fine if the program works in between.",
        rule: "At least 20 calls of MPI_Test, MPI_Testall, MPI_Testany, MPI_Testsome, MPI_Iprobe or MPI_Improbe for each request and receive, and 10 000 in total.",
        source: "HPC Challenge's MPIRandomAccess polls with Testany",
        ..Topic::PLAIN
    },
    Topic {
        name: "root-funnel",
        title: "All messages on {comm} go to {ranks}",
        text: "{share} of {messages} messages on {comm} go to {ranks}, from all other members: it receives one after the other.",
        advice: "Use MPI_Reduce or MPI_Gather, which use a tree, send less often, or spread the receiver's work.",
        more: "The time of the receiver grows with the number of ranks. A master that collects results from workers needs this pattern.",
        rule: "At least 90 % of at least 100 messages on a communicator of 4 ranks or more go to one rank, and all other members send to it; at least `info`.",
        source: "star pattern: Snoopie, Cray grid detection",
        ..Topic::PLAIN
    },
    Topic {
        name: "one-to-all",
        title: "{Ranks} sends to every other rank of {comm} by hand",
        text: "{share} of {messages} messages on {comm} come from {ranks}{at}, with equal bytes to each other member.",
        advice: "Use MPI_Bcast if all ranks get the same data, MPI_Scatter if each gets a part: both use a tree.",
        more: "A profile records how many bytes were sent, not their contents. The time of the sender grows with the number of ranks.",
        rule: "At least 90 % of at least 100 messages on a communicator of 4 ranks or more come from one rank, which sends equal numbers of messages and bytes to all other members; at least `info`.",
        source: "the mirror of root-funnel; MPI-4.1, 6.4",
        ..Topic::PLAIN
    },
    Topic {
        name: "gather-bcast",
        title: "{op} and Bcast on {comm} are an {better}",
        text: "Both are called {calls} times with the same root, {ranks}, which collects and then broadcasts {size}.",
        advice: "Call {better}: one call, no bottleneck at the root, and algorithms with fewer steps.",
        more: "The result is the same if the root does not change the data in between, which a profile does not show.",
        rule: "MPI_Gather, MPI_Gatherv or MPI_Reduce and MPI_Bcast on one communicator with equal calls, at least 10, one root, and equal bytes to within 1 %.",
        source: "MPI-4.1, 6.7: the outcome of Allgather is that of Gather and Bcast",
        ..Topic::PLAIN
    },
    Topic {
        name: "uneven-bytes",
        title: "{Ranks} {does}{s} {ratio} times the mean in {op} on {comm}",
        text: "The maximum is {most}, the mean {mean}; the others wait for the longest transfer{at}.",
        advice: "Divide the data more evenly over the ranks.",
        more: "The gain assumes that the call transfers data all the time and does not wait.",
        rule: "In a v collective or neighborhood collective with at least 10 calls, one rank sends or receives at least twice the mean bytes.",
        source: "Drishti: 30 % imbalance of sizes; higher here, because ranks at borders have less",
        ..Topic::PLAIN
    },
    Topic {
        name: "odd-sibling",
        title: "{op} on {comm} is slower than on its siblings",
        text: "With the same calls and bytes, {op} takes {time} a rank on {comm} and {other} on {count} similar communicators, both without waiting.",
        advice: "Compare where its members run: more nodes, another switch, a busy node.",
        more: "commsee compares the ranks with the least time, to leave out waiting for late ranks.",
        rule: "In a family of at least 3 communicators with equal calls and bytes, the least time of a member is at least 1.5 times the median of the others, and its shortest call at least 1.2 times that of each other one.",
        source: "the mpisee paper finds such a case by hand (Fig. 10)",
        ..Topic::PLAIN
    },
    Topic {
        name: "slower-though-smaller",
        title: "{op} on {comm} is slower than on larger communicators",
        text: "With {size} a rank and call, {op} takes {each} on {ranks_of} ranks and {other} on {larger} ranks.",
        advice: "Compare algorithms of the collective: through tune writes a script for that.",
        more: "Libraries choose the algorithm by the number of ranks and bytes. A bad choice makes a smaller communicator slower than a larger one.",
        rule: "With equal bytes per rank and call (within 1 %), at least 10 calls and fewer ranks, a call takes at least 1.5 times the least time and 1.2 times the shortest call.",
        source: "mpisee paper: Alltoallv on 16 ranks took 9.5 s, on 64 ranks 3.7 s",
        ..Topic::PLAIN
    },
    Topic {
        name: "late-sender",
        title: "{op} on {comm} waits for late senders{named}",
        text: "{waiters} {waiting}{at} for messages that are sent after the receive was called, {each} a message.",
        advice: "Send as soon as the data is ready, receive later (MPI_Irecv, work, MPI_Wait), or find out why the sender is late.",
        more: "A sender is late because it works longer or waits itself. The title names the senders if a few cause most of the waiting.",
        rule: "Late Sender and Wrong Order by Scalasca's definitions take a noticeable time. Only `info` if a rank waits less than 30 ms each time and less than 0.6 of the longest call. The title names senders that cause 0.8 of the waiting beyond that for the median sender, and half of all waiting. Needs a timeline.",
        source: "Scalasca: Late Sender",
        ..Topic::PLAIN
    },
    Topic {
        name: "serial-chain",
        title: "{Ranks} work one after the other: {op} on {comm}",
        text: "Each of {ranks} waits{at} for the one before it, so that the waits grow from rank to rank: {mean} on average.",
        advice: "Start with parts that need no neighbor, send parts earlier (a pipeline), or run several chains at once.",
        more: "In a pipeline only the first parts wait. A chain over all ranks takes as long as one rank would take for everything.",
        rule: "In a chain of at least 4 ranks, each waits longest for a message from the one before it, and longer than that one by at least half of the second rank's wait. Needs a timeline.",
        source: "Scalasca: Late Sender, followed to its cause",
        ..Topic::PLAIN
    },
    Topic {
        name: "waiting-ring",
        title: "{Ranks} wait for each other in a ring: {op} on {comm}",
        text: "Each of {ranks} waits{at} longest for the rank before it, and the first one for the last: {mean} on average.",
        advice: "Let each rank send before it receives, pass parts on earlier, or use MPI_Sendrecv or a collective.",
        more: "Either a token goes around the ring and only its holder works, or the delay of one rank travels from rank to rank.",
        rule: "In a closed ring of at least 4 ranks, each waits longest for a message from the one before it, and at least half as long as the one that waits longest. Needs a timeline.",
        source: "Scalasca: Late Sender, followed to its cause",
        ..Topic::PLAIN
    },
    Topic {
        name: "late-root",
        title: "{op} on {comm} waits for its root, {ranks}",
        text: "{waiters} {waiting} in {op}{at} before the root enters it, {each} a call.",
        advice: "Look at what the root does before the call, or start it earlier there (MPI_Ibcast).",
        more: "A broadcast or scatter cannot begin before the root enters it. The root works longer, waits itself, or reads input alone.",
        rule: "Late Broadcast by Scalasca's definition takes a noticeable time. Only `info` if a rank waits less than 30 ms each time and less than 0.6 of the longest call. Needs a timeline.",
        source: "Scalasca: Late Broadcast",
        has_late_ranks: true,
        ..Topic::PLAIN
    },
    Topic {
        name: "early-root",
        title: "The root of {op} on {comm}, {early}, waits for {ranks}",
        text: "The root waits {waiting} in {op}{at} before the first other rank enters it, {each} a call.",
        advice: "Let the root do more of the work, or find out why the others are late.",
        more: "The root of a reduction or gather is early if it has less work than the others.",
        rule: "Early Reduce by Scalasca's definition takes a noticeable time. Only `info` if the root waits less than 30 ms each time and less than 0.6 of the longest call. Needs a timeline.",
        source: "Scalasca: Early Reduce",
        ..Topic::PLAIN
    },
    Topic {
        name: "late-receiver",
        title: "{op} on {comm} waits for late receivers{named}",
        text: "{waiters} {waiting}{at} before the receiver is ready, {each} a message: the messages are too long to be sent at once.",
        advice: "Post receives earlier (MPI_Irecv before the work), or send with MPI_Isend and wait later.",
        more: "A long message (rendezvous) is sent only after its receive is posted and the receiver's library makes progress, often only inside MPI calls.",
        rule: "Late Receiver by Scalasca's definition takes a noticeable time; the receive may also be an MPI_Irecv with its completion. Only `info` if a rank waits less than 30 ms each time and less than 0.6 of the longest call. Needs a timeline.",
        source: "Scalasca: Late Receiver",
        ..Topic::PLAIN
    },
    Topic {
        name: "waiting-sends",
        title: "{op} on {comm} waits, perhaps for late receivers",
        text: "{calls} calls with {size}{at} take {each} on average, but the shortest took {shortest}.",
        advice: "Record a timeline of a short run (through run --trace): through advise then names the late ranks.",
        more: "Sends of one size take about the same time, unless they wait for the receiver of a long message.",
        rule: "At least 10 blocking sends of one size class take 100 times as long on average as the shortest one, and 1 ms. Always `info`. Without a timeline.",
        source: "measured: 7 µs against 7 ms",
        is_vague: true,
        ..Topic::PLAIN
    },
    Topic {
        name: "late-epoch",
        title: "{op} on {comm} waits for {ranks}",
        text: "The others wait {waiting} each for {ranks} in {op}{at}, by the {source}.",
        advice: "Look at what {ranks} do{es} before it, or synchronize only with the ranks that exchange data (MPI_Win_post, MPI_Win_start).",
        more: "A fence is a barrier of the window's group: the rank that spends least time in it is late. With lock and flush no rank has to wait for another.",
        rule: "As `late-rank`, for MPI_Win_fence, and only if the late ranks work longer or spend longer in another call: a fence need not block.",
        source: "Scalasca: Wait at Fence",
        has_late_ranks: true,
        needs_cause: true,
        ..Topic::PLAIN
    },
    Topic {
        name: "waiting-flush",
        title: "{op} on {comm} waits for its target, {ranks}",
        text: "{calls} calls{at} take {each} on average, but the shortest took {shortest}; nearly all accesses are to {ranks}.",
        advice: "Call MPI more often on {ranks}, or let the library make progress by itself (MPICH_ASYNC_PROGRESS=1).",
        more: "Without hardware support the target performs the access, in its next MPI call.",
        rule: "At least 10 MPI_Win_lock, MPI_Win_flush, MPI_Win_flush_all, MPI_Win_unlock or MPI_Win_unlock_all take 100 times as long on average as the shortest one, and 1 ms, or 10 ms; at least 90 % of the accesses are to one rank. `warn` at most; `info` below 30 ms a call and 0.6 of the longest one.",
        source: "Scalasca: Wait for Progress",
        ..Topic::PLAIN
    },
    Topic {
        name: "flush-per-access",
        title: "Each {op} on {comm} is flushed separately",
        text: "{flushes} flushes complete {calls} accesses of {size} and take {time}.",
        advice: "Flush once after many accesses (MPI_Win_flush_all), or combine them into one access.",
        more: "A flush waits until the access is complete at its target: a round trip. Several accesses to one target can share a flush.",
        rule: "More than 1000 MPI_Put, MPI_Get, MPI_Accumulate or their request forms with at most 1000 bytes on average, and at least one MPI_Win_flush, MPI_Win_flush_all or their local forms, or MPI_Win_unlock, for each 2 of them; at least `info`.",
        source: "MPI-4.1, 12.5.4: a flush completes all accesses before it",
        ..Topic::PLAIN
    },
    Topic {
        name: "non-contiguous-data",
        title: "{op} on {comm} uses data with gaps",
        text: "{share} of the bytes ({size}) have datatypes with gaps, mostly {datatype}: MPI packs them before the send, and unpacks them after the receive.",
        advice: "Store the data contiguously, or compare with a copy of your own (MPI_Pack, a loop).",
        more: "Libraries differ in how fast they pack. A profile does not show how long packing takes.",
        rule: "At least half of the bytes of an operation, 1 MiB and 100 arguments have datatypes with gaps; at least `info`, at most `warn`. Needs through run --datatypes.",
        source: "MPI-4.1, 5.1: datatypes may describe memory with gaps",
        ..Topic::PLAIN
    },
    Topic {
        name: "tiny-one-sided",
        title: "Many tiny {op} on {comm}",
        text: "{calls} accesses ({share} of all) move {size} each and take {time}.",
        advice: "Combine data for the same rank into one access: a longer buffer, or a derived datatype.",
        more: "Each access costs a message, and often a reply as well.",
        rule: "More than 1000 MPI_Put, MPI_Get, MPI_Accumulate or their request forms, and more than 10 %, with at most 1000 bytes on average in their size class, and at least 4 for each call that ends an epoch; at least `info`.",
        source: "Drishti: small requests, more than 10 % and more than 1000; Periscope: 1000 bytes",
        ..Topic::PLAIN
    },
    Topic {
        name: "tiny-file-accesses",
        title: "Many tiny {op} on {comm}",
        text: "{calls} accesses ({share} of all){files} read or write {size} each and take {time}.",
        advice: "Buffer the data, or use collective forms (MPI_File_write_all) with a file view.",
        more: "Collective forms let the library merge the accesses of all ranks.",
        rule: "More than 1000 independent accesses, and more than 10 %, with at most 4 KiB on average in their size class; at least `info`.",
        source: "Drishti: small requests, more than 10 % and more than 1000; 4 KiB: a block of a file system",
        ..Topic::PLAIN
    },
    Topic {
        name: "network-inside-node",
        title: "{Ranks} of one node use TCP on {comm}",
        text: "{messages} messages with {size} between ranks of one node used TCP instead of shared memory.",
        advice: "Let UCX choose (unset UCX_TLS), or add sm to it; in containers share /dev/shm and the process namespace.",
        more: "Shared-memory transports of UCX are posix, sysv, xpmem, cma and knem.",
        rule: "Ranks of one host exchange at least 1 MiB or 1000 messages by UCX over TCP; at least `warn`. Needs the UCX hook.",
        source: "UCX: shared-memory transports are posix, sysv, xpmem, cma and knem",
        ..Topic::PLAIN
    },
    Topic {
        name: "staged-gpu-messages",
        title: "Messages from GPU memory go through the host on {comm}",
        text: "MPI calls make {copies} copies with {size} between GPUs and the host ({ranks}), which take {time} on the GPUs.",
        advice: "Inside a node let UCX use cuda_ipc (UCX_TLS, CUDA_VISIBLE_DEVICES); between nodes use GPUDirect RDMA.",
        more: "Each process must see the GPUs of the others, and UCX_TLS must include cuda_ipc. Data that the library reduces on the host must be copied there.",
        rule: "MPI calls on a communicator copy at least 1 MiB from GPUs to the host or back, without copies by NCCL; at least `info`. The gain is the time of the copies on the GPUs. Needs the module `gpu`.",
        source: "UCX: cuda_ipc and cuda_copy; measured: howto/gpu.md",
        ..Topic::PLAIN
    },
    Topic {
        name: "straddled-threshold",
        title: "Messages of {op} on {comm} straddle the rendezvous threshold",
        text: "{share} of {messages} messages of {size} bytes are eager, the others use rendezvous.",
        advice: "Compare runs with UCX_RNDV_THRESH below and above the size.",
        more: "Using the faster protocol for all of them may save time.",
        rule: "At least 100 messages of one size class, of which each protocol has at least 10 %; `info`. Needs the UCX hook.",
        source: "UCX: UCX_RNDV_THRESH",
        ..Topic::PLAIN
    },
    Topic {
        name: "startup-cost",
        title: "{op} takes {time}",
        text: "The ranks spend {time} in {op}, on top of a run time of {run}.",
        advice: "Start fewer, longer jobs, and check the file system of the libraries and how the launcher connects ranks.",
        more: "MPI_Init and MPI_Finalize are not part of the run time.",
        rule: "MPI_Init or MPI_Finalize takes at least 5 s and a tenth of the run time.",
        source: "MAQAO: profiles shorter than 10 s are of little use",
        ..Topic::PLAIN
    },
    Topic {
        name: "shared-processors",
        title: "{Ranks} share{s} processors",
        text: "Ranks {of} are bound to {cpus} of {host}, which has others.",
        advice: "Check how the launcher binds ranks: `--map-by` and `--bind-to` (Open MPI), `-bind-to` (MPICH), `--cpu-bind` (Slurm), and the processors that the batch system gives the job.",
        more: "While one of them runs the others wait, in MPI or not, and their waiting times say little.",
        rule: "More ranks of a host are bound to the same processors than these are, and the host has others; at least `warn`.",
        source: "the binding of each rank, as the kernel told it at the end of MPI_Init",
        ..Topic::PLAIN
    },
];
