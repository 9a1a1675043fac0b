"""`litebert doctor`: a diagnosis of this machine."""

from litebert.cli.arguments.common import Json, print_result


def doctor(json: Json = False) -> None:
    """Versions, devices, threads, memory, disk and the measured matmul throughput of this machine."""
    from litebert.commands.doctor import doctor as run

    print_result(run(), as_json=json)
