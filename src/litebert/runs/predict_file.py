"""Answers for any file that a user brings; its ending tells what is asked. Before: the verb `predict`. After: files."""

from litebert.runs.predict import READ_BY, PredictRun, predict
from litebert.runs.predict_squad import predict_squad
from litebert.runs.predict_words import predict_words
from litebert.runs.result import Result
from litebert.settings import refuse_given
from litebert.tasks.tagged import ENDINGS


def predict_file(run: PredictRun) -> Result:
    """Answers for the questions of a SQuAD file, the words of CoNLL columns, or the rows of a table or text."""
    files, computed = (run.model, run.input, run.output), {"precision": run.precision, "threads": run.threads}
    if run.input.suffix == ".json":
        _refuse_unread(run, "text", *READ_BY)
        return predict_squad(*files, **computed, threshold=run.threshold)
    if run.input.suffix in ENDINGS:
        _refuse_unread(run, "text", *READ_BY, "threshold")
        return predict_words(*files, **computed)
    return predict(run)


def _refuse_unread(run: PredictRun, *names: str) -> None:
    given = {name: getattr(run, name) for name in names}
    refuse_given(given, f"a {run.input.suffix} file has places of its own for what is asked; leave out what is named")
