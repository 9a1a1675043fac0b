"""The files that one CSV row passes on its way to a prediction, in the order of their first visit.

python tools/walk.py MODEL FILE.csv

Files are counted from the reading of the row to the written record. The packages `model` and `tokenization` count as
one stop each, the core (files, settings, errors) as none. A climb is a call into a file visited before the calling one.
"""

import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

from litebert.commands.predict import predict as command
from litebert.commands.predict.predict_settings import PredictRun

SOURCE = Path(command.__file__).parents[2]
STOPS = ("model", "tokenization")
LEFT_OUT = ("files.py", "manifest.py", "settings.py", "errors.py", "logs.py", "device.py")
FIRST = "write_predictions"
"""The function that reads rows, predicts and writes."""


class Walk:
    """Records calls between files of litebert."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.climbs: list[tuple[str, str]] = []
        self._depth = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """A profile function of `sys.setprofile`."""
        name = stop_of(frame)
        if name is None:
            return
        if frame.f_code.co_name == FIRST:
            self._depth += {"call": 1, "return": -1}.get(event, 0)
        if event == "call" and self._depth:
            self._visit(name, caller_of(frame))

    def _visit(self, name: str, caller: str | None) -> None:
        if name not in self.files:
            self.files.append(name)
        elif caller in self.files[self.files.index(name) + 1 :] and (caller, name) not in self.climbs:
            self.climbs.append((str(caller), name))


def stop_of(frame: FrameType) -> str | None:
    """The file of a frame below the source directory, or its package where that counts as one stop."""
    path = Path(frame.f_code.co_filename)
    if SOURCE not in path.parents:
        return None
    name = path.relative_to(SOURCE).as_posix()
    if name in LEFT_OUT:
        return None
    package = name.partition("/")[0]
    return package if package in STOPS else name


def caller_of(frame: FrameType) -> str | None:
    """The stop that called, through frames of other libraries."""
    outer = frame.f_back
    while outer is not None and stop_of(outer) is None:
        outer = outer.f_back
    return None if outer is None else stop_of(outer)


def main(model: str, source: str) -> None:
    """Predict the file and print the walk."""
    walk = Walk()
    with tempfile.TemporaryDirectory() as directory:
        run = PredictRun(model=model, input=Path(source), output=Path(directory) / "out.csv")
        sys.setprofile(walk)
        try:
            command.predict(run)
        finally:
            sys.setprofile(None)
    lines = [f"{number:2d}  {name}" for number, name in enumerate(walk.files, start=1)]
    climbs = [f"    {caller} → {name}" for caller, name in walk.climbs]
    print("\n".join([*lines, f"{len(walk.files)} files, {len(walk.climbs)} climbs", *climbs]))


if __name__ == "__main__":
    main(*sys.argv[1:])
