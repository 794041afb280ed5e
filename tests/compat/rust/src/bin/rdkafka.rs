//! rdkafka: librdkafka, as Rust sees it.

use futures_executor::block_on;
use millstream_compat::{
    Admin, Client, Consumer, MOMENT, PATIENCE, Producer, Protocol, Reading, Record, Told, Writing, locked,
};
use rdkafka::admin::{AdminClient, AdminOptions, AlterConfig, NewPartitions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::{ClientContext, DefaultClientContext};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord, Producer as _};
use rdkafka::{Offset, TopicPartitionList};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::sync::Mutex;
use std::time::{Duration, Instant};

fn said(problem: impl Display) -> String {
    problem.to_string()
}

fn config(bootstrap: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", bootstrap)
        .set("reconnect.backoff.ms", "20")
        .set("reconnect.backoff.max.ms", "200");
    config
}

struct RdProducer {
    producer: FutureProducer,
    by_key: bool,
}

impl RdProducer {
    fn open(bootstrap: &str, how: &Writing) -> Told<RdProducer> {
        let mut config = config(bootstrap);
        config
            .set("acks", how.acks)
            .set("compression.type", how.codec)
            .set("message.max.bytes", "2000000")
            .set("enable.idempotence", (how.idempotent || how.transactional.is_some()).to_string());
        if let Some(id) = &how.transactional {
            config.set("transactional.id", id);
        }
        let producer: FutureProducer = config.create().map_err(said)?;
        if how.transactional.is_some() {
            producer.init_transactions(PATIENCE).map_err(said)?;
        }
        Ok(RdProducer { producer, by_key: how.by_key })
    }
}

impl Producer for RdProducer {
    fn send(&self, topic: &str, records: &[Record]) -> Told<Vec<i64>> {
        let mut waiting = Vec::new();
        for record in records {
            let headers = record.headers.iter().fold(OwnedHeaders::new(), |all, (key, value)| {
                all.insert(Header { key, value: Some(value) })
            });
            let made: FutureRecord<Vec<u8>, Vec<u8>> = FutureRecord {
                topic,
                partition: (!self.by_key).then_some(record.partition),
                payload: record.value.as_ref(),
                key: record.key.as_ref(),
                timestamp: record.time,
                headers: Some(headers),
            };
            waiting.push(self.producer.send_result(made).map_err(|(problem, _)| said(problem))?);
        }
        let told = |future| match block_on(future) {
            Ok(Ok(delivery)) => Ok::<i64, String>(rdkafka::producer::future_producer::Delivery::from(delivery).offset),
            Ok(Err((problem, _))) => Err(said(problem)),
            Err(problem) => Err(said(problem)),
        };
        waiting.into_iter().map(told).collect()
    }

    fn begin(&self) -> Told<()> {
        self.producer.begin_transaction().map_err(said)
    }

    fn commit(&self) -> Told<()> {
        self.producer.commit_transaction(PATIENCE).map_err(said)
    }

    fn abort(&self) -> Told<()> {
        self.producer.abort_transaction(PATIENCE).map_err(said)
    }
}

/// What a member was given and what was taken away.
#[derive(Default)]
struct Shares {
    owned: Mutex<BTreeSet<i32>>,
    revoked: Mutex<Vec<i32>>,
}

impl ClientContext for Shares {}

impl ConsumerContext for Shares {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Revoke(places) = rebalance {
            for place in places.elements() {
                self.owned.lock().unwrap().remove(&place.partition());
                self.revoked.lock().unwrap().push(place.partition());
            }
        }
    }

    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(places) = rebalance {
            self.owned.lock().unwrap().extend(places.elements().iter().map(|place| place.partition()));
        }
    }
}

struct RdConsumer {
    consumer: BaseConsumer<Shares>,
    topic: String,
    inbox: RefCell<Vec<Record>>,
    leaves: bool,
}

impl RdConsumer {
    fn open(bootstrap: &str, how: &Reading) -> Told<RdConsumer> {
        let mut config = config(bootstrap);
        config
            .set("group.id", how.group.as_deref().unwrap_or("none"))
            .set("enable.auto.commit", "false")
            .set("auto.offset.reset", "earliest")
            .set("fetch.wait.max.ms", "100")
            .set("isolation.level", if how.committed { "read_committed" } else { "read_uncommitted" });
        if let Some(instance) = &how.instance {
            config.set("group.instance.id", instance);
        }
        if how.protocol == Protocol::Modern {
            config.set("group.protocol", "consumer");
        } else {
            let eager = how.protocol == Protocol::Eager;
            config
                .set("session.timeout.ms", "10000")
                .set("heartbeat.interval.ms", "200")
                .set("partition.assignment.strategy", if eager { "roundrobin" } else { "cooperative-sticky" });
        }
        let consumer: BaseConsumer<Shares> = config.create_with_context(Shares::default()).map_err(said)?;
        if how.group.is_some() {
            consumer.subscribe(&[&how.topic]).map_err(said)?;
        } else {
            let count = partitions(&consumer, &how.topic)?;
            let mut places = TopicPartitionList::new();
            for partition in 0..count as i32 {
                places.add_partition_offset(&how.topic, partition, Offset::Beginning).map_err(said)?;
            }
            consumer.assign(&places).map_err(said)?;
        }
        let leaves = how.group.is_some() && how.instance.is_none();
        Ok(RdConsumer { consumer, topic: how.topic.clone(), inbox: RefCell::default(), leaves })
    }

    /// Takes what comes within *wait*, and has whatever a rebalance asks for done.
    fn pump(&self, wait: Duration) -> Told<()> {
        match self.consumer.poll(wait) {
            None => Ok(()),
            Some(Ok(message)) => {
                self.inbox.borrow_mut().push(record(&message));
                Ok(())
            }
            // Of no concern to an application: the client goes on by itself.
            Some(Err(KafkaError::MessageConsumption(code))) if passing(code) => Ok(()),
            Some(Err(problem)) => Err(said(problem)),
        }
    }

    fn place(&self, partition: i32) -> TopicPartitionList {
        let mut places = TopicPartitionList::new();
        places.add_partition(&self.topic, partition);
        places
    }

    /// Gives back what it has, and does what a rebalance still asks for, until nothing more comes.
    fn leave(&self) -> Told<()> {
        self.consumer.unsubscribe();
        let began = Instant::now();
        loop {
            let is_quiet = self.consumer.poll(Duration::from_millis(20)).is_none();
            let is_empty = self.consumer.assignment().map_err(said)?.count() == 0;
            if (is_quiet && is_empty) || began.elapsed() > PATIENCE {
                return Ok(());
            }
        }
    }
}

/// librdkafka 2.12 forgets a rebalance that is answered as the consumer closes, and never tells the
/// caller, who waits for ever. So a member leaves first. One that is to be known again when it comes
/// back must not: to close is all that it does.
impl Drop for RdConsumer {
    fn drop(&mut self) {
        if self.leaves {
            let _ = self.leave(); // a member that cannot be reached is closed all the same
        }
    }
}

fn passing(code: RDKafkaErrorCode) -> bool {
    matches!(
        code,
        RDKafkaErrorCode::AllBrokersDown | RDKafkaErrorCode::BrokerTransportFailure | RDKafkaErrorCode::Resolve
    )
}

fn record(message: &BorrowedMessage<'_>) -> Record {
    let headers = message.headers().map_or(Vec::new(), |headers| {
        headers.iter().map(|each| (each.key.to_string(), each.value.unwrap_or(b"null").to_vec())).collect()
    });
    Record {
        partition: message.partition(),
        offset: message.offset(),
        key: message.key().map(<[u8]>::to_vec),
        value: message.payload().map(<[u8]>::to_vec),
        headers,
        time: message.timestamp().to_millis(),
    }
}

fn partitions<C: ConsumerContext>(consumer: &BaseConsumer<C>, topic: &str) -> Told<usize> {
    let told = consumer.fetch_metadata(None, PATIENCE).map_err(said)?;
    Ok(told.topics().iter().find(|each| each.name() == topic).map_or(0, |each| each.partitions().len()))
}

impl Consumer for RdConsumer {
    fn poll(&self) -> Told<Vec<Record>> {
        let began = Instant::now();
        while self.inbox.borrow().is_empty() && began.elapsed() < MOMENT {
            self.pump(MOMENT)?;
        }
        loop {
            let before = self.inbox.borrow().len();
            self.pump(Duration::from_millis(5))?;
            if self.inbox.borrow().len() == before {
                return Ok(self.inbox.take());
            }
        }
    }

    fn owned(&self) -> Told<Vec<i32>> {
        self.pump(Duration::ZERO)?;
        Ok(self.consumer.context().owned.lock().unwrap().iter().copied().collect())
    }

    fn revoked(&self) -> Vec<i32> {
        self.consumer.context().revoked.lock().unwrap().clone()
    }

    fn commit(&self) -> Told<()> {
        match self.consumer.commit_consumer_state(CommitMode::Sync) {
            Err(KafkaError::ConsumerCommit(RDKafkaErrorCode::NoOffset)) => Ok(()), // it has read nothing
            told => told.map_err(said),
        }
    }

    fn seek(&self, partition: i32, offset: i64) -> Told<()> {
        self.consumer.seek(&self.topic, partition, Offset::Offset(offset), PATIENCE).map_err(said)
    }

    fn pause(&self, partition: i32) -> Told<()> {
        self.consumer.pause(&self.place(partition)).map_err(said)
    }

    fn resume(&self, partition: i32) -> Told<()> {
        self.consumer.resume(&self.place(partition)).map_err(said)
    }
}

struct RdAdmin {
    bootstrap: String,
    client: AdminClient<DefaultClientContext>,
    consumer: BaseConsumer,
}

impl RdAdmin {
    /// As a member of *group* that has joined nothing.
    fn of_group(&self, group: &str) -> Told<BaseConsumer> {
        config(&self.bootstrap).set("group.id", group).create().map_err(said)
    }
}

fn options() -> AdminOptions {
    AdminOptions::new().operation_timeout(Some(PATIENCE))
}

fn one<T>(told: Result<Vec<Result<T, (String, RDKafkaErrorCode)>>, KafkaError>) -> Told<T> {
    let first = told.map_err(said)?.into_iter().next().ok_or("no result")?;
    first.map_err(|(name, code)| format!("{name}: {code}"))
}

fn place(topic: &str, partition: i32, offset: i64) -> Told<TopicPartitionList> {
    let mut places = TopicPartitionList::new();
    places.add_partition_offset(topic, partition, Offset::Offset(offset)).map_err(said)?;
    Ok(places)
}

fn raw(places: &TopicPartitionList) -> Told<i64> {
    let found = places.elements();
    let first = found.first().ok_or("no partition")?;
    first.error().map_err(said)?;
    Ok(match first.offset() {
        Offset::Offset(offset) => offset,
        _ => -1,
    })
}

impl Admin for RdAdmin {
    fn create(&self, topic: &str, partitions: i32, configs: &[(&str, &str)]) -> Told<()> {
        let new = NewTopic::new(topic, partitions, TopicReplication::Fixed(1));
        let new = configs.iter().fold(new, |new, (name, value)| new.set(name, value));
        one(block_on(self.client.create_topics([&new], &options()))).map(|_| ())
    }

    fn delete(&self, topic: &str) -> Told<()> {
        one(block_on(self.client.delete_topics(&[topic], &options()))).map(|_| ())
    }

    fn grow(&self, topic: &str, partitions: usize) -> Told<()> {
        let new = NewPartitions::new(topic, partitions);
        one(block_on(self.client.create_partitions([&new], &options()))).map(|_| ())
    }

    fn partitions(&self, topic: &str) -> Told<usize> {
        partitions(&self.consumer, topic)
    }

    fn configs(&self, topic: &str) -> Told<HashMap<String, String>> {
        let asked = [ResourceSpecifier::Topic(topic)];
        let told = block_on(self.client.describe_configs(&asked, &options())).map_err(said)?;
        let resource = told.into_iter().next().ok_or("no result")?.map_err(said)?;
        Ok(resource.entries.into_iter().map(|each| (each.name, each.value.unwrap_or_default())).collect())
    }

    fn set_config(&self, topic: &str, name: &str, value: &str) -> Told<()> {
        let change = AlterConfig::new(ResourceSpecifier::Topic(topic)).set(name, value);
        let told = block_on(self.client.alter_configs([&change], &options())).map_err(said)?;
        told.into_iter().next().ok_or("no result")?.map_err(|(_, code)| said(code))?;
        // rdkafka 0.39 looks at no error of a single resource, so what came of it must be asked.
        if self.configs(topic)?[name] == value { Ok(()) } else { Err(format!("{name} is not {value}")) }
    }

    fn offset(&self, topic: &str, partition: i32, time: i64) -> Told<i64> {
        if time < 0 {
            let (first, next) = self.consumer.fetch_watermarks(topic, partition, PATIENCE).map_err(said)?;
            return Ok(if time == -2 { first } else { next });
        }
        raw(&self.consumer.offsets_for_times(place(topic, partition, time)?, PATIENCE).map_err(said)?)
    }

    fn groups(&self) -> Told<Vec<String>> {
        let told = self.consumer.fetch_group_list(None, PATIENCE).map_err(said)?;
        Ok(told.groups().iter().map(|group| group.name().to_string()).collect())
    }

    fn group(&self, group: &str) -> Told<(String, usize)> {
        let told = self.consumer.fetch_group_list(Some(group), PATIENCE).map_err(said)?;
        let found = told.groups().iter().find(|each| each.name() == group).ok_or("no such group")?;
        Ok((found.state().to_string(), found.members().len()))
    }

    fn delete_group(&self, group: &str) -> Told<()> {
        one(block_on(self.client.delete_groups(&[group], &options()))).map(|_| ())
    }

    fn set_group_offset(&self, group: &str, topic: &str, partition: i32, offset: i64) -> Told<()> {
        self.of_group(group)?.commit(&place(topic, partition, offset)?, CommitMode::Sync).map_err(said)
    }

    fn group_offset(&self, group: &str, topic: &str, partition: i32) -> Told<i64> {
        raw(&self.of_group(group)?.committed_offsets(place(topic, partition, 0)?, PATIENCE).map_err(said)?)
    }

    fn delete_records(&self, topic: &str, partition: i32, before: i64) -> Told<()> {
        let asked = place(topic, partition, before)?;
        raw(&block_on(self.client.delete_records(&asked, &options())).map_err(said)?).map(|_| ())
    }
}

struct Rd {
    admin: RdAdmin,
}

impl Client for Rd {
    fn version(&self) -> String {
        format!("{} (librdkafka {})", locked("rdkafka"), rdkafka::util::get_rdkafka_version().1)
    }

    fn not_applicable(&self) -> HashMap<&'static str, &'static str> {
        HashMap::from([("admin-log-dirs", "librdkafka has no DescribeLogDirs")])
    }

    fn has_groups(&self) -> bool {
        true
    }

    fn repeats_headers(&self) -> bool {
        true
    }

    fn admin(&self) -> &dyn Admin {
        &self.admin
    }

    fn producer(&self, how: Writing) -> Told<Box<dyn Producer>> {
        Ok(Box::new(RdProducer::open(&self.admin.bootstrap, &how)?))
    }

    fn consumer(&self, how: Reading) -> Told<Box<dyn Consumer>> {
        Ok(Box::new(RdConsumer::open(&self.admin.bootstrap, &how)?))
    }

    fn transform(&self, from: &str, to: &str, group: &str, id: &str, commit: bool) -> Told<()> {
        let transactional = Some(id.to_string());
        let producer = RdProducer::open(&self.admin.bootstrap, &Writing { transactional, ..Writing::default() })?;
        let (topic, group) = (from.to_string(), Some(group.to_string()));
        let how = Reading { topic, group, committed: true, ..Reading::default() };
        let reader = RdConsumer::open(&self.admin.bootstrap, &how)?;
        let (mut got, began) = (Vec::new(), Instant::now());
        while got.len() < 10 && began.elapsed() < PATIENCE {
            got.extend(reader.poll()?);
        }
        producer.begin()?;
        let copied: Vec<Record> =
            got.into_iter().map(|each| Record { value: each.value, ..Record::default() }).collect();
        producer.send(to, &copied)?;
        let metadata = reader.consumer.group_metadata().ok_or("no group")?;
        let places = reader.consumer.position().map_err(said)?;
        producer.producer.send_offsets_to_transaction(&places, &metadata, PATIENCE).map_err(said)?;
        if commit { producer.commit() } else { producer.abort() }
    }
}

fn open(bootstrap: &str) -> Box<dyn Client> {
    let client = config(bootstrap).create().expect("an admin client");
    let consumer = config(bootstrap).set("group.id", "none").create().expect("a consumer");
    Box::new(Rd { admin: RdAdmin { bootstrap: bootstrap.to_string(), client, consumer } })
}

fn main() {
    millstream_compat::main(open);
}
