//! The difference between one finished HTML and the next, as the few steps that a browser has to
//! take.
//!
//! Both texts are the page's own, so every element is closed and every value stands in double
//! quotes. They are compared here, as text: the browser then touches only what differs, and keeps
//! focus, scroll and selection everywhere else.

/// Marks an element whose inside belongs to another part of the page, with the name of that part.
const OWN: &str = " data-own=\"";
/// Marks an element that keeps its identity when its neighbours come and go.
const KEY: &str = " data-key=\"";
/// The class of an element.
const CLASS: &str = " class=\"";
/// Shapes of a drawing. What kind of shape one is, its class says: a line of the grid becomes no
/// axis, and a label of one layer none of another, so that a drawing with one label less is one
/// removal and not a new text in every label after it.
const SHAPES: [&str; 6] = ["text", "polyline", "polygon", "rect", "path", "circle"];
/// Elements without content.
const VOID: [&str; 5] = ["input", "br", "hr", "img", "wbr"];

/// One step. Steps are taken in order from the element that both texts describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffStep<'a> {
    /// Go to that child.
    Down(u32),
    /// Go back to the parent.
    Up,
    /// Give the child with that number, a text, these letters; they are escaped.
    Text(u32, &'a str),
    /// Set an attribute; its value is escaped.
    Set(&'a str, &'a str),
    /// Take an attribute away.
    Unset(&'a str),
    /// Put this markup before the child with that number, or at the end.
    Insert(u32, &'a str),
    /// Take that child away.
    Remove(u32),
}

/// One node of a text, by its places in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    start: usize,
    /// Where the opening tag ends; the start for a text.
    open: usize,
    end: usize,
    /// The number of the node after this one and everything in it.
    next: usize,
}

/// A finished HTML with its nodes, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    text: String,
    nodes: Vec<Node>,
}

impl Tree {
    /// Reads a text.
    pub fn new(text: String) -> Self {
        let mut nodes: Vec<Node> = Vec::with_capacity(text.len() / 32);
        let mut above: Vec<usize> = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let (number, rest) = (nodes.len(), text.get(at..).unwrap_or_default());
            if !rest.starts_with('<') {
                let end = rest.find('<').map_or(text.len(), |length| at + length);
                nodes.push(Node { start: at, open: at, end, next: number + 1 });
                at = end;
                continue;
            }
            let end = at + tag_length(rest);
            let tag = text.get(at..end).unwrap_or_default();
            if tag.starts_with("</") {
                if let Some(node) = above.pop().and_then(|opened| nodes.get_mut(opened)) {
                    (node.end, node.next) = (end, number);
                }
            } else {
                nodes.push(Node { start: at, open: end, end, next: number + 1 });
                if !tag.ends_with("/>") && !VOID.contains(&name(tag)) {
                    above.push(number);
                }
            }
            at = end;
        }
        Self { text, nodes }
    }

    /// The text that was read.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn node(&self, number: usize) -> Node {
        self.nodes.get(number).copied().unwrap_or(Node {
            start: 0,
            open: 0,
            end: 0,
            next: usize::MAX,
        })
    }

    fn whole(&self, number: usize) -> &str {
        let node = self.node(number);
        self.text.get(node.start..node.end).unwrap_or_default()
    }

    /// The opening tag; nothing for a text.
    fn tag(&self, number: usize) -> &str {
        let node = self.node(number);
        self.text.get(node.start..node.open).unwrap_or_default()
    }

    /// The nodes directly inside one, or all outermost nodes.
    fn children(&self, parent: Option<usize>) -> Vec<usize> {
        let (first, end) =
            parent.map_or((0, self.nodes.len()), |parent| (parent + 1, self.node(parent).next));
        let mut numbers = Vec::new();
        let mut number = first;
        while number < end {
            numbers.push(number);
            number = self.node(number).next;
        }
        numbers
    }
}

/// Where the tag ends that a text begins with; values in quotes may hold anything.
pub(super) fn tag_length(text: &str) -> usize {
    let mut quoted = false;
    for (at, letter) in text.bytes().enumerate() {
        match letter {
            b'"' => quoted = !quoted,
            b'>' if !quoted => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The name in an opening tag.
pub(super) fn name(tag: &str) -> &str {
    let inside = tag.get(1..).unwrap_or_default();
    inside.split([' ', '>', '/']).next().unwrap_or_default()
}

/// The value of an attribute that is written with its space and its quote.
fn value<'a>(tag: &'a str, attribute: &str) -> Option<&'a str> {
    // Attributes begin with a space; a search for a text prepares more than it finds here.
    let spaces = tag.bytes().enumerate().filter(|(_, byte)| *byte == b' ');
    let (at, _) = spaces
        .into_iter()
        .find(|(at, _)| tag.get(*at..).is_some_and(|rest| rest.starts_with(attribute)))?;
    let rest = tag.get(at + attribute.len()..)?;
    rest.get(..rest.bytes().position(|byte| byte == b'"').unwrap_or(rest.len()))
}

/// The word that identifies an element among its neighbours, or a shape among those of other kinds.
fn identity(tag: &str) -> Option<&str> {
    if is_shape(tag) { value(tag, CLASS) } else { value(tag, OWN).or_else(|| value(tag, KEY)) }
}

fn is_shape(tag: &str) -> bool {
    SHAPES.contains(&name(tag))
}

/// The attributes of an opening tag with their values; one without value has an empty one.
pub(super) fn attributes(tag: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = tag.get(1 + name(tag).len()..).unwrap_or_default().trim_start();
    while let Some(end) = rest.find(['=', ' ', '>', '/']).filter(|end| *end > 0) {
        let (name, after) = rest.split_at(end);
        let (value, after) = after
            .strip_prefix("=\"")
            .and_then(|quoted| quoted.split_once('"'))
            .unwrap_or(("", after));
        found.push((name, value));
        rest = after.trim_start();
    }
    found
}

/// The steps that make an element like the first of `old` one like the first of `new`, with
/// everything in it.
pub fn element<'a>(old: &'a Tree, new: &'a Tree) -> Vec<DiffStep<'a>> {
    let mut diff = Diff { old, new, steps: Vec::new() };
    diff.element(0, 0);
    diff.steps
}

/// The steps that make an element's inside, which is all of `old`, all of `new`.
pub fn inside<'a>(old: &'a Tree, new: &'a Tree) -> Vec<DiffStep<'a>> {
    let mut diff = Diff { old, new, steps: Vec::new() };
    diff.children(None, None);
    diff.steps
}

struct Diff<'a> {
    old: &'a Tree,
    new: &'a Tree,
    steps: Vec<DiffStep<'a>>,
}

impl<'a> Diff<'a> {
    fn element(&mut self, old: usize, new: usize) {
        self.attributes(self.old.tag(old), self.new.tag(new));
        self.children(Some(old), Some(new));
    }

    fn attributes(&mut self, old: &'a str, new: &'a str) {
        if old == new {
            return;
        }
        let (had, wanted) = (attributes(old), attributes(new));
        for (name, value) in &wanted {
            if !had.contains(&(name, value)) {
                self.steps.push(DiffStep::Set(name, value));
            }
        }
        for (name, _) in had {
            // The browser sets `open` where the reader has opened something: it is no attribute of
            // ours.
            if name != "open" && !wanted.iter().any(|(wanted, _)| *wanted == name) {
                self.steps.push(DiffStep::Unset(name));
            }
        }
    }

    /// Goes through both lists in step; `at` is the number of the child that stands there by now.
    fn children(&mut self, old: Option<usize>, new: Option<usize>) {
        let (had, wanted) = (self.old.children(old), self.new.children(new));
        let (mut next, mut at) = (0, 0_u32);
        for (number, fresh) in wanted.iter().copied().enumerate() {
            // Most children stay as they are.
            if had.get(next).is_some_and(|have| self.old.whole(*have) == self.new.whole(fresh)) {
                (next, at) = (next + 1, at + 1);
                continue;
            }
            while let Some(have) = had.get(next).copied() {
                if !self.is_gone(have, &had, next, fresh) {
                    break;
                }
                self.steps.push(DiffStep::Remove(at));
                next += 1;
            }
            match had.get(next).copied() {
                Some(have) if self.is_same(have, fresh) => {
                    self.child(have, fresh, at);
                    next += 1;
                }
                Some(have) => {
                    self.steps.push(DiffStep::Insert(at, self.new.whole(fresh)));
                    // A child that may be wanted further on stays; any other is removed.
                    if !self.is_wanted(have, wanted.get(number..).unwrap_or_default()) {
                        self.steps.push(DiffStep::Remove(at + 1));
                        next += 1;
                    }
                }
                None => self.steps.push(DiffStep::Insert(at, self.new.whole(fresh))),
            }
            at += 1;
        }
        for _ in next..had.len() {
            self.steps.push(DiffStep::Remove(at));
        }
    }

    /// True if the child wanted stands further on, so that the one here goes.
    fn is_gone(&self, have: usize, had: &[usize], next: usize, fresh: usize) -> bool {
        let wanted = identity(self.new.tag(fresh));
        wanted.is_some()
            && identity(self.old.tag(have)) != wanted
            && had.iter().skip(next).any(|later| identity(self.old.tag(*later)) == wanted)
    }

    /// True if a child stays for what is wanted further on: a named one may, a shape does where its
    /// kind comes again.
    fn is_wanted(&self, have: usize, wanted: &[usize]) -> bool {
        let tag = self.old.tag(have);
        let named = identity(tag);
        named.is_some()
            && (!is_shape(tag)
                || wanted.iter().any(|later| identity(self.new.tag(*later)) == named))
    }

    /// True if the old element can become the new one: both have the same name and identity.
    fn is_same(&self, old: usize, new: usize) -> bool {
        let (old, new) = (self.old.tag(old), self.new.tag(new));
        name(old) == name(new) && identity(old) == identity(new)
    }

    fn child(&mut self, old: usize, new: usize, at: u32) {
        let (before, after) = (self.old.whole(old), self.new.whole(new));
        let tag = self.new.tag(new);
        // The inside of an element that belongs to another part stays as it is.
        if before == after || value(tag, OWN).is_some() {
            return;
        }
        if tag.is_empty() {
            self.steps.push(DiffStep::Text(at, after));
            return;
        }
        self.steps.push(DiffStep::Down(at));
        let known = self.steps.len();
        self.element(old, new);
        if self.steps.len() == known {
            self.steps.pop();
        } else {
            self.steps.push(DiffStep::Up);
        }
    }
}

/// The text with its escapes turned back into characters.
pub fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let (entity, behind) = after.split_once(';').unwrap_or((after, ""));
        out.push(match entity {
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#39" => '\'',
            "nbsp" => '\u{a0}',
            _ => '&',
        });
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::{DiffStep, OWN, Tree, attributes, element, inside, unescaped, value};
    use crate::planner::Axis;
    use crate::scenario::codec::decode;
    use crate::view::answers::Plots;
    use crate::view::markup::Html;
    use crate::view::panels::tests::answers;
    use crate::view::panels::{bar, controls, cost, curves, fixes, ledger, top_bar, verdict};
    use crate::view::ui::{ChartsLook, Opened, Ui};

    /// A page that takes the steps, as a browser does.
    #[derive(Clone, Debug, PartialEq)]
    enum Dom {
        Text(String),
        Element(String, Vec<(String, String)>, Vec<Dom>),
    }

    fn dom(tree: &Tree, parent: Option<usize>) -> Vec<Dom> {
        let children = tree.children(parent).into_iter();
        children
            .map(|number| match tree.tag(number) {
                "" => Dom::Text(unescaped(tree.whole(number))),
                tag => {
                    // Elements that the reader has opened stay open, whatever the text says.
                    let ours = attributes(tag).into_iter().filter(|(name, _)| *name != "open");
                    let mut list: Vec<_> =
                        ours.map(|(name, value)| (name.to_owned(), unescaped(value))).collect();
                    list.sort();
                    let own = value(tag, OWN).is_some() && parent.is_some();
                    Dom::Element(
                        super::name(tag).to_owned(),
                        list,
                        if own { Vec::new() } else { dom(tree, Some(number)) },
                    )
                }
            })
            .collect()
    }

    fn take(page: &mut Dom, steps: &[DiffStep]) {
        let mut path: Vec<usize> = Vec::new();
        for step in steps {
            let mut here = &mut *page;
            for at in &path {
                let Dom::Element(_, _, children) = here else { panic!("a text has no children") };
                here = &mut children[*at];
            }
            let Dom::Element(_, attributes, children) = here else {
                panic!("a text has no children")
            };
            match *step {
                DiffStep::Down(at) => path.push(at as usize),
                DiffStep::Up => _ = path.pop(),
                DiffStep::Text(at, text) => children[at as usize] = Dom::Text(unescaped(text)),
                DiffStep::Set("open", _) => {}
                DiffStep::Set(name, value) => {
                    attributes.retain(|(known, _)| known != name);
                    attributes.push((name.to_owned(), unescaped(value)));
                    attributes.sort();
                }
                DiffStep::Unset(name) => attributes.retain(|(known, _)| known != name),
                DiffStep::Insert(at, markup) => {
                    let made = dom(&Tree::new(markup.to_owned()), None);
                    assert_eq!(made.len(), 1, "{markup}");
                    children.splice(at as usize..at as usize, made);
                }
                DiffStep::Remove(at) => _ = children.remove(at as usize),
            }
        }
    }

    /// Checks the steps from one inside of an element to another, and counts them.
    fn becomes(old: &str, new: &str) -> usize {
        let (old, new) = (Tree::new(old.to_owned()), Tree::new(new.to_owned()));
        let steps = inside(&old, &new);
        let page = |tree: &Tree| Dom::Element(String::new(), Vec::new(), dom(tree, None));
        let mut shown = page(&old);
        take(&mut shown, &steps);
        assert_eq!(shown, page(&new), "{steps:?}");
        steps.len()
    }

    /// Checks the steps from one element to another.
    fn part_becomes(old: &Html, new: &Html) {
        let (old, new) = (Tree::new(old.as_str().to_owned()), Tree::new(new.as_str().to_owned()));
        let steps = element(&old, &new);
        let mut shown = dom(&old, None);
        take(&mut shown[0], &steps);
        assert_eq!(shown, dom(&new, None), "{steps:?}");
    }

    #[test]
    fn every_pair_of_texts_becomes_the_other() {
        let texts = [
            "",
            "plain",
            "<p>a</p>",
            "<p class=\"x\">a &amp; b</p>",
            "<p class=\"y\" hidden>a<b>c</b></p>tail",
            "<ul><li data-key=\"1\">one</li><li data-key=\"2\">two</li><li \
             data-key=\"3\">three</li></ul>",
            "<ul><li data-key=\"1\">one</li><li data-key=\"3\">drei</li></ul>",
            "<ul><li data-key=\"0\">zero</li><li data-key=\"2\">two</li><li \
             data-key=\"1\">one</li></ul>",
            "<ul><li data-key=\"3\">three</li>text<li>none</li><br><input value=\"a &gt; b\"></ul>",
            "<svg viewBox=\"0 0 1 1\"><path d=\"M0 0\"/><text>1</text></svg>",
            "<svg viewBox=\"0 0 2 2\"><path d=\"M0 1\"/><path d=\"M1 \
             1\"></path><text>2</text></svg>",
            "<div data-own=\"a\"></div><div data-own=\"b\"></div>",
            "<div data-own=\"b\"></div><p>x</p>",
        ];
        for old in texts {
            for new in texts {
                let steps = becomes(old, new);
                assert!(old != new || steps == 0);
            }
        }
    }

    #[test]
    fn a_changed_number_is_one_text_and_neighbours_stay() {
        let row = |key: &str, amount: &str| {
            format!("<tr data-key=\"{key}\"><th>{key}</th><td>{amount}</td></tr>")
        };
        let old = Tree::new(row("a", "1") + &row("b", "2"));
        let new = Tree::new(row("a", "1") + &row("new", "7") + &row("b", "3"));
        let inserted = row("new", "7");
        let wanted = [
            DiffStep::Insert(1, &inserted),
            DiffStep::Down(2),
            DiffStep::Down(1),
            DiffStep::Text(0, "3"),
            DiffStep::Up,
            DiffStep::Up,
        ];
        assert_eq!(inside(&old, &new), wanted);
    }

    #[test]
    fn what_belongs_to_others_and_what_is_open_stays() {
        let old = Tree::new(
            "<div data-own=\"r\" class=\"a\"><i data-own=\"x\" class=\"1\">old</i><details \
             open>a</details></div>"
                .to_owned(),
        );
        let new = Tree::new(
            "<div data-own=\"r\" class=\"b\"><i data-own=\"x\" \
             class=\"2\">new</i><details>a</details></div>"
                .to_owned(),
        );
        assert_eq!(element(&old, &new), [DiffStep::Set("class", "b")]);
    }

    #[test]
    fn every_part_of_the_page_follows_a_change() {
        let look = ChartsLook::default().of_curves();
        let of = |link: &str| {
            let (scenario, answers) = (decode(link).scenario, answers(link));
            let open = ["fold-0", "ledger/Weights", "twin-seq"].map(str::to_owned).to_vec();
            let ui = Ui { opened: Opened { open, ..Opened::default() }, ..Ui::default() };
            let plots = Plots::of(&answers, look, &ui.found, None).0;
            [
                top_bar::top_bar(&scenario, 0, (false, false), &[]),
                verdict::verdict(&answers, answers.standing, &ui.found, &ui.opened),
                bar::stack(&answers, &ui.look, &ui.opened),
                fixes::fixes(&answers, &ui.found),
                ledger::ledger(&answers, &ui.opened),
                cost::cost(&answers, &ui.opened),
                controls::section(1, &scenario, &answers, &ui.drafts, &ui.opened),
                controls::fold(0, &scenario, &answers, &ui.drafts, &ui.opened),
                curves::panel(&plots, Axis::SeqLength, answers.unit, &ui.look, None, &ui.opened),
                curves::picture(&plots, Axis::SeqLength),
                curves::picture(&plots, Axis::Gpus),
            ]
        };
        let links = [
            "v1&m=llama3-8b&n=8",
            "v1&m=llama3-70b&n=8&u=gb&s=64k",
            "v1&do=serve&m=llama3-8b&n=1",
            "v1&m=llama3-8b&n=8&kv=7&l=40",
        ];
        let pages: Vec<_> = links.iter().map(|link| of(link)).collect();
        for (before, after) in
            pages.iter().flat_map(|before| pages.iter().map(move |after| (before, after)))
        {
            for (old, new) in before.iter().zip(after) {
                part_becomes(old, new);
            }
        }
    }

    #[test]
    fn entities_are_letters() {
        assert_eq!(unescaped("a &lt;b&gt; &amp;amp; &#39;&quot;"), "a <b> &amp; '\"");
        assert_eq!(
            attributes("<a b=\"c > d\" hidden e=\"\"/>"),
            [("b", "c > d"), ("hidden", ""), ("e", "")]
        );
    }
}
