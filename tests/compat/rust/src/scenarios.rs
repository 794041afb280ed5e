//! What every client is asked to do; scenarios.py says what each is about.

use crate::check;
use crate::run::Turn;
use crate::{Protocol, Reading, Record, Told, Writing};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

pub fn named(name: &str) -> Option<fn(&mut Turn) -> Told<()>> {
    Some(match name {
        "acks-0" => |turn| acks(turn, "0"),
        "acks-1" => |turn| acks(turn, "1"),
        "acks-all" => |turn| acks(turn, "all"),
        "codec-none" => |turn| codec(turn, "none"),
        "codec-gzip" => |turn| codec(turn, "gzip"),
        "codec-snappy" => |turn| codec(turn, "snappy"),
        "codec-lz4" => |turn| codec(turn, "lz4"),
        "codec-zstd" => |turn| codec(turn, "zstd"),
        "keys" => keys,
        "headers" => headers,
        "nulls" => nulls,
        "megabyte" => megabyte,
        "assign" => assign,
        "group" => |turn| group(turn, Protocol::Eager),
        "cooperative" => cooperative,
        "static-member" => static_member,
        "modern-group" => |turn| group(turn, Protocol::Modern),
        "large-group" => large_group,
        "seek-offset" => seek_offset,
        "seek-time" => seek_time,
        "pause" => pause,
        "commit" => commit,
        "lag" => lag,
        "idempotent" => idempotent,
        "transaction-commit" => transaction_commit,
        "transaction-abort" => transaction_abort,
        "transaction-offsets" => transaction_offsets,
        "transaction-fencing" => transaction_fencing,
        "admin-create" => admin_create,
        "admin-delete" => admin_delete,
        "admin-grow" => admin_grow,
        "admin-configs" => admin_configs,
        "admin-offsets" => admin_offsets,
        "admin-groups" => admin_groups,
        "admin-records" => admin_records,
        "reconnect" => reconnect,
        _ => return None,
    })
}

fn record(value: &str) -> Record {
    Record { value: Some(value.into()), ..Record::default() }
}

fn numbered(count: usize, partition: i32) -> Vec<Record> {
    (0..count).map(|i| Record { partition, ..record(&format!("value {i}")) }).collect()
}

/// A second apart.
fn timed(count: usize, base: i64) -> Vec<Record> {
    let at = |(i, record)| Record { time: Some(base + i as i64 * 1000), ..record };
    numbered(count, 0).into_iter().enumerate().map(at).collect()
}

fn minute_ago() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64 - 60_000
}

/// Keys, values and headers, in order.
fn same(got: &[Record], sent: &[Record]) -> Told<()> {
    check!(got.len() == sent.len(), "{} records came, not {}", got.len(), sent.len());
    for (i, (one, other)) in got.iter().zip(sent).enumerate() {
        check!(one.key == other.key && one.value == other.value, "record {i} came back as {one:.60?}");
        check!(one.headers == other.headers, "record {i} came back with {:?}", one.headers);
    }
    Ok(())
}

fn refused<T>(told: Told<T>, otherwise: &str) -> Told<()> {
    check!(told.is_err(), "{otherwise}");
    Ok(())
}

fn acks(turn: &mut Turn, acks: &'static str) -> Told<()> {
    let topic = turn.topic(1)?;
    let producer = turn.client.producer(Writing { acks, ..Writing::default() })?;
    let told = producer.send(&topic, &numbered(10, 0))?;
    check!(acks == "0" || told.iter().copied().eq(0..10), "the records were told offsets {told:?}");
    same(&turn.read(&topic, 10, false)?, &numbered(10, 0))
}

fn codec(turn: &mut Turn, codec: &'static str) -> Told<()> {
    let topic = turn.topic(1)?;
    let made = |i: usize| Record { key: Some(format!("key {i}").into()), ..record(&format!("value {i} ").repeat(20)) };
    let sent: Vec<Record> = (0..50).map(made).collect();
    turn.client.producer(Writing { codec, ..Writing::default() })?.send(&topic, &sent)?;
    same(&turn.read(&topic, 50, false)?, &sent)
}

fn keys(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(3)?;
    let made = |i: usize| Record { key: Some(format!("key {}", i % 10).into()), ..record(&i.to_string()) };
    let sent: Vec<Record> = (0..60).map(made).collect();
    turn.client.producer(Writing { by_key: true, ..Writing::default() })?.send(&topic, &sent)?;
    let mut places = BTreeMap::new();
    for record in turn.read(&topic, 60, false)? {
        places.entry(record.key).or_insert_with(BTreeSet::new).insert(record.partition);
    }
    check!(places.values().all(|used| used.len() == 1), "keys are in partitions {places:?}");
    let used: BTreeSet<_> = places.values().flatten().collect();
    check!(places.len() == 10 && used.len() > 1, "{} keys in {} partitions", places.len(), used.len());
    Ok(())
}

fn headers(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    let header = |name: &str, value: &[u8]| (name.to_string(), value.to_vec());
    let mut some = vec![header("a", b"1"), header("b", &[0, 255]), header("c", b"")];
    if turn.client.repeats_headers() {
        some.insert(2, header("a", b"2"));
    }
    let sent = [Record { headers: some, ..record("some") }, record("none")];
    turn.write(&topic, &sent)?;
    same(&turn.read(&topic, 2, false)?, &sent)
}

fn nulls(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    let bytes = |text: &str| Some(text.as_bytes().to_vec());
    let sent = [
        record("no key"),
        Record { key: bytes("no value"), ..Record::default() },
        Record { key: bytes(""), ..record("") },
    ];
    turn.write(&topic, &sent)?;
    same(&turn.read(&topic, 3, false)?, &sent)
}

fn megabyte(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    let value = (0..1_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let sent = [Record { value: Some(value), ..Record::default() }];
    turn.write(&topic, &sent)?;
    same(&turn.read(&topic, 1, false)?, &sent)
}

fn assign(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(3)?;
    for partition in 0..3 {
        turn.write(&topic, &numbered(5, partition))?;
    }
    for (i, record) in turn.read(&topic, 15, false)?.iter().enumerate() {
        let place = (record.partition as usize, record.offset as usize);
        check!(place == (i / 5, i % 5), "record {i} came from {place:?}");
    }
    Ok(())
}

fn group(turn: &mut Turn, protocol: Protocol) -> Told<()> {
    let topic = turn.topic(4)?;
    let how = Reading { protocol, ..turn.reading(true) };
    let (one, two) = (turn.client.consumer(how.clone())?, turn.client.consumer(how)?);
    turn.settle(2, &[&*one, &*two])?;
    for partition in 0..4 {
        turn.write(&topic, &numbered(10, partition))?;
    }
    let mut seen = Vec::new();
    while seen.len() < 40 {
        check!(!turn.late(), "{} of 40 records came", seen.len());
        for member in [&one, &two] {
            seen.extend(member.poll()?.iter().map(|record| (record.partition, record.offset)));
        }
    }
    seen.sort();
    seen.dedup();
    check!(seen.len() == 40, "some records came twice, others not at all");
    one.commit()?;
    two.commit()
}

fn cooperative(turn: &mut Turn) -> Told<()> {
    turn.topic(4)?;
    let how = Reading { protocol: Protocol::Cooperative, ..turn.reading(true) };
    let one = turn.client.consumer(how.clone())?;
    turn.settle(4, &[&*one])?;
    let two = turn.client.consumer(how)?;
    turn.settle(2, &[&*one, &*two])?;
    check!(one.revoked().len() == 2, "the first member lost {:?}", one.revoked());
    Ok(())
}

fn static_member(turn: &mut Turn) -> Told<()> {
    turn.topic(4)?;
    let how = |name: &str| Reading { instance: Some(name.to_string()), ..turn.reading(true) };
    let (one, two) = (turn.client.consumer(how("one"))?, turn.client.consumer(how("two"))?);
    turn.settle(2, &[&*one, &*two])?;
    let (before, lost) = (one.owned()?, two.revoked().len());
    drop(one);
    let again = turn.client.consumer(how("one"))?;
    turn.settle(2, &[&*again, &*two])?;
    check!(again.owned()? == before, "it owned {before:?}, and then {:?}", again.owned()?);
    check!(two.revoked().len() == lost, "the other member was rebalanced");
    Ok(())
}

fn large_group(turn: &mut Turn) -> Told<()> {
    turn.topic(40)?;
    let open = |_| turn.client.consumer(turn.reading(true));
    let members = (0..20).map(open).collect::<Told<Vec<_>>>()?;
    turn.settle(2, &members.iter().map(|member| &**member).collect::<Vec<_>>())
}

fn seek_offset(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    turn.write(&topic, &numbered(10, 0))?;
    let consumer = turn.client.consumer(turn.reading(false))?;
    turn.next(&*consumer, 10)?;
    for offset in [3, 8] {
        consumer.seek(0, offset)?;
        let first = turn.next(&*consumer, 10 - offset as usize)?[0].offset;
        check!(first == offset, "offset {first} came after a seek to {offset}");
    }
    Ok(())
}

fn seek_time(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    let base = minute_ago();
    turn.write(&topic, &timed(10, base))?;
    let consumer = turn.client.consumer(turn.reading(false))?;
    turn.next(&*consumer, 10)?;
    consumer.seek(0, turn.client.admin().offset(&topic, 0, base + 4500)?)?;
    let first = turn.next(&*consumer, 5)?.remove(0);
    check!(first.offset == 5 && first.time == Some(base + 5000), "offset {} came first", first.offset);
    Ok(())
}

fn pause(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(2)?;
    let consumer = turn.client.consumer(turn.reading(false))?;
    turn.write(&topic, &numbered(1, 0))?;
    turn.next(&*consumer, 1)?;
    consumer.pause(0)?;
    turn.quiet(&*consumer, "nothing was written")?; // a fetch under way may still bring what comes next
    turn.write(&topic, &numbered(5, 0))?;
    turn.write(&topic, &numbered(5, 1))?;
    let got = turn.next(&*consumer, 5)?;
    check!(got.iter().all(|record| record.partition == 1), "a record came from the paused partition");
    turn.quiet(&*consumer, "partition 0 is paused")?;
    consumer.resume(0)?;
    let first = turn.next(&*consumer, 5)?[0].offset;
    check!(first == 1, "offset {first} came first after resuming");
    Ok(())
}

fn commit(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    turn.write(&topic, &numbered(10, 0))?;
    let one = turn.client.consumer(turn.reading(true))?;
    turn.next(&*one, 10)?;
    one.commit()?;
    drop(one);
    turn.write(&topic, &numbered(5, 0))?;
    let two = turn.client.consumer(turn.reading(true))?;
    let first = turn.next(&*two, 5)?[0].offset;
    check!(first == 10, "the next member went on at offset {first}");
    Ok(())
}

fn lag(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    turn.write(&topic, &numbered(10, 0))?;
    let member = turn.client.consumer(turn.reading(true))?;
    turn.next(&*member, 10)?;
    member.commit()?;
    turn.write(&topic, &numbered(3, 0))?;
    let admin = turn.client.admin();
    let lag = admin.offset(&topic, 0, -1)? - admin.group_offset(&turn.name, &topic, 0)?;
    check!(lag == 3, "the lag is {lag}");
    Ok(())
}

fn idempotent(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    let producer = turn.client.producer(Writing { idempotent: true, ..Writing::default() })?;
    let sent = numbered(200, 0);
    for some in sent.chunks(20) {
        producer.send(&topic, some)?;
    }
    same(&turn.read(&topic, 200, false)?, &sent)
}

fn transaction_commit(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(2)?;
    let producer = turn.transactional()?;
    let consumer = turn.client.consumer(Reading { committed: true, ..turn.reading(false) })?;
    producer.begin()?;
    producer.send(&topic, &[numbered(5, 0), numbered(5, 1)].concat())?;
    turn.quiet(&*consumer, "the transaction is open")?;
    producer.commit()?;
    turn.next(&*consumer, 10)?;
    Ok(())
}

fn transaction_abort(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    let producer = turn.transactional()?;
    producer.begin()?;
    producer.send(&topic, &numbered(3, 0))?;
    producer.abort()?;
    producer.begin()?;
    let kept = [record("kept 1"), record("kept 2")];
    producer.send(&topic, &kept)?;
    producer.commit()?;
    same(&turn.read(&topic, 2, true)?, &kept)?;
    turn.read(&topic, 5, false)?;
    Ok(())
}

fn transaction_offsets(turn: &mut Turn) -> Told<()> {
    let (from, to) = (turn.topic(1)?, format!("{}-to", turn.name));
    turn.client.admin().create(&to, 1, &[])?;
    turn.write(&from, &numbered(10, 0))?;
    for (decision, expected) in [(false, -1), (true, 10)] {
        turn.client.transform(&from, &to, &turn.name, &turn.name, decision)?;
        let told = turn.client.admin().group_offset(&turn.name, &from, 0)?;
        check!(told == expected, "the group's offset is {told}, not {expected}");
    }
    same(&turn.read(&to, 10, true)?, &numbered(10, 0))
}

fn transaction_fencing(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    let one = turn.transactional()?;
    one.begin()?;
    one.send(&topic, &numbered(1, 0))?;
    let two = turn.transactional()?;
    two.begin()?;
    let kept = [record("of the second")];
    two.send(&topic, &kept)?;
    two.commit()?;
    let went_on = one.send(&topic, &numbered(1, 0)).and_then(|_| one.commit());
    refused(went_on, "the first producer could commit")?;
    same(&turn.read(&topic, 1, true)?, &kept)
}

fn admin_create(turn: &mut Turn) -> Told<()> {
    let admin = turn.client.admin();
    admin.create(&turn.name, 3, &[("retention.ms", "12345")])?;
    refused(admin.create(&turn.name, 3, &[]), "the same topic was created twice")?;
    let count = admin.partitions(&turn.name)?;
    check!(count == 3, "it has {count} partitions");
    let told = &admin.configs(&turn.name)?["retention.ms"];
    check!(told == "12345", "retention.ms is {told}");
    Ok(())
}

fn admin_delete(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    let admin = turn.client.admin();
    admin.delete(&topic)?;
    let count = admin.partitions(&topic)?;
    check!(count == 0, "it still has {count} partitions");
    refused(admin.delete(&topic), "it could be deleted twice")
}

fn admin_grow(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    let admin = turn.client.admin();
    admin.grow(&topic, 4)?;
    let count = admin.partitions(&topic)?;
    check!(count == 4, "it has {count} partitions");
    refused(admin.grow(&topic, 2), "it could shrink")
}

fn admin_configs(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    let admin = turn.client.admin();
    let told = admin.configs(&topic)?;
    let policy = &told["cleanup.policy"];
    check!(policy == "delete" && told.len() >= 20, "{} configs, cleanup.policy {policy}", told.len());
    admin.set_config(&topic, "cleanup.policy", "compact")?;
    let policy = &admin.configs(&topic)?["cleanup.policy"];
    check!(policy == "compact", "cleanup.policy is {policy} after the change");
    let nonsense = admin.set_config(&topic, "cleanup.policy", "nonsense");
    refused(nonsense, "cleanup.policy=nonsense was taken")
}

fn admin_offsets(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    let base = minute_ago();
    turn.write(&topic, &timed(10, base))?;
    for (time, expected) in [(-2, 0), (-1, 10), (base + 2500, 3)] {
        let told = turn.client.admin().offset(&topic, 0, time)?;
        check!(told == expected, "the offset at {time} is {told}, not {expected}");
    }
    Ok(())
}

fn admin_groups(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    let (admin, group) = (turn.client.admin(), &turn.name);
    turn.write(&topic, &numbered(5, 0))?;
    let member = turn.client.consumer(turn.reading(true))?;
    turn.next(&*member, 5)?;
    member.commit()?;
    check!(admin.groups()?.contains(group), "the group is not listed");
    let (state, members) = admin.group(group)?;
    check!(state == "Stable" && members == 1, "the group is {state} with {members} members");
    drop(member);
    while admin.group(group)?.0 != "Empty" {
        check!(!turn.late(), "it does not empty");
    }
    admin.set_group_offset(group, &topic, 0, 2)?;
    let offset = admin.group_offset(group, &topic, 0)?;
    check!(offset == 2, "the group's offset is {offset}, not 2");
    admin.delete_group(group)?;
    check!(!admin.groups()?.contains(group), "the deleted group is still listed");
    Ok(())
}

fn admin_records(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    turn.write(&topic, &numbered(10, 0))?;
    turn.client.admin().delete_records(&topic, 0, 4)?;
    let first = turn.client.admin().offset(&topic, 0, -2)?;
    check!(first == 4, "the first offset is {first}");
    let first = turn.read(&topic, 6, false)?[0].offset;
    check!(first == 4, "offset {first} came first");
    Ok(())
}

fn reconnect(turn: &mut Turn) -> Told<()> {
    let topic = turn.topic(1)?;
    let grouped = turn.client.has_groups();
    let producer = turn.client.producer(Writing::default())?;
    let consumer = turn.client.consumer(turn.reading(grouped))?;
    let sent = numbered(6, 0);
    producer.send(&topic, &sent[..3])?;
    let mut got = turn.next(&*consumer, 3)?;
    if grouped {
        consumer.commit()?;
    }
    turn.restart();
    producer.send(&topic, &sent[3..])?;
    got.extend(turn.next(&*consumer, 3)?);
    same(&got, &sent)?;
    if grouped {
        consumer.commit()?;
    }
    same(&turn.read(&topic, 6, false)?, &sent)
}
