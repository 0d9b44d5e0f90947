//! Questions that wait for their answers.

use super::wire::Request;

/// Of each kind the last question alone, in the order they came: the page drops the answers to
/// those before, so they are not worked out. Without this, someone who changes the scenario faster
/// than it is answered would wait for every change in between.
#[derive(Debug, Default)]
pub struct Questions(Vec<Request>);

impl Questions {
    /// Takes a question of the page.
    pub fn add(&mut self, request: Request) {
        self.0.retain(|other| other.question.what() != request.question.what());
        self.0.push(request);
    }

    /// The next one to answer.
    pub fn take(&mut self) -> Option<Request> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }
}

#[cfg(test)]
mod tests {
    use super::Questions;
    use crate::units::MemoryUnit;
    use crate::worker::question::WorkerQuestion;
    use crate::worker::wire::Request;

    #[test]
    fn of_each_kind_the_last_is_answered() {
        let mut questions = Questions::default();
        for (number, question) in [
            (1, WorkerQuestion::Timeline),
            (2, WorkerQuestion::Methods),
            (3, WorkerQuestion::Timeline),
            (4, WorkerQuestion::Device),
        ] {
            questions.add(Request {
                number,
                unit: MemoryUnit::Gib,
                fragment: String::new(),
                question,
            });
        }
        let answered: Vec<u32> =
            std::iter::from_fn(|| questions.take()).map(|request| request.number).collect();
        assert_eq!(answered, [2, 3, 4]);
        assert_eq!(questions.take(), None);
    }
}
