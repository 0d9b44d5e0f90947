//! The stories that ship.

use super::Story;

/// Their files, in the order in which they are listed.
const FILES: [&str; 8] = [
    include_str!("../stories/924-to-8.json"),
    include_str!("../stories/sixteen-bytes.json"),
    include_str!("../stories/square-wall.json"),
    include_str!("../stories/step-two.json"),
    include_str!("../stories/zero.json"),
    include_str!("../stories/three-cuts.json"),
    include_str!("../stories/keys-and-values.json"),
    include_str!("../stories/five-documents.json"),
];

/// Returns all stories that ship. A test holds that each can be read.
pub fn shipped() -> Vec<Story> {
    FILES.iter().filter_map(|file| Story::read(file).ok()).collect()
}

/// Returns the story of that name; `None` where none has it.
pub fn story(id: &str) -> Option<Story> {
    shipped().into_iter().find(|story| story.id == id)
}

#[cfg(test)]
mod tests {
    use super::{FILES, Story};

    #[test]
    fn every_file_is_a_story() {
        for file in FILES {
            let read = Story::read(file);
            assert!(
                read.is_ok(),
                "{:?} in {}",
                read.err(),
                file.chars().take(200).collect::<String>()
            );
        }
    }
}
