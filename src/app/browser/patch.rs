//! Putting finished HTML in place so that only what differs changes: focus, scroll, selection and
//! what the reader opened stay.

use wasm_bindgen::JsCast;
use web_sys::{Element, Node};

use crate::view::diff::{self, DiffStep, Tree, unescaped};
use crate::view::markup::Html;

/// Makes the inside of an element what the HTML says.
pub fn patch_inside(element: &Element, html: &Html) {
    let (old, new) = (Tree::new(element.inner_html()), Tree::new(html.as_str().to_owned()));
    take(element, &diff::inside(&old, &new));
}

/// Makes an element, with its inside, the one element that the HTML says. `shown` is what it says
/// now.
pub fn patch(element: &Element, shown: &mut Tree, html: &Html) {
    let new = Tree::new(html.as_str().to_owned());
    take(element, &diff::element(shown, &new));
    *shown = new;
}

/// The HTML of an element that somebody else wrote.
pub fn shown(element: &Element) -> Tree {
    Tree::new(element.outer_html())
}

/// Takes the steps from an element on.
fn take(element: &Element, steps: &[DiffStep]) {
    let mut above: Vec<Element> = Vec::new();
    let mut here = element.clone();
    for step in steps {
        match *step {
            DiffStep::Down(at) => {
                let child = child(&here, at).and_then(|child| child.dyn_into::<Element>().ok());
                // On a page that is not as we left it, the rest of this part is no longer ours to
                // change.
                let Some(child) = child else { return };
                above.push(std::mem::replace(&mut here, child));
            }
            DiffStep::Up => {
                if let Some(parent) = above.pop() {
                    here = parent;
                }
            }
            DiffStep::Text(at, text) => {
                if let Some(child) = child(&here, at) {
                    child.set_node_value(Some(&unescaped(text)));
                }
            }
            DiffStep::Set(name, value) => {
                let _ = here.set_attribute(name, &unescaped(value));
            }
            DiffStep::Unset(name) => {
                let _ = here.remove_attribute(name);
            }
            DiffStep::Insert(at, markup) => {
                if let Some(made) = made(&here, markup) {
                    let _ = here.insert_before(&made, child(&here, at).as_ref());
                }
            }
            DiffStep::Remove(at) => {
                if let Some(child) = child(&here, at) {
                    let _ = here.remove_child(&child);
                }
            }
        }
    }
}

fn child(parent: &Element, at: u32) -> Option<Node> {
    parent.child_nodes().get(at)
}

/// A new node, read inside an element of the same kind as its parent: rows of a table and shapes of
/// a drawing need the right one.
fn made(parent: &Element, markup: &str) -> Option<Node> {
    let like: Element = parent.clone_node().ok()?.dyn_into().ok()?;
    like.set_inner_html(markup);
    like.first_child()
}
