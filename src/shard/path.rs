//! What is kept of the paths under which a program opens files.

use super::FILE_NAME_BYTES;

/// What a path may begin with to tell ROMIO how to reach the file (`adio/common/ad_fstype.c`).
const PREFIXES: [&str; 21] = [
    "bg",
    "bgl",
    "bglockless",
    "daos",
    "gpfs",
    "gridftp",
    "hfs",
    "ime",
    "lustre",
    "nfs",
    "panfs",
    "pfs",
    "piofs",
    "pvfs",
    "pvfs2",
    "quobyte",
    "sfs",
    "testfs",
    "ufs",
    "xfs",
    "zoidfs",
];

/// The path itself.
pub fn without_prefix(path: &[u8]) -> &[u8] {
    let colon = path.iter().position(|byte| *byte == b':');
    let is_prefix = |prefix: &[u8]| PREFIXES.iter().any(|known| prefix.eq_ignore_ascii_case(known.as_bytes()));
    match colon {
        Some(at) if is_prefix(&path[..at]) => &path[at + 1..],
        _ => path,
    }
}

/// What the profile says of a path: all of it, or its last component. Of what is too long, its end.
pub fn kept(path: &str, is_whole: bool) -> String {
    let last = || path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let wanted = if is_whole { path } else { last() };
    if wanted.len() < FILE_NAME_BYTES {
        return wanted.to_owned();
    }
    let mut from = wanted.len() - (FILE_NAME_BYTES - 1 - '…'.len_utf8());
    while !wanted.is_char_boundary(from) {
        from += 1;
    }
    format!("…{}", &wanted[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_go_away_and_times_stay() {
        assert_eq!(without_prefix(b"ufs:/scratch/a"), b"/scratch/a");
        assert_eq!(without_prefix(b"PVFS2:a"), b"a");
        assert_eq!(without_prefix(b"run-12:30:00"), b"run-12:30:00");
        assert_eq!(without_prefix(b"c:a"), b"c:a");
    }

    #[test]
    fn the_last_component_is_kept() {
        let last = |path| kept(path, false);
        assert_eq!(["/a/b/c", "c", "/a/c/", "./c", ""].map(last), ["c", "c", "c", "c", ""]);
        assert_eq!(kept("/a/c/", true), "/a/c/");
        let long = "ü".repeat(FILE_NAME_BYTES);
        for cut in [last(&format!("/a/{long}")), kept(&format!("/a/{long}"), true)] {
            assert!(cut.len() < FILE_NAME_BYTES && cut.starts_with("…ü") && cut.len() > FILE_NAME_BYTES - 4, "{cut}");
        }
    }
}
