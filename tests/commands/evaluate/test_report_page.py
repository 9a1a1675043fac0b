"""The HTML page of an evaluation."""

from html.parser import HTMLParser

from litebert.commands.evaluate.report_page import MAX_ERRORS, MAX_LABELS, MAX_TEXT_LENGTH, report_page
from litebert.tasks.metrics.evaluation import Evaluation, Part
from litebert.tasks.metrics.metrics import Bin, Calibration
from litebert.tasks.types.task_type import ErrorExample

EVALUATION = Evaluation(
    metrics={"accuracy": 0.75, "macro_f1": 0.5},
    examples=4,
    accuracy_interval=(0.3, 0.95),
    labels=("bad", "good"),
    confusion_matrix=[[2, 1], [0, 1]],
    calibration=Calibration(0.125, (Bin(0.5, 0.6, 4, 0.55, 0.75),)),
    by_length=(Part("1 to 16 tokens", 4, {"accuracy": 0.75, "macro_f1": 0.5}),),
    by_slice=(Part("high", 3, {"accuracy": 1.0, "macro_f1": 0.25}),),
)


class Texts(HTMLParser):
    """Every text of a page, and whether its tags are closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_report_page_has_every_table():
    texts = Texts(report_page("model on file", EVALUATION, [ErrorExample("a text", "bad", "good", 2.0, False)])).texts
    for shown in ("0.7500", "By slice", "high", "By length", "Confusion", "Calibration", "Worst errors", "a text"):
        assert any(shown in text for text in texts), shown
    assert any("between 30.0% and 95.0%" in text for text in texts)
    assert any("0.125" in text for text in texts)


def test_report_page_leaves_out_empty_sections():
    page = report_page("x", Evaluation(metrics={"pearson": 1.0}, examples=3), [])
    assert all(heading not in page for heading in ("Confusion", "Calibration", "By slice", "By length"))


def test_report_page_lists_the_worst_errors_first():
    errors = [ErrorExample(f"text {n}", "a", "b", float(n), n == 7) for n in range(MAX_ERRORS + 10)]
    shown = [text for text in Texts(report_page("x", EVALUATION, errors)).texts if text.startswith("text ")]
    assert shown == [f"text {n}" for n in reversed(range(10, MAX_ERRORS + 10))]


def test_report_page_escapes_texts():
    page = report_page("<b>", EVALUATION, [ErrorExample("<script>x</script> & \"'", "a", "b", 1.0, False)])
    assert "<script>" not in page
    assert "<script>x</script> & \"'" in "".join(Texts(page).texts)


def test_report_page_shortens_long_texts():
    text = "begin " + "x" * (2 * MAX_TEXT_LENGTH) + " end"
    page = report_page("x", EVALUATION, [ErrorExample(text, "a", "b", 1.0, False)])
    assert "begin" in page
    assert " end" in page
    assert "[…]" in page
    assert text not in page


def test_report_page_leaves_out_a_large_confusion_matrix():
    labels = tuple(f"label {n}" for n in range(MAX_LABELS + 1))
    matrix = [[0] * len(labels) for _ in labels]
    assert "Confusion" not in report_page(
        "x", Evaluation(metrics={}, examples=1, labels=labels, confusion_matrix=matrix), []
    )
