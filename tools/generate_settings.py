"""Write docs/settings.md from the declarations of the settings themselves.

python -m tools.generate_settings [--check]
"""

import sys
from pathlib import Path

from millstream.broker.config import BrokerConfig
from millstream.broker.live_config import broker_name
from millstream.gateways.config import GatewayConfig
from millstream.groups.config import GroupConfig, GroupOverrides
from millstream.node.config import NodeConfig
from millstream.settings import Setting, settings_of
from millstream.storage.config import LogConfig

OUT = Path(__file__).parent.parent / "docs/settings.md"
HEAD = """# Settings

Generated from the code by `make generate`. Every setting goes by the name in the first column: in the
TOML file, as `--set NAME=VALUE`, and in the environment as `MILLSTREAM_` and the name in capitals with
`_` for `.` (`MILLSTREAM_NUM_PARTITIONS`). Those marked ● can be changed while the node runs, with
AlterConfigs or IncrementalAlterConfigs; the change is kept across restarts.
"""
PARTS = (
    ("The node", NodeConfig, "What this process is and where it listens."),
    ("The broker", BrokerConfig, "What it does for clients."),
    ("Connections", GatewayConfig, "What one client, and all of them together, may take up."),
    ("Groups", GroupConfig, "Consumer groups."),
)


def document() -> str:
    lines = [HEAD]
    for title, group, about in PARTS:
        lines += [f"## {title}", "", about, "", "| setting | default | meaning | |", "|---|---|---|---|"]
        lines += [_row(one.kafka, one) for one in settings_of(group).values()]
        lines.append("")
    lines += [
        "## One group",
        "",
        "What a group may have of its own (resources of type GROUP), in place of the broker's setting with "
        "`group.` before its name.",
        "",
        "| group config | default | meaning |",
        "|---|---|---|",
    ]
    for one in settings_of(GroupOverrides).values():
        lines.append(f"| `{one.kafka}` | {_default(one)} | {_meaning(one)} |")
    lines += [
        "",
        "## Topics",
        "",
        "A topic may override any of these; the second name is the broker's default for topics that do not.",
        "",
        "| topic config | broker's default | default | meaning |",
        "|---|---|---|---|",
    ]
    for one in settings_of(LogConfig).values():
        lines.append(f"| `{one.kafka}` | `{broker_name(one.kafka)}` | {_default(one)} | {_meaning(one)} |")
    return "\n".join(lines) + "\n"


def _row(name: str, one: Setting) -> str:
    return f"| `{name}` | {_default(one)} | {_meaning(one)} | {'●' if one.changeable else ''} |"


def _default(one: Setting) -> str:
    shown = one.show(one.default)
    return f"`{shown}`" if shown else "none"


def _meaning(one: Setting) -> str:
    return one.meaning + (
        f" One of {', '.join(f'`{choice}`' for choice in one.choices)}." if one.choices else ""
    )


def main() -> int:
    if "--check" in sys.argv:
        return 0 if OUT.read_text() == document() else 1
    OUT.write_text(document())
    return 0


if __name__ == "__main__":
    sys.exit(main())
