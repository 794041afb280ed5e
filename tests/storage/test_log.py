from tests.storage.helpers import append, contents, open_log, open_store, sim_disk, sync


def test_gives_back_what_was_appended() -> None:
    log = open_log(open_store(sim_disk()))
    batches = append(log, 50, records=3)

    assert contents(log) == [bytes(batch.data) for batch in batches]
    assert len(log.segments) > 5
    assert log.end_offset == 150


def test_what_was_synced_survives_a_crash() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk))
    batches = append(log, 30)
    sync(log)
    append(log, 10)
    disk.crash()

    log = open_log(open_store(disk))
    assert contents(log)[:30] == [bytes(batch.data) for batch in batches]
    assert log.failure is None


def test_a_clean_stop_is_a_quick_start() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    batches = append(log, 30)
    store.close()
    disk.kill()

    store = open_store(disk)
    changes = disk.changes
    log = open_log(store)
    assert store.was_clean
    assert disk.changes == changes
    assert contents(log) == [bytes(batch.data) for batch in batches]
