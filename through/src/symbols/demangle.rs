//! Names of functions as their authors wrote them.

use addr2line::gimli::{self, DwLang};
use cpp_demangle::{DemangleOptions, Symbol};

/// Of a symbol; the language, where debug data tells it.
pub fn demangled(symbol: &str, language: Option<DwLang>) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(symbol) {
        return format!("{rust:#}");
    }
    let name = without_clone(symbol);
    if let Some(cpp) = cpp(name) {
        return cpp;
    }
    if let Some(fortran) = of_fortran_module(name) {
        return fortran;
    }
    match name.strip_suffix('_').filter(|_| language.is_some_and(is_fortran)) {
        Some(bare) if !bare.ends_with('_') => bare.to_owned(),
        _ => name.to_owned(),
    }
}

/// What follows the arguments.
const QUALIFIERS: [&str; 4] = [" &", "&", " volatile", " const"];

/// Without arguments, which a line needs not, and which fill a table.
fn cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") {
        return None;
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    let name = Symbol::new(name).ok()?.demangle_with_options(&options).ok()?;
    let bare = QUALIFIERS.into_iter().fold(name.as_str(), |name, qualifier| name.trim_end_matches(qualifier));
    Some(bare.to_owned())
}

/// gfortran's `__grid_MOD_make_rows`.
fn of_fortran_module(name: &str) -> Option<String> {
    let (module, procedure) = name.strip_prefix("__")?.split_once("_MOD_")?;
    Some(format!("{module}::{procedure}"))
}

/// What GCC and LLVM call copies and parts of a function.
fn without_clone(name: &str) -> &str {
    const MARKS: [&str; 7] = ["constprop", "isra", "part", "cold", "lto_priv", "llvm", "_omp_fn"];
    let mut name = name;
    loop {
        let (bare, last) = match name.rsplit_once('.') {
            Some((bare, last)) if !bare.is_empty() => (bare, last),
            _ => return name,
        };
        let is_number = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
        let is_mark = |mark: &str| MARKS.contains(&mark);
        name = match bare.rsplit_once('.') {
            _ if is_mark(last) => bare,
            Some((shorter, mark)) if is_number && is_mark(mark) && !shorter.is_empty() => shorter,
            // A procedure inside of another one.
            _ if is_number => bare,
            _ => return name,
        };
    }
}

fn is_fortran(language: DwLang) -> bool {
    matches!(
        language,
        gimli::DW_LANG_Fortran77
            | gimli::DW_LANG_Fortran90
            | gimli::DW_LANG_Fortran95
            | gimli::DW_LANG_Fortran03
            | gimli::DW_LANG_Fortran08
            | gimli::DW_LANG_Fortran18
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_in_the_source() {
        let name = |symbol: &str| demangled(symbol, None);
        assert_eq!(name("make_rows"), "make_rows");
        assert_eq!(name("_ZN4halo8exchangeIdEEvRT_"), "halo::exchange<double>");
        assert_eq!(name("_ZZ4mainENKUliE_clEi"), "main::{lambda(int)#1}::operator()");
        assert_eq!(name("_ZN4grid4make17h0123456789abcdefE"), "grid::make");
        assert_eq!(name("_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(name("__grid_MOD_make_rows"), "grid::make_rows");
        assert_eq!(name("_ZNot"), "_ZNot");
    }

    #[test]
    fn copies_have_the_name_of_their_function() {
        let name = |symbol: &str| demangled(symbol, None);
        assert_eq!(name("solve.constprop.0"), "solve");
        assert_eq!(name("solve.isra.0.cold"), "solve");
        assert_eq!(name("__grid_MOD_make_rows.part.3"), "grid::make_rows");
        assert_eq!(name("_ZN4halo4sendEv.cold"), "halo::send");
        assert_eq!(name("inner.1"), "inner");
        assert_eq!(name(".text"), ".text");
    }

    #[test]
    fn underscores_go_where_fortran_added_them() {
        assert_eq!(demangled("solve_", Some(gimli::DW_LANG_Fortran08)), "solve");
        assert_eq!(demangled("solve__", Some(gimli::DW_LANG_Fortran08)), "solve__");
        assert_eq!(demangled("solve_", Some(gimli::DW_LANG_C11)), "solve_");
        assert_eq!(demangled("solve_", None), "solve_");
    }
}
