"""`litebert doctor`: a diagnosis of this machine."""

from litebert.cli.arguments.common import Json, emit


def doctor(json: Json = False) -> None:
    """Versions, devices, threads, memory, disk and the measured matmul throughput of this machine."""
    from litebert.commands.doctor import doctor as run

    diagnosis = run()
    emit(diagnosis.to_dict(), diagnosis.to_text(), as_json=json)
