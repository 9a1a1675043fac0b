"""`litebert prepare wikipedia`, `books` and `reading-comprehension`."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from litebert.cli.arguments.common import Files, Json, Several, print_result
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.corpus.sources.books import BookSettings

Dumps = Annotated[tuple[Path, ...], Positional, arg(metavar="DUMPS", help_behavior_hint="(required)")]


def wikipedia(dumps: Dumps, *, out: Path, json: Json = False) -> None:
    """Write the prose of Wikipedia articles to a text file: one paragraph per line, a blank line between articles.

    Redirects, disambiguation pages, tables, lists, headings, references and most templates are left out.

    Args:
        dumps: …-pages-articles.xml.bz2 files (also multistream, .xml, .xml.gz), or the JSON output of WikiExtractor
        out: the file to write, ending in .txt or .txt.gz
    """
    from litebert.corpus.sources.wikipedia import write_wikipedia

    print_result(write_wikipedia(dumps, out), as_json=json)


def books(
    files: Files, *, out: Path, settings: Annotated[BookSettings, arguments_of(BookSettings)], json: Json = False
) -> None:
    """Write a folder of books, one per file, to a text file: one paragraph per line, a blank line between documents.

    Args:
        files: text files, globs or directories, such as the folder of BookCorpus
        out: the file to write, ending in .txt or .txt.gz
    """
    from litebert.corpus.sources.books import write_books

    print_result(write_books(files, settings, out), as_json=json)


def reading_comprehension(*, out: Path, squad: Several = (), race: Several = (), json: Json = False) -> None:
    """Write the passages of SQuAD and RACE to a text file, each once.

    The passages of their development sets are the intrinsic development set of the paper.

    Args:
        squad: JSON files of SQuAD 1.1 or 2.0, such as dev-v1.1.json dev-v2.0.json
        race: directories of RACE, such as RACE/dev
        out: the file to write, ending in .txt or .txt.gz
    """
    from litebert.corpus.sources.reading_comprehension import write_passages

    print_result(write_passages([Path(path) for path in squad], [Path(path) for path in race], out), as_json=json)
