"""Durations as text for log lines and reports."""


def readable_seconds(seconds: float) -> str:
    """The two largest units of a duration: `12.5 s`, `3 min 5 s`, `5 h 3 min`, `2 d 4 h`."""
    if seconds < 59.95:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    amounts = {"d": days, "h": hours, "min": minutes, "s": rest}
    present = [unit for unit in amounts if amounts[unit]]
    first = list(amounts).index(present[0])
    return " ".join(f"{amount} {unit}" for unit, amount in list(amounts.items())[first : first + 2] if amount)
