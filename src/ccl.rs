//! The functions of collective communication libraries with NCCL's interface (NCCL, RCCL, oneCCL): what the bytes of a call are, whom they go to,
//! and what a bandwidth is made of. Hook modules record them by these names behind the prefix of their library.

/// What precedes the name of a function: `ncclAllReduce`, `onecclAllReduce`.
pub const PREFIXES: [&str; 2] = ["oneccl", "nccl"];

/// Which calls make up one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One call of each rank. With a root, that is the peer of the call.
    Collective { has_root: bool },
    /// A call of one rank, with a peer that data go to.
    Send,
    /// A call of one rank, with a peer that data come from.
    Receive,
    /// No data.
    Control,
}

/// What the send buffer of a call holds, where `count × size` bytes are a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    Block,
    /// One block for each rank.
    Blocks,
    /// The root one block, others nothing.
    BlockOfRoot,
    /// The root one for each rank, others nothing.
    BlocksOfRoot,
    /// Whatever each rank says.
    Own,
}

/// Between whom data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Between the caller and the peer.
    Peer,
    /// From each rank to each other one: a block.
    EachToEach,
    /// From each rank but the root to the root: a block.
    ToRoot,
    /// From the root to each other rank: a block.
    FromRoot,
    /// As the algorithm has it.
    Algorithm,
    /// Calls do not tell.
    NotTold,
    /// Nothing goes anywhere.
    None,
}

/// What a bus bandwidth is, as nccl-tests define it: <https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md>
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bus {
    /// The algorithm's bandwidth.
    Once,
    /// Times (n-1)/n: a block of n stays where it is.
    ButOwn,
    /// Times 2(n-1)/n.
    ThereAndBack,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Behind the prefix. Libraries differ in its case.
    pub name: &'static str,
    pub kind: Kind,
    pub holds: Holds,
    pub way: Way,
    pub bus: Bus,
}

const fn function(name: &'static str, kind: Kind, holds: Holds, way: Way, bus: Bus) -> Function {
    Function { name, kind, holds, way, bus }
}

const fn control(name: &'static str) -> Function {
    function(name, Kind::Control, Holds::Own, Way::None, Bus::Once)
}

const ALIKE: Kind = Kind::Collective { has_root: false };
const ROOTED: Kind = Kind::Collective { has_root: true };

/// Functions that move data first, then those that do not.
pub const FUNCTIONS: &[Function] = &[
    function("AllReduce", ALIKE, Holds::Block, Way::Algorithm, Bus::ThereAndBack),
    function("AllGather", ALIKE, Holds::Block, Way::Algorithm, Bus::ButOwn),
    function("ReduceScatter", ALIKE, Holds::Blocks, Way::Algorithm, Bus::ButOwn),
    function("Broadcast", ROOTED, Holds::BlockOfRoot, Way::Algorithm, Bus::Once),
    function("Bcast", ROOTED, Holds::BlockOfRoot, Way::Algorithm, Bus::Once),
    function("Reduce", ROOTED, Holds::Block, Way::Algorithm, Bus::Once),
    function("AlltoAll", ALIKE, Holds::Blocks, Way::EachToEach, Bus::ButOwn),
    function("AlltoAllV", ALIKE, Holds::Own, Way::NotTold, Bus::Once),
    function("Gather", ROOTED, Holds::Block, Way::ToRoot, Bus::ButOwn),
    function("Scatter", ROOTED, Holds::BlocksOfRoot, Way::FromRoot, Bus::ButOwn),
    function("Send", Kind::Send, Holds::Own, Way::Peer, Bus::Once),
    function("PutSignal", Kind::Send, Holds::Own, Way::Peer, Bus::Once),
    function("Signal", Kind::Send, Holds::Own, Way::Peer, Bus::Once),
    function("Recv", Kind::Receive, Holds::Own, Way::Peer, Bus::Once),
    control("WaitSignal"),
    control("GroupStart"),
    control("GroupEnd"),
    control("GetUniqueId"),
    control("CommInitRank"),
    control("CommInitRankConfig"),
    control("CommInitRankScalable"),
    control("CommInitAll"),
    control("CommSplit"),
    control("CommShrink"),
    control("CommGrow"),
    control("CommGetUniqueId"),
    control("CommFinalize"),
    control("CommDestroy"),
    control("CommAbort"),
    control("CommRevoke"),
    control("CommSuspend"),
    control("CommResume"),
    control("CommRegister"),
    control("CommDeregister"),
    control("CommWindowRegister"),
    control("CommWindowDeregister"),
    control("MemAlloc"),
    control("MemFree"),
];

/// The name without the prefix of its library; nothing where it has none.
pub fn bare(function: &str) -> Option<&str> {
    PREFIXES.iter().find_map(|prefix| function.strip_prefix(prefix))
}

/// What a function of a library means, by its whole name: `ncclAllReduce`.
pub fn find(function: &str) -> Option<&'static Function> {
    let name = bare(function)?;
    FUNCTIONS.iter().find(|known| known.name.eq_ignore_ascii_case(name))
}

impl Function {
    pub fn is_collective(&self) -> bool {
        matches!(self.kind, Kind::Collective { .. })
    }

    pub fn is_point_to_point(&self) -> bool {
        matches!(self.kind, Kind::Send | Kind::Receive)
    }

    /// The bytes by which bandwidths are told, of one operation over so many ranks: of what the send buffers of all its calls hold together.
    pub fn measured_bytes(&self, held_bytes: f64, ranks: f64) -> f64 {
        match (self.kind, self.holds) {
            (Kind::Collective { .. }, Holds::Block) if self.bus == Bus::ButOwn => held_bytes,
            (Kind::Collective { .. }, Holds::Block | Holds::Blocks) => held_bytes / ranks,
            _ => held_bytes,
        }
    }

    /// Bus bandwidth over the algorithm's.
    pub fn bus_factor(&self, ranks: f64) -> f64 {
        match self.bus {
            Bus::Once => 1.0,
            Bus::ButOwn => (ranks - 1.0) / ranks,
            Bus::ThereAndBack => 2.0 * (ranks - 1.0) / ranks,
        }
    }
}

/// What a letter in the name of a communicator stands for: the function that made it, without its prefix.
pub const CREATORS: &[(char, &str)] =
    &[('i', "CommInitRank"), ('a', "CommInitAll"), ('s', "CommSplit"), ('h', "CommShrink"), ('g', "CommGrow")];

/// The function that made a communicator of a layer, without its prefix, by the letter in its name.
pub fn creator(layer: &str, letter: &str) -> Option<&'static str> {
    let (_, name) = CREATORS.iter().find(|(known, _)| letter.chars().eq([*known]))?;
    PREFIXES.contains(&layer).then_some(name)
}

/// The algorithm in a protocol such as `RING/LL128 x4`; empty where none is told.
pub fn algorithm(protocol: &str) -> &str {
    protocol.split(['/', ' ']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_behind_their_prefix_in_any_case() {
        let name = |function: &str| find(function).map(|known| known.name);
        assert_eq!(name("ncclAllReduce"), Some("AllReduce"));
        assert_eq!(name("onecclBroadcast"), Some("Broadcast"));
        // RCCL writes it so.
        assert_eq!(name("ncclAllToAll"), Some("AlltoAll"));
        assert_eq!([name("AllReduce"), name("nccl"), name("ncclAllReduce2"), name("reduce"), name("")], [None; 5]);
    }

    #[test]
    fn no_name_stands_twice() {
        let mut names: Vec<String> = FUNCTIONS.iter().map(|function| function.name.to_ascii_lowercase()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), FUNCTIONS.len());
        let mut letters: Vec<char> = CREATORS.iter().map(|(letter, _)| *letter).collect();
        letters.sort();
        letters.dedup();
        assert_eq!(letters.len(), CREATORS.len());
        let is_known = |name: &str| FUNCTIONS.iter().any(|function| function.name == name);
        assert!(CREATORS.iter().all(|(_, name)| is_known(name)));
    }

    #[test]
    fn letters_tell_what_made_a_communicator_of_these_libraries_alone() {
        assert_eq!(creator("nccl", "h"), Some("CommShrink"));
        assert_eq!(creator("oneccl", "s"), Some("CommSplit"));
        assert_eq!([creator("ring", "s"), creator("nccl", "u"), creator("nccl", "")], [None; 3]);
    }

    /// Each rank of 4 has blocks of 100 bytes.
    #[test]
    fn bandwidths_are_those_of_nccl_tests() {
        let of = |name: &str, held_bytes: f64| {
            let function = find(name).unwrap();
            let bytes = function.measured_bytes(held_bytes, 4.0);
            (bytes, bytes * function.bus_factor(4.0))
        };
        assert_eq!(of("ncclAllReduce", 400.0), (100.0, 150.0));
        assert_eq!(of("ncclAllGather", 400.0), (400.0, 300.0));
        assert_eq!(of("ncclReduceScatter", 1600.0), (400.0, 300.0));
        assert_eq!(of("ncclAlltoAll", 1600.0), (400.0, 300.0));
        assert_eq!(of("ncclBroadcast", 100.0), (100.0, 100.0));
        assert_eq!(of("ncclReduce", 400.0), (100.0, 100.0));
        assert_eq!(of("ncclGather", 400.0), (400.0, 300.0));
        assert_eq!(of("ncclScatter", 400.0), (400.0, 300.0));
        assert_eq!(of("ncclSend", 100.0), (100.0, 100.0));
    }

    #[test]
    fn an_algorithm_is_the_first_word_of_a_protocol() {
        assert_eq!(
            ["RING/LL128 x4", "NVLS_TREE/SIMPLE", "TREE x2", ""].map(algorithm),
            ["RING", "NVLS_TREE", "TREE", ""]
        );
    }
}
