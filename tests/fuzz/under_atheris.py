"""One target under coverage-guided fuzzing, in a process of its own: `tools.fuzz` starts it.

python -m tests.fuzz.under_atheris TARGET [libFuzzer's options and directories]
"""

import sys
from typing import Final

import atheris

# Where each target leads. Coverage is recorded only there, since it takes a while to set up.
ROOMS: Final = {
    "batch": ["millstream.records"],
    "records": ["millstream.records"],
    "columns": ["millstream.records"],
    "decompress": ["millstream.records"],
    "frame": ["millstream.wire"],
    "request": ["millstream.wire"],
    "response": ["millstream.wire"],
    "groups": ["millstream.groups", "millstream.client.consumer_protocol", "millstream.wire.primitives"],
    "json_lines": ["millstream.gateways.jsonl.codec", "millstream.gateways.lines"],
    "text_lines": ["millstream.gateways.text.codec", "millstream.gateways.lines"],
    "queues": ["millstream.queues"],
}


def main() -> None:
    name, *options = sys.argv[1:]
    with atheris.instrument_imports(include=ROOMS[name]):
        from tests.fuzz.targets import TARGETS
    from tests.fuzz.limits import Limits

    atheris.Setup([sys.argv[0], *options], Limits(TARGETS[name]).run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
