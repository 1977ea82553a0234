//! Unwind information that is broken: the fuzz target's driver (`fuzz/`) over what compilers wrote, changed here and there.
#![cfg(not(miri))]

use std::process::Command;

#[path = "../../../fuzz/drive/unwind.rs"]
mod unwind;

mod built;

struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % most
    }
}

/// The section `.eh_frame` of an object file, whose functions all begin at the same address.
fn frames(options: &[&str]) -> Vec<u8> {
    let folder = built::folder("broken");
    let (object, section) = (folder.join("a.o"), folder.join("eh_frame"));
    built::compile("stacks.c", &object, &[options, &["-c"]].concat());
    let copy = format!(".eh_frame={}", section.display());
    let mut objcopy = Command::new("objcopy");
    let done = objcopy.args(["-O", "binary", "--dump-section", &copy]).arg(&object).arg("/dev/null").status();
    assert!(done.expect("objcopy").success());
    std::fs::read(section).unwrap()
}

#[test]
fn whatever_is_read_a_step_leads_upwards_or_nowhere() {
    let mut random = Random(11);
    let mut rules = 0;
    for options in [&["-O0"][..], &["-O2"], &["-O3", "-mstackrealign", "-fcf-protection=full"]] {
        let mut whole = frames(options);
        let mut entries = Vec::new();
        let mut at = 0;
        while let Some(length) = whole.get(at..at + 4) {
            let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
            // Where its function begins, from there on.
            if whole.get(at + 4..at + 8).is_some_and(|cie| cie != [0; 4]) {
                let from = unwind::FRAMES + at as u64 + 8;
                whole[at + 8..at + 12].copy_from_slice(&((unwind::CODE - from) as u32).to_le_bytes());
                entries.push(at as u16);
            }
            at += length + 4;
        }
        for _ in 0..20_000 {
            let mut bytes = whole.clone();
            for _ in 0..random.below(4) {
                let at = random.below(bytes.len());
                bytes[at] = [random.below(256), 0, 0xff, 0x7f, 0x80, 1][random.below(6)] as u8;
            }
            bytes.truncate(if random.below(4) == 0 { random.below(bytes.len()) } else { bytes.len() });
            let [low, high] = entries[random.below(entries.len())].to_le_bytes();
            let input = [&[1, 2, 0, random.below(64) as u8, low, high][..], &bytes].concat();
            unwind::drive(&input);
            rules += usize::from(unwind::reaches(&input));
        }
    }
    assert!(rules > 1000, "only {rules} were read");
    assert!(rules < 59_000, "{rules} were read of what is broken");
    for length in 0..2000 {
        let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        unwind::drive(&bytes);
    }
}
