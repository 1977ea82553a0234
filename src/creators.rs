//! The letters that begin a communicator's name: which call made it.

use crate::calls::CALLS;

/// `MPI_COMM_WORLD`.
pub const WORLD: char = 'W';
/// `MPI_COMM_SELF`; there is one per process.
pub const SELF: char = 'S';
/// A communicator that was first seen in use: a library made it behind the profiler's back.
pub const FOREIGN: char = 'x';
/// A communicator to the processes that spawned this world.
pub const PARENTS: char = 'e';

/// The function (or predefined communicator) that a letter stands for, or `None` for a letter that stands for nothing.
pub fn origin(letter: char) -> Option<&'static str> {
    match letter {
        WORLD => Some("MPI_COMM_WORLD"),
        SELF => Some("MPI_COMM_SELF"),
        FOREIGN => Some("unknown"),
        _ => CALLS.iter().find(|call| call.letter == Some(letter)).map(|call| call.name),
    }
}

/// Every letter with what it stands for.
pub fn all() -> impl Iterator<Item = (char, &'static str)> {
    let made = CALLS.iter().filter_map(|call| Some((call.letter?, call.name)));
    [WORLD, SELF, FOREIGN].into_iter().filter_map(|letter| Some((letter, origin(letter)?))).chain(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_the_field() {
        let expected = [
            ('a', "MPI_Cart_create"),
            ('b', "MPI_Cart_sub"),
            ('c', "MPI_Comm_create"),
            ('d', "MPI_Comm_dup"),
            ('g', "MPI_Dist_graph_create"),
            ('i', "MPI_Comm_idup"),
            ('j', "MPI_Dist_graph_create_adjacent"),
            ('o', "MPI_Comm_idup_with_info"),
            ('r', "MPI_Graph_create"),
            ('s', "MPI_Comm_split"),
            ('t', "MPI_Comm_split_type"),
            ('u', "MPI_Comm_create_group"),
            ('W', "MPI_COMM_WORLD"),
            (PARENTS, "MPI_Comm_get_parent"),
        ];
        expected.into_iter().for_each(|(letter, name)| assert_eq!(origin(letter), Some(name)));
        assert_eq!(origin('?'), None);
    }
}
