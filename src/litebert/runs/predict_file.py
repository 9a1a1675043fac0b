"""Answers for any file that a user brings; its ending tells what is asked. Before: the verb `predict`. After: files."""

from litebert.runs.predict import READ_BY, PredictRun, predict
from litebert.runs.predict_squad import predict_squad
from litebert.runs.predict_words import predict_words
from litebert.runs.result import Result
from litebert.settings import refuse_given
from litebert.tasks.tagged import ENDINGS


def predict_file(run: PredictRun) -> Result:
    """Answers for the questions of a SQuAD file, the words of CoNLL columns, or the rows of a table or text."""
    if run.input.suffix in (".json", *ENDINGS):
        given = {name: getattr(run, name) for name in ("text", *READ_BY)}
        refuse_given(
            given, f"a {run.input.suffix} file has places of its own for what is asked; leave out what is named"
        )
    if run.input.suffix == ".json":
        return predict_squad(run.model, run.input, run.output, precision=run.precision, threads=run.threads)
    if run.input.suffix in ENDINGS:
        return predict_words(run.model, run.input, run.output, precision=run.precision, threads=run.threads)
    return predict(run)
