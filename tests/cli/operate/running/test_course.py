"""Who starts when, and when a run is over: the course of a run, against a simple program that says the same."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from weft.cli.operate.running.course import (
    DONE,
    EMPTY_SECONDS,
    FAILED,
    GONE_SECONDS,
    RUNNING,
    WAITING,
    Course,
    StartProgram,
    StopProgram,
)
from weft.cli.operate.running.plan import (
    ENDED,
    ENDS,
    FAILURE,
    FILE,
    JOINED,
    LOG,
    NOTHING,
    RUN,
    SYNCHRONIZED,
    Program,
    StartCondition,
)

FACTS = [
    StartCondition(SYNCHRONIZED, "met"),
    StartCondition(FILE, "/there"),
    StartCondition(JOINED, "guest"),
    StartCondition(LOG, "x", "y"),
]
LAST = 200


@st.composite
def programs(draw: st.DrawFn) -> list[Program]:
    """Each may wait for facts from outside, and for the ends of those before it."""
    made: list[Program] = []
    for number in range(draw(st.integers(1, 6))):
        after = draw(
            st.lists(
                st.sampled_from([*FACTS, *(StartCondition(ENDED, one.name) for one in made)]), max_size=3
            )
        )
        made.append(
            Program(
                f"p{number}", ("x",), after=tuple(after), seconds=draw(st.integers(0, 5)), ends=draw(st.sampled_from(ENDS)),
                joins=(f"p{number}",),
            )
        )  # fmt: skip
    return made


def _oracle(
    plans: list[Program], begin: int, facts: dict[StartCondition, int], lasts: list[int], codes: list[int]
) -> tuple[dict[str, float], float]:
    """When each would start, and when the run is over, by no more than the rules in the docstring of the module."""
    starts: dict[str, float] = {}
    ends: dict[str, float] = {}
    for program, takes, code in zip(plans, lasts, codes, strict=True):
        known: dict[StartCondition, float] = {
            **facts,
            **{StartCondition(ENDED, name): end for name, end in ends.items()},
        }
        happened = [known.get(each, math.inf) for each in program.after]
        starts[program.name] = max([begin, *happened]) + program.seconds
        if code == 0:
            ends[program.name] = starts[program.name] + takes
    whole = {one.name: starts[one.name] + takes for one, takes in zip(plans, lasts, strict=True)}
    failed = [whole[one.name] for one, code in zip(plans, codes, strict=True) if code and one.ends != NOTHING]
    final = [whole[one.name] for one in plans if one.ends == RUN]
    awaited = [one for one in plans if one.ends != NOTHING] or plans
    return starts, min([*failed, *final, max(whole[one.name] for one in awaited)])


@given(
    programs(),
    st.integers(0, 5),
    st.dictionaries(st.sampled_from(FACTS), st.integers(0, 30), min_size=len(FACTS), max_size=len(FACTS)),
    st.lists(st.integers(1, 8), min_size=6, max_size=6),
    st.lists(st.sampled_from([0, 0, 0, 3]), min_size=6, max_size=6),
)
def test_a_course_is_as_the_oracle_says(
    plans: list[Program], begin: int, facts: dict[StartCondition, int], lasts: list[int], codes: list[int]
) -> None:
    """Start conditions, delays and ends, whatever waits for whom: the same starts, and over at the same time."""
    lasts, codes = lasts[: len(plans)], codes[: len(plans)]
    starts, over = _oracle(plans, begin, facts, lasts, codes)
    failing = {one.name for one, code in zip(plans, codes, strict=True) if code}
    in_vain = any(each.kind == ENDED and each.what in failing for one in plans for each in one.after)
    course = Course(plans)
    started: dict[str, int] = {}
    takes = {one.name: last for one, last in zip(plans, lasts, strict=True)}
    for now in range(LAST):
        if now == begin:
            course.begin(now)
        for fact, when in facts.items():
            if when == now:
                course.happened(fact, now)
        for name, when in list(started.items()):
            if when + takes[name] == now:
                code = codes[[one.name for one in plans].index(name)]
                course.ended(name, code, f"exit code {code}", now)
        for action in course.due(now):
            assert isinstance(action, StartProgram)
            assert action.name not in started, "nobody is started twice"
            started[action.name] = now
        if course.over:
            break
    assert course.over
    if in_vain:  # who waits in vain fails sooner than the oracle, which lets it wait for ever
        assert now <= over
    else:
        assert now == over
        assert started == {name: when for name, when in starts.items() if when < over}
    assert bool(course.failures) == any(course.state(one.name) == FAILED for one in plans)


def _program(name: str = "tug", **more: object) -> Program:
    return Program(**{"name": name, "command": ("x",), "joins": (name,), **more})  # type: ignore[arg-type]


def test_who_waits_too_long_is_told_for_what() -> None:
    tower = _program("tower")
    tug = _program(after=(StartCondition(JOINED, "tower"), StartCondition(SYNCHRONIZED, "met")), within=10)
    course = Course([tower, tug])
    assert course.due(0) == []
    assert course.state("tower") == WAITING
    course.begin(1)
    assert course.due(1) == [StartProgram("tower")]
    course.happened(StartCondition(JOINED, "tower"), 2)
    assert course.due(10.9) == []
    assert course.due(11) == []
    assert course.failures == {
        "tug": "was not started: within 10 s it waited for synchronization point 'met'"
    }
    assert course.over == "tug has failed"


def test_what_cannot_come_any_more_is_not_waited_for() -> None:
    """Who should have joined, ended well, or written a line has ended; with that its end is enough."""
    tower = _program("tower", ends=NOTHING)
    for condition, code, why in (
        (StartCondition(JOINED, "tower"), 0, "waits in vain for tower to join: tower has ended"),
        (StartCondition(ENDED, "tower"), 1, "waits in vain for tower to end: tower has failed"),
        (
            StartCondition(LOG, "tower", "ready"),
            1,
            "waits in vain for a line like 'ready' of tower: tower has failed",
        ),
    ):
        course = Course([tower, _program(after=(condition,))])
        course.begin(0)
        course.due(0)
        course.ended("tower", code, f"exit code {code}", 1)
        course.due(1)
        assert course.failures["tug"] == why


def test_a_program_may_fail_so_often() -> None:
    """It starts again half a second later; another exit code may be the right one."""
    course = Course([_program(restart=1, expect=3)])
    course.begin(0)
    assert course.due(0) == [StartProgram("tug")]
    course.ended("tug", 0, "exit code 0", 1)
    assert course.due(1.4) == []
    assert course.due(1.5) == [StartProgram("tug")]
    assert course.restarts("tug") == 1
    course.ended("tug", -9, "SIGKILL", 2)
    course.due(2)
    assert course.failures == {"tug": "ended with SIGKILL, not 3 after 1 restart"}
    course = Course([_program(expect=3)])
    course.begin(0)
    course.due(0)
    course.ended("tug", 3, "exit code 3", 1)
    course.due(1)
    assert (course.state("tug"), course.over, course.failures) == (DONE, "all have ended", {})


def test_time_outs_name_who_has_not_done_what() -> None:
    course = Course([_program(timeout=5), _program("tower", ends=NOTHING)], timeout=20)
    course.begin(1)
    assert course.due(1) == [StartProgram("tug"), StartProgram("tower")]
    assert course.due(6) == [StopProgram("tug")]
    assert course.failures == {"tug": "did not end within 5 s: tug runs and has not joined"}
    waits = _program("pilot", after=(StartCondition(FILE, "/x"),))
    course = Course(
        [_program(joins=("Tug 7",)), _program("tower"), waits], timeout=20, others=("guest", "host")
    )
    course.begin(1)
    course.happened(StartCondition(JOINED, "tower"), 2)
    course.happened(StartCondition(JOINED, "host"), 2)
    course.due(3)
    course.due(20)
    assert course.failures[""] == (
        "the run took longer than 20 s: tug runs and has not joined as Tug 7; tower has joined and has not ended; "
        "pilot waits for the file /x; guest, of another machine, has not joined; host, of another machine, has not left"
    )
    late = Course([_program()], timeout=20)
    late.unready = "node quay is linking"
    assert late.due(20) == []
    assert late.failures[""] == "the run took longer than 20 s: node quay is linking"


def test_a_machine_with_nodes_goes_on_for_those_of_others() -> None:
    """They have to have come, and to be gone for a while: one may be restarted."""
    course = Course([], others=("tug",))
    course.begin(0)
    assert _why_over(course, 100) == ""
    course.happened(StartCondition(JOINED, "tug"), 101)
    course.left("tug", 102)
    course.happened(StartCondition(JOINED, "tug"), 103)
    assert _why_over(course, 110) == ""
    course.left("tug", 111)
    assert _why_over(course, 111 + GONE_SECONDS / 2) == ""
    assert _why_over(course, 111 + GONE_SECONDS) == "all have ended"
    mesh = Course([_program()], others=("guest",), may_miss=True)
    mesh.begin(0)
    mesh.due(0)
    mesh.ended("tug", 0, "exit code 0", 1)
    assert _why_over(mesh, EMPTY_SECONDS) == ""
    assert _why_over(mesh, 1 + EMPTY_SECONDS) == "all have ended", (
        "the guest was there too shortly to be seen"
    )
    alone = Course([])
    alone.begin(0)
    assert _why_over(alone, 1000) == "", "nodes by themselves run until they are stopped"


def _why_over(course: Course, now: float) -> str:
    course.due(now)
    return course.over


def test_nobody_waits_for_whose_end_means_nothing() -> None:
    course = Course([_program("logger", ends=NOTHING), _program(ends=FAILURE)])
    course.begin(0)
    course.due(0)
    course.ended("tug", 0, "exit code 0", 1)
    course.due(1)
    assert course.over == "all have ended"
    assert course.state("logger") == RUNNING
