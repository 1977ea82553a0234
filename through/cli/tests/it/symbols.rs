//! The names of addresses, in binaries that print which line each of their calls is on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;
use through_core::symbols::{Module, Name, Names, Outcome, Search, Trust, resolve};

/// Prints the address inside of its call, in the file's own terms, with what the caller says of itself.
const NOTE: &str = r#"
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
static int first(struct dl_phdr_info *info, size_t size, void *bias) {
    *(unsigned long *)bias = info->dlpi_addr;
    return 1;
}
static void say(void *from, int line, const char *name, int outer, const char *outer_name) {
    unsigned long bias = 0;
    dl_iterate_phdr(first, &bias);
    printf("%lx %d %s %d %s\n", (unsigned long)from - 1 - bias, line, name, outer, outer_name);
}
void note(int line, const char *name, int outer, const char *outer_name) {
    say(__builtin_return_address(0), line, name, outer, outer_name);
}
void note_(int *line, const char *name) { say(__builtin_return_address(0), *line, name, 0, ""); }
"#;

const C: &str = r#"
void note(int line, const char *name, int outer, const char *outer_name);
#define AFTER __asm__ volatile("")
static inline __attribute__((always_inline)) void exchange(int outer) {
    note(__LINE__, "exchange", outer, "main");
    AFTER;
}
static __attribute__((noinline)) void solve(void) {
    note(__LINE__, "solve", 0, "");
    AFTER;
}
static __attribute__((noinline)) int deep(int n) {
    int sum = n > 0 ? deep(n - 1) : 0;
    note(
        __LINE__ - 1, "deep", 0, "");
    AFTER;
    return sum + n;
}
int main(void) {
    note(__LINE__, "main", 0, "");
    exchange(__LINE__);
    solve();
    exchange(__LINE__);
    return deep(2) - 3;
}
"#;

const CPP: &str = r#"
#include <stdexcept>
#include <string>
extern "C" void note(int line, const char *name, int outer, const char *outer_name);
#define AFTER __asm__ volatile("")
namespace halo {
template <class T> __attribute__((noinline)) void exchange(T value) {
    std::string name = "halo::exchange<" + std::string(sizeof(T) == 8 ? "double" : "int") + ">";
    note(__LINE__, name.c_str(), 0, "");
    AFTER;
}
struct Grid {
    __attribute__((noinline)) Grid() {
        note(__LINE__, "halo::Grid::Grid", 0, "");
        AFTER;
    }
};
}
namespace {
__attribute__((noinline)) void hidden() {
    note(__LINE__, "(anonymous_namespace)::hidden", 0, "");
    AFTER;
}
}
int main() {
    halo::exchange(1.0);
    halo::exchange(1);
    halo::Grid grid;
    hidden();
    auto lambda = [](int n) __attribute__((noinline)) {
        note(__LINE__, "main::{lambda(int)#1}::operator()", 0, "");
        AFTER;
        return n;
    };
    try {
        if (lambda(1)) throw std::runtime_error("x");
    } catch (const std::exception &) {
        note(__LINE__, "main", 0, "");
    }
    return 0;
}
"#;

const FORTRAN: &str = r#"
module grid
contains
  subroutine make_rows(n)
    integer, intent(in) :: n
    call note(__LINE__, 'grid::make_rows'//char(0))
    if (n > 0) call inner()
  contains
    subroutine inner()
      call note(__LINE__, 'inner'//char(0))
      write (*, '()', advance='no')
    end subroutine
  end subroutine
end module

subroutine solve(n)
  integer :: n
  call note(__LINE__, 'solve'//char(0))
  n = n + 1
end subroutine

program main
  use grid
  integer :: n
  n = 1
  call make_rows(n)
  call solve(n)
  if (n /= 2) stop 1
end program
"#;

const RUST: &str = r#"
use std::ffi::{CString, c_char, c_int};
extern "C" { fn note(line: c_int, name: *const c_char, outer: c_int, outer_name: *const c_char); }
fn say(name: &str) -> (CString, CString) { (CString::new(name).unwrap(), CString::new("").unwrap()) }
mod grid {
    use super::*;
    #[inline(never)]
    pub fn make_rows(n: u32) -> u32 {
        let (name, none) = say("main::grid::make_rows");
        unsafe { note(line!() as c_int, name.as_ptr(), 0, none.as_ptr()) };
        n + std::hint::black_box(1)
    }
}
fn main() {
    let (name, none) = say("main::main");
    unsafe { note(line!() as c_int, name.as_ptr(), 0, none.as_ptr()) };
    std::process::exit((grid::make_rows(1) != 2) as i32);
}
"#;

/// A place where programs are compiled.
pub struct Workshop(pub TempDir);

/// What a program said of one call.
#[derive(Clone, Debug)]
struct Said {
    address: u64,
    line: u32,
    function: String,
    /// The line on which the function was inlined, and into which one.
    outer: Option<(u32, String)>,
}

impl Workshop {
    pub fn new() -> Workshop {
        let shop = Workshop(tempfile::tempdir().unwrap());
        for (name, text) in
            [("note.c", NOTE), ("main.c", C), ("main.cc", CPP), ("main.F90", FORTRAN), ("main.rs", RUST)]
        {
            fs::write(shop.path(name), text).unwrap();
        }
        shop.does("gcc -c -O1 note.c");
        shop
    }

    pub fn path(&self, name: &str) -> PathBuf {
        // What debug data has of it.
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// Runs a command line.
    #[track_caller]
    pub fn does(&self, line: &str) {
        let mut command = Command::new("sh");
        let output = command.args(["-c", line]).current_dir(self.path("")).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn said(&self, program: &str) -> Vec<Said> {
        let output = Command::new(self.path(program)).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            let mut word = || words.next().unwrap();
            let (address, line) = (u64::from_str_radix(&word(), 16).unwrap(), word().parse().unwrap());
            let (function, outer, name) =
                (word().replace("anonymous_n", "anonymous n"), word().parse().unwrap(), word());
            Said { address, line, function, outer: (outer > 0).then_some((outer, name)) }
        };
        let said: Vec<Said> = String::from_utf8(output.stdout).unwrap().lines().map(said).collect();
        assert!(!said.is_empty());
        said
    }

    /// Addresses, with the innermost lines and functions.
    pub fn calls(&self, program: &str) -> Vec<(u64, u32, String)> {
        self.said(program).into_iter().map(|said| (said.address, said.line, said.function)).collect()
    }

    fn search(&self) -> Search {
        Search { debug_directories: vec![self.path("debug")], cache: None, trust: Trust::Never }
    }
}

pub fn build_id(path: &Path) -> Option<Vec<u8>> {
    use object::Object;
    let data = fs::read(path).unwrap();
    object::File::parse(&*data).unwrap().build_id().unwrap().map(<[u8]>::to_vec)
}

fn module(path: &Path) -> Module {
    Module { path: path.to_owned(), build_id: build_id(path) }
}

fn names(module: &Module, said: &[Said], search: &Search) -> (Names, Outcome) {
    let addresses: BTreeSet<u64> = said.iter().map(|said| said.address).collect();
    resolve(module, &addresses, search, None)
}

/// Every call has the very line and function that it printed.
#[track_caller]
fn agree(names: &Names, said: &[Said], source: &Path) {
    for Said { address, line, function, outer } in said {
        let found = names.get(address).unwrap_or_else(|| panic!("nothing at {address:#x}: {said:?} {names:?}"));
        let file = Some(source.display().to_string());
        let name = |function: &str, line| Name {
            function: Some(function.to_owned()),
            offset: None,
            file: file.clone(),
            line: Some(line),
        };
        let mut wanted = vec![name(function, *line)];
        wanted.extend(outer.as_ref().map(|(line, function)| name(function, *line)));
        assert_eq!(found[..wanted.len()], wanted, "{address:#x} {found:?}");
    }
}

#[track_caller]
fn told(shop: &Workshop, program: &str, source: &str) {
    let said = shop.said(program);
    let (names, outcome) = names(&module(&shop.path(program)), &said, &shop.search());
    assert_eq!(outcome, Outcome::Done);
    agree(&names, &said, &shop.path(source));
}

#[test]
fn c_is_told_by_line_at_every_level_of_optimization() {
    let shop = Workshop::new();
    for flags in [
        "-O0",
        "-O1",
        "-O2",
        "-O3",
        "-O2 -fomit-frame-pointer",
        "-O2 -no-pie",
        "-Og -gdwarf-4",
        "-O2 -gdwarf-2",
        "-O2 -gz",
        "-O2 -ffunction-sections -Wl,--gc-sections",
    ] {
        shop.does(&format!("gcc -g {flags} main.c note.o -o a.out"));
        told(&shop, "a.out", "main.c");
    }
}

#[test]
fn templates_lambdas_and_constructors_are_told() {
    let shop = Workshop::new();
    for flags in ["-O0", "-O2", "-O3 -gz"] {
        shop.does(&format!("g++ -g {flags} main.cc note.o -o a.out"));
        told(&shop, "a.out", "main.cc");
    }
}

#[test]
fn fortran_procedures_are_told_with_their_module() {
    let shop = Workshop::new();
    for flags in ["-O0", "-O2 -fno-inline", "-O3 -fno-inline -fno-ipa-cp"] {
        shop.does(&format!("gfortran -g {flags} main.F90 note.o -o a.out"));
        told(&shop, "a.out", "main.F90");
    }
}

#[test]
fn rust_functions_are_told_without_their_hash() {
    let shop = Workshop::new();
    for flags in
        ["", "-O", "-O -C symbol-mangling-version=v0", "-C split-debuginfo=packed", "-C split-debuginfo=unpacked"]
    {
        shop.does(&format!("rustc -g {flags} main.rs -C link-arg=note.o -o a.out"));
        let said = shop.said("a.out");
        let (names, _) = names(&module(&shop.path("a.out")), &said, &shop.search());
        agree(&names, &said, &shop.path("main.rs"));
    }
}

/// Wherever debug data was moved to.
#[test]
fn separate_debug_data_is_found() {
    let shop = Workshop::new();
    shop.does("gcc -g -O2 main.c note.o -o whole && objcopy --only-keep-debug whole app.debug");
    shop.does("objcopy --strip-all --add-gnu-debuglink=app.debug whole app && mkdir -p debug/.build-id");
    let said = shop.said("app");
    let is_told = |module: &Module| {
        let (names, _) = names(module, &said, &shop.search());
        names
            .values()
            .flatten()
            .any(|name| name.line.is_some())
            .then(|| agree(&names, &said, &shop.path("main.c")))
            .is_some()
    };
    let app = module(&shop.path("app"));
    assert!(is_told(&app), "beside the binary");
    shop.does("mkdir .debug && mv app.debug .debug");
    assert!(is_told(&app), "in .debug");
    let beneath = shop.path("").display().to_string();
    shop.does(&format!("mkdir -p debug{beneath} && mv .debug/app.debug debug{beneath}"));
    assert!(is_told(&app), "beneath the debug directory");
    let id: String = app.build_id.as_ref().unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    shop.does(&format!(
        "mkdir -p debug/.build-id/{0} && mv debug{beneath}/app.debug debug/.build-id/{0}/{1}.debug",
        &id[..2],
        &id[2..]
    ));
    assert!(is_told(&app), "by build id");
    shop.does("mv app elsewhere");
    assert!(is_told(&app), "without the binary");
    shop.does("rm -r debug");
    let (names, outcome) = names(&app, &said, &shop.search());
    assert!(names.is_empty() && outcome == Outcome::NoBinary, "{names:?}");
}

#[test]
fn split_debug_data_is_found() {
    let shop = Workshop::new();
    for flags in ["-gsplit-dwarf -gdwarf-5", "-gsplit-dwarf -gdwarf-4", "-g -gsplit-dwarf -gz"] {
        shop.does(&format!("gcc -O2 {flags} -c main.c -o main.o && gcc main.o note.o -o a.out"));
        told(&shop, "a.out", "main.c");
        // With the binary, to another directory.
        shop.does("rm -rf moved && mkdir moved && mv main.dwo moved && cp a.out moved");
        let said = shop.said("a.out");
        let (names, _) = names(&module(&shop.path("moved/a.out")), &said, &shop.search());
        agree(&names, &said, &shop.path("main.c"));
        shop.does("mv moved/main.dwo .");
        let pack = |tool: &str| {
            let line = format!("{tool} -e a.out -o a.out.dwp && test -s a.out.dwp");
            let mut command = Command::new("sh");
            command.args(["-c", &line]).current_dir(shop.path("")).output().is_ok_and(|output| output.status.success())
        };
        // It knows DWARF 4 only, and is brought down by others. Packages of DWARF 5 are rustc's.
        let is_packed = flags.ends_with("4") && pack("dwp");
        shop.does("rm main.dwo");
        if is_packed {
            told(&shop, "a.out", "main.c");
        }
        // Lines without functions; the symbol table has these, but knows nothing of what was inlined.
        shop.does("rm -f a.out.dwp");
        let (names, _) = self::names(&module(&shop.path("a.out")), &said, &shop.search());
        for said in &said {
            let [name] = names[&said.address].as_slice() else { panic!("{names:?}") };
            assert_eq!((name.line, name.offset), (Some(said.line), None));
            let outer = said.outer.as_ref().map_or(&said.function, |(_, function)| function);
            assert_eq!(name.function.as_ref(), Some(outer));
        }
    }
}

/// `dwz` moves what binaries share to a file of its own.
#[test]
fn shared_debug_data_is_found() {
    if Command::new("dwz").arg("--version").output().is_err() {
        return;
    }
    let shop = Workshop::new();
    shop.does("gcc -g -O2 main.c note.o -o a.out && gcc -g -O1 main.c note.o -o b.out");
    shop.does("objcopy --decompress-debug-sections a.out && objcopy --decompress-debug-sections b.out");
    shop.does("dwz -m common.debug a.out b.out");
    told(&shop, "a.out", "main.c");
    told(&shop, "b.out", "main.c");
}

/// Of a stripped binary the exported functions are known, and their names do not reach beyond their ends.
#[test]
fn without_debug_data_functions_are_told_with_an_offset() {
    let shop = Workshop::new();
    shop.does("gcc -O1 -rdynamic main.c note.o -o a.out");
    let said = shop.said("a.out");
    let look = || names(&module(&shop.path("a.out")), &said, &shop.search()).0;
    let is_told = |names: &Names, said: &Said| {
        let Some([name]) = names.get(&said.address).map(Vec::as_slice) else { return false };
        let outer = said.outer.as_ref().map_or(&said.function, |(_, function)| function);
        assert_eq!((name.function.as_ref(), name.line, &name.file), (Some(outer), None, &None));
        name.offset.is_some_and(|offset| offset > 0)
    };
    assert!(said.iter().all(|said| is_told(&look(), said)));
    shop.does("strip a.out");
    let names = look();
    for said in &said {
        let outer = said.outer.as_ref().map_or(&said.function, |(_, function)| function);
        assert_eq!(is_told(&names, said), outer == "main", "{said:?} {names:?}");
    }
}

/// Another binary at that path, or another's debug data: no line at all.
#[test]
fn another_build_is_never_used() {
    let shop = Workshop::new();
    shop.does("gcc -g -O2 main.c note.o -o a.out");
    let (said, old) = (shop.said("a.out"), module(&shop.path("a.out")));
    shop.does("sed -i '1i // a line more' main.c && gcc -g -O2 main.c note.o -o a.out");
    assert_eq!(names(&old, &said, &shop.search()), (BTreeMap::new(), Outcome::NoBinary));
    // The debug data of the new one, under the name that the old one links to.
    shop.does("sed -i 1d main.c && gcc -g -O2 main.c note.o -o b.out && objcopy --only-keep-debug a.out b.debug");
    shop.does("objcopy --strip-all --add-gnu-debuglink=b.debug b.out a.out");
    let (names, _) = names(&old, &said, &shop.search());
    assert!(names.values().flatten().all(|name| name.line.is_none()), "{names:?}");
}

#[test]
fn a_binary_without_a_build_id_is_used_only_if_it_has_not_changed() {
    let shop = Workshop::new();
    shop.does("gcc -g -O2 -Wl,--build-id=none main.c note.o -o a.out");
    let (said, module) = (shop.said("a.out"), module(&shop.path("a.out")));
    assert_eq!(module.build_id, None);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
    for (trust, is_used) in [
        (Trust::Never, false),
        (Trust::Always, true),
        (Trust::UnchangedSince(now - 9), false),
        (Trust::UnchangedSince(now + 9), true),
    ] {
        let (names, outcome) = names(&module, &said, &Search { trust, ..shop.search() });
        assert_eq!(outcome == Outcome::Done, is_used, "{trust:?}");
        if is_used {
            agree(&names, &said, &shop.path("main.c"));
        }
    }
    // And never in place of one with a build id.
    let other = Module { build_id: Some(vec![1; 20]), ..module };
    assert_eq!(names(&other, &said, &Search { trust: Trust::Always, ..shop.search() }).1, Outcome::NoBinary);
}

#[test]
fn what_was_found_is_kept_until_more_can_be_told() {
    let shop = Workshop::new();
    shop.does("gcc -g -O2 main.c note.o -o whole && objcopy --only-keep-debug whole a.debug && strip -o a.out whole");
    let (said, app) = (shop.said("a.out"), module(&shop.path("a.out")));
    let search = Search { cache: Some(shop.path("cache")), ..shop.search() };
    let lines = || names(&app, &said, &search).0.values().flatten().filter(|name| name.line.is_some()).count();
    assert_eq!(lines(), 0);
    assert_eq!(fs::read_dir(shop.path("cache/commsee/symbols")).unwrap().count(), 1);
    // Debug data is there now.
    shop.does("objcopy --add-gnu-debuglink=a.debug a.out");
    assert!(lines() > 0);
    // And gone, with the binary.
    shop.does("rm a.debug a.out");
    agree(&names(&app, &said, &search).0, &said, &shop.path("main.c"));
    let other = Module { build_id: Some(vec![1; 20]), ..app.clone() };
    assert_eq!(names(&other, &said, &search), (BTreeMap::new(), Outcome::NoBinary));
    // A damaged cache is none.
    let file = fs::read_dir(shop.path("cache/commsee/symbols")).unwrap().next().unwrap().unwrap().path();
    fs::write(file, "{").unwrap();
    assert_eq!(lines(), 0);
}

#[test]
fn what_is_kept_has_a_limit() {
    let shop = Workshop::new();
    shop.does("gcc -g -O2 main.c note.o -o a.out && mkdir -p cache/commsee/symbols && cd cache/commsee/symbols && touch -d 2000-01-01 ancient.json");
    let said = shop.said("a.out");
    let search = Search { cache: Some(shop.path("cache")), ..shop.search() };
    let path = |name: &str| shop.path("cache/commsee/symbols").join(name);
    // So many, so large: the first ones are the newest.
    let now = SystemTime::now();
    let old = |name: &str, bytes: u64, hours: u64| {
        let file = fs::File::create(path(name)).unwrap();
        file.set_len(bytes).unwrap();
        file.set_modified(now - Duration::from_secs(hours * 3600)).unwrap();
    };
    (0..1200).for_each(|number| old(&format!("{number}.json"), 0, 1 + number));
    agree(&names(&module(&shop.path("a.out")), &said, &search).0, &said, &shop.path("main.c"));
    let left = || fs::read_dir(path("")).unwrap().count();
    assert_eq!(left(), 1000);
    assert!(path("998.json").exists() && !path("999.json").exists() && !path("ancient.json").exists());
    shop.does("rm cache/commsee/symbols/*");
    [("new", 1), ("large", 2), ("oldest", 3)].iter().for_each(|(name, hours)| old(name, 30 << 20, *hours));
    names(&module(&shop.path("a.out")), &said, &search);
    assert_eq!((left(), path("oldest").exists()), (3, false));
}

#[test]
fn what_is_no_binary_is_passed_over() {
    let shop = Workshop::new();
    shop.does("mkfifo pipe && echo text > text && ln -s /dev/zero zero && : > empty && head -c 300 note.o > cut");
    let one = BTreeSet::from([1]);
    for path in ["pipe", "text", "zero", "empty", "cut", "missing", ""] {
        let module = Module { path: shop.path(path), build_id: Some(vec![7; 20]) };
        assert_eq!(resolve(&module, &one, &shop.search(), None), (BTreeMap::new(), Outcome::NoBinary), "{path}");
    }
    let relative = Module { path: "[vdso]".into(), build_id: None };
    assert_eq!(resolve(&relative, &one, &Search { trust: Trust::Always, ..shop.search() }, None).1, Outcome::NoBinary);
}

#[test]
fn the_time_that_it_may_take_is_bounded() {
    let shop = Workshop::new();
    shop.does("gcc -g -O2 main.c note.o -o a.out");
    let (said, app) = (shop.said("a.out"), module(&shop.path("a.out")));
    let addresses: BTreeSet<u64> = said.iter().map(|said| said.address).collect();
    let over = Instant::now() - Duration::from_secs(1);
    assert_eq!(resolve(&app, &addresses, &shop.search(), Some(over)), (BTreeMap::new(), Outcome::OutOfTime));
}

/// The debug data of a function that was left out seems to be about the first addresses of the file.
#[test]
fn what_the_linker_left_out_is_not_found_in_the_place_of_others() {
    let shop = Workshop::new();
    fs::write(shop.path("unused.c"), "void unused(void) {\n    __asm__ volatile(\".skip 100000\");\n}\n").unwrap();
    for flags in ["-gdwarf-5", "-gdwarf-4"] {
        shop.does("cat unused.c main.c > both.c");
        shop.does(&format!("gcc {flags} -O1 -ffunction-sections -Wl,--gc-sections unused.c main.c note.o -o two.out"));
        shop.does(&format!("gcc {flags} -O1 -ffunction-sections -Wl,--gc-sections both.c note.o -o one.out"));
        for (program, source) in [("two.out", "main.c"), ("one.out", "both.c")] {
            let said = shop.said(program);
            assert!(said.iter().all(|said| said.address < 100_000));
            let (names, _) = names(&module(&shop.path(program)), &said, &shop.search());
            for said in &said {
                let found = &names[&said.address];
                // At worst the function alone.
                if found[0].line.is_some() {
                    agree(&names, std::slice::from_ref(said), &shop.path(source));
                } else {
                    let outer = said.outer.as_ref().map_or(&said.function, |(_, function)| function);
                    assert_eq!(found[0].function.as_ref(), Some(outer));
                }
            }
        }
    }
}
