//! Sorts short lists.

/// Sorts a list of a few hundred elements at most; elements of equal rank keep their order.
///
/// `before` tells if its first element must stand before its second. Insertion sort, quadratic in
/// the length: for some dozens of elements it is as quick as the library's sort, of which every use
/// would add three kilobytes to the page's program.
///
/// ```
/// let mut words = ["pear", "fig", "date", "kiwi"];
/// headroom::units::sort_short(&mut words, |a, b| a.len() < b.len());
/// assert_eq!(words, ["fig", "pear", "date", "kiwi"]);
/// ```
pub fn sort_short<T>(list: &mut [T], before: impl Fn(&T, &T) -> bool) {
    for end in 1..list.len() {
        let mut at = end;
        while at > 0 && matches!(list.get(at - 1..=at), Some([left, right]) if before(right, left))
        {
            list.swap(at - 1, at);
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sort_short;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_sorts_as_the_library_does(list in prop::collection::vec((0_u8..9, any::<u8>()), 0..60)) {
            let (mut ours, mut theirs) = (list.clone(), list);
            sort_short(&mut ours, |a, b| a.0 < b.0);
            theirs.sort_by_key(|element| element.0);
            prop_assert_eq!(ours, theirs);
        }
    }
}
