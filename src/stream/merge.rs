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
        (0..merge.sources.len()).for_each(|index| merge.refill(index));
        merge
    }

    fn refill(&mut self, index: usize) {
        if let Some(item) = self.sources[index].next() {
            self.heads.push((item.sort_key(), index, item));
        }
    }

    /// The position of the item that comes next: there are few sources, the levels of a tree.
    fn least(&self) -> Option<usize> {
        let heads = self.heads.iter().enumerate();
        heads.min_by(|(_, (a, i, _)), (_, (b, j, _))| (a, i).cmp(&(b, j))).map(|(position, _)| position)
    }

    fn take(&mut self, position: usize) -> (SortKey, Item) {
        let (key, index, item) = self.heads.swap_remove(position);
        self.refill(index);
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
