//! The functions that are counted.

/// What a function moves, and so what its arguments mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// All ranks alike.
    Collective,
    /// A collective with a root, which is counted as the peer.
    Rooted,
    /// To a peer.
    Send,
    /// From a peer.
    Receive,
    /// No data.
    Control,
}

macro_rules! functions {
    ($($variant:ident $name:literal $kind:ident,)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Function {
            $($variant,)*
        }

        pub const ALL: [Function; COUNT] = [$(Function::$variant,)*];
        pub const COUNT: usize = [$($name,)*].len();

        impl Function {
            /// What follows the library's prefix: `nccl`, `oneccl`.
            pub const fn name(self) -> &'static str {
                [$($name,)*][self as usize]
            }

            pub const fn kind(self) -> Kind {
                [$(Kind::$kind,)*][self as usize]
            }
        }
    };
}

functions! {
    AllGather "AllGather" Collective,
    AllReduce "AllReduce" Collective,
    AlltoAll "AlltoAll" Collective,
    AlltoAllV "AlltoAllV" Collective,
    Broadcast "Broadcast" Rooted,
    Gather "Gather" Rooted,
    Reduce "Reduce" Rooted,
    ReduceScatter "ReduceScatter" Collective,
    Scatter "Scatter" Rooted,
    Send "Send" Send,
    Recv "Recv" Receive,
    PutSignal "PutSignal" Send,
    Signal "Signal" Send,
    WaitSignal "WaitSignal" Control,
    GroupEnd "GroupEnd" Control,
    GetUniqueId "GetUniqueId" Control,
    CommInitRank "CommInitRank" Control,
    CommInitRankConfig "CommInitRankConfig" Control,
    CommInitRankScalable "CommInitRankScalable" Control,
    CommInitAll "CommInitAll" Control,
    CommSplit "CommSplit" Control,
    CommShrink "CommShrink" Control,
    CommGrow "CommGrow" Control,
    CommGetUniqueId "CommGetUniqueId" Control,
    CommFinalize "CommFinalize" Control,
    CommDestroy "CommDestroy" Control,
    CommAbort "CommAbort" Control,
    CommRevoke "CommRevoke" Control,
    CommSuspend "CommSuspend" Control,
    CommResume "CommResume" Control,
    CommRegister "CommRegister" Control,
    CommDeregister "CommDeregister" Control,
    CommWindowRegister "CommWindowRegister" Control,
    CommWindowDeregister "CommWindowDeregister" Control,
    MemAlloc "MemAlloc" Control,
    MemFree "MemFree" Control,
}

impl Function {
    /// With the prefix of its library, as that spells it.
    pub fn full_name(self, prefix: &str) -> String {
        let name = match (self, prefix) {
            (Function::AlltoAll, "oneccl") => "AllToAll",
            (Function::AlltoAllV, "oneccl") => "AllToAllV",
            // RCCL's alone.
            (Function::AlltoAllV, _) => "AllToAllv",
            _ => self.name(),
        };
        format!("{prefix}{name}")
    }

    /// How many blocks of its size a rank's send buffer has, as MPI's `bytes_sent` counts; of a receive, what its buffer takes. `peer` is
    /// the root, where there is one.
    #[inline(always)]
    pub fn blocks(self, ranks: u32, rank: u32, peer: i32) -> u64 {
        let is_root = u32::try_from(peer) == Ok(rank);
        match self {
            // Nobody knows its ranks.
            _ if ranks == 0 => 1,
            Function::AlltoAll | Function::ReduceScatter => ranks.into(),
            Function::Broadcast => is_root.into(),
            Function::Scatter if is_root => ranks.into(),
            Function::Scatter => 0,
            _ => 1,
        }
    }

    /// By the name that a profiler plugin is told, such as `AllReduce`.
    pub fn of_name(name: &[u8]) -> Option<Function> {
        ALL.into_iter().find(|function| function.name().as_bytes() == name)
    }
}
