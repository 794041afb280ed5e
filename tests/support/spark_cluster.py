"""A standalone Spark of one master and one worker, from what pip has installed, on the loopback."""

import os
import re
import signal
import subprocess
import threading
from pathlib import Path
from typing import Final, final

import psutil

_PATIENCE: Final = 120


@final
class SparkCluster:
    """Started when made; *url* is what a driver takes as its master, *page* the master's own web page.

    What executors write and log lies in *folder*.
    """

    def __init__(self, folder: Path, cores: int) -> None:
        master = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        self._daemons = [_Daemon(folder, "master.Master", *master)]
        try:
            self.url = self._daemons[0].says(r"Starting Spark master at (spark://\S+)")
            self.page = self._daemons[0].says(r"MasterWebUI.* started at (http://\S+)")
            worker = ("--work-dir", str(folder), "--cores", str(cores), "--memory", "4g", self.url)
            self._daemons.append(_Daemon(folder, "worker.Worker", *master, *worker))
            self._daemons[1].says(r"(Successfully registered with master)")
        except BaseException:
            self.stop()
            raise

    def executors(self) -> list[psutil.Process]:
        """The JVMs that run tasks, at the moment."""
        found = psutil.Process(self._daemons[1].process.pid).children()
        return [each for each in found if "CoarseGrainedExecutorBackend" in command_of(each)]

    def stop(self) -> None:
        for each in reversed(self._daemons):
            each.stop()

    def __enter__(self) -> "SparkCluster":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def command_of(process: psutil.Process) -> str:
    """Its command line; nothing if it is gone."""
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""


@final
class _Daemon:
    def __init__(self, folder: Path, name: str, *arguments: str) -> None:
        import pyspark

        home = pyspark.__path__[0]
        mine = {"SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(folder)}
        self.process = subprocess.Popen(
            [f"{home}/bin/spark-class", f"org.apache.spark.deploy.{name}", *arguments],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, **mine, "SPARK_DAEMON_MEMORY": "512m"},
        )
        self._log: list[str] = []
        self._news = threading.Condition()
        self._over = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def says(self, pattern: str) -> str:
        """What *pattern* has in parentheses, as soon as a line of the log is like that."""
        with self._news:
            self._news.wait_for(lambda: self._over or self._found(pattern), _PATIENCE)
            found = self._found(pattern)
        assert found, f"no line has {pattern}:\n" + "\n".join(self._log)
        return found

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(_PATIENCE)
        self._reader.join(_PATIENCE)

    def _found(self, pattern: str) -> str | None:
        return next((match[1] for line in self._log if (match := re.search(pattern, line))), None)

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                self._log.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._over = True
            self._news.notify_all()
