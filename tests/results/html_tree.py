"""HTML as a tree of elements: enough to find tables and figures in a page."""

import html.parser

VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Element:
    def __init__(self, tag, attributes):
        self.tag, self.attributes, self.children = tag, dict(attributes), []

    @property
    def classes(self):
        return (self.attributes.get("class") or "").split()

    def all(self, tag, *classes):
        """Every element below this one with the tag and all classes, in their order."""
        for child in self.children:
            if isinstance(child, Element):
                if child.tag == tag and set(classes) <= set(child.classes):
                    yield child
                yield from child.all(tag, *classes)

    def first(self, tag, *classes):
        return next(self.all(tag, *classes), None)

    @property
    def text(self):
        parts = (child.text if isinstance(child, Element) else child for child in self.children)
        return " ".join("".join(parts).split())


class Tree(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open = [Element("", [])]
        self.feed(text)

    @property
    def root(self):
        return self.open[0]

    def handle_starttag(self, tag, attributes):
        element = Element(tag, attributes)
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        if any(element.tag == tag for element in self.open[1:]):
            while self.open.pop().tag != tag:
                pass

    def handle_startendtag(self, tag, attributes):
        self.open[-1].children.append(Element(tag, attributes))

    def handle_data(self, data):
        self.open[-1].children.append(data)


def parse(text):
    return Tree(text).root


def rows(table):
    """The cells of a table as texts, by row; the first row has the names of the columns."""
    return [[cell.text for cell in row.children if isinstance(cell, Element)] for row in table.all("tr")]
