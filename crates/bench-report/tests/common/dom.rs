//! HTML as a browser would read it.

#![allow(dead_code, reason = "each test program uses its own part")]

use html5ever::tendril::TendrilSink;
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// An element or a text, with what is inside.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) children: Vec<Node>,
    own_text: String,
}

/// Parses a page; also whether the parser had something to complain about.
pub(crate) fn parse(html: &str) -> (Node, Vec<String>) {
    let dom =
        html5ever::parse_document(RcDom::default(), html5ever::ParseOpts::default()).one(html);
    let errors = dom
        .errors
        .borrow()
        .iter()
        .map(ToString::to_string)
        .collect();
    (node(&dom.document), errors)
}

fn node(handle: &Handle) -> Node {
    let mut node = Node {
        name: String::new(),
        attributes: Vec::new(),
        children: handle.children.borrow().iter().map(node).collect(),
        own_text: String::new(),
    };
    match &handle.data {
        NodeData::Element { name, attrs, .. } => {
            node.name = name.local.to_string();
            node.attributes = attrs
                .borrow()
                .iter()
                .map(|a| (a.name.local.to_string(), a.value.to_string()))
                .collect();
        }
        NodeData::Text { contents } => node.own_text = contents.borrow().to_string(),
        _ => {}
    }
    node
}

impl Node {
    /// This element and all elements inside.
    pub(crate) fn all(&self) -> Vec<&Node> {
        let inside = self.children.iter().flat_map(Node::all);
        std::iter::once(self).chain(inside).collect()
    }

    /// The elements of that name.
    pub(crate) fn named(&self, name: &str) -> Vec<&Node> {
        self.all().into_iter().filter(|n| n.name == name).collect()
    }

    /// The value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// All text inside, trimmed.
    pub(crate) fn text(&self) -> String {
        let texts = self.all().into_iter().map(|n| n.own_text.as_str());
        texts.collect::<String>().trim().to_owned()
    }
}

/// A table as a reader sees it: for each cell its text and the exact value, if it has one.
#[derive(Debug)]
pub(crate) struct ReadTable {
    pub(crate) caption: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<(String, Option<String>)>>,
}

impl ReadTable {
    /// All tables of a page.
    pub(crate) fn all(page: &Node) -> Vec<ReadTable> {
        page.named("table").into_iter().map(ReadTable::of).collect()
    }

    fn of(table: &Node) -> ReadTable {
        let head = table.named("thead");
        let cell = |cell: &Node| {
            let value = cell
                .named("data")
                .first()
                .map(|data| data.attribute("value").map(str::to_owned));
            (cell.text(), value.flatten())
        };
        let cells = |row: &Node| {
            let cells = row
                .children
                .iter()
                .filter(|n| n.name == "td" || n.name == "th");
            cells.map(cell).collect()
        };
        ReadTable {
            caption: table
                .named("caption")
                .first()
                .map_or(String::new(), |c| c.text()),
            columns: head
                .iter()
                .flat_map(|head| head.named("th"))
                .map(Node::text)
                .collect(),
            rows: table
                .named("tbody")
                .iter()
                .flat_map(|body| body.named("tr"))
                .map(cells)
                .collect(),
        }
    }

    /// Place of a column.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }
}
