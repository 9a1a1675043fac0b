"""Wrong input: one sentence on stderr, the right exit code, no traceback, no partial output."""

import pytest

from litebert.cli.main import main

USAGE, DATA, CHECKPOINT = 2, 3, 4
TRAIN = ["--out", "{new}/out"]
PRETRAIN = ["pretrain", "tiny", "--corpus", "{made}/corpus", *TRAIN]
FINETUNE = ["finetune", "default", "--model", "{made}/run/model", *TRAIN]

CASES = {
    "a text file that is not there": (DATA, ["tokenizer", "train", "{new}/absent.txt", *TRAIN]),
    "an empty text file": (DATA, ["tokenizer", "train", "{new}/empty.txt", *TRAIN]),
    "a binary text file": (DATA, ["tokenizer", "train", "{new}/binary.txt", *TRAIN]),
    "a vocabulary larger than the text": (DATA, ["tokenizer", "train", "{made}/text.txt", *TRAIN]),
    "a tokenizer that is none": (DATA, ["tokenizer", "encode", "{new}", "text"]),
    "a corpus of an empty file": (
        DATA,
        ["corpus", "build", "{new}/empty.txt", "--tokenizer", "{made}/tokenizer", *TRAIN],
    ),
    "a corpus of a binary file": (
        DATA,
        ["corpus", "build", "{new}/binary.txt", "--tokenizer", "{made}/tokenizer", *TRAIN],
    ),
    "a corpus that is there already": (
        USAGE,
        ["corpus", "build", "{made}/text.txt", "--tokenizer", "{made}/tokenizer", "--out", "{made}/corpus"],
    ),
    "a corpus directory that is none": (DATA, ["corpus", "verify", "{new}"]),
    "training on no corpus": (DATA, ["pretrain", "tiny", "--corpus", "{new}", *TRAIN]),
    "an unknown recipe": (USAGE, ["pretrain", "tinny", "--corpus", "{made}/corpus", *TRAIN]),
    "a recipe file that is not there": (USAGE, ["pretrain", "absent.yaml", "--corpus", "{made}/corpus", *TRAIN]),
    "an unknown setting": (USAGE, [*PRETRAIN, "train.learning_rat=1"]),
    "a setting of the wrong type": (USAGE, [*PRETRAIN, "train.learning_rate=fast"]),
    "a setting out of range": (USAGE, [*PRETRAIN, "train.learning_rate=-1"]),
    "a setting without a value": (USAGE, [*PRETRAIN, "train.learning_rate"]),
    "a duration without a unit": (USAGE, [*PRETRAIN, "train.duration=5"]),
    "an unknown preset": (USAGE, [*PRETRAIN, "model.preset=albert-huge"]),
    "heads that do not divide the width": (USAGE, [*PRETRAIN, "model.num_attention_heads=3"]),
    "a run directory that is something else": (
        USAGE,
        ["pretrain", "tiny", "--corpus", "{made}/corpus", "--out", "{made}/tokenizer"],
    ),
    "a labelled file that is not there": (DATA, [*FINETUNE, "--train", "{new}/absent.csv"]),
    "an empty labelled file": (DATA, [*FINETUNE, "--train", "{new}/empty.csv"]),
    "a CSV without the named column": (DATA, [*FINETUNE, "--train", "{made}/labelled.csv", "--label", "topic"]),
    "a model directory without weights": (
        CHECKPOINT,
        ["finetune", "default", "--model", "{new}/hollow", "--train", "{made}/labelled.csv", *TRAIN],
    ),
    "fine-tuning a preset without weights": (
        USAGE,
        ["finetune", "default", "--model", "tiny", "--train", "{made}/labelled.csv", *TRAIN],
    ),
    "evaluating nothing": (USAGE, ["evaluate", "{made}/run/model"]),
    "evaluating a model that is not there": (CHECKPOINT, ["evaluate", "{new}/absent", "--corpus", "{made}/corpus"]),
    "evaluating a classifier on held-out text": (
        USAGE,
        ["evaluate", "{made}/tuned/model", "--corpus", "{made}/corpus"],
    ),
    "predicting into an unknown format": (
        USAGE,
        ["predict", "{made}/tuned/model", "{made}/labelled.csv", "{new}/out.xml"],
    ),
    "predicting a column that is not there": (
        DATA,
        ["predict", "{made}/tuned/model", "{made}/labelled.csv", "{new}/out.csv", "--text", "body"],
    ),
    "predicting with a model without weights": (
        CHECKPOINT,
        ["predict", "{new}/hollow", "{made}/labelled.csv", "{new}/out.csv"],
    ),
    "an architecture that does not exist": (USAGE, ["info", "albert-huge"]),
    "a directory without a model": (CHECKPOINT, ["info", "{new}"]),
    "a quickstart on text that is not there": (DATA, ["quickstart", "--text", "{new}/absent.txt", *TRAIN]),
    "a quickstart on too little text": (DATA, ["quickstart", "--text", "{new}/word.txt", *TRAIN]),
    "an unknown command": (USAGE, ["pretain", "tiny"]),
}


@pytest.fixture
def new(tmp_path, made):
    """Damaged files, and a directory for the output of a command."""
    (tmp_path / "empty.txt").touch()
    (tmp_path / "empty.csv").touch()
    (tmp_path / "word.txt").write_text("Word.\n")
    (tmp_path / "binary.txt").write_bytes(b"\x7fELF\x00\x01\x02\x00" * 50)
    (tmp_path / "hollow").mkdir()
    for name in ("config.json", "spiece.model", "tokenizer_config.json"):
        (tmp_path / "hollow" / name).write_bytes((made / "run" / "model" / name).read_bytes())
    return tmp_path


@pytest.mark.parametrize("case", CASES)
def test_wrong_input_gives_one_sentence_and_writes_nothing(case, made, new, capsys):
    code, words = CASES[case]
    words = [word.format(made=made, new=new) for word in words]
    before = listing(new), listing(made)
    assert main(words) == code
    answer = capsys.readouterr()
    said = [line for line in answer.err.splitlines() if line.startswith("litebert: ")]
    assert len(said) == 1, answer.err
    assert "Traceback" not in answer.err
    assert answer.out == ""
    assert (listing(new), listing(made)) == before, "nothing is written, not even in part"


@pytest.mark.parametrize("words", [["doctor", "--jsn"], ["pretrain"], ["info", "tiny", "--length", "long"]])
def test_wrong_flag_is_a_usage_error(words, capsys):
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == USAGE
    assert capsys.readouterr().err


def listing(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))
