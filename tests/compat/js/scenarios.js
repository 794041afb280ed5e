// What every client is asked to do; scenarios.py says what each is about.
import { Buffer } from 'node:buffer'
import { check, refused } from './run.js'

const bytes = text => Buffer.from(text)

function numbered (count, partition = 0) {
  return Array.from({ length: count }, (_, i) => ({ partition, key: null, value: bytes(`value ${i}`), headers: [] }))
}

function alike (a, b) {
  return a === null || b === null ? a === b : Buffer.compare(a, b) === 0
}

// Clients keep headers by name, so only the order of those of one name can be asked for.
function byName (headers) {
  return headers.map(([name, value]) => `${name}=${value.toString('hex')}`)
    .sort((a, b) => a.split('=')[0].localeCompare(b.split('=')[0])).join()
}

function same (got, sent) {
  check(got.length === sent.length, `${got.length} records came, not ${sent.length}`)
  got.forEach((record, i) => {
    const told = `record ${i} came back as ${String(record.key).slice(0, 40)} ${String(record.value).slice(0, 40)}`
    check(alike(record.key, sent[i].key) && alike(record.value, sent[i].value), told)
    check(byName(record.headers) === byName(sent[i].headers), `record ${i} came back with ${byName(record.headers)}`)
  })
}

async function acks (turn, acks) {
  const topic = await turn.topic(1)
  const sent = numbered(10)
  const first = await turn.write(topic, { acks }, sent)
  check(acks === '0' || first === 0, `the first record was told offset ${first}`)
  same(await turn.read(topic, 10), sent)
}

async function codec (turn, codec) {
  const topic = await turn.topic(1)
  const sent = numbered(50).map((record, i) => (
    { ...record, key: bytes(`key ${i}`), value: bytes(`value ${i} `.repeat(20)) }
  ))
  await turn.write(topic, { codec }, sent)
  same(await turn.read(topic, 50), sent)
}

async function keys (turn) {
  const topic = await turn.topic(3)
  const sent = Array.from({ length: 60 }, (_, i) => ({ key: bytes(`key ${i % 10}`), value: bytes(`${i}`), headers: [] }))
  await turn.write(topic, { byKey: true }, sent)
  const places = new Map()
  const used = new Set()
  for (const { key, partition } of await turn.read(topic, 60)) {
    const known = places.get(String(key)) ?? partition
    check(known === partition, `${key} is in partitions ${known} and ${partition}`)
    places.set(String(key), partition)
    used.add(partition)
  }
  check(places.size === 10 && used.size > 1, `${places.size} keys in ${used.size} partitions`)
}

async function headers (turn) {
  const topic = await turn.topic(1)
  const some = [['a', bytes('1')], ['b', Buffer.from([0, 255])], ['c', bytes('')]]
  if (turn.client.repeatsHeaders) some.splice(1, 0, ['a', bytes('2')])
  const sent = [
    { partition: 0, key: null, value: bytes('some'), headers: some },
    { partition: 0, key: null, value: bytes('none'), headers: [] }
  ]
  await turn.write(topic, {}, sent)
  same(await turn.read(topic, 2), sent)
}

async function nulls (turn) {
  const topic = await turn.topic(1)
  const sent = [
    { partition: 0, key: null, value: bytes('no key'), headers: [] },
    { partition: 0, key: bytes('no value'), value: null, headers: [] },
    { partition: 0, key: bytes(''), value: bytes(''), headers: [] }
  ]
  await turn.write(topic, {}, sent)
  same(await turn.read(topic, 3), sent)
}

async function megabyte (turn) {
  const topic = await turn.topic(1)
  const value = Buffer.alloc(1_000_000)
  for (let i = 0; i < value.length; i++) value[i] = (i * 7919) >> 5
  const sent = [{ partition: 0, key: null, value, headers: [] }]
  await turn.write(topic, {}, sent)
  same(await turn.read(topic, 1), sent)
}

async function assign (turn) {
  const topic = await turn.topic(3)
  for (const partition of [0, 1, 2]) await turn.write(topic, {}, numbered(5, partition))
  const got = await turn.read(topic, 15)
  got.forEach((record, i) => {
    const { partition, offset } = record
    check(partition === Math.floor(i / 5) && offset === i % 5, `record ${i} came from ${partition}, offset ${offset}`)
  })
}

async function group (turn, protocol) {
  const topic = await turn.topic(4)
  const how = { topic, group: turn.name, protocol }
  const members = await Promise.all([turn.consumer(how), turn.consumer(how)])
  await turn.settle(2, members)
  if (protocol === 'modern') {
    check((await turn.admin.modernGroups()).includes(turn.name), 'the group is not of the modern kind')
  }
  for (const partition of [0, 1, 2, 3]) await turn.write(topic, {}, numbered(10, partition))
  const got = []
  while (got.length < 40) {
    for (const member of members) got.push(...await member.poll())
    check(Date.now() < turn.end, `${got.length} of 40 records came`)
  }
  const seen = new Set(got.map(({ partition, offset }) => `${partition} ${offset}`))
  check(seen.size === 40, 'some records came twice, others not at all')
  for (const member of members) await member.commit()
}

async function cooperative (turn) {
  const topic = await turn.topic(4)
  const how = { topic, group: turn.name, protocol: 'cooperative' }
  const one = await turn.consumer(how)
  await turn.settle(4, [one])
  const two = await turn.consumer(how)
  await turn.settle(2, [one, two])
  check(one.revoked().length === 2, `the first member lost ${one.revoked()}`)
}

async function staticMember (turn) {
  const topic = await turn.topic(4)
  const how = instance => ({ topic, group: turn.name, instance })
  const [one, two] = await Promise.all([turn.consumer(how('one')), turn.consumer(how('two'))])
  await turn.settle(2, [one, two])
  const before = String(one.owned().sort())
  const lost = two.revoked().length
  await turn.leave(one)
  const again = await turn.consumer(how('one'))
  await turn.settle(2, [again, two])
  check(String(again.owned().sort()) === before, `it owned ${before}, and then ${again.owned()}`)
  check(two.revoked().length === lost, 'the other member was rebalanced')
}

async function largeGroup (turn) {
  const topic = await turn.topic(40)
  const how = { topic, group: turn.name }
  await turn.settle(2, await Promise.all(Array.from({ length: 20 }, () => turn.consumer(how))))
}

async function seekOffset (turn) {
  const topic = await turn.topic(1)
  await turn.write(topic, {}, numbered(10))
  const consumer = await turn.consumer({ topic })
  await turn.next(consumer, 10)
  for (const offset of [3, 8]) {
    await consumer.seek(0, offset)
    const [first] = await turn.next(consumer, 10 - offset)
    check(first.offset === offset, `offset ${first.offset} came after a seek to ${offset}`)
  }
}

async function seekTime (turn) {
  const topic = await turn.topic(1)
  const base = Date.now() - 60_000
  await turn.write(topic, {}, numbered(10).map((record, i) => ({ ...record, time: base + i * 1000 })))
  const consumer = await turn.consumer({ topic })
  await turn.next(consumer, 10)
  await consumer.seek(0, await turn.admin.offset(topic, 0, base + 4500))
  const [first] = await turn.next(consumer, 5)
  check(first.offset === 5 && first.time === base + 5000, `offset ${first.offset} came first`)
}

async function pause (turn) {
  const topic = await turn.topic(2)
  const consumer = await turn.consumer({ topic })
  await turn.write(topic, {}, numbered(1, 0))
  await turn.next(consumer, 1)
  consumer.pause(0)
  await turn.quiet(consumer, 'nothing was written') // a fetch that was under way may still bring what comes next
  await turn.write(topic, {}, numbered(5, 0))
  await turn.write(topic, {}, numbered(5, 1))
  const got = await turn.next(consumer, 5)
  check(got.every(({ partition }) => partition === 1), 'a record came from the paused partition')
  await turn.quiet(consumer, 'partition 0 is paused')
  consumer.resume(0)
  const [first] = await turn.next(consumer, 5)
  check(first.offset === 1, `offset ${first.offset} came first after resuming`)
}

async function commit (turn) {
  const topic = await turn.topic(1)
  await turn.write(topic, {}, numbered(10))
  const one = await turn.consumer({ topic, group: turn.name })
  await turn.next(one, 10)
  await one.commit()
  await turn.leave(one)
  await turn.write(topic, {}, numbered(5))
  const [first] = await turn.next(await turn.consumer({ topic, group: turn.name }), 5)
  check(first.offset === 10, `the next member went on at offset ${first.offset}`)
}

async function lag (turn) {
  const topic = await turn.topic(1)
  await turn.write(topic, {}, numbered(10))
  const member = await turn.consumer({ topic, group: turn.name })
  await turn.next(member, 10)
  await member.commit()
  await turn.write(topic, {}, numbered(3))
  const lag = await turn.admin.offset(topic, 0, -1) - await turn.admin.groupOffset(turn.name, topic, 0)
  check(lag === 3, `the lag is ${lag}`)
}

async function idempotent (turn) {
  const topic = await turn.topic(1)
  const producer = await turn.producer({ idempotent: true })
  const sent = numbered(200)
  for (let i = 0; i < 200; i += 20) await producer.send(topic, sent.slice(i, i + 20))
  same(await turn.read(topic, 200), sent)
}

async function transactionCommit (turn) {
  const topic = await turn.topic(2)
  const producer = await turn.producer({ transactional: turn.name })
  const consumer = await turn.consumer({ topic, committed: true })
  await producer.begin()
  await producer.send(topic, [...numbered(5, 0), ...numbered(5, 1)])
  await turn.quiet(consumer, 'the transaction is open')
  await producer.commit()
  await turn.next(consumer, 10)
}

async function transactionAbort (turn) {
  const topic = await turn.topic(1)
  const producer = await turn.producer({ transactional: turn.name })
  await producer.begin()
  await producer.send(topic, numbered(3))
  await producer.abort()
  await producer.begin()
  const kept = numbered(2)
  await producer.send(topic, kept)
  await producer.commit()
  same(await turn.read(topic, 2, true), kept)
  await turn.read(topic, 5, false)
}

async function transactionOffsets (turn) {
  const from = await turn.topic(1)
  const to = `${turn.name}-to`
  await turn.admin.create(to, 1, {})
  const sent = numbered(10)
  await turn.write(from, {}, sent)
  for (const [decision, offset] of [[false, -1], [true, 10]]) {
    await turn.client.transform(from, to, turn.name, turn.name, decision)
    const told = await turn.admin.groupOffset(turn.name, from, 0)
    check(told === offset, `the group's offset is ${told}, not ${offset}`)
  }
  same(await turn.read(to, 10, true), sent)
}

async function transactionFencing (turn) {
  const topic = await turn.topic(1)
  const one = await turn.producer({ transactional: turn.name })
  await one.begin()
  await one.send(topic, numbered(1))
  const two = await turn.producer({ transactional: turn.name })
  await two.begin()
  const kept = [{ partition: 0, key: null, value: bytes('of the second'), headers: [] }]
  await two.send(topic, kept)
  await two.commit()
  await refused(one.send(topic, numbered(1)).then(() => one.commit()), 'the first producer could commit')
  same(await turn.read(topic, 1, true), kept)
}

async function adminCreate (turn) {
  await turn.admin.create(turn.name, 3, { 'retention.ms': '12345' })
  await refused(turn.admin.create(turn.name, 3, {}), 'the same topic was created twice')
  const count = await turn.admin.partitions(turn.name)
  check(count === 3, `it has ${count} partitions`)
  const told = (await turn.admin.configs(turn.name))['retention.ms']
  check(told === '12345', `retention.ms is ${told}`)
}

async function adminDelete (turn) {
  const topic = await turn.topic(1)
  await turn.admin.delete(topic)
  const count = await turn.admin.partitions(topic)
  check(count === 0, `it still has ${count} partitions`)
  await refused(turn.admin.delete(topic), 'it could be deleted twice')
}

async function adminGrow (turn) {
  const topic = await turn.topic(1)
  await turn.admin.grow(topic, 4)
  const count = await turn.admin.partitions(topic)
  check(count === 4, `it has ${count} partitions`)
  await refused(turn.admin.grow(topic, 2), 'it could shrink')
}

async function adminConfigs (turn) {
  const topic = await turn.topic(1)
  const configs = await turn.admin.configs(topic)
  const known = Object.keys(configs).length
  check(configs['cleanup.policy'] === 'delete' && known >= 20, `${known} configs, ${configs['cleanup.policy']}`)
  await turn.admin.setConfig(topic, 'cleanup.policy', 'compact')
  const told = (await turn.admin.configs(topic))['cleanup.policy']
  check(told === 'compact', `cleanup.policy is ${told} after the change`)
  await refused(turn.admin.setConfig(topic, 'cleanup.policy', 'nonsense'), 'cleanup.policy=nonsense was taken')
}

async function adminOffsets (turn) {
  const topic = await turn.topic(1)
  const base = Date.now() - 60_000
  await turn.write(topic, {}, numbered(10).map((record, i) => ({ ...record, time: base + i * 1000 })))
  for (const [time, offset] of [[-2, 0], [-1, 10], [base + 2500, 3]]) {
    const told = await turn.admin.offset(topic, 0, time)
    check(told === offset, `the offset at ${time} is ${told}, not ${offset}`)
  }
}

async function adminGroups (turn) {
  const topic = await turn.topic(1)
  await turn.write(topic, {}, numbered(5))
  const member = await turn.consumer({ topic, group: turn.name })
  await turn.next(member, 5)
  await member.commit()
  check((await turn.admin.groups()).includes(turn.name), 'the group is not listed')
  const { state, members } = await turn.admin.group(turn.name)
  check(/stable/i.test(state) && members === 1, `the group is ${state} with ${members} members`)
  await turn.leave(member)
  while (!/empty/i.test((await turn.admin.group(turn.name)).state)) check(Date.now() < turn.end, 'it does not empty')
  await turn.admin.setGroupOffset(turn.name, topic, 0, 2)
  const offset = await turn.admin.groupOffset(turn.name, topic, 0)
  check(offset === 2, `the group's offset is ${offset}, not 2`)
  await turn.admin.deleteGroup(turn.name)
  check(!(await turn.admin.groups()).includes(turn.name), 'the deleted group is still listed')
}

async function adminRecords (turn) {
  const topic = await turn.topic(1)
  await turn.write(topic, {}, numbered(10))
  await turn.admin.deleteRecords(topic, 0, 4)
  const first = await turn.admin.offset(topic, 0, -2)
  check(first === 4, `the first offset is ${first}`)
  check((await turn.read(topic, 6))[0].offset === 4, 'an earlier record came')
}

async function adminLogDirs (turn) {
  const topic = await turn.topic(2)
  await turn.write(topic, {}, [{ partition: 0, key: null, value: Buffer.alloc(10_000), headers: [] }])
  const size = await turn.admin.logDirs(topic)
  check(size >= 10_000, `the topic takes up ${size} bytes`)
}

async function reconnect (turn) {
  const topic = await turn.topic(1)
  const producer = await turn.producer()
  const consumer = await turn.consumer({ topic, group: turn.name })
  const sent = numbered(6)
  await producer.send(topic, sent.slice(0, 3))
  const got = await turn.next(consumer, 3)
  await consumer.commit()
  await turn.restart()
  await producer.send(topic, sent.slice(3))
  got.push(...await turn.next(consumer, 3))
  same(got, sent)
  await consumer.commit()
  same(await turn.read(topic, 6), sent)
}

export const scenarios = {
  'acks-0': turn => acks(turn, '0'),
  'acks-1': turn => acks(turn, '1'),
  'acks-all': turn => acks(turn, 'all'),
  'codec-none': turn => codec(turn, 'none'),
  'codec-gzip': turn => codec(turn, 'gzip'),
  'codec-snappy': turn => codec(turn, 'snappy'),
  'codec-lz4': turn => codec(turn, 'lz4'),
  'codec-zstd': turn => codec(turn, 'zstd'),
  keys,
  headers,
  nulls,
  megabyte,
  assign,
  group: turn => group(turn, 'eager'),
  cooperative,
  'static-member': staticMember,
  'modern-group': turn => group(turn, 'modern'),
  'large-group': largeGroup,
  'seek-offset': seekOffset,
  'seek-time': seekTime,
  pause,
  commit,
  lag,
  idempotent,
  'transaction-commit': transactionCommit,
  'transaction-abort': transactionAbort,
  'transaction-offsets': transactionOffsets,
  'transaction-fencing': transactionFencing,
  'admin-create': adminCreate,
  'admin-delete': adminDelete,
  'admin-grow': adminGrow,
  'admin-configs': adminConfigs,
  'admin-offsets': adminOffsets,
  'admin-groups': adminGroups,
  'admin-records': adminRecords,
  'admin-log-dirs': adminLogDirs,
  reconnect
}
