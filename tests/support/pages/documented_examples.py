"""The Python blocks and the commands of a page, in their order, each with the output that the page shows for it."""

import glob
import re
import shlex
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
GENERATED = {"docs/reference/commands.md", "docs/reference/settings.md", "docs/reference/python-api.md"}
BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:(?:[A-Z_]+=\S+|torchrun|--\S+|\d+) )*litebert .*")
VARIABLE = re.compile(r"([A-Z]+)='(.*)'")
PROMPT = "$ "
SHELL = ("", "bash", "console")


@dataclass(frozen=True)
class Example:
    """A Python block, or a command."""

    page: str
    line: int
    language: str
    """`python` or `shell`."""
    text: str
    output: tuple[int, int] | None = None
    """Where the page shows what it prints, as positions in the text of the page."""

    @property
    def is_command(self) -> bool:
        return self.language == "shell"

    @property
    def words(self) -> list[str]:
        """The words after `litebert`, as the shell passes them; file patterns that match are expanded."""
        quoted = re.sub(r"'[^']*'|\"[^\"]*\"", lambda match: match[0].replace("*", "\0"), self.text)
        words = shlex.split(quoted, comments=True)
        words = words[words.index("litebert") + 1 :]
        expanded = [each for word in words for each in (sorted(glob.glob(word)) if "*" in word else []) or [word]]  # noqa: PTH207
        return [word.replace("\0", "*") for word in expanded]


def pages() -> list[str]:
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [name for path in paths if (name := path.relative_to(ROOT).as_posix()) not in GENERATED]


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def examples(page: str) -> list[Example]:
    """In the order of the page; a block `text` directly after an example is its output."""
    text, found, last_end = text_of(page), [], -1
    for match in BLOCK.finditer(text):
        language, line = match["language"], text[: match.start()].count("\n") + 2
        is_output = language == "text" and found and text[last_end : match.start()].strip() == ""
        if is_output and found[-1].output is None:
            found[-1] = Example(*_fields(found[-1]), output=match.span("text"))
        elif language == "python":
            found.append(Example(page, line, "python", textwrap.dedent(match["text"])))
        elif language in SHELL:
            found += _commands(page, line, match)
        last_end = match.end()
    return found


def _fields(example: Example) -> tuple[str, int, str, str]:
    return example.page, example.line, example.language, example.text


def _commands(page: str, line: int, block: re.Match[str]) -> list[Example]:
    """The commands of a block; where they have prompts, the lines below each are its output."""
    found: list[Example] = []
    variables: dict[str, str] = {}
    has_prompts = block["text"].lstrip().startswith(PROMPT)
    start, is_open = block.start("text"), False
    for physical in re.findall(r"(?:[^\n]*\\\n)*[^\n]*\n", block["text"]):
        command = physical.replace("\\\n", " ").strip()
        end = start + len(physical)
        if variable := VARIABLE.fullmatch(command):
            variables[variable[1]] = variable[2]
        is_prompt = command.startswith(PROMPT)
        command = command.removeprefix(PROMPT)
        for name, value in variables.items():
            command = command.replace(f"${name}", value)
        if has_prompts and not is_prompt:
            if is_open:
                found[-1] = Example(*_fields(found[-1]), output=((found[-1].output or (start,))[0], end))
        else:
            is_open = bool(COMMAND.fullmatch(command)) and "…" not in command
            found += [Example(page, line, "shell", command)] if is_open else []
        start, line = end, line + physical.count("\n")
    return found
