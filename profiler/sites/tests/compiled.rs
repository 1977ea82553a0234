//! Stacks of C programs, as compilers build them.
#![cfg(all(not(miri), target_arch = "x86_64"))]

mod built;

use std::process::Command;

#[test]
fn frames_are_found_however_they_were_compiled() {
    let library = built::library();
    let folder = built::folder("compiled");
    for options in [
        &["-O0"][..],
        &["-O1", "-fno-omit-frame-pointer"],
        &["-O2"],
        &["-O3", "-fomit-frame-pointer"],
        &["-O2", "-no-pie", "-s"],
        &["-O3", "-mavx2", "-mstackrealign"],
        &["-Os", "-static-libgcc"],
        &["-O2", "-fno-plt", "-fcf-protection=full", "-ffunction-sections"],
    ] {
        let program = folder.join("stacks");
        built::compile("stacks.c", &program, &[options, &["-rdynamic", "-pthread", "-ldl"]].concat());
        let done = Command::new(&program).arg(&library).output().unwrap();
        let out = String::from_utf8_lossy(&done.stdout);
        let checks = out.trim().parse::<u32>();
        assert!(checks.is_ok_and(|checks| checks > 500), "{options:?}: {out}{}", String::from_utf8_lossy(&done.stderr));
    }
}
