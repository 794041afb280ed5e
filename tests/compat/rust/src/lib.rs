//! What a Kafka client in Rust must know to do to be asked the scenarios. What they are is said in
//! scenarios.py; here is how, whichever the client.

mod run;
mod scenarios;

use std::collections::HashMap;
use std::time::Duration;

pub use run::main;

/// How long a poll waits for something to come.
pub const MOMENT: Duration = Duration::from_millis(200);
/// How long any one call may take.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub type Told<T> = Result<T, String>;

/// One to be written, or one that was read.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub partition: i32,
    pub offset: i64,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(String, Vec<u8>)>,
    pub time: Option<i64>, // ms; none: now
}

#[derive(Clone)]
pub struct Writing {
    pub acks: &'static str,
    pub codec: &'static str,
    pub by_key: bool, // the client chooses partitions
    pub idempotent: bool,
    pub transactional: Option<String>, // a transactional id
}

impl Default for Writing {
    fn default() -> Self {
        Writing { acks: "all", codec: "none", by_key: false, idempotent: false, transactional: None }
    }
}

/// Without a group all partitions are read from their beginning.
#[derive(Clone, Default)]
pub struct Reading {
    pub topic: String,
    pub group: Option<String>,
    pub instance: Option<String>, // a static member's name
    pub protocol: Protocol,
    pub committed: bool, // read_committed
}

#[derive(Clone, Copy, Default, PartialEq)]
pub enum Protocol {
    #[default]
    Eager,
    Cooperative,
    Modern,
}

fn never<T>() -> Told<T> {
    Err("the client cannot be asked".to_string())
}

pub trait Producer {
    /// Writes records, waits until they are acknowledged, and gives their offsets.
    fn send(&self, topic: &str, records: &[Record]) -> Told<Vec<i64>>;
    fn begin(&self) -> Told<()> {
        never()
    }
    fn commit(&self) -> Told<()> {
        never()
    }
    fn abort(&self) -> Told<()> {
        never()
    }
}

pub trait Consumer {
    /// What came within a moment, maybe nothing.
    fn poll(&self) -> Told<Vec<Record>>;
    fn seek(&self, partition: i32, offset: i64) -> Told<()>;
    fn owned(&self) -> Told<Vec<i32>> {
        never()
    }
    /// Every partition that was ever taken away.
    fn revoked(&self) -> Vec<i32> {
        Vec::new()
    }
    fn commit(&self) -> Told<()> {
        never()
    }
    fn pause(&self, _partition: i32) -> Told<()> {
        never()
    }
    fn resume(&self, _partition: i32) -> Told<()> {
        never()
    }
}

pub trait Admin {
    fn create(&self, topic: &str, partitions: i32, configs: &[(&str, &str)]) -> Told<()>;
    fn delete(&self, topic: &str) -> Told<()>;
    /// How many there are; 0 if there is no such topic.
    fn partitions(&self, topic: &str) -> Told<usize>;
    /// The first offset at or after a time; -2 asks for the first of all, -1 for the next.
    fn offset(&self, topic: &str, partition: i32, time: i64) -> Told<i64>;
    fn delete_records(&self, topic: &str, partition: i32, before: i64) -> Told<()>;
    fn grow(&self, _topic: &str, _partitions: usize) -> Told<()> {
        never()
    }
    fn configs(&self, _topic: &str) -> Told<HashMap<String, String>> {
        never()
    }
    fn set_config(&self, _topic: &str, _name: &str, _value: &str) -> Told<()> {
        never()
    }
    fn groups(&self) -> Told<Vec<String>> {
        never()
    }
    /// A group's state and how many members it has.
    fn group(&self, _group: &str) -> Told<(String, usize)> {
        never()
    }
    fn delete_group(&self, _group: &str) -> Told<()> {
        never()
    }
    fn set_group_offset(&self, _group: &str, _topic: &str, _partition: i32, _offset: i64) -> Told<()> {
        never()
    }
    fn group_offset(&self, _group: &str, _topic: &str, _partition: i32) -> Told<i64> {
        never()
    }
}

pub trait Client {
    fn version(&self) -> String;
    /// By scenario, why the client cannot be asked.
    fn not_applicable(&self) -> HashMap<&'static str, &'static str>;
    /// Whether there are groups, or partitions only.
    fn has_groups(&self) -> bool;
    /// Whether headers may have the same name.
    fn repeats_headers(&self) -> bool;
    fn admin(&self) -> &dyn Admin;
    fn producer(&self, how: Writing) -> Told<Box<dyn Producer>>;
    fn consumer(&self, how: Reading) -> Told<Box<dyn Consumer>>;
    /// Copies all that a group has not read of a topic to another in one transaction, offsets included.
    fn transform(&self, _from: &str, _to: &str, _group: &str, _id: &str, _commit: bool) -> Told<()> {
        never()
    }
}

/// What Cargo.lock says of a crate.
pub fn locked(name: &str) -> String {
    let head = format!("name = \"{name}\"\nversion = \"");
    let lock = include_str!("../Cargo.lock");
    lock.split(&head).nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("").to_string()
}
