"""`litebert doctor`: what this machine offers."""

from litebert.cli.arguments.common import Json, emit


def doctor(json: Json = False) -> None:
    """Versions, devices, threads, memory, disk and the measured matrix rate of this machine."""
    from litebert.commands.doctor import doctor as run

    diagnosis = run()
    emit(diagnosis.to_dict(), diagnosis.to_text(), as_json=json)
