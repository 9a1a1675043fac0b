from litebert.corpus.statistics.text_statistics import count_text
from support.corpus_builders import FIRST_ID, VOCAB_SIZE, make_corpus


def test_counts_are_those_of_all_shards(tmp_path):
    found = count_text(make_corpus(tmp_path, [[[3, 4], [5]], [[2, 2, 2]]]))
    assert (found.tokens, found.unknown_tokens, found.used_pieces, found.vocab_size) == (18, 0, 6, VOCAB_SIZE)
    assert dict(zip(found.sentences.values.tolist(), found.sentences.counts.tolist())) == {2: 3, 3: 1, 4: 1, 5: 1}
    assert found.documents.values.tolist() == [5, 6, 7]
    assert found.sentences_a_document.values.tolist() == [1, 2, 3]


def test_unknown_tokens_are_counted(tmp_path):
    corpus = make_corpus(tmp_path, [[[3, 4], [5]]])
    object.__setattr__(corpus.vocabulary, "unk_id", FIRST_ID)
    found = count_text(corpus)
    assert found.unknown_tokens == 3
    assert "tokens: 12; 25.0000% unknown" in found.to_text()
    assert "documents: 2" in found.to_text()
