"""`litebert doctor`: what this machine offers."""

from typing import Annotated

import tyro

from litebert.cli.output import emit


def doctor(json: Annotated[bool, tyro.conf.arg(help="print one JSON object")] = False) -> None:
    """Versions, devices, threads, memory, disk and the measured matrix rate of this machine."""
    from litebert.runs.doctor import doctor as run

    diagnosis = run()
    emit(diagnosis.to_dict(), diagnosis.to_text(), as_json=json)
