// Produces, consumes and runs a group with KafkaJS.
//
// Arguments: bootstrap servers, topic, partitions. Writes records with the codecs that KafkaJS has without native code,
// while members join and leave a group; in the end every record was read. A consumer that KafkaJS had to restart is a
// failure, too.
'use strict'

const { Kafka, CompressionTypes, CompressionCodecs, Partitioners, logLevel } = require('kafkajs')

CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy')

const [servers, topic, partitionCount] = process.argv.slice(2)
const partitions = Number(partitionCount)
const CODECS = [CompressionTypes.None, CompressionTypes.GZIP, CompressionTypes.Snappy]
const RECORDS_PER_STEP = 300
const PATIENCE_MS = 30000

const kafka = new Kafka({ clientId: 'kafkajs', brokers: [servers], logLevel: logLevel.ERROR })
const reads = new Map() // value -> how often
const held = new Map() // member -> partitions

function check(holds, what) {
  if (!holds) throw new Error(what)
}

async function until(what, condition) {
  const deadline = Date.now() + PATIENCE_MS
  while (!condition()) {
    check(Date.now() < deadline, `not reached: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

function sharedOut(members) {
  const all = [...held.values()]
  return all.length === members && all.every((each) => each.length > 0) && all.flat().length === partitions
}

async function join(name) {
  const consumer = kafka.consumer({ groupId: topic, heartbeatInterval: 200, maxWaitTimeInMs: 100 })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => held.set(name, payload.memberAssignment[topic] || []))
  consumer.on(consumer.events.CRASH, ({ payload }) => fail(payload.error))
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    autoCommitInterval: 100,
    eachMessage: async ({ partition, message }) => {
      const value = message.value.toString()
      check(message.key.toString() === `key ${value}`, `key of ${value}`)
      check(message.headers.number.toString() === value, `header of ${value}`)
      check(Number(value) % partitions === partition, `partition of ${value}`)
      reads.set(value, (reads.get(value) || 0) + 1)
    },
  })
  return consumer
}

async function main() {
  const producer = kafka.producer({ idempotent: true, createPartitioner: Partitioners.DefaultPartitioner })
  await producer.connect()
  const members = new Map()
  let written = 0
  for (const step of ['+a', '+b', '+c', '-a', '-c']) {
    const name = step.slice(1)
    if (step[0] === '+') {
      members.set(name, await join(name))
    } else {
      await members.get(name).disconnect()
      members.delete(name)
      held.delete(name)
    }
    await until(`${step}: partitions shared out`, () => sharedOut(members.size))
    for (const compression of CODECS) {
      const messages = Array.from({ length: RECORDS_PER_STEP }, () => {
        const value = String(written++)
        return { key: `key ${value}`, value, partition: Number(value) % partitions, headers: { number: value } }
      })
      await producer.send({ topic, compression, messages, acks: -1 })
    }
    await until(`${step}: all read`, () => reads.size === written)
  }
  for (const member of members.values()) await member.disconnect()
  await producer.disconnect()
  const admin = kafka.admin()
  await admin.connect()
  const [{ partitions: committed }] = await admin.fetchOffsets({ groupId: topic, topics: [topic] })
  const sum = committed.reduce((total, { offset }) => total + Number(offset), 0)
  await admin.disconnect()
  console.log(`${written} ${reads.size} ${sum}`)
}

function fail(error) {
  console.error(error)
  process.exit(1)
}

main().catch(fail)
