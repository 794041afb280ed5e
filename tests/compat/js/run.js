// Runs the scenarios that the command line names with one client, and prints how each went: see scenarios.py.
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { scenarios } from './scenarios.js'

const PATIENCE = 25_000
const input = createInterface({ input: process.stdin })

// A client is an object with: notApplicable, by scenario why it cannot be asked; admin; producer(how);
// consumer(how); transform(from, to, group, id, commit). What these do is what scenarios.js asks of them.
export async function main (module, open) {
  const version = createRequire(import.meta.url)(`./node_modules/${module}/package.json`).version
  const [bootstrap, prefix, ...names] = process.argv.slice(2)
  const client = await open(bootstrap)
  for (const scenario of names) {
    const began = Date.now()
    const done = { scenario, result: 'passed', detail: '', version }
    if (client.notApplicable[scenario]) {
      Object.assign(done, { result: 'not applicable', detail: client.notApplicable[scenario] })
    } else {
      const turn = new Turn(client, `${prefix}-${scenario}`)
      try {
        if (!scenarios[scenario]) throw new Error('no such scenario')
        await turn.within(scenarios[scenario](turn))
      } catch (error) {
        Object.assign(done, { result: 'failed', detail: explain(error) })
      } finally {
        await turn.close()
      }
    }
    say({ ...done, seconds: (Date.now() - began) / 1000 })
  }
  process.exit(0)
}

function explain (error) {
  const causes = [error.cause, ...(error.errors ?? [])].filter(Boolean)
  return [`${error.message ?? error}`, ...causes.map(explain)].join(': ')
}

function say (what) {
  process.stdout.write(JSON.stringify(what) + '\n')
}

export function check (truth, otherwise) {
  if (!truth) throw new Error(otherwise)
}

export async function refused (promise, otherwise) {
  const said = await promise.then(() => null, error => error)
  check(said, otherwise)
}

// One scenario's turn: what it uses is named after it, and closed when it is over.
export class Turn {
  constructor (client, name) {
    this.client = client
    this.admin = client.admin
    this.name = name
    this.opened = []
    this.end = Date.now() + PATIENCE
    this.readers = 0
  }

  async within (work) {
    let clock
    const late = new Promise((resolve, reject) => {
      clock = setTimeout(() => reject(new Error(`not done in ${PATIENCE / 1000} s: ${this.doing ?? ''}`)), PATIENCE + 1000)
    })
    await Promise.race([work, late]).finally(() => clearTimeout(clock))
  }

  async close () {
    for (const each of this.opened.reverse()) await Promise.race([each.close().catch(() => {}), sleep(5000)])
  }

  async topic (partitions) {
    await this.admin.create(this.name, partitions, {})
    return this.name
  }

  async producer (how = {}) {
    const made = await this.client.producer({ acks: 'all', codec: 'none', ...how })
    this.opened.push(made)
    return made
  }

  // Without a group: all partitions from their beginning, with a group of its own where a client needs one.
  async consumer (how) {
    const made = await this.client.consumer({ protocol: 'eager', ...how, reader: `${this.name}-reader-${++this.readers}` })
    this.opened.push(made)
    return made
  }

  async leave (opened) {
    this.opened.splice(this.opened.indexOf(opened), 1)
    await opened.close()
  }

  async write (topic, how, records) {
    const producer = await this.producer(how)
    const told = await producer.send(topic, records)
    await this.leave(producer)
    return told
  }

  async next (consumer, count) {
    const got = []
    while (got.length < count) {
      check(Date.now() < this.end, `${got.length} of ${count} records came`)
      got.push(...await consumer.poll())
    }
    check(got.length === count, `${got.length} records came, not ${count}`)
    return got
  }

  async read (topic, count, committed = false) {
    const consumer = await this.consumer({ topic, committed })
    const got = await this.next(consumer, count)
    check((await consumer.poll()).length === 0, 'too many records came')
    await this.leave(consumer)
    return got.sort((a, b) => a.partition - b.partition || a.offset - b.offset)
  }

  async quiet (consumer, why) {
    const end = Date.now() + 300
    while (Date.now() < end) check((await consumer.poll()).length === 0, `${why}, yet records came`)
  }

  // Polls members until each owns so many partitions, and all of them different ones.
  async settle (each, members) {
    for (;;) {
      const owned = new Set(members.flatMap(member => member.owned()))
      if (owned.size === each * members.length && members.every(member => member.owned().length === each)) return
      const says = members.map(member => `[${member.owned()}]`).join(' ')
      check(Date.now() < this.end, `the group did not settle: members own ${says}`)
      await sleep(20)
    }
  }

  async restart () {
    say({ ask: 'restart' })
    await once(input, 'line')
    this.end = Date.now() + PATIENCE
  }
}

// What a client pushed, to be polled.
export class Inbox {
  #records = []
  #wake = () => {}

  put (record) {
    this.#records.push(record)
    this.#wake()
  }

  async poll () {
    if (!this.#records.length) {
      let clock
      await new Promise(resolve => {
        this.#wake = resolve
        clock = setTimeout(resolve, 200)
      })
      clearTimeout(clock)
      await sleep(5)
    }
    return this.#records.splice(0)
  }
}
