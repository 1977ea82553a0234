//! The modules of a crate, as its files declare them, with what each defines and brings into scope.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, ItemMod, ItemUse, Macro, Meta, UseTree, Visibility};

pub type ModuleId = usize;

pub struct Module {
    pub name: String,
    pub parent: Option<ModuleId>,
    pub children: HashMap<String, ModuleId>,
    /// It has modules in files of their own: a folder.
    pub is_folder: bool,
    defined: HashSet<String>,
    names: HashMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
}

/// A path that a file names.
pub struct Reference {
    pub from: ModuleId,
    pub file: PathBuf,
    pub line: usize,
    pub path: Vec<String>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Import,
    /// `pub use`: others may need the name, the module itself does not.
    HandedOn,
    InCode,
}

pub struct Crate {
    pub modules: Vec<Module>,
    pub references: Vec<Reference>,
}

impl Crate {
    /// Reads a crate from its root file: `lib.rs`, `main.rs` or a build script.
    pub fn read(root: &Path) -> Crate {
        let mut read = Crate { modules: Vec::new(), references: Vec::new() };
        read.file("crate", None, root, root.parent().expect("a file in a folder").to_path_buf());
        read
    }

    fn add(&mut self, name: &str, parent: Option<ModuleId>) -> ModuleId {
        let id = self.modules.len();
        if let Some(parent) = parent {
            self.modules[parent].children.insert(name.to_owned(), id);
        }
        self.modules.push(Module {
            name: name.to_owned(),
            parent,
            children: HashMap::new(),
            is_folder: false,
            defined: HashSet::new(),
            names: HashMap::new(),
            globs: Vec::new(),
        });
        id
    }

    fn file(&mut self, name: &str, parent: Option<ModuleId>, path: &Path, folder: PathBuf) {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| {
            panic!("{}:{}: {error}", path.display(), error.span().start().line);
        });
        if parsed.attrs.iter().any(is_for_tests) {
            return;
        }
        let module = self.add(name, parent);
        self.items(module, &parsed.items, path, &folder);
    }

    fn items(&mut self, module: ModuleId, items: &[Item], file: &Path, folder: &Path) {
        for item in items {
            if attributes(item).iter().any(is_for_tests) {
                continue;
            }
            if let Some(name) = name_of(item) {
                self.modules[module].defined.insert(name);
            }
            match item {
                Item::Mod(inner) => self.module(module, inner, file, folder),
                _ => Reader { house: self, module, file }.visit_item(item),
            }
        }
    }

    fn module(&mut self, parent: ModuleId, item: &ItemMod, file: &Path, folder: &Path) {
        let name = item.ident.unraw().to_string();
        if let Some((_, items)) = &item.content {
            let module = self.add(&name, Some(parent));
            self.items(module, items, file, &folder.join(&name));
            return;
        }
        self.modules[parent].is_folder = true;
        let given = item.attrs.iter().find_map(path_of);
        let own = match given {
            Some(path) => file.parent().expect("a file in a folder").join(path),
            None => [folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")]
                .into_iter()
                .find(|path| path.exists())
                .unwrap_or_else(|| panic!("{}: no file for `mod {name}`", file.display())),
        };
        self.file(&name, Some(parent), &own, folder.join(&name));
    }

    /// Where a module lies below the crate's root, from the root on.
    pub fn route(&self, module: ModuleId) -> Vec<ModuleId> {
        let mut route = vec![module];
        while let Some(parent) = self.modules[*route.last().unwrap()].parent {
            route.push(parent);
        }
        route.reverse();
        route
    }

    /// Whether a module needs what it names there: not if it only hands it on, nor if the `use` of the path's first name told already.
    pub fn needs(&self, reference: &Reference) -> bool {
        match reference.kind {
            Kind::Import => true,
            Kind::HandedOn => false,
            Kind::InCode => !self.modules[reference.from].names.contains_key(&reference.path[0]),
        }
    }

    /// The module that a path leads to: that of the item which it names in the end, wherever it is handed on.
    /// `None` where it leads out of the crate.
    pub fn resolve(&self, from: ModuleId, path: &[String]) -> Option<ModuleId> {
        self.follow(from, path, 0).map(|found| found.module)
    }

    fn follow(&self, from: ModuleId, path: &[String], depth: usize) -> Option<Found> {
        if depth > 16 {
            return None;
        }
        let (mut at, mut rest) = match path.first()?.as_str() {
            "crate" => (0, &path[1..]),
            "self" => (from, &path[1..]),
            "super" => (self.modules[from].parent?, &path[1..]),
            first => {
                let known = &self.modules[from];
                if !known.children.contains_key(first) && !known.names.contains_key(first) {
                    return None;
                }
                (from, path)
            }
        };
        while let Some(name) = rest.first() {
            let here = &self.modules[at];
            if name == "super" {
                at = here.parent?;
            } else if name == "*" || name == "self" {
                return Some(Found { module: at, is_module: true, is_known: true });
            } else if let Some(&child) = here.children.get(name) {
                at = child;
            } else if here.defined.contains(name) {
                return Some(Found { module: at, is_module: false, is_known: true });
            } else if let Some(meant) = here.names.get(name) {
                let found = self.follow(at, meant, depth + 1)?;
                if !found.is_module {
                    return Some(found);
                }
                at = found.module;
            } else {
                let through_glob = here.globs.iter().find_map(|glob| {
                    let target =
                        self.follow(at, glob, depth + 1).filter(|found| found.is_module && found.module != at)?;
                    let mut longer = vec!["self".to_owned()];
                    longer.extend_from_slice(rest);
                    self.follow(target.module, &longer, depth + 1).filter(|found| found.is_known)
                });
                // Else it is made by a macro, or of a type of another crate.
                return Some(through_glob.unwrap_or(Found { module: at, is_module: false, is_known: false }));
            }
            rest = &rest[1..];
        }
        Some(Found { module: at, is_module: true, is_known: true })
    }
}

struct Found {
    module: ModuleId,
    is_module: bool,
    is_known: bool,
}

/// Collects the paths of one file.
struct Reader<'a> {
    house: &'a mut Crate,
    module: ModuleId,
    file: &'a Path,
}

impl Reader<'_> {
    fn refer(&mut self, line: usize, path: Vec<String>, kind: Kind) {
        self.house.references.push(Reference { from: self.module, file: self.file.to_path_buf(), line, path, kind });
    }

    fn import(&mut self, tree: &UseTree, before: &[String], kind: Kind) {
        let with = |name: String| before.iter().cloned().chain([name]).collect::<Vec<String>>();
        let (line, path, called) = match tree {
            UseTree::Path(path) => return self.import(&path.tree, &with(path.ident.unraw().to_string()), kind),
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.import(tree, before, kind)),
            UseTree::Name(name) => {
                let own = name.ident.unraw().to_string();
                let called = if own == "self" { before.last().cloned() } else { Some(own.clone()) };
                (name.ident.span().start().line, if own == "self" { before.to_vec() } else { with(own) }, called)
            }
            UseTree::Rename(new) => {
                let own = new.ident.unraw().to_string();
                let path = if own == "self" { before.to_vec() } else { with(own) };
                (new.ident.span().start().line, path, Some(new.rename.unraw().to_string()))
            }
            UseTree::Glob(glob) => (glob.star_token.spans[0].start().line, with("*".to_owned()), None),
        };
        let scope = &mut self.house.modules[self.module];
        match called {
            // A name that means itself (`use libc`) leads nowhere else.
            Some(called) if path.len() > 1 => drop(scope.names.insert(called, path.clone())),
            Some(_) => {}
            None => scope.globs.push(before.to_vec()),
        }
        self.refer(line, path, kind);
    }

    /// What is inside a macro is no syntax yet: of its words, those that begin a path count.
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(ident) if ["crate", "super", "self"].iter().any(|word| ident == word) => {
                    at = self.path_in(&tokens, at, &[]);
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
    }

    fn path_in(&mut self, tokens: &[TokenTree], start: usize, before: &[String]) -> usize {
        let mut path = before.to_vec();
        let mut at = start;
        let line = tokens.get(start).map_or(0, |token| token.span().start().line);
        while let Some(TokenTree::Ident(ident)) = tokens.get(at) {
            path.push(ident.unraw().to_string());
            at += 1;
            let colons = tokens.get(at..at + 2).is_some_and(|two| two.iter().all(is_colon));
            if !colons {
                break;
            }
            at += 2;
            if let Some(TokenTree::Group(list)) = tokens.get(at) {
                let inner: Vec<TokenTree> = list.stream().into_iter().collect();
                let mut from = 0;
                while from < inner.len() {
                    let ended = self.path_in(&inner, from, &path);
                    from = ended.max(from) + 1;
                }
                return at + 1;
            }
        }
        if path.len() > 1 {
            self.refer(line, path, Kind::InCode);
        }
        at.max(start + 1)
    }
}

fn is_colon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(point) if point.as_char() == ':')
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !attributes(item).iter().any(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes: &[Attribute] = match item {
            ImplItem::Fn(function) => &function.attrs,
            ImplItem::Const(constant) => &constant.attrs,
            _ => &[],
        };
        if !attributes.iter().any(is_for_tests) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let kind = if matches!(item.vis, Visibility::Inherited) { Kind::Import } else { Kind::HandedOn };
        if item.leading_colon.is_none() {
            self.import(&item.tree, &[], kind);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() && path.segments.len() > 1 {
            let line = path.segments[0].ident.span().start().line;
            self.refer(
                line,
                path.segments.iter().map(|segment| segment.ident.unraw().to_string()).collect(),
                Kind::InCode,
            );
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone());
    }

    // `pub(in crate::a)` needs nothing of a.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

fn name_of(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(ident.unraw().to_string())
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]`, alone or as one condition of `all`.
fn is_for_tests(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    let tokens: Vec<TokenTree> = list.tokens.clone().into_iter().collect();
    let all = match tokens.as_slice() {
        [TokenTree::Ident(word), TokenTree::Group(inner)] if word == "all" => inner.stream().into_iter().collect(),
        _ => tokens,
    };
    list.path.is_ident("cfg") && all.iter().any(|token| matches!(token, TokenTree::Ident(word) if word == "test"))
}

/// `#[path = "…"]`.
fn path_of(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) = &pair.value else { return None };
    attribute.path().is_ident("path").then(|| path.value())
}
