"""Small files and models by the names that the pages use for those of the reader."""

import bz2
import gzip
import json
import re
import shutil
from functools import cached_property
from pathlib import Path

import litebert
from litebert.interop.convert_weights import convert
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForPretraining, ForSequenceClassification
from litebert.tokenization.tokenizer import Tokenizer
from support.data.benchmark_files import write_glue, write_race
from support.data.labelled_files import SUBJECTS, write_opinions
from support.data.question_builders import QUESTIONS, squad_json
from support.data.texts import write_documents
from support.data.tf_checkpoints import checkpoint_prefix
from support.models.model_builders import MODERN
from support.models.saved_models import save_models

SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
ENTAILMENT = ("contradiction", "entailment", "neutral")
NAMES = {
    "encoder": "model MODEL PRETRAINED tiny/model encoders/tiny albert/albert-base-v2 run/model",
    "modern": "runs/mine/model",
    "night": "encoders/night encoders/night-balanced encoders/night-large encoders/night-large-masked",
    "classifier": "RUN classifier tuned runs/sst-2 SENTIMENT",
    "several": "TOPICS",
    "regressor": "STARS",
    "chooser": "RACE_RUN QUIZ",
    "tagger": "runs/conll TAGS",
    "binary": "RUN2 cola/runs/seed=0 cola/runs/seed=1 five/a five/b five/c",
    "entailment": "mnli/runs/seed=0 MNLI_RUN",
    "two_way": "rte rte1 rte2 QNLI_RUN",
    "pronouns": "wsc.jsonl",
    "tf_encoder": "albert_base",
    "tf_entailment": "MNLI_CHECKPOINT",
    "tf_regressor": "STSB_CHECKPOINT",
    "tf_chooser": "RACE_CHECKPOINT",
    "tokenizer": "tokenizer",
    "vocabulary": "30k-clean.model",
    "corpus": "corpus CORPUS novels wiki news more",
    "documents": "text/first.txt books/first.txt books.txt wiki-train-001.txt reviews.txt",
    "other_documents": "wiki-dev-000.txt",
    "compressed_documents": "wiki-0.txt.gz",
    "dump": "simplewiki.xml.bz2 dewiki.xml.bz2 dewiki-pages-articles-multistream.xml.bz2",
    "book": "bookcorpus/a.txt gutenberg/a.txt classic-books-markdown/a/a.md",
    "minimal_pairs": "blimp/data/agreement.jsonl",
    "lines": "texts.txt stories.txt texts/a.txt",
    "opinions": "labelled.csv letters.csv test.csv dev.csv reviews.csv other.csv train.csv rows.csv "
    "reviews/a/b.csv tests/a.csv",
    "opinion_rows": "text/labelled-train.jsonl text/labelled-dev.jsonl labelled-train.jsonl labelled-dev.jsonl",
    "topics": "topics.jsonl",
    "new_texts": "new.csv unlabelled.csv",
    "tagged_words": "news.conll",
    "treebank": "treebank.conllu",
    "choices": "quiz.csv",
    "questions": "questions.csv",
    "squad": "train-v1.1.json dev-v1.1.json questions.json SQUAD/train-v1.1.json SQUAD/dev-v1.1.json "
    "squad/SQuAD/train-v1.1.json squad/SQuAD/dev-v1.1.json",
    "squad_without_answers": "train-v2.0-original-10articles.json dev-v2.0.json DATA/SQuAD/train-v2.0.json "
    "DATA/SQuAD/dev-v2.0.json",
    "cola_rows": "few.tsv held.tsv mine.tsv",
    "cola_tests": "new.tsv",
    "sentences": "sst2-2000.tsv sst2-500.tsv SST-2/dev.tsv",
    "glue": "GLUE glue",
    "race": "DATA/RACE RACE",
    "imdb": "stanfordnlp/imdb",
    "recipe": "mine.yaml",
}
"""Kind → the names of such files and directories on the pages."""
STEM = re.compile(r"\d*[^./\d]*")
"""The beginning of a name, which patterns of names have too."""


class StandIns:
    """Makes each kind once, and copies it under the names that a page has."""

    def __init__(self, root: Path, tokenizer: Tokenizer) -> None:
        self.root, self.source = root, tokenizer
        self.config = ModelConfig(
            **SIZES, vocab_size=tokenizer.vocab_size, embedding_size=8, max_position_embeddings=512
        )

    def write(self, directory: Path, text: str) -> None:
        """The files that `text` names."""
        for kind, names in NAMES.items():
            for name in (name for name in names.split() if STEM.match(name)[0] in text):
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                made = self.made(kind)
                copy = shutil.copytree if made.is_dir() else shutil.copy
                copy(made, directory / name)

    def made(self, kind: str) -> Path:
        path = self.root / kind
        if kind in self.models:
            return self.models[kind]
        if not path.exists():
            getattr(self, f"make_{kind}")(path)
        return path

    @cached_property
    def models(self) -> dict[str, Path]:
        saved = save_models(self.root / "models", self.source, self.config)
        return {**saved, "encoder": saved["pretraining"]}

    def make_modern(self, path: Path) -> None:
        model = ForPretraining(self.config.replace(num_hidden_layers=2, **MODERN))
        save_model(model, path, extra_files=self.source.files())

    def make_night(self, path: Path) -> None:
        """As wide as the encoders that short runs train, so that they can start from it; as deep as the real one."""
        sizes = {"num_hidden_layers": 6, "embedding_size": 16, "num_attention_heads": 4, "recursion_lora_rank": 0}
        model = ForPretraining(self.config.replace(**{**MODERN, **sizes}))
        save_model(model, path, extra_files=self.source.files())

    def make_classifier(self, path: Path) -> None:
        self._save_classifier(path, ("bad", "good"))

    def make_binary(self, path: Path) -> None:
        self._save_classifier(path, ("0", "1"))

    def make_entailment(self, path: Path) -> None:
        self._save_classifier(path, ENTAILMENT)

    def make_two_way(self, path: Path) -> None:
        self._save_classifier(path, ("entailment", "not_entailment"))

    def _save_classifier(self, path: Path, labels: tuple[str, ...]) -> None:
        model = ForSequenceClassification(self.config, num_labels=len(labels))
        save_model(
            model,
            path,
            labels=labels,
            problem_type="single_label_classification",
            extra_files=self.source.files(),
        )

    def make_pronouns(self, path: Path) -> None:
        rows = []
        for each in SUBJECTS:
            spans = {"span1_text": "the film", "span2_text": "it", "span2_index": len(each.split()) + 2}
            rows.append({"text": f"{each} fell ; it was bad", "target": spans, "label": each == "the film"})
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def make_tf_encoder(self, path: Path) -> None:
        shutil.copytree(checkpoint_prefix("all_shared").parent, path)

    def make_tf_entailment(self, path: Path) -> None:
        convert(str(self.made("entailment")), path, to="tensorflow")

    def make_tf_regressor(self, path: Path) -> None:
        convert(str(self.made("regressor")), path, to="tensorflow")

    def make_tf_chooser(self, path: Path) -> None:
        convert(str(self.made("chooser")), path, to="tensorflow")

    def make_tokenizer(self, path: Path) -> None:
        self.source.save(path)

    def make_vocabulary(self, path: Path) -> None:
        shutil.copy(self.made("tokenizer") / "spiece.model", path)

    def make_corpus(self, path: Path) -> None:
        text = write_documents(path.with_suffix(".txt"), documents=40)
        litebert.build_corpus(text, path, tokenizer=self.made("tokenizer"), validation_fraction=0.2)

    def make_documents(self, path: Path) -> None:
        write_documents(path, documents=40)

    def make_other_documents(self, path: Path) -> None:
        write_documents(path, documents=10, seed=2)

    def make_compressed_documents(self, path: Path) -> None:
        path.write_bytes(gzip.compress(write_documents(path, documents=5, seed=1).read_bytes()))

    def make_lines(self, path: Path) -> None:
        path.write_text("\n".join(f"{subject} was good" for subject in SUBJECTS) + "\n")

    def make_dump(self, path: Path) -> None:
        page = "<page><ns>0</ns><revision><text>The '''film''' is [[good]].</text></revision></page>"
        path.write_bytes(bz2.compress(f"<mediawiki><siteinfo/>{page}</mediawiki>".encode()))

    def make_book(self, path: Path) -> None:
        path.write_text("Chapter 1\n\nThe film was good.\n\nChapter 2\n\nThe music was bad.\n")

    def make_minimal_pairs(self, path: Path) -> None:
        pair = {"sentence_good": "the film was good", "sentence_bad": "the film good was", "linguistics_term": "order"}
        path.write_text(json.dumps(pair) + "\n")

    def make_opinions(self, path: Path) -> None:
        """Each label is in the column `label`; the text also in the column `body`."""
        lines = write_opinions(path.with_suffix(".csv")).read_text().splitlines()
        rows = ["text,label,body", *(f"{line},{line.partition(',')[0]}" for line in lines[1:])]
        path.write_text("\n".join(rows) + "\n")

    def make_opinion_rows(self, path: Path) -> None:
        shutil.move(write_opinions(path.with_suffix(".jsonl")), path)

    def make_topics(self, path: Path) -> None:
        """Lists of labels, some of them empty."""
        rows = ({"text": text, "label": [each for each in ("film", "music") if each in text]} for text in SUBJECTS * 4)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def make_new_texts(self, path: Path) -> None:
        path.write_text("\n".join(["text", *SUBJECTS]) + "\n")

    def make_tagged_words(self, path: Path) -> None:
        path.write_text("the O\nold B-X\nactor I-X\n\nthe O\nmusic B-X\n\n" * 8)

    def make_treebank(self, path: Path) -> None:
        row = "{}\t{}\t_\t{}\t{}\t_\t_\t_\t_\t_\n".format
        sentences = (row(1, "the", "DET", "DT") + row(2, noun, "NOUN", "NN") for noun in ("film", "actor", "music"))
        path.write_text("\n".join(sentences) * 8)

    def make_choices(self, path: Path) -> None:
        rows = [f"{subject} was _,what was it,good,bad,A" for subject in SUBJECTS]
        path.write_text("\n".join(["text,question,option1,option2,label", *rows, *rows]) + "\n")

    def make_questions(self, path: Path) -> None:
        path.write_text("question,context\nWho was good?,The old actor was good.\n")

    def make_squad(self, path: Path) -> None:
        path.write_text(json.dumps(squad_json(*QUESTIONS[:3])))

    def make_squad_without_answers(self, path: Path) -> None:
        path.write_text(json.dumps(squad_json(*QUESTIONS)))

    def make_cola_rows(self, path: Path) -> None:
        shutil.copy(self.made("glue") / "CoLA" / "train.tsv", path)

    def make_cola_tests(self, path: Path) -> None:
        shutil.copy(self.made("glue") / "CoLA" / "test.tsv", path)

    def make_sentences(self, path: Path) -> None:
        shutil.copy(self.made("glue") / "SST-2" / "dev.tsv", path)

    def make_glue(self, path: Path) -> None:
        write_glue(path)
        for task, name in (("QQP", "train"), ("QQP", "dev"), ("QNLI", "train")):
            shutil.copy(path / task / f"{name}.tsv", path / task / f"{name}_subset.tsv")
        write_race(path)
        (path / "SQuAD").mkdir()
        for name in ("train-v1.1.json", "dev-v1.1.json"):
            self.make_squad(path / "SQuAD" / name)

    def make_race(self, path: Path) -> None:
        shutil.move(write_race(path.with_suffix(".parent")) / "RACE", path)

    def make_imdb(self, path: Path) -> None:
        import datasets

        rows = datasets.Dataset.from_list(
            [{"text": f"{text} was {word}", "label": word} for text in SUBJECTS for word in ("good", "bad")]
        )
        datasets.DatasetDict({"train": rows, "test": rows}).save_to_disk(path)

    def make_recipe(self, path: Path) -> None:
        shutil.copy(Path(litebert.__file__).parent / "recipes" / "pretrain" / "tiny.yaml", path)
