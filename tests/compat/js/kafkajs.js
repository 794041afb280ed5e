// KafkaJS goes through the scenarios.
import { Buffer } from 'node:buffer'
import kafkajs from 'kafkajs'
import snappy from 'kafkajs-snappy'
import lz4 from 'lz4-napi'
import { ZstdCodec } from 'zstd-codec'
import { Inbox, main } from './run.js'

const { CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, logLevel } = kafkajs
const ACKS = { 0: 0, 1: 1, all: -1 }
const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD
}

// KafkaJS has gzip; the others are its users' to bring, as here.
async function bringCodecs () {
  CompressionCodecs[CompressionTypes.Snappy] = snappy
  CompressionCodecs[CompressionTypes.LZ4] = () => ({
    compress: encoder => lz4.compressFrame(encoder.buffer),
    decompress: buffer => lz4.decompressFrame(buffer)
  })
  const zstd = await new Promise(resolve => ZstdCodec.run(zstd => resolve(new zstd.Streaming())))
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: async encoder => Buffer.from(zstd.compress(encoder.buffer)),
    decompress: async buffer => Buffer.from(zstd.decompress(buffer))
  })
}

class Admin {
  constructor (admin) {
    this.admin = admin
  }

  async create (topic, numPartitions, configs) {
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
    const made = await this.admin.createTopics({ topics: [{ topic, numPartitions, configEntries }] })
    if (!made) throw new Error('it is there already') // how KafkaJS says so
  }

  async delete (topic) {
    await this.admin.deleteTopics({ topics: [topic] })
  }

  async grow (topic, count) {
    await this.admin.createPartitions({ topicPartitions: [{ topic, count }] })
  }

  async partitions (topic) {
    if (!(await this.admin.listTopics()).includes(topic)) return 0
    return (await this.admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length
  }

  async configs (name) {
    const told = await this.admin.describeConfigs({ resources: [{ type: ConfigResourceTypes.TOPIC, name }] })
    return Object.fromEntries(told.resources[0].configEntries.map(entry => [entry.configName, entry.configValue]))
  }

  async setConfig (topic, name, value) {
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic, configEntries: [{ name, value }] }
    await this.admin.alterConfigs({ resources: [resource] })
  }

  async offset (topic, partition, time) {
    if (time < 0) {
      const told = (await this.admin.fetchTopicOffsets(topic)).find(each => each.partition === partition)
      return Number(time === -1 ? told.high : told.low)
    }
    const told = await this.admin.fetchTopicOffsetsByTimestamp(topic, time)
    return Number(told.find(each => each.partition === partition).offset)
  }

  async groups () {
    return (await this.admin.listGroups()).groups.map(group => group.groupId)
  }

  async group (group) {
    const { state, members } = (await this.admin.describeGroups([group])).groups[0]
    return { state, members: members.length }
  }

  async deleteGroup (group) {
    await this.admin.deleteGroups([group])
  }

  async setGroupOffset (groupId, topic, partition, offset) {
    await this.admin.setOffsets({ groupId, topic, partitions: [{ partition, offset: String(offset) }] })
  }

  async groupOffset (groupId, topic, partition) {
    const told = await this.admin.fetchOffsets({ groupId, topics: [topic] })
    return Number(told[0].partitions.find(each => each.partition === partition).offset)
  }

  async deleteRecords (topic, partition, before) {
    await this.admin.fetchTopicOffsets(topic) // KafkaJS looks for the leader before it asks where it is
    await this.admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(before) }] })
  }
}

class Producer {
  constructor (producer, how) {
    this.producer = producer
    this.how = how
  }

  async send (topic, records) {
    const messages = records.map(({ partition, key, value, headers, time }) => ({
      partition: this.how.byKey ? undefined : partition,
      key,
      value,
      timestamp: time === undefined ? undefined : String(time),
      headers: grouped(headers)
    }))
    const way = { topic, messages, acks: ACKS[this.how.acks], compression: CODECS[this.how.codec] }
    const told = await (this.transaction ?? this.producer).send(way)
    return Number(told[0]?.baseOffset)
  }

  async begin () {
    this.transaction = await this.producer.transaction()
  }

  async commit () {
    await this.transaction.commit()
  }

  async abort () {
    await this.transaction.abort()
  }

  async close () {
    await this.producer.disconnect()
  }
}

function grouped (headers) {
  const made = {}
  for (const [name, value] of headers) made[name] = name in made ? [made[name], value].flat() : value
  return made
}

class Consumer extends Inbox {
  #owned = []
  #revoked = []
  #read = new Map()

  constructor (consumer, topic) {
    super()
    this.consumer = consumer
    this.topic = topic
  }

  async start () {
    this.consumer.on(this.consumer.events.GROUP_JOIN, ({ payload }) => {
      this.#owned = payload.memberAssignment[this.topic] ?? []
    })
    this.consumer.on(this.consumer.events.REBALANCING, () => {
      this.#revoked.push(...this.#owned.splice(0))
    })
    await this.consumer.connect()
    await this.consumer.subscribe({ topics: [this.topic], fromBeginning: true })
    await this.consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        const headers = Object.entries(message.headers).flatMap(([name, values]) => (
          [values].flat().map(value => [name, value])
        ))
        const { key, value, offset, timestamp } = message
        this.put({ partition, offset: Number(offset), key, value, headers, time: Number(timestamp) })
      }
    })
  }

  async poll () {
    const got = await super.poll()
    for (const { partition, offset } of got) this.#read.set(partition, offset + 1)
    return got
  }

  owned () {
    return [...this.#owned]
  }

  revoked () {
    return this.#revoked
  }

  async commit () {
    const read = [...this.#read].map(([partition, offset]) => ({ topic: this.topic, partition, offset: String(offset) }))
    if (read.length) await this.consumer.commitOffsets(read)
  }

  async seek (partition, offset) {
    this.consumer.seek({ topic: this.topic, partition, offset: String(offset) })
  }

  pause (partition) {
    this.consumer.pause([{ topic: this.topic, partitions: [partition] }])
  }

  resume (partition) {
    this.consumer.resume([{ topic: this.topic, partitions: [partition] }])
  }

  async close () {
    await this.consumer.disconnect()
  }
}

class Client {
  repeatsHeaders = true
  notApplicable = {
    assign: 'KafkaJS reads in groups only',
    cooperative: 'KafkaJS rebalances eagerly only',
    'static-member': "KafkaJS's members have no instance ids",
    'modern-group': "KafkaJS's members speak the classic protocol only",
    'admin-log-dirs': 'KafkaJS has no DescribeLogDirs'
  }

  constructor (kafka, admin) {
    this.kafka = kafka
    this.admin = new Admin(admin)
  }

  async producer (how) {
    const settings = { createPartitioner: kafkajs.Partitioners.DefaultPartitioner, allowAutoTopicCreation: false }
    if (how.idempotent) Object.assign(settings, { idempotent: true, maxInFlightRequests: 1 })
    if (how.transactional) {
      Object.assign(settings, { transactionalId: how.transactional, idempotent: true, maxInFlightRequests: 1 })
    }
    const made = this.kafka.producer(settings)
    await made.connect()
    return new Producer(made, how)
  }

  async consumer ({ topic, group, committed, reader }) {
    const made = new Consumer(this.kafka.consumer({
      groupId: group ?? reader,
      readUncommitted: !committed,
      heartbeatInterval: 100,
      sessionTimeout: 10_000,
      maxWaitTimeInMs: 50
    }), topic)
    await made.start()
    return made
  }

  async transform (from, to, group, id, commit) {
    const producer = await this.producer({ transactional: id, acks: 'all', codec: 'none' })
    const consumer = await this.consumer({ topic: from, group, committed: true })
    let got = []
    while (!got.length) got = await consumer.poll()
    await producer.begin()
    await producer.send(to, got)
    const offset = String(got.at(-1).offset + 1)
    const topics = [{ topic: from, partitions: [{ partition: got[0].partition, offset }] }]
    await producer.transaction.sendOffsets({ consumerGroupId: group, topics })
    await (commit ? producer.commit() : producer.abort())
    await consumer.close()
    await producer.close()
  }
}

await main('kafkajs', async bootstrap => {
  await bringCodecs()
  const retry = { initialRetryTime: 50, maxRetryTime: 300, retries: 30 }
  const kafka = new Kafka({ brokers: [bootstrap], logLevel: logLevel.NOTHING, retry })
  const admin = kafka.admin({ retry: { ...retry, retries: 5 } }) // it tries again even what was refused
  await admin.connect()
  return new Client(kafka, admin)
})
