"""The interview: which question to ask next, and the proof that what was not asked cannot matter."""

from engine.interview.certificate import Answered
from engine.interview.certificate import Counterexample
from engine.interview.certificate import Unasked
from engine.interview.certificate import answered
from engine.interview.certificate import check_certificate
from engine.interview.planner import Done
from engine.interview.planner import Interviewer
from engine.interview.planner import Question
from engine.interview.state import Answer
from engine.interview.state import State


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
