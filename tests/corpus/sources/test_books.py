"""Folders of books to documents."""

import pytest

from litebert.corpus.sources.books import BookSettings, write_books
from litebert.errors import DataError

GUTENBERG = """The Project Gutenberg eBook of A Tale
Title: A Tale

*** START OF THE PROJECT GUTENBERG EBOOK A TALE ***

A TALE

CHAPTER I.
In Which It Begins

It was a day
of rain.

Then came sun.

Chapter 2

Chapter two, she said, is where I stop, and it goes on.

*** END OF THE PROJECT GUTENBERG EBOOK A TALE ***

Licence.
"""


def written(tmp_path, text: str, **settings) -> tuple[str, dict[str, int]]:
    (tmp_path / "books").mkdir(exist_ok=True)
    (tmp_path / "books" / "a.txt").write_text(text)
    report = write_books([tmp_path / "books"], BookSettings(**settings), tmp_path / "out.txt")
    return (tmp_path / "out.txt").read_text(), report.counts


def test_book_is_one_document_despite_blank_lines(tmp_path):
    text, counts = written(tmp_path, "One line .\n\nAnother .\n")
    assert text == "One line .\nAnother .\n"
    assert counts == {"books": 1}


def test_books_take_each_file_as_a_book(tmp_path):
    for name in ("b", "a"):
        (tmp_path / f"{name}.txt").write_text(f"The book {name}.\n")
    report = write_books([tmp_path / "*.txt"], BookSettings(), tmp_path / "out" / "all.txt")
    assert (tmp_path / "out" / "all.txt").read_text() == "The book a.\n\nThe book b.\n"
    assert report.documents == 2


MARKDOWN = """
## BOOK THE FIRST: SOWING
### CHAPTER I - ONE

It was a day
of *rain*.
#hashtag

You _must_ go, snake_case and 2*3*4 stay. **Now**!

# Two
Then came sun.
"""


@pytest.mark.parametrize(("documents", "ends"), [("chapter", 1), ("book", 0)])
def test_markdown_book_has_a_chapter_for_each_heading_and_no_marks(tmp_path, documents, ends):
    text, counts = written(tmp_path, MARKDOWN, lines="markdown", documents=documents)
    first = "It was a day of rain. #hashtag\nYou must go, snake_case and 2*3*4 stay. Now!\n"
    assert text == first + "\n" * ends + "Then came sun.\n"
    assert counts == {"chapter headings": 3, "books": 1}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (r"He cried \*no\* and 5 \_ x.", "He cried *no* and 5 _ x."),
        ("**Note: *very* good**", "Note: very good"),
        ("*one **two** three*", "one two three"),
        ("***both*** and _one_", "both and one"),
        ("2 * 3 * 4 and a*b*c", "2 * 3 * 4 and a*b*c"),
        ("这是**重点**内容，他*强调*了。", "这是重点内容，他强调了。"),
    ],
)
def test_marks_of_emphasis_are_removed_and_escaped_characters_kept(tmp_path, line, expected):
    assert written(tmp_path, line + "\n", lines="markdown")[0] == expected + "\n"


def test_gutenberg_book_is_unwrapped_without_its_licence(tmp_path):
    text, counts = written(tmp_path, GUTENBERG, gutenberg=True, lines="wrapped")
    assert text.splitlines()[:3] == ["A TALE", "CHAPTER I. In Which It Begins", "It was a day of rain."]
    assert "Licence" not in text
    assert "Title" not in text
    assert counts == {"books": 1}


def test_books_can_be_split_into_chapters(tmp_path):
    text, counts = written(tmp_path, GUTENBERG, gutenberg=True, lines="wrapped", documents="chapter")
    assert text.split("\n\n") == [
        "A TALE",
        "It was a day of rain.\nThen came sun.",
        "Chapter two, she said, is where I stop, and it goes on.\n",
    ]
    assert counts == {"books": 1, "chapter headings": 2}


def test_gutenberg_book_without_header_is_used_and_counted(tmp_path):
    text, counts = written(tmp_path, "Only text.\n", gutenberg=True)
    assert text == "Only text.\n"
    assert counts == {"books": 1, "books without a Gutenberg header": 1}


def test_books_count_invalid_utf8(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"caf\xe9\n")
    report = write_books([tmp_path / "a.txt"], BookSettings(), tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == "caf\ufffd\n"
    assert report.counts["lines repaired"] == 1


def test_books_without_text_are_refused_and_leave_no_file(tmp_path):
    with pytest.raises(DataError, match="has no text"):
        written(tmp_path, "\n \n")
    assert [path.name for path in tmp_path.iterdir()] == ["books"]


@pytest.mark.parametrize(
    ("line", "is_heading"),
    [
        ("Chapter 1", True),
        ("CHAPTER I. DOWN THE RABBIT-HOLE.", True),
        ("Chapter IV The Return", True),
        ("Part the First.", True),
        ("Chapter Nineteen", True),
        ("Letter 2: to his sister", True),
        ("Part of him wanted to stay.", False),
        ("Book your tickets now!", False),
        ("Letter I wrote to him.", False),
        ("“Part of me died.”", False),
        ("Part of me died.”", False),
        ("Act now, he said", False),
        ("Part the Second The Return", True),
        ("Chapter 12 in which it begins", True),
        ("Chapitre premier", True),
        ("Part of me wanted to go home", False),
        ("Act as if nothing happened", False),
        ("Book me a room for two", False),
        ("Letter writing was her joy", False),
    ],
)
def test_sentences_that_begin_like_headings_are_kept(tmp_path, line, is_heading):
    text, counts = written(tmp_path, f"He ran.\n{line}\nShe slept.\n", documents="chapter")
    assert counts.get("chapter headings", 0) == is_heading
    assert (line in text) == (not is_heading)


@pytest.mark.parametrize("lines", ["wrapped", "markdown"])
def test_lines_of_scripts_without_spaces_are_joined_without_one(tmp_path, lines):
    text, _ = written(tmp_path, "这是第一行，\n第二行。\n\nภาษา\nไทย\n\nOne\ntwo\n三\n四\nfive\n", lines=lines)
    assert text == "这是第一行，第二行。\nภาษาไทย\nOne two 三四 five\n"


def test_books_in_another_encoding_are_refused_until_it_is_named(tmp_path):
    (tmp_path / "book.txt").write_bytes("\n".join(["Über den Fluß"] * 20).encode("cp1252"))
    with pytest.raises(DataError, match=r"book\.txt:1: 20 of 20 lines.* --encoding cp1252"):
        write_books([tmp_path / "book.txt"], BookSettings(), tmp_path / "out.txt")
    write_books([tmp_path / "book.txt"], BookSettings(encoding="cp1252"), tmp_path / "out.txt")
    assert "Über den Fluß" in (tmp_path / "out.txt").read_text(encoding="utf-8")
    report = write_books([tmp_path / "book.txt"], BookSettings(invalid_utf8="replace"), tmp_path / "other.txt")
    assert report.counts["lines repaired"] == 20
