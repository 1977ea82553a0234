//! `through traffic --graph`: drawings of processes and of devices, as Graphviz and JSON.

use std::collections::{BTreeMap, BTreeSet};

use insta::assert_snapshot;
use rusqlite::Connection;
use serde_json::Value;

use crate::common::Folder;
use crate::layers::layered;

/// Words of DOT: names in quotes without them, and what stands between.
fn words(dot: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = dot.chars().peekable();
    while let Some(first) = rest.next() {
        match first {
            '"' => {
                let mut text = String::from("\"");
                loop {
                    match rest.next().expect("a string ends") {
                        '"' => break,
                        '\\' => text.extend(['\\', rest.next().expect("an escape is whole")]),
                        other => text.push(other),
                    }
                }
                words.push(text);
            }
            '-' if rest.next_if_eq(&'>').is_some() => words.push("->".to_owned()),
            '{' | '}' | '[' | ']' | '=' | ';' | ',' => words.push(first.to_string()),
            space if space.is_whitespace() => {}
            letter => {
                let mut word = String::from(letter);
                while let Some(next) = rest.next_if(|next| next.is_alphanumeric() || "_.".contains(*next)) {
                    word.push(next);
                }
                assert!(word.chars().all(|next| next.is_ascii_alphanumeric() || "_.".contains(next)), "{word:?}");
                words.push(word);
            }
        }
    }
    words
}

/// The nodes and edges of a drawing, which must be well-formed: statements of the kinds that are drawn, and nothing else.
fn parsed(dot: &str) -> (BTreeSet<String>, Vec<(String, String)>) {
    let words = words(dot);
    let (mut nodes, mut edges, mut depth) = (BTreeSet::new(), Vec::new(), 0);
    assert_eq!(words[..3], ["digraph", "commsee", "{"]);
    let mut at = 2;
    while at < words.len() {
        match words[at].as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "subgraph" => at += 1,
            _ => {
                let end = at + words[at..].iter().position(|word| word == ";").expect("a statement ends");
                match &words[at..end] {
                    [name, equals, _] if equals == "=" && !name.starts_with('"') => {}
                    [name, open, .., close] if open == "[" && close == "]" => {
                        if let Some(name) = name.strip_prefix('"') {
                            nodes.insert(name.to_owned());
                        }
                    }
                    [from, arrow, to, open, .., close] if arrow == "->" && open == "[" && close == "]" => {
                        edges.push((from[1..].to_owned(), to[1..].to_owned()));
                    }
                    other => panic!("no statement: {other:?}"),
                }
                at = end;
            }
        }
        at += 1;
    }
    assert_eq!(depth, 0);
    for (from, to) in &edges {
        assert!(nodes.contains(from) && nodes.contains(to), "{from} -> {to}");
    }
    (nodes, edges)
}

/// `from > to transport bytes calls`, and the kinds of the nodes.
fn drawn(folder: &Folder, words: &[&str]) -> (BTreeSet<String>, BTreeMap<String, String>) {
    let document = folder.through(&[&["traffic", "--graph", "--format", "json"], words].concat()).json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let nodes = document["nodes"].as_array().unwrap().iter();
    let kinds: BTreeMap<String, String> =
        nodes.map(|node| (text(&node["id"]), format!("{}@{}", text(&node["kind"]), text(&node["host"])))).collect();
    let edges = document["edges"].as_array().unwrap().iter().map(|edge| {
        assert!(kinds.contains_key(&text(&edge["from"])) && kinds.contains_key(&text(&edge["to"])));
        let (from, to, transport) = (text(&edge["from"]), text(&edge["to"]), text(&edge["transport"]));
        format!("{from} > {to} {transport} {} {}", edge["bytes"], edge["calls"])
    });
    (edges.collect(), kinds)
}

fn set(lines: &[&str]) -> BTreeSet<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn the_graph_of_processes_looks_like_this() {
    assert_snapshot!(layered().through(&["traffic", "--graph", "--layer", "ucp"]).ok());
}

#[test]
fn the_graph_of_devices_looks_like_this() {
    assert_snapshot!(layered().through(&["traffic", "--graph", "--by", "device", "--comm", "row,W0.0"]).ok());
}

#[test]
fn processes_are_drawn_by_transport() {
    let folder = layered();
    let (edges, kinds) = drawn(&folder, &[]);
    assert_eq!(edges, set(&["rank 0 > rank 1  1000 10", "rank 1 > rank 2  2000 20", "rank 3 > other world  7 1"]));
    assert_eq!(kinds["rank 3"], "process@node1");
    let (edges, _) = drawn(&folder, &["--layer", "ucp", "--rank", "0"]);
    assert_eq!(edges, set(&["rank 0 > rank 1 posix 1000 10", "rank 0 > rank 2  12288 3"]));
}

#[test]
fn a_network_is_three_hops_and_memory_two() {
    let folder = layered();
    let (edges, kinds) = drawn(&folder, &["--by", "device", "--comm", "W0.0"]);
    assert_eq!(
        edges,
        set(&[
            "rank 0 > memory memory of node0 posix 1080 10",
            "memory memory of node0 > rank 1 posix 1080 10",
            "rank 1 > network eth0 of node0 tcp 2160 20",
            "network eth0 of node0 > network eth0 of node1 tcp 2160 20",
            "network eth0 of node1 > rank 2 tcp 2160 20",
        ])
    );
    assert_eq!(kinds["network eth0 of node1"], "network@node1");
    assert_eq!(kinds["memory memory of node0"], "memory@node0");
    // Rank 2 used two devices of that transport, rank 0 one, which is therefore its own.
    let (edges, _) = drawn(&folder, &["--by", "device", "--comm", "row", "--protocol", "rndv-get,control"]);
    let get = "network mlx5_1:1 of node1 > network mlx5_0:1 of node0 rc_mlx5 12288 3";
    let control = "network mlx5_0:1 of node0 > network mlx5_0:1 of node1 rc_mlx5 192 3";
    assert!(edges.contains(get) && edges.contains(control), "{edges:#?}");
    // Where nothing tells the peer's device it is not made up.
    let db = Connection::open(folder.path("ucx.db")).unwrap();
    db.execute_batch("DELETE FROM transfer WHERE rank = 0").unwrap();
    drop(db);
    let (edges, _) = drawn(&folder, &["--by", "device", "--device", "mlx5_1:1"]);
    assert!(edges.contains("network mlx5_1:1 of node1 > network mlx5_0:1 of node0 rc_mlx5 12288 3"), "{edges:#?}");
    let db = Connection::open(folder.path("ucx.db")).unwrap();
    db.execute_batch("DELETE FROM transfer WHERE rank = 1 AND way IN (SELECT id FROM way WHERE transport = 'rc_mlx5')")
        .unwrap();
    drop(db);
    let (edges, _) = drawn(&folder, &["--by", "device", "--device", "mlx5_1:1"]);
    assert!(edges.contains("network mlx5_1:1 of node1 > network ? of node0 rc_mlx5 12288 3"), "{edges:#?}");
    // Whom the rest went to is not known, or is nobody of this world.
    let (edges, kinds) = drawn(&folder, &["--by", "device", "--comm", "-", "--rank", "3"]);
    assert!(edges.contains("network eth0 of node1 > ? tcp 200 1"), "{edges:#?}");
    assert!(edges.contains("network eth0 of node1 > other world tcp 100 1"), "{edges:#?}");
    assert_eq!((kinds["?"].as_str(), kinds["other world"].as_str()), ("unknown@", "other world@"));
}

#[test]
fn gpus_and_a_process_itself_are_drawn() {
    let folder = layered();
    let db = Connection::open(folder.path("ucx.db")).unwrap();
    db.execute_batch(
        "UPDATE way SET kind = 'gpu', device = 'GPU0' WHERE layer = 'uct' AND transport = 'tcp'; \
         UPDATE way SET kind = 'self' WHERE layer = 'uct' AND transport = 'posix'; UPDATE transfer SET peer = rank WHERE way = \
         (SELECT id FROM way WHERE layer = 'uct' AND transport = 'posix' AND protocol = 'eager')",
    )
    .unwrap();
    drop(db);
    let (edges, kinds) = drawn(&folder, &["--by", "device", "--comm", "W0.0"]);
    assert_eq!(
        edges,
        set(&[
            "rank 0 > rank 0 posix 1080 10",
            "rank 1 > gpu GPU0 of node0 tcp 2160 20",
            "gpu GPU0 of node0 > rank 2 tcp 2160 20"
        ])
    );
    assert_eq!(kinds["gpu GPU0 of node0"], "gpu@node0");
}

#[test]
fn drawings_are_well_formed_and_say_what_json_says() {
    let folder = layered();
    for words in [
        &[][..],
        &["--layer", "ucp"],
        &["--layer", "uct"],
        &["--layer", "uct-rx"],
        &["--by", "device"],
        &["--by", "device", "--rank", "1"],
        &["--by", "device", "--top", "3"],
    ] {
        let (nodes, edges) = parsed(&folder.through(&[&["traffic", "--graph"], words].concat()).ok());
        let (in_json, kinds) = drawn(&folder, words);
        assert_eq!((nodes.len(), edges.len()), (kinds.len(), in_json.len()), "{words:?}");
        assert!(!edges.is_empty());
    }
    assert_eq!(parsed(&folder.through(&["traffic", "--format", "dot", "--layer", "ucp"]).ok()).1.len(), 5);
    let shortened = folder.through(&["traffic", "--graph", "--layer", "ucp", "--top", "3"]).ok();
    assert!(shortened.contains("without 2 edges of 2.93 KiB in all"), "{shortened}");
}

#[test]
fn names_cannot_break_out_of_a_drawing() {
    let folder = layered();
    let db = Connection::open(folder.path("ucx.db")).unwrap();
    for hostile in
        ["\"];evil[label=\"", "back\\", "\\\"", "\\N\\G", "two\r\nlines\0", "\u{1b}[31m\u{202e}", "<b>bold</b>", ""]
    {
        db.execute("UPDATE process SET host = ?1 || rank / 2", [hostile]).unwrap();
        db.execute("UPDATE way SET device = ?1, transport = ?1 WHERE kind = 'network'", [hostile]).unwrap();
        db.execute("UPDATE note SET text = ?1 || ranks", [hostile]).unwrap();
        for words in [
            &["traffic", "--graph", "--by", "device"][..],
            &["traffic", "--graph", "--layer", "uct"],
            &["traffic", "--format=dot"],
        ] {
            let dot = folder.through(words).ok();
            let (nodes, _) = parsed(&dot);
            assert!(!nodes.contains("evil") && nodes.contains("rank 0"), "{hostile:?}: {dot}");
            assert!(dot.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{hostile:?}: {dot}");
            // Where Graphviz is installed it has the last word.
            let mut dot_command = std::process::Command::new("dot");
            std::fs::write(folder.path("a.dot"), &dot).unwrap();
            if let Ok(output) = dot_command.arg("-Tdot").arg(folder.path("a.dot")).output() {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            }
        }
    }
}
