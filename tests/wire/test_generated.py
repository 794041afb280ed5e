"""What is checked in is what the generator writes."""

from tools.generate_messages import generate


def test_generated_files_are_up_to_date() -> None:
    stale = [path.name for path, text in generate().items() if not path.exists() or path.read_text() != text]
    assert stale == [], "run `make generate`"


def test_nothing_else_lies_among_them() -> None:
    files = generate()
    folder = next(iter(files)).parent
    assert set(folder.glob("*.py")) == set(files)
