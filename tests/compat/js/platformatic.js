// @platformatic/kafka goes through the scenarios.
import { Buffer } from 'node:buffer'
import * as kafka from '@platformatic/kafka'
import zlib from 'node:zlib'
import { Inbox, main } from './run.js'

const ACKS = { 0: kafka.ProduceAcks.NO_RESPONSE, 1: kafka.ProduceAcks.LEADER, all: kafka.ProduceAcks.ALL }
const TOPIC = kafka.ConfigResourceTypes.TOPIC

class Admin {
  constructor (settings) {
    this.admin = new kafka.Admin(settings)
  }

  async create (topic, partitions, configs) {
    const given = Object.entries(configs).map(([name, value]) => ({ name, value }))
    await this.admin.createTopics({ topics: [topic], partitions, replicas: 1, configs: given })
  }

  async delete (topic) {
    await this.admin.deleteTopics({ topics: [topic] })
  }

  async grow (name, count) {
    await this.admin.createPartitions({ topics: [{ name, count, assignments: null }] })
  }

  async partitions (topic) {
    if (!(await this.admin.listTopics()).includes(topic)) return 0
    const told = await this.admin.metadata({ topics: [topic], forceUpdate: true })
    return told.topics.get(topic).partitionsCount
  }

  async configs (topic) {
    const [told] = await this.admin.describeConfigs({ resources: [{ resourceType: TOPIC, resourceName: topic }] })
    return Object.fromEntries(told.configs.map(({ name, value }) => [name, value]))
  }

  async setConfig (topic, name, value) {
    const configs = [{ name, value, configOperation: kafka.IncrementalAlterConfigOperationTypes.SET }]
    await this.admin.incrementalAlterConfigs({ resources: [{ resourceType: TOPIC, resourceName: topic, configs }] })
  }

  async offset (name, partitionIndex, time) {
    const topics = [{ name, partitions: [{ partitionIndex, timestamp: BigInt(time) }] }]
    const told = await this.admin.listOffsets({ topics })
    return Number(told[0].partitions[0].offset)
  }

  async groups () {
    return [...(await this.admin.listGroups()).keys()]
  }

  async modernGroups () {
    return [...(await this.admin.listGroups({ types: ['consumer'] })).keys()]
  }

  async group (group) {
    const told = (await this.admin.describeGroups({ groups: [group] })).get(group)
    return { state: told.state, members: told.members.size }
  }

  async deleteGroup (group) {
    await this.admin.deleteGroups({ groups: [group] })
  }

  async setGroupOffset (groupId, name, partition, offset) {
    const topics = [{ name, partitionOffsets: [{ partition, offset: BigInt(offset) }] }]
    await this.admin.alterConsumerGroupOffsets({ groupId, topics })
  }

  async groupOffset (groupId, name, partition) {
    const groups = [{ groupId, topics: [{ name, partitionIndexes: [partition] }] }]
    const [told] = await this.admin.listConsumerGroupOffsets({ groups })
    return Number(told.topics[0].partitions[0].committedOffset)
  }

  async deleteRecords (name, partition, before) {
    await this.admin.deleteRecords({ topics: [{ name, partitions: [{ partition, offset: BigInt(before) }] }] })
  }

  async logDirs (name) {
    const told = await this.admin.describeLogDirs({ topics: [{ name, partitions: [0, 1] }] })
    const partitions = told.flatMap(broker => broker.results).flatMap(dir => dir.topics).flatMap(topic => topic.partitions)
    return partitions.reduce((sum, partition) => sum + Number(partition.partitionSize), 0)
  }
}

class Producer {
  constructor (producer, how) {
    this.producer = producer
    this.how = how
  }

  async send (topic, records) {
    const messages = records.map(({ partition, key, value, headers, time }) => ({
      topic,
      ...(this.how.byKey ? {} : { partition }),
      key,
      value,
      headers: new Map(headers.map(([name, value]) => [Buffer.from(name), value])),
      ...(time === undefined ? {} : { timestamp: BigInt(time) })
    }))
    const told = await (this.transaction ?? this.producer).send({ messages })
    return Number(told.offsets?.[0].offset)
  }

  async begin () {
    this.transaction = await this.producer.beginTransaction()
  }

  async commit () {
    await this.transaction.commit()
  }

  async abort () {
    await this.transaction.abort()
  }

  async close () {
    await this.producer.close()
  }
}

class Consumer extends Inbox {
  #revoked = []
  #last = []
  #read = new Map()

  constructor (settings, how) {
    super()
    this.how = how
    this.consumer = new kafka.Consumer(settings)
    this.consumer.on('consumer:group:join', () => {
      this.#revoked.push(...this.#last)
      this.#last = this.owned()
    })
  }

  async consume (from) {
    await this.stream?.close()
    this.stream = await this.consumer.consume({ topics: [this.how.topic], autocommit: false, maxWaitTime: 50, ...from })
    this.stream.on('error', error => { this.error = error })
    this.stream.on('data', message => {
      this.last = message
      const { partition, key, value } = message
      const headers = [...message.headers].map(([name, value]) => [String(name), value])
      const [offset, time] = [Number(message.offset), Number(message.timestamp)]
      this.put({ partition, offset, key: key ?? null, value: value ?? null, headers, time })
    })
  }

  async poll () {
    const got = await super.poll()
    for (const { partition, offset } of got) this.#read.set(partition, offset + 1)
    if (this.error) throw this.error
    return got
  }

  owned () {
    const mine = (this.consumer.assignments ?? []).filter(each => each.topic === this.how.topic)
    return mine.flatMap(each => [...each.partitions])
  }

  revoked () {
    return this.#revoked
  }

  async commit () {
    const offsets = [...this.#read].map(([partition, offset]) => (
      { topic: this.how.topic, partition, offset: BigInt(offset), leaderEpoch: 0 }
    ))
    if (offsets.length) await this.consumer.commit({ offsets })
  }

  async seek (partition, offset) {
    await this.consume({ mode: 'manual', offsets: [{ topic: this.how.topic, partition, offset: BigInt(offset) }] })
  }

  async close () {
    await this.consumer.close(true)
  }
}

class Client {
  repeatsHeaders = false // they are given as a map
  notApplicable = {
    assign: '@platformatic/kafka reads in groups only',
    cooperative: '@platformatic/kafka rebalances eagerly only',
    'static-member': '@platformatic/kafka leaves its group when it is closed, instance id or not',
    pause: '@platformatic/kafka pauses streams, not partitions',
    ...(zlib.zstdCompressSync ? {} : { 'codec-zstd': '@platformatic/kafka has zstd from Node.js 22.15 on' })
  }

  constructor (bootstrap) {
    this.settings = { clientId: 'compat', bootstrapBrokers: [bootstrap], autocreateTopics: false, retries: 50, retryDelay: 100 }
    this.admin = new Admin({ ...this.settings, retries: 0 })
  }

  async producer (how) {
    const settings = { ...this.settings, acks: ACKS[how.acks], compression: how.codec }
    if (how.idempotent || how.transactional) settings.idempotent = true
    if (how.transactional) {
      // Its own default is to go on as producer 0, which brokers fence unless the id happens to be that one's.
      Object.assign(settings, { transactionalId: how.transactional, producerId: -1n, producerEpoch: -1 })
    }
    return new Producer(new kafka.Producer(settings), how)
  }

  async consumer (how) {
    const level = kafka.FetchIsolationLevels[how.committed ? 'READ_COMMITTED' : 'READ_UNCOMMITTED']
    const settings = { ...this.settings, groupId: how.group ?? how.reader, isolationLevel: level }
    if (how.protocol === 'modern') settings.groupProtocol = 'consumer'
    else Object.assign(settings, { heartbeatInterval: 100, sessionTimeout: 10_000, rebalanceTimeout: 10_000 })
    if (how.instance) settings.groupInstanceId = how.instance
    const made = new Consumer(settings, how)
    await made.consume({ mode: 'committed', fallbackMode: 'earliest' })
    return made
  }

  async transform (from, to, group, id, commit) {
    const producer = await this.producer({ transactional: id, acks: 'all', codec: 'none' })
    const consumer = await this.consumer({ topic: from, group, committed: true })
    let got = []
    while (!got.length) got = await consumer.poll()
    await producer.begin()
    await producer.transaction.addConsumer(consumer.consumer)
    await producer.send(to, got.map(record => ({ ...record, time: undefined })))
    await producer.transaction.addOffset(consumer.last)
    await (commit ? producer.commit() : producer.abort())
    await consumer.close()
    await producer.close()
  }
}

await main('@platformatic/kafka', async bootstrap => new Client(bootstrap))
