"""An engine over a Ray cluster: chunks of distinct jobs go out as tasks, their replies come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.fleet.sources import needed
from whichgpu.engine.fleet.workers import Orders, WorkerLostError, cannot_begin, decide_job, load_for


#: How often Ray itself begins a task again whose worker or machine is lost.
_RETRIES = 2


class RayTasks:
    """Core tasks of Ray; each worker process loads what it needs once."""

    all_lost_together = False

    def __init__(self, orders: Orders, address: str | None, width: int | None) -> None:
        """Join the cluster at an address (``auto``, ``ray://...``), or start one on this machine.

        Args:
            orders: what workers need.
            address: of the cluster; None for one of this machine.
            width: tasks at the same time; by default as many as the cluster has cores.
        """
        self._ray = needed("ray")
        self._ours = not self._ray.is_initialized()
        if self._ours:
            alone: dict[str, Any] = {"num_cpus": width, "include_dashboard": False} if address is None else {}
            self._ray.init(address=address or "local", log_to_driver=False, configure_logging=False, **alone)
        self.width = width or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._orders = self._ray.put(orders)
        self._task = self._ray.remote(max_retries=_RETRIES, num_cpus=1)(_decide)

    def submit(self, chunk: Sequence[str]) -> Any:
        """Begin a chunk."""
        return self._task.remote(self._orders, list(chunk))

    def finished(self, tasks: Sequence[Any]) -> Sequence[Any]:
        """The chunks that are done, at least one; waits for it."""
        return tuple(self._ray.wait(list(tasks), num_returns=1)[0])

    def result(self, task: Any) -> list[str]:
        """The replies. Raises WorkerLostError."""
        try:
            replies: list[str] = self._ray.get(task)
        except self._ray.exceptions.RayTaskError as error:
            raise cannot_begin(error.cause) from error
        except self._ray.exceptions.RayError as error:
            raise WorkerLostError from error
        return replies

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        if self._ours:
            self._ray.shutdown()


#: What this process has loaded, by the digests of rules and knowledge.
_loaded: dict[tuple[str, str], Advisor] = {}


def _decide(orders: Orders, chunk: list[str]) -> list[str]:
    if orders.digests not in _loaded:
        _loaded[orders.digests] = load_for(orders)
    return [decide_job(_loaded[orders.digests], facts, orders.decided_at) for facts in chunk]
