//! Thrift's compact protocol, as far as a Parquet file's description needs it:
//! <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct in the making: fields are added in the order of their numbers.
#[derive(Default)]
pub struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    /// A field's head has the distance to the one before it. None is further than 15.
    fn field(mut self, number: u8, kind: u8) -> Struct {
        self.bytes.push((number - self.last) << 4 | kind);
        self.last = number;
        self
    }

    pub fn i32(mut self, number: u8, value: i32) -> Struct {
        self = self.field(number, I32);
        varint(zigzag(value.into()), &mut self.bytes);
        self
    }

    pub fn i64(mut self, number: u8, value: i64) -> Struct {
        self = self.field(number, I64);
        varint(zigzag(value), &mut self.bytes);
        self
    }

    pub fn text(mut self, number: u8, text: &str) -> Struct {
        self = self.field(number, BINARY);
        binary(text, &mut self.bytes);
        self
    }

    pub fn inner(mut self, number: u8, inner: Struct) -> Struct {
        self = self.field(number, STRUCT);
        self.bytes.extend(inner.end());
        self
    }

    pub fn structs(mut self, number: u8, all: Vec<Struct>) -> Struct {
        self = self.list(number, STRUCT, all.len());
        all.into_iter().for_each(|one| self.bytes.extend(one.end()));
        self
    }

    pub fn i32s(mut self, number: u8, all: &[i32]) -> Struct {
        self = self.list(number, I32, all.len());
        all.iter().for_each(|one| varint(zigzag((*one).into()), &mut self.bytes));
        self
    }

    pub fn texts(mut self, number: u8, all: &[&str]) -> Struct {
        self = self.list(number, BINARY, all.len());
        all.iter().for_each(|one| binary(one, &mut self.bytes));
        self
    }

    fn list(mut self, number: u8, kind: u8, length: usize) -> Struct {
        self = self.field(number, LIST);
        if length < 15 {
            self.bytes.push((length as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(length as u64, &mut self.bytes);
        }
        self
    }

    pub fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// Seven bits a byte, the lowest first.
pub fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn binary(text: &str, out: &mut Vec<u8>) {
    varint(text.len() as u64, out);
    out.extend(text.as_bytes());
}
