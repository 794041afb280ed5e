"""Panda-Q's own configuration, in its own file and under its own names."""

import http.client
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.server import Server

from millstream.cli.pandaq import check_directory, find, wipe
from millstream.env.disk import DirectoryInUse, RealDisk
from millstream.settings import InvalidSetting

GOOD = {"brokerId": "broker_7", "reboot": False, "topics": [{"id": "orders", "partitions": 3}]}


def put(directory: Path, content: Any) -> Path:
    path = directory / "pandaq-config.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_without_the_file_its_variables_mean_nothing(tmp_path: Path) -> None:
    assert find(None, tmp_path, {"PORT": "80", "BROKER_ID": "x"}) is None


def test_the_file_in_the_working_directory_is_found(tmp_path: Path) -> None:
    put(tmp_path, GOOD)
    found = find(None, tmp_path, {})
    assert found is not None
    assert (found.reboot, found.topics) == (False, {"orders": 3})
    assert found.settings == {"http.queue.broker.id": "broker_7"}
    assert found.notes == ()


def test_variables_count_and_those_of_a_dotenv_file_less(tmp_path: Path) -> None:
    put(tmp_path, {"topics": [], "reboot": True})
    (tmp_path / ".env").write_text(
        "# a comment\nPORT=4000\nexport BROKER_ID='from file'\nINGRESS_LOG_FILE=x.log # unused\n\nnonsense\n"
    )
    found = find(None, tmp_path, {"PORT": "5000", "DATA_STORAGE_VOLUME": "/data"})
    assert found is not None
    assert found.settings == {
        "http.queue.broker.id": "from file",
        "http.queue.listener": "127.0.0.1:5000",
        "log.dir": "/data",
    }
    assert found.reboot
    assert "INGRESS_LOG_FILE is not used" in found.notes[0]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not JSON"),
        ("[]", "must be an object"),
        ({"topics": []}, "brokerId must be a string"),
        ({**GOOD, "brokerId": 7}, "brokerId must be a string"),
        ({**GOOD, "topics": {}}, "topics must be a list"),
        ({**GOOD, "topics": ["x"]}, "every topic needs an id"),
        ({**GOOD, "topics": [{"id": "x"}]}, "topic x needs partitions"),
        ({**GOOD, "topics": [{"id": "x", "partitions": 0}]}, "topic x needs partitions"),
        ({**GOOD, "topics": [{"id": "x", "partitions": "2"}]}, "topic x needs partitions"),
    ],
)
def test_what_is_wrong_with_it_is_said(tmp_path: Path, content: Any, says: str) -> None:
    path = put(tmp_path, content)
    with pytest.raises(InvalidSetting, match=says) as told:
        find(path, Path("/nowhere"), {})
    assert str(path) in str(told.value)


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="cannot read"):
        find(tmp_path / "no.json", tmp_path, {})


def test_only_a_data_directory_of_ours_that_nobody_uses_is_deleted(tmp_path: Path) -> None:
    foreign = tmp_path / "home"
    foreign.mkdir()
    (foreign / "letter.txt").write_text("dear all")
    with pytest.raises(InvalidSetting, match="not deleted"):
        wipe(str(foreign), tmp_path)
    assert (foreign / "letter.txt").exists()

    data = tmp_path / "data"
    disk = RealDisk(str(data))
    held = disk.lock(".lock")
    (data / "orders-0").mkdir()
    (data / "orders-0" / "x.log").write_text("x")
    (data / "link").symlink_to(foreign)
    with pytest.raises(DirectoryInUse):
        wipe(str(data), tmp_path)
    held.release()
    wipe(str(data), tmp_path)
    assert [each.name for each in data.iterdir()] == [".lock"]
    assert (foreign / "letter.txt").exists()
    wipe(str(tmp_path / "not there"), tmp_path)


def test_a_folder_of_panda_q_itself_is_left_alone(tmp_path: Path) -> None:
    check_directory(str(tmp_path))
    (tmp_path / "TPC.log").write_text("")
    with pytest.raises(InvalidSetting, match="millstream import"):
        check_directory(str(tmp_path))


@pytest.mark.system
def test_a_node_by_the_original_file_and_a_reboot_of_it(tmp_path: Path) -> None:
    put(tmp_path, GOOD)

    def ask(server: Server, method: str, path: str, body: Any = None) -> Any:
        client = http.client.HTTPConnection("127.0.0.1", server.ports["the HTTP queue"], timeout=60)
        client.request(method, path, None if body is None else json.dumps(body))
        return json.loads(client.getresponse().read())

    environment = {**os.environ, "INGRESS_LOG_FILE": "x.log"}
    message = {"brokerId": "broker_7", "message": {"messageId": "m", "content": 1}}
    with Server(tmp_path / "data", env=environment, cwd=tmp_path) as server:
        stats = ask(server, "GET", "/stats")["data"]
        assert stats["brokerId"] == "broker_7"
        assert [(each["topicId"], each["partitionCount"]) for each in stats["topics"]] == [("orders", 3)]
        assert ask(server, "POST", "/ingress/orders", message)["success"]
        assert any("INGRESS_LOG_FILE is not used" in line for line in server.log)
        assert server.stop() == 0

    def written(server: Server) -> int:
        (topic,) = ask(server, "GET", "/stats")["data"]["topics"]
        return sum(each["logEndOffset"] for each in topic["partitions"])

    with Server(tmp_path / "data", cwd=tmp_path) as server:
        assert written(server) == 1
        assert server.stop() == 0
    put(tmp_path, {**GOOD, "reboot": True})
    with Server(tmp_path / "data", cwd=tmp_path) as server:
        assert written(server) == 0
        assert any("ALL DATA IS DELETED" in line for line in server.log)
        assert server.stop() == 0
    put(tmp_path, {**GOOD, "topics": [{"id": "orders", "partitions": 5}]})
    with pytest.raises(AssertionError, match="topic orders has 3 partitions, not 5"):
        Server(tmp_path / "data", cwd=tmp_path)
