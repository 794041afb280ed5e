"""Writes src/millstream/wire/messages from src/millstream/wire/schema.

    python -m tools.generate_messages

What it writes is checked in; a test tells when it is out of date.
"""

from pathlib import Path
from typing import Final

from tools.wiregen.classes import module
from tools.wiregen.schema import read_api

_WIRE: Final = Path(__file__).parent.parent / "src" / "millstream" / "wire"


def generate() -> dict[Path, str]:
    """Every generated file with its text."""
    files = {_WIRE / "messages" / "__init__.py": '"""Generated from wire/schema: one module per API."""\n'}
    for path in sorted((_WIRE / "schema").glob("*.txt")):
        files[_WIRE / "messages" / f"{path.stem}.py"] = module(read_api(path), path.name)
    return files


def main() -> None:
    files = generate()
    for path, text in files.items():
        path.write_text(text)
    for path in (_WIRE / "messages").glob("*.py"):
        if path not in files:
            path.unlink()


if __name__ == "__main__":
    main()
