"""Files of CoNLL columns as labelled sentences, and predictions in this format."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.output_formats import SUFFIXES, LineOutput, OutputFormat, TableFormat, validate_suffix
from litebert.tasks.readers.conll_columns import CONLL_SUFFIXES, Line, conll_fields, iter_sentences
from litebert.tasks.types.task_type import FileFormat, ReadOptions, ReadResult
from litebert.tasks.types.token_classification.token_examples import TokenExample
from litebert.tasks.types.token_classification.tokens_in_tables import label_index, token_labels


def read_conll(path: Path, options: ReadOptions) -> ReadResult:
    """The labelled sentences of a file."""
    sentences = list(iter_sentences(path, min_columns=2))
    labels = tuple(options.labels or token_labels(line.columns[-1] for line in chain.from_iterable(sentences)))
    known = {name: index for index, name in enumerate(labels)}
    examples = [
        TokenExample(
            words=_words(lines),
            target=tuple(
                label_index(line.columns[-1], known, where=f"{path}:{line.number}: field 'tag'") for line in lines
            ),
        )
        for lines in sentences
    ]
    lines = [sentence[0].number for sentence in sentences]
    return ReadResult(examples=examples, labels=labels, lines=lines, reason="the file has CoNLL columns")


def _words(lines: Sequence[Line]) -> tuple[str, ...]:
    return tuple(line.columns[0] for line in lines)


def _part(path: Path, data: LabelledData) -> str:
    """The sentences at the lines of `data`, as they are in the file."""
    starts = set(data.lines or ())
    kept = [sentence for sentence in iter_sentences(path) if sentence[0].number in starts]
    return "\n".join("".join("\t".join(line.columns) + "\n" for line in sentence) for sentence in kept)


def _row(example: TokenExample, labels: Sequence[str]) -> dict[str, Any]:
    return {"text": list(example.words), "label": [labels[index] for index in example.target or ()]}


def _with_label(text: str, label: str) -> str | None:
    """The line of a word with the label as one more column; None for a line between sentences."""
    fields = conll_fields(text)
    separator = " " if len(fields) > 1 and "\t" not in text else "\t"
    return f"{text.rstrip()}{separator}{label}" if fields else None


class WordTable(OutputFormat):
    """A table with one row for each word, or JSON lines with one sentence each; both keep the labels of the input."""

    def __init__(self, input_file: Path, output: Path) -> None:
        self._input_file = input_file
        self._sentences: Iterator[list[Line]] | None = None
        self._table = TableFormat(output)
        self._by_sentence = output.suffix == ".jsonl"
        self.state = self._table.state
        self.state["sentences"] = 0

    def render(self, rows: Sequence[TokenExample], results: Sequence[Any]) -> str:
        """The records of the next sentences."""
        first, given = self.state["sentences"] + 1, self._labels(len(rows))
        self.state["sentences"] += len(rows)
        sentences = zip(rows, results, given, strict=True)
        if self._by_sentence:
            return self._table.lines([_sentence_record(*sentence) for sentence in sentences])
        numbered = enumerate(sentences, start=first)
        return self._table.lines([record for number, each in numbered for record in _word_records(number, *each)])

    def _labels(self, count: int) -> list[list[str]]:
        """The labels in the input of the next `count` sentences; empty lists if it has none."""
        if self._sentences is None:
            self._sentences = islice(iter_sentences(self._input_file), self.state["sentences"], None)
        next_sentences = islice(self._sentences, count)
        return [[line.columns[-1] for line in lines if len(line.columns) > 1] for lines in next_sentences]


def _sentence_record(row: TokenExample, result: Any, given: Sequence[str]) -> dict[str, Any]:
    """Words and labels in the columns that fine-tuning reads; without given labels, the predicted ones."""
    return {"text": list(row.words), "label": list(given or result.labels), **result.to_record()}


def _word_records(number: int, row: TokenExample, result: Any, given: Sequence[str]) -> Iterator[dict[str, Any]]:
    predicted = zip(row.words, result.labels, result.probabilities, strict=True)
    for index, (word, label, probability) in enumerate(predicted):
        own = {"label": given[index]} if given else {}
        yield {"sentence": number, "word": word, **own, "prediction": label, "probability": probability}


def _output_format(input_file: Path, output: Path) -> OutputFormat:
    validate_suffix(output, (*CONLL_SUFFIXES, *SUFFIXES))
    return LineOutput(input_file, _with_label) if output.suffix in CONLL_SUFFIXES else WordTable(input_file, output)


CONLL: Final = FileFormat(
    suffixes=CONLL_SUFFIXES,
    read=read_conll,
    has_labels=lambda path: len(next(iter_sentences(path))[0].columns) > 1,
    iter_inputs=lambda path: (TokenExample(words=_words(lines)) for lines in iter_sentences(path)),
    row=_row,
    part=_part,
    output_format=_output_format,
)
