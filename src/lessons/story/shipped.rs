//! The stories that ship.

use super::Story;

// `PLACE-ID.json` each, in the order in which they are listed.
members::texts_of_folder!("src/lessons/stories", json);

/// Returns all stories that ship. A test holds that each can be read.
pub fn shipped() -> Vec<Story> {
    TEXTS.iter().filter_map(|file| Story::read(file).ok()).collect()
}

/// Returns the story of that name; `None` where none has it.
pub fn story(id: &str) -> Option<Story> {
    shipped().into_iter().find(|story| story.id == id)
}

#[cfg(test)]
mod tests {
    use super::{Story, TEXTS};

    #[test]
    fn every_file_is_a_story() {
        for file in TEXTS {
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
