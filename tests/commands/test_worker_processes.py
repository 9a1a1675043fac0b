"""Processes of a sweep or of a reproduction."""

from litebert.commands.worker_processes import worker_env


def test_worker_env_divides_threads_and_devices():
    assert worker_env(0, 4, {}, devices=0) == {"OMP_NUM_THREADS": "4"}
    found = [worker_env(slot, 1, {}, devices=2)["CUDA_VISIBLE_DEVICES"] for slot in range(3)]
    assert found == ["0", "1", "0"]
    assert worker_env(1, 1, {"CUDA_VISIBLE_DEVICES": "5,7"}, devices=2)["CUDA_VISIBLE_DEVICES"] == "7"
