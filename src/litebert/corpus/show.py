"""Examples as a person reads them. Before: batches. After: the eye of whoever wants to know what a model is shown."""

from dataclasses import asdict, dataclass
from typing import Any

from litebert.corpus.batches import PretrainBatch, PretrainBatches
from litebert.corpus.example_settings import ExampleSettings
from litebert.corpus.pairing import IN_ORDER, NO_LABEL, SWAPPED
from litebert.corpus.shards import Corpus
from litebert.tokenization.tokenizer import Tokenizer

LABEL_NAMES = {IN_ORDER: "in order", SWAPPED: "not in order", NO_LABEL: "no label"}


@dataclass(frozen=True)
class ShownToken:
    """One token of an example."""

    piece: str
    """What the text says."""
    shown: str
    """What the model sees."""
    segment: int
    predicted: bool

    def to_text(self) -> str:
        """The piece; if it is to be predicted, `{text}` when shown as it is, else `{text→what is shown}`."""
        if not self.predicted:
            return self.piece
        return f"{{{self.piece}}}" if self.shown == self.piece else f"{{{self.piece}→{self.shown}}}"


@dataclass(frozen=True)
class ShownExample:
    """One example with its label, as the model of a training run would get it."""

    label: str
    tokens: tuple[ShownToken, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def to_text(self) -> str:
        """The label, then a line for each segment."""
        segments = [[t.to_text() for t in self.tokens if t.segment == number] for number in (0, 1)]
        return "\n".join([f"({self.label})", *(" ".join(pieces) for pieces in segments if pieces)])


def show_examples(corpus: Corpus, settings: ExampleSettings, *, count: int = 5, seed: int = 0) -> list[ShownExample]:
    """The first examples that a training run with this seed is given."""
    tokenizer = Tokenizer.load(corpus.tokenizer_directory)
    batches = PretrainBatches(corpus, settings, batch_size=count, microbatch_size=1, seed=seed)
    return [_show(batch, tokenizer) for batch in batches.microbatches(0)]


def _show(batch: PretrainBatch, tokenizer: Tokenizer) -> ShownExample:
    """The only example of a batch."""
    shown = batch.input_ids[0, : batch.num_tokens].tolist()
    answers = dict(zip(batch.predicted_positions.tolist(), batch.mlm_labels.tolist(), strict=True))
    segments = batch.token_type_ids[0].tolist()
    return ShownExample(
        label=LABEL_NAMES[int(batch.sop_labels[0])],
        tokens=tuple(
            ShownToken(
                piece=tokenizer.id_to_piece(answers.get(position, token)),
                shown=tokenizer.id_to_piece(token),
                segment=segments[position],
                predicted=position in answers,
            )
            for position, token in enumerate(shown)
        ),
    )
