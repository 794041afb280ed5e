"""Finds the pipeline that a file defines: Python with a `Pipeline` in it, or YAML."""

import importlib.util
import sys
from pathlib import Path

from millstream.pipeline.definition import InvalidPipeline, Pipeline
from millstream.pipeline.yaml_form import read_yaml


def load(path: Path) -> Pipeline:
    """The pipeline of the file at *path*, to which its own paths are then relative."""
    if not path.is_file():
        raise InvalidPipeline(f"no file {path}; 'millstream pipeline new' makes one to begin with")
    if path.suffix in (".yaml", ".yml"):
        pipeline = read_yaml(path.read_text(), path.name)
    elif path.suffix == ".py":
        pipeline = _from_python(path)
    else:
        raise InvalidPipeline(f"{path}: a pipeline is defined in a .py or a .yaml file")
    if pipeline.folder is None:
        pipeline.folder = path.absolute().parent
    return pipeline


def _from_python(path: Path) -> Pipeline:
    """Runs the file as Python would import it, so that what it defines can go to Spark's workers by value."""
    spec = importlib.util.spec_from_file_location(f"_pipeline_{path.stem}", path)
    assert spec is not None, path
    assert spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except InvalidPipeline as problem:
        raise InvalidPipeline(f"{path.name}: {problem}") from None
    _pickled_by_value(module)
    found = [each for each in vars(module).values() if isinstance(each, Pipeline)]
    if len(found) != 1:
        raise InvalidPipeline(f"{path}: it defines {len(found)} pipelines; one file defines one")
    if not found[0].flows:
        raise InvalidPipeline(f"{path}: pipeline {found[0].name!r} has no flows")
    return found[0]


def _pickled_by_value(module: object) -> None:
    """Functions of *module* are sent whole: the workers have no such file to import."""
    try:
        from pyspark.cloudpickle import register_pickle_by_value
    except ImportError:  # the definition can be looked at without Spark
        return
    register_pickle_by_value(module)
