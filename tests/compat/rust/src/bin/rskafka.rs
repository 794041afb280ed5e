//! rskafka: one partition at a time, written and read.

use chrono::DateTime;
use millstream_compat::{Admin, Client, Consumer, MOMENT, Producer, Reading, Record, Told, Writing, locked};
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::{self, ClientBuilder};
use std::cell::RefCell;
use std::collections::HashMap;
use std::future::Future;
use std::rc::Rc;
use tokio::runtime::Runtime;

const NO_GROUPS: &str = "rskafka has no consumer groups";
const NO_IDS: &str = "rskafka's producer is neither idempotent nor transactional";
const WAIT_MS: i32 = 100;
const TIMEOUT_MS: i32 = 10_000;

/// The client, and what its futures run on.
struct Shared {
    runtime: Runtime,
    client: client::Client,
}

impl Shared {
    fn wait<T>(&self, asked: impl Future<Output = client::error::Result<T>>) -> Told<T> {
        self.runtime.block_on(asked).map_err(|problem| problem.to_string())
    }

    fn partition(&self, topic: &str, partition: i32) -> Told<PartitionClient> {
        self.wait(self.client.partition_client(topic, partition, UnknownTopicHandling::Retry))
    }

    fn partitions(&self, topic: &str) -> Told<Vec<i32>> {
        let topics = self.wait(self.client.list_topics())?;
        let found = topics.into_iter().find(|each| each.name == topic);
        Ok(found.map(|each| each.partitions.into_iter().collect()).unwrap_or_default())
    }
}

struct RsProducer {
    shared: Rc<Shared>,
    compression: Compression,
}

impl Producer for RsProducer {
    fn send(&self, topic: &str, records: &[Record]) -> Told<Vec<i64>> {
        let made = |record: &Record| rskafka::record::Record {
            key: record.key.clone(),
            value: record.value.clone(),
            headers: record.headers.iter().cloned().collect(),
            timestamp: record.time.and_then(DateTime::from_timestamp_millis).unwrap_or_else(now),
        };
        let place = self.shared.partition(topic, records[0].partition)?;
        self.shared.wait(place.produce(records.iter().map(made).collect(), self.compression))
    }
}

fn now() -> DateTime<chrono::Utc> {
    std::time::SystemTime::now().into()
}

struct RsConsumer {
    shared: Rc<Shared>,
    places: RefCell<Vec<(PartitionClient, i64)>>, // and the next offset of each
}

impl Consumer for RsConsumer {
    fn poll(&self) -> Told<Vec<Record>> {
        let began = std::time::Instant::now();
        let mut got = Vec::new();
        while got.is_empty() && began.elapsed() < MOMENT {
            for (place, next) in self.places.borrow_mut().iter_mut() {
                let (records, _) = self.shared.wait(place.fetch_records(*next, 1..2_000_000, WAIT_MS))?;
                *next = records.last().map_or(*next, |last| last.offset + 1);
                got.extend(records.into_iter().map(|each| Record {
                    partition: place.partition(),
                    offset: each.offset,
                    key: each.record.key,
                    value: each.record.value,
                    headers: each.record.headers.into_iter().collect(),
                    time: Some(each.record.timestamp.timestamp_millis()),
                }));
            }
        }
        Ok(got)
    }

    fn seek(&self, partition: i32, offset: i64) -> Told<()> {
        for (place, next) in self.places.borrow_mut().iter_mut() {
            if place.partition() == partition {
                *next = offset;
            }
        }
        Ok(())
    }
}

struct RsAdmin {
    shared: Rc<Shared>,
}

impl Admin for RsAdmin {
    fn create(&self, topic: &str, partitions: i32, _configs: &[(&str, &str)]) -> Told<()> {
        let controller = self.shared.client.controller_client().map_err(|problem| problem.to_string())?;
        self.shared.wait(controller.create_topic(topic, partitions, 1, TIMEOUT_MS))
    }

    fn delete(&self, topic: &str) -> Told<()> {
        let controller = self.shared.client.controller_client().map_err(|problem| problem.to_string())?;
        self.shared.wait(controller.delete_topic(topic, TIMEOUT_MS))
    }

    fn partitions(&self, topic: &str) -> Told<usize> {
        Ok(self.shared.partitions(topic)?.len())
    }

    fn offset(&self, topic: &str, partition: i32, time: i64) -> Told<i64> {
        let at = match time {
            -2 => OffsetAt::Earliest,
            -1 => OffsetAt::Latest,
            time => OffsetAt::Timestamp(DateTime::from_timestamp_millis(time).ok_or("no such time")?),
        };
        let place = self.shared.partition(topic, partition)?;
        self.shared.wait(place.get_offset(at))
    }

    fn delete_records(&self, topic: &str, partition: i32, before: i64) -> Told<()> {
        let place = self.shared.partition(topic, partition)?;
        self.shared.wait(place.delete_records(before, TIMEOUT_MS))
    }
}

struct Rs {
    shared: Rc<Shared>,
    admin: RsAdmin,
}

impl Client for Rs {
    fn version(&self) -> String {
        locked("rskafka")
    }

    fn not_applicable(&self) -> HashMap<&'static str, &'static str> {
        HashMap::from([
            ("acks-0", "rskafka always asks for acks=all"),
            ("acks-1", "rskafka always asks for acks=all"),
            ("keys", "rskafka leaves the choice of a partition to its caller"),
            ("group", NO_GROUPS),
            ("cooperative", NO_GROUPS),
            ("static-member", NO_GROUPS),
            ("modern-group", NO_GROUPS),
            ("large-group", NO_GROUPS),
            ("pause", "rskafka reads one partition at a time, when it is asked to"),
            ("commit", NO_GROUPS),
            ("lag", NO_GROUPS),
            ("idempotent", NO_IDS),
            ("transaction-commit", NO_IDS),
            ("transaction-abort", NO_IDS),
            ("transaction-offsets", NO_IDS),
            ("transaction-fencing", NO_IDS),
            ("admin-create", "rskafka creates topics without configs"),
            ("admin-grow", "rskafka has no CreatePartitions"),
            ("admin-configs", "rskafka neither describes nor alters configs"),
            ("admin-groups", NO_GROUPS),
            ("admin-log-dirs", "rskafka has no DescribeLogDirs"),
        ])
    }

    fn has_groups(&self) -> bool {
        false
    }

    fn repeats_headers(&self) -> bool {
        false
    }

    fn admin(&self) -> &dyn Admin {
        &self.admin
    }

    fn producer(&self, how: Writing) -> Told<Box<dyn Producer>> {
        let compression = match how.codec {
            "gzip" => Compression::Gzip,
            "lz4" => Compression::Lz4,
            "snappy" => Compression::Snappy,
            "zstd" => Compression::Zstd,
            _ => Compression::NoCompression,
        };
        Ok(Box::new(RsProducer { shared: self.shared.clone(), compression }))
    }

    fn consumer(&self, how: Reading) -> Told<Box<dyn Consumer>> {
        let mut places = Vec::new();
        for partition in self.shared.partitions(&how.topic)? {
            let place = self.shared.partition(&how.topic, partition)?;
            let first = self.shared.wait(place.get_offset(OffsetAt::Earliest))?;
            places.push((place, first));
        }
        Ok(Box::new(RsConsumer { shared: self.shared.clone(), places: RefCell::new(places) }))
    }
}

fn open(bootstrap: &str) -> Box<dyn Client> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let client = runtime.block_on(ClientBuilder::new(vec![bootstrap.to_string()]).build()).expect("a client");
    let shared = Rc::new(Shared { runtime, client });
    Box::new(Rs { admin: RsAdmin { shared: shared.clone() }, shared })
}

fn main() {
    millstream_compat::main(open);
}
