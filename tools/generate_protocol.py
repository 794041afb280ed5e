"""Write docs/protocol.md from the tables of what is served.

python -m tools.generate_protocol
"""

import sys
from importlib import import_module
from pathlib import Path

from millstream.gateways.kafka.served import served
from millstream.wire.apis import APIS

OUT = Path(__file__).parent.parent / "docs/protocol.md"
HEAD = """# The Kafka protocol, as served

Generated from the code by `make generate`. Version ranges are those of Kafka 4.3, so that clients and
consoles that guess a broker's release from them guess right. What each API promises is said at the top of
its handler, in `src/millstream/gateways/kafka/handlers/`.

| key | API | versions | |
|---|---|---|---|
"""
TAIL = """
Produce advertises versions from 0, as Kafka 4 does: librdkafka before 2.11.1 silently stops compressing
otherwise. A request of an API or version that is not listed closes the connection; ApiVersions alone answers
any version.
"""


def document() -> str:
    rows = []
    for key in served():
        api = APIS[key]
        handler = import_module(f"millstream.gateways.kafka.handlers.{api.module}")
        about = (handler.__doc__ or "").splitlines()[0].partition(": ")[2].split(". ")[0].rstrip(".")
        rows.append(f"| {key} | {api.name} | {api.min}–{api.max} | {about} |")
    return HEAD + "\n".join(rows) + "\n" + TAIL


def main() -> int:
    OUT.write_text(document())
    return 0


if __name__ == "__main__":
    sys.exit(main())
