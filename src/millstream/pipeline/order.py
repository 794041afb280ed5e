"""Which flows run, and which of them before which."""

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter

from millstream.pipeline.definition import Flow, InvalidPipeline, Pipeline


def chosen(pipeline: Pipeline, only: Iterable[str]) -> list[Flow]:
    """The flows named in *only*, or all."""
    wanted = list(only)
    for name in wanted:
        if name not in pipeline.flows:
            raise InvalidPipeline(
                f"pipeline {pipeline.name!r} has no flow {name!r}; it has {', '.join(pipeline.flows)}"
            )
    return [flow for name, flow in pipeline.flows.items() if not wanted or name in wanted]


def in_order(flows: Iterable[Flow]) -> list[list[Flow]]:
    """*flows* in stages: each after those whose sinks it reads."""
    by_name = {flow.name: flow for flow in flows}
    made = {str(flow.into): name for name, flow in by_name.items()}
    sorter = TopologicalSorter(
        {
            name: {made[str(each)] for each in flow.sources.values() if str(each) in made}
            for name, flow in by_name.items()
        }
    )
    try:
        sorter.prepare()
    except CycleError as problem:
        raise InvalidPipeline(f"flows feed each other in a circle: {' -> '.join(problem.args[1])}") from None
    stages: list[list[Flow]] = []
    while sorter.is_active():
        ready = sorter.get_ready()
        stages.append([by_name[name] for name in by_name if name in ready])
        sorter.done(*ready)
    return stages


def in_turn(flows: Iterable[Flow]) -> list[Flow]:
    """*flows* as they can be started: what makes a table before what reads it, if they form no circle."""
    try:
        return [flow for stage in in_order(flows) for flow in stage]
    except InvalidPipeline:
        return list(flows)
