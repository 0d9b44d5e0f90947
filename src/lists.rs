//! How lists are made whose members are files: optimizers, ways of sharding, serving engines and
//! software stacks.
//!
//! Macros, which the rooms of these lists use without an import, so that no room stands between
//! them.

/// The specifications of a list in the order of their `place`, which lists and forms follow. The
/// compiler runs it: an insertion sort, of which the program holds only the result.
macro_rules! in_order_of_place {
    ($specs:expr) => {{
        let mut sorted = $specs;
        let mut end = 1;
        while end < sorted.len() {
            let mut at = end;
            while at > 0 && sorted[at].place < sorted[at - 1].place {
                (sorted[at - 1], sorted[at]) = (sorted[at], sorted[at - 1]);
                at -= 1;
            }
            end += 1;
        }
        sorted
    }};
}

/// The index of the first specification for which that holds. If it holds for none, the search runs
/// past the list, which the compiler reports.
macro_rules! first_where {
    ($specs:expr, $spec:ident => $holds:expr) => {{
        let mut at = 0;
        loop {
            let $spec = $specs[at];
            if $holds {
                break at;
            }
            at += 1;
        }
    }};
}

/// A type whose values are the members of a list: a reference to a specification, told apart by its
/// `place` and written as its `key`.
///
/// The macro expects `MEMBERS` of `members::of_folder!` beside it. The words in quotes name the
/// kind of members in errors.
macro_rules! reference_to_member {
    ($(#[$about:meta])* $name:ident: $spec:ident, $kind:literal) => {
        $(#[$about])*
        #[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
        #[serde(into = "&'static str", try_from = "String")]
        pub struct $name(&'static $spec);

        impl $name {
            /// The specification of each member, in the order of lists.
            pub const SPECS: [&'static $spec; MEMBERS.len()] = in_order_of_place!(MEMBERS);

            /// Every member, in the order of lists.
            pub const ALL: [Self; MEMBERS.len()] = {
                let mut all = [Self(Self::SPECS[0]); MEMBERS.len()];
                let mut at = 0;
                while at < all.len() {
                    all[at] = Self(Self::SPECS[at]);
                    at += 1;
                }
                all
            };

            /// Its word in links and forms.
            pub const fn key(self) -> &'static str {
                self.0.key
            }

            /// The member with that key; `None` where there is none.
            pub fn named(key: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|member| member.0.key == key)
            }
        }

        impl std::ops::Deref for $name {
            type Target = $spec;

            fn deref(&self) -> &$spec {
                self.0
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.0.place == other.0.place
            }
        }

        impl Eq for $name {}

        impl std::hash::Hash for $name {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                state.write_usize(self.0.place);
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.0.key)
            }
        }

        impl From<$name> for &'static str {
            fn from(member: $name) -> Self {
                member.0.key
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(key: String) -> Result<Self, String> {
                Self::named(&key).ok_or_else(|| format!("there is no {} “{key}”", $kind))
            }
        }
    };
}
