"""A decision: what was decided on one workload, and the answers that are made of it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal, overload

from msgspec import Struct

from whichgpu.engine.advisor.answer.compact import compact_dict
from whichgpu.engine.advisor.answer.decision import decision_dict
from whichgpu.engine.advisor.answer.lazy import LazyAnswer
from whichgpu.engine.advisor.answer.owned import owned_dict
from whichgpu.engine.advisor.answer.parts import AnswerParts
from whichgpu.engine.advisor.answer.tradeoffs import trade_off_list
from whichgpu.engine.advisor.intake import Workload
from whichgpu.engine.advisor.outcome import Outcome
from whichgpu.engine.advisor.owned_use import OwnedUse, owned_use
from whichgpu.engine.advisor.tradeoffs import TradeOff, trade_offs
from whichgpu.engine.core import VERSION, collection_paused
from whichgpu.engine.rules import Difference


if TYPE_CHECKING:
    from whichgpu.engine.advisor.advisor import Advisor
    from whichgpu.engine.advisor.answer import answer_types, compact_types, part_types


class Decision(Struct, frozen=True):
    """What was decided on one workload; ``to_dict`` puts it under the keys of the output contract."""

    outcome: Outcome
    workload: Workload
    advisor: Advisor
    decided_at: datetime
    #: Where durable-rules and the generated evaluator differ, and which of them counts then.
    differences: tuple[Difference, ...] = ()

    @property
    def fired_by(self) -> answer_types.FiredBy:
        """Who fired the rules: durable-rules if it was there and confirmed them all."""
        return "generated" if self.differences else self.advisor.fired_by

    @property
    def exit_code(self) -> int:
        """0 with a recommendation, 1 without."""
        return 0 if self.outcome.chosen is not None else 1

    @collection_paused()
    def trade_offs(self) -> tuple[TradeOff, ...]:
        """What would be clearly cheaper or faster if one thing were allowed. Takes up to ten further decisions."""
        advisor, given = self.advisor, self.workload.given
        return trade_offs(advisor.context, given, self.outcome, advisor.objectives, advisor.trade_off_settings)

    @collection_paused()
    def owned_use(self) -> OwnedUse | None:
        """What hardware that is owned could do, where it is not the answer. Takes up to four further decisions."""
        return owned_use(self.advisor.context, self.workload.given, self.outcome)

    @overload
    def to_dict(
        self, *, full: Literal[True] = True, trade_offs: bool = False, traced: bool = True
    ) -> answer_types.Decision: ...
    @overload
    def to_dict(
        self, *, full: bool, trade_offs: bool = False, traced: bool = True
    ) -> answer_types.Decision | answer_types.DecisionLine: ...
    def to_dict(
        self, *, full: bool = True, trade_offs: bool = False, traced: bool = True
    ) -> answer_types.Decision | answer_types.DecisionLine:
        """The decision as ``whichgpu.decision/1``.

        Args:
            full: with trace, rules and rejections.
            trade_offs: with ``trade_offs`` and ``owned``, which take further decisions.
            traced: False leaves out what a page for people does not show: the trace, and the plans and rules in full.
        """
        answer = decision_dict(self._parts(full=full, traced=traced), full=full)
        if trade_offs:
            if (owned := self._owned_dict()) is not None:
                answer["owned"] = owned
            answer["trade_offs"] = self._trade_off_list()
        return answer

    def lazily(self, *, full: bool = True, trade_offs: bool = False, traced: bool = True) -> LazyAnswer:
        """The decision of which only the parts are made that are read; arguments as for ``to_dict``.

        ``owned`` is None where there is nothing to say of it.
        """
        further = {"owned": self._owned_dict, "trade_offs": self._trade_off_list} if trade_offs else {}
        return LazyAnswer(self._parts(full=full, traced=traced), further)

    def _owned_dict(self) -> part_types.OwnedUse | None:
        owned = self.owned_use()
        return None if owned is None else owned_dict(owned, self.outcome.intake.facts, self.advisor.vocabulary)

    def _trade_off_list(self) -> list[part_types.TradeOff]:
        return trade_off_list(self.trade_offs(), self.outcome, self.advisor.vocabulary)

    def _parts(self, *, full: bool, traced: bool) -> AnswerParts:
        advisor = self.advisor
        head: answer_types.Head = {
            "fired_by": self.fired_by,
            "engine_version": VERSION,
            "decided_at": self.decided_at.isoformat(),
            "rulebook": {"version": VERSION, "digest": advisor.rulebook.digest, "layers": advisor.layers()},
            "knowledge": {"digest": advisor.knowledge.digest, "prices_as_of": advisor.knowledge.prices_as_of},
        }
        named = (advisor.knowledge, advisor.rules, advisor.vocabulary)
        return AnswerParts(self.outcome, head, *named, self.differences, full=full, traced=traced)

    def compact(self) -> compact_types.CompactAnswer:
        """The answer in under a kilobyte, without its reasons: for runs over many workloads."""
        advisor, today = self.advisor, self.decided_at.date().isoformat()
        return compact_dict(self.outcome, advisor.rules, today, advisor.vocabulary)
