"""The page of an evaluation: complete, in order of badness, and safe to open whatever the texts hold."""

from html.parser import HTMLParser

from litebert.commands.evaluate.report_page import LONGEST_TEXT, MOST_ERRORS, MOST_LABELS, report_page
from litebert.tasks.metrics.calibration import Bin, Calibration
from litebert.tasks.metrics.evaluation import Evaluation, Part
from litebert.tasks.types.predictions import Verdict

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


def test_every_table_is_there():
    texts = Texts(report_page("model on file", EVALUATION, [Verdict("a text", "bad", "good", 2.0, False)])).texts
    for shown in ("0.7500", "By slice", "high", "By length", "Confusion", "Calibration", "Worst errors", "a text"):
        assert any(shown in text for text in texts), shown
    assert any("between 30.0% and 95.0%" in text for text in texts)
    assert any("0.125" in text for text in texts)


def test_what_is_not_there_leaves_no_heading():
    page = report_page("x", Evaluation(metrics={"pearson": 1.0}, examples=3), [])
    assert all(heading not in page for heading in ("Confusion", "Calibration", "By slice", "By length"))


def test_the_worst_come_first_and_right_answers_are_left_out():
    verdicts = [Verdict(f"text {n}", "a", "b", float(n), n == 7) for n in range(MOST_ERRORS + 10)]
    shown = [text for text in Texts(report_page("x", EVALUATION, verdicts)).texts if text.startswith("text ")]
    assert shown == [f"text {n}" for n in reversed(range(10, MOST_ERRORS + 10))]


def test_texts_are_shown_and_never_run():
    page = report_page("<b>", EVALUATION, [Verdict("<script>x</script> & \"'", "a", "b", 1.0, False)])
    assert "<script>" not in page
    assert "<script>x</script> & \"'" in "".join(Texts(page).texts)


def test_long_texts_lose_their_middle():
    text = "begin " + "x" * (2 * LONGEST_TEXT) + " end"
    page = report_page("x", EVALUATION, [Verdict(text, "a", "b", 1.0, False)])
    assert "begin" in page
    assert " end" in page
    assert "[…]" in page
    assert text not in page


def test_a_matrix_of_very_many_labels_is_left_out():
    labels = tuple(f"label {n}" for n in range(MOST_LABELS + 1))
    matrix = [[0] * len(labels) for _ in labels]
    assert "Confusion" not in report_page(
        "x", Evaluation(metrics={}, examples=1, labels=labels, confusion_matrix=matrix), []
    )
