"""Pages taken apart: elements, attributes, texts, as a browser would read them."""

from html.parser import HTMLParser


class Reading(HTMLParser):
    """Elements with their attributes, texts, and the text of each code block."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.code, self._open = [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)
        if tag == "pre":
            self.code.append("")

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if self._open and self._open[-1] in {"style", "script"}:
            return
        self.texts.append(data)
        if "pre" in self._open:
            self.code[-1] += data

    @property
    def tags(self):
        return {tag for tag, _ in self.elements}

    @property
    def ids(self):
        return [given["id"] for _, given in self.elements if "id" in given]

    @property
    def text(self):
        return "\n".join(self.texts)
