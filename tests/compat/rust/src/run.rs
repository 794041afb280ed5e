//! Runs the scenarios that the command line names: program bootstrap prefix scenario...

use crate::scenarios;
use crate::{Client, Consumer, Producer, Reading, Record, Told, Writing};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const SECONDS: Duration = Duration::from_secs(25);
const QUIET: Duration = Duration::from_millis(300);

#[macro_export]
macro_rules! check {
    ($truth:expr, $($otherwise:tt)*) => {
        if !$truth {
            return Err(format!($($otherwise)*));
        }
    };
}

pub fn main(open: impl Fn(&str) -> Box<dyn Client>) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, prefix, names @ ..] = arguments.as_slice() else {
        panic!("program bootstrap prefix scenario...");
    };
    let client = open(bootstrap);
    let reasons = client.not_applicable();
    for name in names {
        let began = Instant::now();
        let (result, detail) = match reasons.get(name.as_str()) {
            Some(reason) => ("not applicable", reason.to_string()),
            None => match attempt(&*client, name, format!("{prefix}-{name}")) {
                Ok(()) => ("passed", String::new()),
                Err(problem) => ("failed", problem),
            },
        };
        let said = [("scenario", name.as_str()), ("result", result), ("detail", &detail), ("version", &client.version())]
            .map(|(key, value)| format!("{}: {}", quoted(key), quoted(value)))
            .join(", ");
        println!("{{{said}, \"seconds\": {:.3}}}", began.elapsed().as_secs_f64());
    }
    std::process::exit(0); // whatever a client still has running
}

fn attempt(client: &dyn Client, scenario: &str, name: String) -> Told<()> {
    let asked = scenarios::named(scenario).ok_or("no such scenario")?;
    asked(&mut Turn { client, name, began: Instant::now() })
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter < ' ' => quoted.push(' '),
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}

/// One scenario's turn: what it uses is named after it.
pub struct Turn<'a> {
    pub client: &'a dyn Client,
    pub name: String,
    began: Instant,
}

impl Turn<'_> {
    pub fn late(&self) -> bool {
        self.began.elapsed() > SECONDS
    }

    /// Has the broker restarted.
    pub fn restart(&mut self) {
        println!("{{\"ask\": \"restart\"}}");
        std::io::stdin().read_line(&mut String::new()).expect("a line when the broker is back");
        self.began = Instant::now();
    }

    pub fn topic(&self, partitions: i32) -> Told<String> {
        self.client.admin().create(&self.name, partitions, &[])?;
        Ok(self.name.clone())
    }

    pub fn reading(&self, group: bool) -> Reading {
        let group = group.then(|| self.name.clone());
        Reading { topic: self.name.clone(), group, ..Reading::default() }
    }

    pub fn transactional(&self) -> Told<Box<dyn Producer>> {
        let transactional = Some(self.name.clone());
        self.client.producer(Writing { transactional, ..Writing::default() })
    }

    /// Sends with a producer of its own.
    pub fn write(&self, topic: &str, records: &[Record]) -> Told<Vec<i64>> {
        self.client.producer(Writing::default())?.send(topic, records)
    }

    /// The next count records: no more, no fewer.
    pub fn next(&self, consumer: &dyn Consumer, count: usize) -> Told<Vec<Record>> {
        let mut got = Vec::new();
        while got.len() < count {
            check!(!self.late(), "{} of {count} records came", got.len());
            got.extend(consumer.poll()?);
        }
        check!(got.len() == count, "{} records came, not {count}", got.len());
        Ok(got)
    }

    /// All of a topic, by partition and offset, and nothing after it.
    pub fn read(&self, topic: &str, count: usize, committed: bool) -> Told<Vec<Record>> {
        let how = Reading { topic: topic.to_string(), committed, ..Reading::default() };
        let consumer = self.client.consumer(how)?;
        let mut got = self.next(&*consumer, count)?;
        check!(consumer.poll()?.is_empty(), "too many records came");
        got.sort_by_key(|record| (record.partition, record.offset));
        Ok(got)
    }

    pub fn quiet(&self, consumer: &dyn Consumer, why: &str) -> Told<()> {
        let began = Instant::now();
        while began.elapsed() < QUIET {
            check!(consumer.poll()?.is_empty(), "{why}, yet records came");
        }
        Ok(())
    }

    /// Until each member owns so many partitions, and all of them different ones.
    pub fn settle(&self, each: usize, members: &[&dyn Consumer]) -> Told<()> {
        loop {
            let shares = members.iter().map(|member| member.owned()).collect::<Told<Vec<_>>>()?;
            let owned: BTreeSet<i32> = shares.iter().flatten().copied().collect();
            if owned.len() == each * members.len() && shares.iter().all(|share| share.len() == each) {
                return Ok(());
            }
            check!(!self.late(), "the group did not settle: members own {shares:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
