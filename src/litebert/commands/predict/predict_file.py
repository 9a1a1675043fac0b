"""Answers for any file that a user brings; its ending tells what is asked. Before: the verb `predict`. After: files."""

from litebert.commands.predict.predict import READ_BY, PredictRun, predict
from litebert.commands.predict.predict_questions import predict_squad
from litebert.commands.predict.predict_words import predict_words
from litebert.commands.result import Result
from litebert.tasks.readers.columns import has_columns, validate_no_columns


def predict_file(run: PredictRun) -> Result:
    """Answers for the questions of a SQuAD file, the words of CoNLL columns, or the rows of a table or text."""
    files, computed = (run.model, run.input, run.output), {"precision": run.precision, "threads": run.threads}
    if has_columns(run.input):
        return predict(run)
    holds_questions = run.input.suffix == ".json"
    unread = ("text", *READ_BY) if holds_questions else ("text", *READ_BY, "threshold")
    validate_no_columns({name: getattr(run, name) for name in unread}, run.input)
    if holds_questions:
        return predict_squad(*files, **computed, threshold=run.threshold)
    return predict_words(*files, **computed)
