//! NCCL's datatypes by the names that it tells them by.

/// The bytes of an element. None for one that is not known here.
pub fn size_bytes(name: &[u8]) -> Option<u64> {
    Some(match name {
        b"ncclInt8" | b"ncclUint8" | b"ncclFloat8e4m3" | b"ncclFloat8e5m2" => 1,
        // NCCL has no name for ncclUint8, and none but it, in all versions up to 2.31 (`ncclDatatypeToString`).
        b"Unknown" => 1,
        b"ncclFloat16" | b"ncclBfloat16" => 2,
        b"ncclInt32" | b"ncclUint32" | b"ncclFloat32" => 4,
        b"ncclInt64" | b"ncclUint64" | b"ncclFloat64" => 8,
        _ => return None,
    })
}
