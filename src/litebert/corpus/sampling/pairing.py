"""Sentence pairs: the sentences of an example become two segments and a label (SOP, NSP or none).

An example of one sentence has no order. With `single_sentence_policy: no_label` it is one segment without a label;
google-research/albert pairs it with another document and labels it as swapped, which mixes next-sentence prediction
into sentence-order prediction.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.sampling.stream import Epoch, ExampleStream
from litebert.randomness import rng_for

IN_ORDER, SWAPPED, NO_LABEL = 0, 1, -100
"""Labels: the second segment follows the first; it does not; the example has no label."""
MAX_ATTEMPTS = 10
"""Random documents tried to find another one. Source: `for _ in range(10)` in google-research/albert."""
EMPTY_SEGMENT = np.zeros(0, np.uint16)

SegmentPair = tuple[np.ndarray, np.ndarray, int]
"""Token ids of the first and the second segment, and the label."""


@dataclass(frozen=True)
class Example:
    """Token ids of the segments, without special tokens; `second` is empty if there is only one segment."""

    first: np.ndarray
    second: np.ndarray
    label: int
    rng: np.random.Generator
    """Source of the random numbers that masking draws for this example."""

    @property
    def length(self) -> int:
        """Number of tokens with [CLS] and [SEP]."""
        return len(self.first) + len(self.second) + (3 if len(self.second) else 2)


class ExampleSource:
    """Draws any example of an epoch, in any order."""

    def __init__(self, stream: ExampleStream) -> None:
        self.stream, self.corpus, self.settings, self.seed = stream, stream.corpus, stream.settings, stream.seed
        self._partners = lru_cache(maxsize=2)(self._draw_partners)

    def draw(self, epoch: Epoch, index: int) -> Example:
        """Example `index` of an epoch.

        Every pairing draws the same random numbers, so the same example has the same cut under each of them, and the
        same mask where its tokens are the same.
        """
        rng = self._rng(epoch, index)
        tokens, edges = self._read(epoch, index)
        if len(edges) == 2:
            first, second, label = self._single_sentence(epoch, index, tokens, rng)
        else:
            segments, uniform = split_sentences_at_random(tokens, edges, rng), rng.random()
            first, second, label = self._pair(epoch, index, *segments, uniform)
        max_tokens = self.settings.max_length - (3 if len(second) else 2)
        return Example(*truncate_pair(first, second, max_tokens=max_tokens, rng=rng), label=label, rng=rng)

    def _pair(self, epoch: Epoch, index: int, first: np.ndarray, second: np.ndarray, uniform: float) -> SegmentPair:
        """SOP: in order or swapped; NSP: the first one, and its own second segment or that of another document."""
        if self.settings.single_segment:
            return np.concatenate([first, second]), EMPTY_SEGMENT, NO_LABEL
        if self.settings.pairing == "none":  # in order, so that an ablation of the objective changes nothing else
            return first, second, NO_LABEL
        if self.settings.pairing == "sop":
            return (second, first, SWAPPED) if uniform < 0.5 else (first, second, IN_ORDER)
        partner = int(self._partners(epoch)[index])
        if partner == index:
            return first, second, IN_ORDER
        _, other = split_sentences_at_random(*self._read(epoch, partner), self._rng(epoch, partner))
        return first, other, SWAPPED

    def _single_sentence(self, epoch: Epoch, index: int, tokens: np.ndarray, rng: np.random.Generator) -> SegmentPair:
        """One segment without a label, or with sentences of another document as the second segment."""
        if self.settings.single_sentence_policy == "no_label" or self.settings.pairing == "none":
            return tokens, EMPTY_SEGMENT, NO_LABEL
        document = int(epoch.documents[index])
        max_tokens = int(self.stream.targets(epoch.duplicate)[document]) - len(tokens)
        for other in rng.integers(0, self.corpus.num_documents, MAX_ATTEMPTS).tolist():
            if other != document:
                return tokens, self._random_sentences(other, max_tokens, rng), SWAPPED
        return tokens, EMPTY_SEGMENT, NO_LABEL

    def _random_sentences(self, document: int, max_tokens: int, rng: np.random.Generator) -> np.ndarray:
        """Sentences of a document from a random one on, until they have `max_tokens` tokens or the document ends."""
        first, end = self.corpus.sentences_of(document)
        start = int(rng.integers(first, end))
        # A sentence has at least one token, so this many sentences are enough.
        tokens, edges = self.corpus.read(start, min(end, start + max(1, max_tokens)))
        return tokens[: edges[min(max(1, int(np.searchsorted(edges, max_tokens))), len(edges) - 1)]]

    def _draw_partners(self, epoch: Epoch) -> np.ndarray:
        """For each example the index of the one whose second segment it takes: itself, or one of another document.

        Two partners exchange their second segments, so every sentence is in one example of the epoch, and pairs of
        both labels have the same lengths.
        """
        rng = rng_for(self.seed, "partners", epoch.duplicate)
        candidates = rng.permutation(np.flatnonzero(np.diff(epoch.starts) > 1))
        pairs = candidates[: len(candidates) // 2 * 2].reshape(-1, 2)
        exchanged = rng.random(len(pairs)) < 0.5
        pairs = pairs[exchanged & (epoch.documents[pairs[:, 0]] != epoch.documents[pairs[:, 1]])]
        partners = np.arange(len(epoch.tokens))
        partners[pairs] = pairs[:, ::-1]
        return partners

    def _read(self, epoch: Epoch, index: int) -> tuple[np.ndarray, np.ndarray]:
        return self.corpus.read(int(epoch.starts[index]), int(epoch.starts[index + 1]))

    def _rng(self, epoch: Epoch, index: int) -> np.random.Generator:
        return rng_for(self.seed, "example", epoch.duplicate, int(epoch.starts[index]))


def nsp_negative_share(corpus: Corpus, settings: SamplingSettings) -> float:
    """Expected share of NSP pairs from two documents, close to 0.5 unless the corpus has few documents.

    Two random examples are of the same document with probability Σ p², where p is the share of the examples of each
    document; half of the other pairs are exchanged.
    """
    examples = []
    for number in range(len(corpus.entries)):
        shard = corpus.shard(number)
        tokens = np.diff(shard.sentences[shard.documents].astype(np.int64))
        examples.append(np.ceil(tokens / (settings.max_length - 3)))
    shares = np.concatenate(examples) / sum(part.sum() for part in examples)
    return float(0.5 * (1 - shares @ shares))


def split_sentences_at_random(
    tokens: np.ndarray, edges: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Two segments of at least one sentence each. This is the first number that an example draws from its `rng`."""
    cut = edges[rng.integers(1, len(edges) - 1)]
    return tokens[:cut], tokens[cut:]


def truncate_pair(
    first: np.ndarray, second: np.ndarray, *, max_tokens: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Shorten a pair to `max_tokens`: tokens are removed one by one from the longer segment, at a random end.

    Of two segments of equal length the second is shortened. Source: `truncate_seq_pair` in google-research/albert.
    """
    excess = max(0, len(first) + len(second) - max_tokens)
    difference = len(first) - len(second)
    to_equal = min(excess, abs(difference))
    each, odd = divmod(excess - to_equal, 2)
    drop_first = each + (to_equal if difference > 0 else 0)
    drop_second = each + odd + (to_equal if difference < 0 else 0)
    return _drop_tokens(first, drop_first, rng), _drop_tokens(second, drop_second, rng)


def _drop_tokens(segment: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """The segment without `count` tokens, each removed from a random end."""
    front = int(np.count_nonzero(rng.random(count) < 0.5))
    return segment[front : len(segment) - (count - front)]
