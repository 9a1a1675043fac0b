"""Embeddings of a model beside tf-idf and BM25: STS 2012 to 2016 and the Cranfield collection.

    python benchmarks/embeddings.py MODEL STS CRANFIELD > result.json

STS: Spearman's correlation of the cosine with the scores, over all scored pairs of a year; mean over the years.
Cranfield: nDCG@10 over the 225 queries; tf-idf and BM25 (k1 1.5, b 0.75) have English stop words removed.
Texts are truncated to 128 tokens for the model.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from scipy.stats import spearmanr
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from litebert.inference.embeddings.embedder import Embedder
from litebert.inference.embeddings.embedding_settings import EmbeddingSettings
from litebert.inference.predictor import Predictor
from litebert.model.models import SentenceEmbedder

SETTINGS = EmbeddingSettings(max_length=128)
"""The length of the model's pretraining."""
Vectors = Callable[[list[str]], Any]
"""Texts → vectors of length 1, dense or sparse."""


def main(model: Path, sts: Path, cranfield: Path) -> None:
    """Print the scores of every method as JSON."""
    predictor = Predictor.load(model, threads=1)
    embedder = predictor.embedder(SETTINGS)
    random = SentenceEmbedder(embedder.model.config, seed=1).eval()
    years = {folder.name: sts_pairs(folder) for folder in sorted(sts.iterdir()) if folder.is_dir()}
    sentences = [text for pairs in years.values() for _, *texts in pairs for text in texts]
    documents, queries, relevant = cranfield_collection(cranfield)
    methods: dict[str, tuple[Vectors, Vectors]] = {
        "tf-idf": (TfidfVectorizer().fit(sentences).transform, cranfield_tfidf(documents)),
        "mean": (embedder.embed,) * 2,
        "mean, random weights": (Embedder.of(random, embedder.tokenizer, SETTINGS).embed,) * 2,
        "cls": (predictor.embedder(SETTINGS.replace(pooling="cls")).embed,) * 2,
    }
    result = {}
    for name, (of_sentences, of_documents) in methods.items():
        start = time.monotonic()
        scores = {year: sts_spearman(pairs, of_sentences) for year, pairs in years.items()}
        ranks = cosines(of_documents(queries), of_documents(documents))
        result[name] = {
            "sts": {**scores, "mean": float(np.mean(list(scores.values())))},
            "cranfield_ndcg@10": ndcg(ranks, relevant),
            "seconds": round(time.monotonic() - start, 1),
        }
        print(name, result[name], file=sys.stderr, flush=True)
    result["bm25"] = {"cranfield_ndcg@10": ndcg(bm25(documents, queries), relevant)}
    pairs = {year: len(each) for year, each in years.items()}
    sizes = {"pairs": pairs, "documents": len(documents), "queries": len(queries)}
    print(json.dumps({**sizes, "methods": result}, indent=2))


def sts_pairs(folder: Path) -> list[tuple[float, str, str]]:
    """The scored pairs of the test files of a year."""
    pairs = []
    for path in sorted(folder.glob("*.test.tsv")):
        for line in path.read_text(encoding="utf-8").split("\n"):
            score, *texts = line.split("\t")
            if score and len(texts) >= 2 and all(text.strip() for text in texts[:2]):
                pairs.append((float(score), texts[0], texts[1]))
    return pairs


def sts_spearman(pairs: list[tuple[float, str, str]], vectors: Vectors) -> float:
    """Correlation of the cosines of the pairs with their scores."""
    scores, first, second = (list(each) for each in zip(*pairs, strict=True))
    one, other = vectors(first), vectors(second)
    product = one.multiply(other).sum(1) if hasattr(one, "multiply") else (one * other).sum(1)
    return float(spearmanr(np.asarray(product).ravel(), scores).statistic)


def cranfield_collection(folder: Path) -> tuple[list[str], list[str], np.ndarray]:
    """Documents, queries, and bool [Q, N]: which document is relevant to which query."""
    text = (folder / "cran.xml").read_text(encoding="utf-8")
    body = text[text.index("<doc>") :].removesuffix("</xml>\n").replace("&", "&amp;")
    numbers, documents = [], []
    for each in ElementTree.fromstring(f"<root>{body.partition('</root>')[0]}</root>").iter("doc"):
        if content := (each.findtext("text") or "").strip():
            numbers.append((each.findtext("docno") or "").strip())
            documents.append(" ".join(content.split()))
    topics = (folder / "cranq.xml").read_text(encoding="utf-8").replace("&", "&amp;")
    queries = [" ".join((each.findtext("title") or "").split()) for each in ElementTree.fromstring(topics).iter("top")]
    relevant = np.zeros((len(queries), len(documents)), bool)
    places = {number: index for index, number in enumerate(numbers)}
    for line in (folder / "cranqrel.txt").read_text(encoding="utf-8").splitlines():
        query, _, document, grade = line.split()
        if document in places and int(grade) > 0:
            relevant[int(query) - 1, places[document]] = True
    return documents, queries, relevant


def cranfield_tfidf(documents: list[str]) -> Vectors:
    """With the frequencies of the documents."""
    return TfidfVectorizer(stop_words="english").fit(documents).transform


def cosines(queries: Any, documents: Any) -> np.ndarray:
    """Float [Q, N], of dense or sparse vectors of length 1."""
    product = queries @ documents.T
    return product.toarray() if hasattr(product, "toarray") else product


def bm25(documents: list[str], queries: list[str]) -> np.ndarray:
    """Float64 [Q, N]: the score of each document for each query."""
    k1, b = 1.5, 0.75
    counter = CountVectorizer(stop_words="english")
    counts = counter.fit_transform(documents).toarray().astype(float)
    lengths = counts.sum(1, keepdims=True)
    frequency = (counts > 0).sum(0)
    idf = np.log1p((len(documents) - frequency + 0.5) / (frequency + 0.5))
    weights = idf * counts * (k1 + 1) / (counts + k1 * (1 - b + b * lengths / lengths.mean()))
    return counter.transform(queries).toarray() @ weights.T


def ndcg(scores: np.ndarray, relevant: np.ndarray, *, depth: int = 10) -> float:
    """Mean nDCG at `depth` with relevance 0 or 1."""
    discounts = 1 / np.log2(np.arange(2, depth + 2))
    values = []
    for row, truth in zip(scores, relevant, strict=True):
        best = np.argsort(-row, kind="stable")[:depth]
        ideal = discounts[: min(depth, int(truth.sum()))].sum()
        values.append(float((truth[best] * discounts).sum() / ideal) if ideal else 0.0)
    return float(np.mean(values))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
