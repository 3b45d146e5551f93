"""The interview: which question to ask next, and the proof that what was not asked cannot matter."""

from whichgpu.engine.interview.certificate import Answered
from whichgpu.engine.interview.certificate import Counterexample
from whichgpu.engine.interview.certificate import Unasked
from whichgpu.engine.interview.certificate import answered
from whichgpu.engine.interview.certificate import check_certificate
from whichgpu.engine.interview.planner import Done
from whichgpu.engine.interview.planner import Interviewer
from whichgpu.engine.interview.planner import Question
from whichgpu.engine.interview.state import Answer
from whichgpu.engine.interview.state import State


__all__ = [
    "Answer",
    "Answered",
    "Counterexample",
    "Done",
    "Interviewer",
    "Question",
    "State",
    "Unasked",
    "answered",
    "check_certificate",
]
