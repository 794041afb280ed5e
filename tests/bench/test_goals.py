"""Goals are judged by figures: round by round, in every row they are about."""

import re

from bench.compare import all_workloads
from bench.figures import Measured, Results, Row
from bench.goals import COMPILED, GOALS, PLAIN, Goal, judge, judged, to_json
from bench.peers.catalogue import PEERS

AHEAD = Goal(about="ahead", rows="work .*", plain=1.5, compiled=2, beside="Kafka")
QUICK = Goal(about="quick", rows="wait", plain=0.8, compiled=0.5, at_most=True, beside="Kafka")
RATE = Goal(about="rate", rows="client", plain=1e6, compiled=1e6, client_may_limit=True)


def results(**figures: list[tuple[str, float]]) -> Results:
    made = Results()
    for key, runs in figures.items():
        row = Row(key.replace("_", " "), key, "messages/s")
        for peer, value in runs:
            made.add(row, peer, Measured(value, server_us=1 / value))
    return made


def test_a_goal_holds_if_it_holds_in_every_row() -> None:
    found = results(
        work_a=[(COMPILED, 50.0), ("Kafka", 10.0)],
        work_b=[(COMPILED, 19.0), ("Kafka", 10.0)],
        other=[(COMPILED, 1.0), ("Kafka", 10.0)],
    )

    verdict = judge(found, AHEAD, COMPILED, 2)

    assert (verdict.met, verdict.rows_met, verdict.rows, verdict.row) == (False, 1, 2, "work b")
    assert verdict.seen is not None
    assert verdict.seen.median == 1.9
    assert judge(found, AHEAD, COMPILED, 1.5).met


def test_at_most_is_decided_by_the_highest() -> None:
    found = results(wait=[(PLAIN, 7.0), ("Kafka", 10.0), (COMPILED, 6.0)])

    assert judge(found, QUICK, PLAIN, 0.8).met
    assert not judge(found, QUICK, COMPILED, 0.5).met


def test_what_was_not_measured_is_not_judged() -> None:
    alone = results(wait=[(PLAIN, 7.0)])

    assert judged(alone, [QUICK, AHEAD]) == []


def test_it_is_told_when_the_system_calls_alone_fall_short_too() -> None:
    found = results(
        work_a=[(COMPILED, 15.0), (PLAIN, 15.0), ("Kafka", 10.0), ("C floor", 18.0)],
    )

    told = {verdict.ours: verdict.note for verdict in judged(found, [AHEAD])}

    assert told == {COMPILED: "C floor: 1.8 (1.8–1.8)x", PLAIN: ""}


def test_growth_is_our_own_figure_by_our_own() -> None:
    goal = Goal(about="x", rows="large", over="small", plain=1.1, compiled=1.1, at_most=True, cost=True)
    found = results(large=[(COMPILED, 10.0), ("Kafka", 1.0)], small=[(COMPILED, 20.0), ("Kafka", 20.0)])

    verdict = judge(found, goal, COMPILED, 1.1)

    assert verdict.seen is not None
    assert verdict.seen.median == 2.0  # half the pace at the same load: twice the cost
    assert not verdict.met


def test_a_client_without_a_processor_left_is_the_limit_only_if_the_node_has_some() -> None:
    row = Row("client", "client", "messages/s")

    def judged_with(client: float, server: float) -> bool:
        found = Results()
        found.add(row, COMPILED, Measured(8e5, client_share=client, server_share=server))
        return judge(found, RATE, COMPILED, 1e6).met

    assert judged_with(client=0.98, server=0.4)
    assert not judged_with(client=0.98, server=0.99)
    assert not judged_with(client=0.5, server=0.4)


def test_verdicts_are_written_with_what_was_asked_and_seen() -> None:
    found = results(wait=[(PLAIN, 7.0), ("Kafka", 10.0)])

    (written,) = to_json(judged(found, [QUICK]))

    assert written["asked"] == 0.8
    assert written["seen"] == {"median": 0.7, "low": 0.7, "high": 0.7}
    assert written["met"] is True


def test_every_goal_is_about_something_that_is_measured() -> None:
    """A row that was given another name would leave its goal out without a word."""
    keys = {row.key for quick in (True, False) for work in all_workloads(quick=quick) for row in work.rows}
    peers = {kind.name for kind in PEERS.values()}

    for goal in GOALS:
        assert any(re.fullmatch(goal.rows, key) for key in keys), goal
        assert not goal.over or goal.over in keys, goal
        assert not goal.beside or goal.beside in peers, goal
