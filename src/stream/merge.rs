//! Several streams as one.

use super::item::{Item, SortKey};

/// A stream: items whose sort keys ascend.
pub trait Source {
    fn next(&mut self) -> Option<Item>;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next(&mut self) -> Option<Item> {
        (**self).next()
    }
}

/// Merges streams; items of one key become one. It holds one item of each stream.
pub struct Merge<S> {
    sources: Vec<S>,
    /// The next item of each source that has one, with the source's index.
    heads: Vec<(SortKey, usize, Item)>,
}

impl<S: Source> Merge<S> {
    pub fn new(sources: Vec<S>) -> Merge<S> {
        let mut merge = Merge { heads: Vec::with_capacity(sources.len()), sources };
        let firsts = merge.sources.iter_mut().enumerate().filter_map(|(index, source)| Some((index, source.next()?)));
        merge.heads.extend(firsts.map(|(index, item)| (item.sort_key(), index, item)));
        merge
    }

    /// The position of the item that comes next: there are few sources, the levels of a tree.
    fn least(&self) -> Option<usize> {
        let heads = self.heads.iter().enumerate();
        heads.min_by(|(_, (a, i, _)), (_, (b, j, _))| (a, i).cmp(&(b, j))).map(|(position, _)| position)
    }

    /// The next item of its source takes its place.
    fn take(&mut self, position: usize) -> (SortKey, Item) {
        let head = &mut self.heads[position];
        let (key, _, item) = match self.sources[head.1].next() {
            Some(next) => std::mem::replace(head, (next.sort_key(), head.1, next)),
            None => self.heads.swap_remove(position),
        };
        (key, item)
    }
}

impl<S: Source> Source for Merge<S> {
    fn next(&mut self) -> Option<Item> {
        let (key, mut item) = self.take(self.least()?);
        while let Some(position) = self.least().filter(|position| self.heads[*position].0 == key) {
            item.add(self.take(position).1);
        }
        Some(item)
    }
}
