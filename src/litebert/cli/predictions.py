"""`litebert evaluate`, `compare`, `predict`, `ensemble`, `glue-submission`, `embed` and `search`."""

from typing import Annotated

from litebert.cli.arguments.common import Json, print_result
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.cli.arguments.standard_streams import STREAM, files_for_streams
from litebert.commands.compare.compare_settings import CompareRun
from litebert.commands.embed.embed_settings import EmbedRun, SearchRun
from litebert.commands.ensemble.ensemble_settings import EnsembleRun
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.commands.glue_submission.glue_submission_settings import GlueSubmissionRun
from litebert.commands.predict.predict_settings import PredictRun


def evaluate(run: Annotated[EvaluateRun, arguments_of(EvaluateRun, positional=("model",))], json: Json = False) -> None:
    """Evaluate a pretrained model on validation text (--corpus) or minimal pairs such as BLiMP (--suite), or a
    fine-tuned one on labelled data: a file of your own (--data), or the development splits of GLUE, SQuAD or RACE
    (--task, --task-dir).

    MODEL may be a prediction file of any program, such as what `litebert predict` or scikit-learn has written: a table
    with a row for each example of --data and a column `prediction`. It is not run, only scored.

    With another --precision than fp32, the scores on one labelled file or on a benchmark are shown beside those of
    fp32; of an export directory `auto` is the most precise graph, and fp32 is left out if it has none.
    """
    from litebert.commands.evaluate.evaluate import evaluate as command

    print_result(command(run), as_json=json)


def compare(run: Annotated[CompareRun, arguments_of(CompareRun, positional=("models",))], json: Json = False) -> None:
    """Compare two groups of fine-tuned models, such as runs with several seeds, on the same labelled examples. In the
    place of a model may stand a prediction file of any program: a table with a row for each example and a column
    `prediction`.

    The difference is that of the mean scores. Its 95 % interval is a paired bootstrap: examples and seeds are drawn
    with replacement, the same examples for all models, and together those about one text or context.
    """
    from litebert.commands.compare.compare import compare as command

    print_result(command(run), as_json=json)


def predict(
    run: Annotated[PredictRun, arguments_of(PredictRun, positional=("model", "input", "output"))], json: Json = False
) -> None:
    """Predict every row of a file: labels, scores, options, token labels, answers, or candidates for masked tokens.

    Files of any size are read and written in chunks. A command that was stopped resumes where it stopped. A pattern of
    files, such as 'texts/*.csv', has an output for each file in the directory OUTPUT.

    As INPUT, - is standard input to its end: JSON lines, or one text a line. As OUTPUT, - is standard output, which has
    the predictions as JSON lines and nothing else, in UTF-8. A stopped command that writes there starts again.
    """
    with files_for_streams(run) as with_files:
        from litebert.commands.predict.predict import predict as command

        result = command(with_files)
    if run.output != STREAM:
        print_result(result, as_json=json)


def ensemble(
    run: Annotated[EnsembleRun, arguments_of(EnsembleRun, positional=("members",))], json: Json = False
) -> None:
    """Average the predictions of several fine-tuned models: other seeds, checkpoints, sizes, even other tokenizers.

    As in the paper, probabilities or scores are averaged; for question answering the scores of each span over the
    members that propose it, and the scores of "no answer". Data without labels is predicted, not scored.
    """
    from litebert.commands.ensemble.ensemble import ensemble as command

    print_result(command(run), as_json=json)


def glue_submission(
    run: Annotated[GlueSubmissionRun, arguments_of(GlueSubmissionRun, positional=("predictions",))], json: Json = False
) -> None:
    """Predict the test files of GLUE and pack them for its leaderboard; models for mnli also predict the diagnostics.

    Several models for a task are averaged, as by `litebert ensemble`.
    """
    from litebert.commands.glue_submission.glue_submission import glue_submission as command

    print_result(command(run), as_json=json)


def embed(
    run: Annotated[EmbedRun, arguments_of(EmbedRun, positional=("model", "input", "output"))], json: Json = False
) -> None:
    """Write the embedding of every row of a file: a vector made from the hidden states of a model.

    Files of any size are read and written in chunks. A command that was stopped resumes where it stopped. A pattern of
    files, such as 'texts/*.csv', has an output for each file in the directory OUTPUT.
    """
    from litebert.commands.embed.embed import embed as embed_file

    print_result(embed_file(run), as_json=json)


def search(
    run: Annotated[SearchRun, arguments_of(SearchRun, positional=("model", "input"))], json: Json = False
) -> None:
    """Find the rows of a file whose embeddings are nearest to a query, by the dot product.

    The file is embedded each time, unless --vectors names the vectors that `litebert embed` has made of it.
    """
    from litebert.commands.embed.search import search as search_file

    print_result(search_file(run), as_json=json)
