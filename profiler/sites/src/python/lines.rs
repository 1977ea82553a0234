//! The line of an instruction, by the table that its code has.

use super::layout::Lines;

/// The line of the instruction at an offset in bytes; 0 where the table says none.
pub fn line(kind: Lines, table: &[u8], first_line: u32, instruction: usize) -> u32 {
    let line = match kind {
        Lines::Pairs => of_pairs(table, first_line.into(), instruction),
        Lines::Ranges => of_ranges(table, first_line.into(), instruction),
        Lines::Locations => of_locations(table, first_line.into(), instruction),
    };
    line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0)
}

fn of_pairs(table: &[u8], first_line: i64, instruction: usize) -> Option<i64> {
    let (mut at, mut line) = (0, first_line);
    for pair in table.chunks_exact(2) {
        at += usize::from(pair[0]);
        if at > instruction {
            break;
        }
        line += i64::from(pair[1] as i8);
    }
    Some(line)
}

fn of_ranges(table: &[u8], first_line: i64, instruction: usize) -> Option<i64> {
    const NO_LINE: i8 = -128;
    let (mut end, mut line) = (0, first_line);
    for pair in table.chunks_exact(2) {
        end += usize::from(pair[0]);
        let difference = pair[1] as i8;
        if difference != NO_LINE {
            line += i64::from(difference);
        }
        if end > instruction {
            return (difference != NO_LINE).then_some(line);
        }
    }
    None
}

/// Entries of a first byte, which has a kind and how many instructions it is about, and what that kind has.
fn of_locations(table: &[u8], first_line: i64, instruction: usize) -> Option<i64> {
    let (mut bytes, mut end, mut line) = (table.iter().copied(), 0, first_line);
    while let Some(first) = bytes.next() {
        let kind = first >> 3 & 15;
        let has_line = kind != 15;
        match kind {
            0..=9 => _ = bytes.next()?,
            10..=12 => {
                line += i64::from(kind - 10);
                _ = (bytes.next()?, bytes.next()?);
            }
            13 | 14 => {
                let difference = number(&mut bytes)?;
                line += if difference & 1 != 0 { -((difference >> 1) as i64) } else { (difference >> 1) as i64 };
                if kind == 14 {
                    _ = (number(&mut bytes)?, number(&mut bytes)?, number(&mut bytes)?);
                }
            }
            _ => {}
        }
        end += (usize::from(first & 7) + 1) * 2;
        if end > instruction {
            return has_line.then_some(line);
        }
    }
    None
}

/// Six bits a byte, the lowest first; the seventh says that more follow.
fn number(bytes: &mut impl Iterator<Item = u8>) -> Option<u32> {
    let (mut number, mut shift) = (0u32, 0);
    loop {
        let byte = bytes.next()?;
        number |= u32::from(byte & 63).checked_shl(shift)?;
        if byte & 64 == 0 {
            return Some(number);
        }
        shift += 6;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_3_9() {
        // dis.findlinestarts: 0 → 10, 8 → 12, 20 → 9.
        let table = [0, 0, 8, 2, 12, 0xfd];
        let at = |instruction| line(Lines::Pairs, &table, 10, instruction);
        assert_eq!([0, 6, 8, 18, 20, 90].map(at), [10, 10, 12, 12, 9, 9]);
    }

    #[test]
    fn lines_of_3_10() {
        let table = [8, 0, 12, 2, 2, 0x80, 4, 0xfd];
        let at = |instruction| line(Lines::Ranges, &table, 10, instruction);
        assert_eq!([0, 6, 8, 18, 20, 22, 24, 26].map(at), [10, 10, 12, 12, 0, 9, 9, 0]);
    }

    #[test]
    fn lines_of_3_11() {
        let entry = |kind: u8, instructions: u8| 128 | kind << 3 | (instructions - 1);
        let mut table = vec![entry(0, 1), 5, entry(11, 2), 1, 2, entry(13, 1), 6 << 1, entry(15, 1)];
        table.extend([
            entry(14, 1),
            (100 << 1 & 63) | 64,
            100 << 1 >> 6,
            0,
            3,
            4,
            entry(13, 1),
            (50 << 1 | 1) & 63 | 64,
        ]);
        table.push((50 << 1 | 1) >> 6);
        let at = |instruction| line(Lines::Locations, &table, 10, instruction);
        assert_eq!([0, 2, 4, 6, 8, 10, 12, 14].map(at), [10, 11, 11, 17, 0, 117, 67, 0]);
    }

    #[test]
    fn any_table_has_an_end() {
        let mut seed = 1u64;
        for length in 0..300 {
            let table: Vec<u8> = (0..length)
                .map(|_| {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (seed >> 56) as u8
                })
                .collect();
            for kind in [Lines::Pairs, Lines::Ranges, Lines::Locations] {
                let _ = [0, 2, 1000, usize::MAX].map(|at| line(kind, &table, 1, at));
            }
        }
    }
}
