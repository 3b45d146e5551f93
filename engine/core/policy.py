"""``policy.yaml`` of a layer: which GPUs, providers and regions an organisation approves or forbids."""

from __future__ import annotations

from pathlib import Path

from msgspec import field

from whichgpu.engine.core.errors import WhichgpuError
from whichgpu.engine.core.records import FrozenModel, RecordError, record_of
from whichgpu.engine.core.yaml.reading import Document, read_document


POLICY_FILE = "policy.yaml"


class PolicyList(FrozenModel):
    """Names: GPUs by id, family or series; providers; regions by name or by how their names begin."""

    gpus: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()


class Policy(FrozenModel):
    """Where a kind is approved by name, all else of that kind is not."""

    because: str
    sources: tuple[str, ...] = ()
    approved: PolicyList = field(default_factory=PolicyList)
    forbidden: PolicyList = field(default_factory=PolicyList)

    def allows_offer(self, provider: str, region: str | None) -> bool:
        """Whether offers of this provider in this region may be used."""
        good, bad = self.approved, self.forbidden
        if provider in bad.providers or (good.providers and provider not in good.providers):
            return False
        return not _lies_in(region, bad.regions) and (not good.regions or _lies_in(region, good.regions))


def _lies_in(region: str | None, names: tuple[str, ...]) -> bool:
    where = (region or "").casefold()
    return any(where == name.casefold() or where.startswith(name.casefold() + "-") for name in names)


def read_policy(folder: Path, error: type[WhichgpuError]) -> tuple[Policy, Document] | None:
    """The policy of a layer, and the file for its places; None where it has none.

    Raises:
        WhichgpuError: of class ``error``, with every problem of the file.
    """
    path = folder / POLICY_FILE
    if not path.is_file():
        return None
    document = read_document(path, error=error, cached=True)
    try:
        return record_of(Policy, document.plain), document
    except RecordError as broken:
        raise error(broken.problems(document.node, known=Policy.__struct_fields__)) from broken
