//! Putting finished HTML in place so that only what differs changes: focus, scroll, selection and what the reader opened stay.

use wasm_bindgen::JsCast;
use web_sys::{Attr, Element, Node, Text};

use crate::app::markup::Html;

/// Marks an element whose inside belongs to another part of the page, with the name of that part.
const OWN: &str = "data-own";
/// Marks an element that keeps its identity when its neighbours come and go.
const KEY: &str = "data-key";

/// Makes the inside of an element what the HTML says.
pub fn patch_inside(element: &Element, html: &Html) {
    if let Some(wanted) = parsed(element, html) {
        children(element, &wanted);
    }
}

/// Makes an element, with its inside, the one element that the HTML says.
pub fn patch(element: &Element, html: &Html) {
    let wanted =
        element.parent_element().and_then(|parent| parsed(&parent, html)).and_then(|wanted| wanted.first_element_child());
    if let Some(wanted) = wanted {
        attributes(element, &wanted);
        children(element, &wanted);
    }
}

/// The HTML inside an element of the same kind that is on no page: rows of a table and shapes of a drawing need the right parent.
fn parsed(like: &Element, html: &Html) -> Option<Element> {
    let element: Element = like.clone_node().ok()?.dyn_into().ok()?;
    element.set_inner_html(html.as_str());
    Some(element)
}

/// Goes through both lists of children in step.
fn children(parent: &Node, wanted: &Node) {
    let mut old = parent.first_child();
    let mut new = wanted.first_child();
    while let Some(fresh) = new {
        new = fresh.next_sibling();
        old = old.map_or_else(
            || {
                let _ = parent.append_child(&fresh);
                None
            },
            |have| place(parent, have, &fresh),
        );
    }
    while let Some(extra) = old {
        old = extra.next_sibling();
        let _ = parent.remove_child(&extra);
    }
}

/// Makes one child what is wanted there, and returns the next old one.
fn place(parent: &Node, have: Node, fresh: &Node) -> Option<Node> {
    if have.is_equal_node(Some(fresh)) {
        return have.next_sibling();
    }
    if let (Some(old), Some(text)) = (have.dyn_ref::<Text>(), fresh.dyn_ref::<Text>()) {
        old.set_data(&text.data());
        return have.next_sibling();
    }
    let (Some(old), Some(new)) = (have.dyn_ref::<Element>(), fresh.dyn_ref::<Element>()) else {
        // Text before an element that stays: the element is found again, if it is there.
        return insert_or_replace(parent, have, fresh);
    };
    match (name(old), name(new)) {
        (None, None) if old.tag_name() == new.tag_name() => {
            attributes(old, new);
            children(old, new);
            have.next_sibling()
        }
        (Some(a), Some(b)) if a == b => {
            // What belongs to somebody else stays as it is.
            if !new.has_attribute(OWN) {
                attributes(old, new);
                children(old, new);
            }
            have.next_sibling()
        }
        _ => insert_or_replace(parent, have, fresh),
    }
}

/// Where the wanted child stands further on, everything up to it goes; else it comes before what is there, or in its place.
fn insert_or_replace(parent: &Node, have: Node, fresh: &Node) -> Option<Node> {
    let wanted = fresh.dyn_ref::<Element>().and_then(name);
    if wanted.is_some() {
        let mut later = have.next_sibling();
        while let Some(node) = later {
            if node.dyn_ref::<Element>().and_then(name) == wanted {
                let mut gone = Some(have);
                while let Some(extra) = gone.filter(|extra| !extra.is_same_node(Some(&node))) {
                    gone = extra.next_sibling();
                    let _ = parent.remove_child(&extra);
                }
                return place(parent, node, fresh);
            }
            later = node.next_sibling();
        }
    }
    // A named neighbour may be wanted next; anything else has had its place.
    if have.dyn_ref::<Element>().and_then(name).is_some() {
        let _ = parent.insert_before(fresh, Some(&have));
        return Some(have);
    }
    let next = have.next_sibling();
    let _ = parent.replace_child(fresh, &have);
    next
}

/// What identifies an element among its neighbours.
fn name(element: &Element) -> Option<String> {
    element.get_attribute(OWN).or_else(|| element.get_attribute(KEY))
}

/// Takes over attributes. What the reader opened is no attribute of ours: `open` is set, never taken away.
fn attributes(element: &Element, wanted: &Element) {
    let (old, new) = (element.attributes(), wanted.attributes());
    let mut same = old.length() == new.length();
    for index in 0..new.length() {
        let Some(attribute) = new.item(index) else { continue };
        // The same template writes the same order, so that names and values are rarely fetched.
        if old.item(index).is_some_and(|have| have.is_equal_node(Some(&attribute))) {
            continue;
        }
        same = false;
        if let Some(copy) = attribute.clone_node().ok().and_then(|copy| copy.dyn_into::<Attr>().ok()) {
            let _ = element.set_attribute_node(&copy);
        }
    }
    if same {
        return;
    }
    let names: Vec<String> = (0..old.length()).filter_map(|index| old.item(index)).map(|attribute| attribute.name()).collect();
    for name in names.iter().filter(|name| *name != "open" && !wanted.has_attribute(name)) {
        let _ = element.remove_attribute(name);
    }
}
