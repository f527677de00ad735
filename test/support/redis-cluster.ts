import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { HOST, startNode, type ClusterNode, type Command } from './redis-node.ts'

const SLOTS = 16_384
/** A bound for hangs: on a busy machine a failover may take several elections. */
const PATIENCE_MS = 60_000

/** Starts a Redis Cluster, with `replicas` per master. It ends with `stop`, or when this process ends. */
export async function startRedisCluster({ masters = 3, replicas = 0 } = {}): Promise<RedisCluster> {
  const cluster = new RedisCluster()
  try {
    await cluster.start(masters, replicas)
    return cluster
  } catch (error) {
    await cluster.stop()
    throw error
  }
}

/** Returns the slot of a key: the CRC16 (XMODEM) of its first `{tag}`, or of the whole key. */
export function slotOf(key: string): number {
  let crc = 0
  for (const byte of Buffer.from(/^[^{]*\{([^}]+)\}/.exec(key)?.[1] ?? key)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc & 0x80_00 ? 0x1_10_21 : 0)
  }
  return crc % SLOTS
}

/** A Redis Cluster on this machine, without persistence. */
export class RedisCluster implements AsyncDisposable {
  readonly #directory = mkdtempSync(join(tmpdir(), 'sluice-cluster-'))
  readonly #nodes: ClusterNode[] = []
  #lastMove = Promise.resolve()
  #isStopped = false

  /** Masters first, in the order of their slots; then the replicas. */
  get nodes(): readonly { readonly host: string; readonly port: number }[] {
    return this.#nodes.map(({ port }) => ({ host: HOST, port }))
  }

  /** Called by `startRedisCluster`. */
  async start(masters: number, replicas: number): Promise<void> {
    const border = (index: number): number => Math.floor((index * SLOTS) / masters)
    for (let index = 0; index < masters * (1 + replicas); index += 1) {
      const node = await startNode(this.#directory)
      this.#nodes.push(node)
      // Nodes that meet with the same epoch would have to resolve that first.
      await node.send('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
      if (index >= masters) continue
      await node.send('CLUSTER', 'ADDSLOTSRANGE', border(index), border(index + 1) - 1)
    }
    await this.#until('meet', () => this.#meet())
    for (const [index, replica] of this.#nodes.slice(masters).entries()) {
      await replica.send('CLUSTER', 'REPLICATE', this.#nodes[index % masters]?.id ?? '')
    }
    await this.#until('become ready', () => this.#isSettled())
  }

  /** Returns the port of the master that serves a slot now, as most nodes say. */
  async masterOf(slot: number): Promise<number> {
    const votes = Map.groupBy(await this.#votes(slot), (port) => port)
    votes.delete(undefined)
    const [winner] = [...votes.values()].toSorted((a, b) => b.length - a.length)
    if (winner?.[0] === undefined) throw new Error(`No master serves slot ${slot}`)
    return winner[0]
  }

  /**
   * Begins to move a slot to another master: MIGRATING at its master and IMPORTING at the other, but
   * no key moves. `moveKeys` moves all keys; `end` moves those that are left and then the slot, and
   * resolves when all living nodes know. Both fail once one of the two masters has been killed.
   */
  async beginMove(slot: number): Promise<{ moveKeys(): Promise<void>; end(): Promise<void> }> {
    const source = await this.#masterNode(slot)
    const masters = await this.#masters()
    const target = masters[(masters.indexOf(source) + 1) % masters.length]
    if (target === undefined || target === source) {
      throw new Error(`Slot ${slot} cannot move: there is no second master`)
    }
    const setSlot = (node: ClusterNode, state: string, { id }: ClusterNode): Promise<unknown> =>
      node.send('CLUSTER', 'SETSLOT', slot, state, id)
    // The target first, or it would refuse clients that the source sends to it.
    await setSlot(target, 'IMPORTING', source)
    await setSlot(source, 'MIGRATING', target)

    const moveKeys = async (): Promise<void> => {
      for (;;) {
        const keys = (await source.send('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[]
        if (keys.length === 0) return
        await source.send('MIGRATE', HOST, target.port, '', 0, 5_000, 'REPLACE', 'KEYS', ...keys)
      }
    }
    const giveSlot = async (): Promise<void> => {
      // The source deletes the keys that it still has when the target takes the slot.
      await moveKeys()
      for (const node of new Set([target, source, ...(await this.#masters())])) {
        await setSlot(node, 'NODE', target)
      }
      await this.#until(`agree on slot ${slot}`, async () => {
        const votes = new Set(await this.#votes(slot))
        return votes.size === 1 && !votes.has(source.port)
      })
    }
    const end = (): Promise<void> => {
      // One by one: masters that take slots at the same time may disagree on them for good.
      const ended = this.#lastMove.then(giveSlot)
      this.#lastMove = ended.catch(() => {})
      return ended
    }
    return { moveKeys, end }
  }

  /** Moves a slot with its keys to another master, from begin to end. */
  async moveSlot(slot: number): Promise<void> {
    const move = await this.beginMove(slot)
    await move.end()
  }

  /**
   * Kills the master of a slot and returns at once. `failedOver` resolves when a replica serves the
   * slot and all living nodes agree; the replica needs the votes of two other masters. Lost are
   * writes that it had not received, and keys that an open move from or to the master had moved.
   */
  async killMasterOf(slot: number): Promise<{ failedOver: Promise<void> }> {
    const master = await this.#masterNode(slot)
    await master.kill()
    await this.#abandonMoves(master)
    const failedOver = this.#until(`replace the master of slot ${slot}`, async () => {
      await this.#masterNode(slot)
      return this.#isSettled()
    })
    // A caller may stop the cluster instead of waiting for it.
    failedOver.catch(() => {})
    return { failedOver }
  }

  /** Sends a command to every living master, and returns their replies. */
  async onMasters(...command: Command): Promise<unknown[]> {
    const masters = await this.#masters()
    return Promise.all(masters.map((node) => node.send(...command)))
  }

  /** Kills all nodes and removes their files. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#nodes.map((node) => node.kill()))
    await rm(this.#directory, { recursive: true, force: true })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  get #living(): ClusterNode[] {
    return this.#nodes.filter((node) => node.isAlive())
  }

  /** Sends a command to all living nodes. Leaves out those that die before they reply. */
  async #askAll(...command: Command): Promise<(readonly [ClusterNode, unknown])[]> {
    const asked = this.#living.map(async (node) => [node, await node.send(...command)] as const)
    const replies = await Promise.allSettled(asked)
    return replies.flatMap((reply) => (reply.status === 'fulfilled' ? [reply.value] : []))
  }

  async #masters(): Promise<ClusterNode[]> {
    const roles = await this.#askAll('ROLE')
    return roles.flatMap(([node, role]) => ((role as string[])[0] === 'master' ? [node] : []))
  }

  async #masterNode(slot: number): Promise<ClusterNode> {
    const port = await this.masterOf(slot)
    const master = this.#living.find((node) => node.port === port)
    if (master === undefined) throw new Error(`The master of slot ${slot} is dead`)
    return master
  }

  /** The port of a slot's master, as each living node says. */
  async #votes(slot: number): Promise<(number | undefined)[]> {
    const replies = await this.#askAll('CLUSTER', 'SLOTS')
    return replies.map(([, reply]) => {
      const ranges = reply as [first: number, last: number, master: [host: string, port: number]][]
      return ranges.find(([first, last]) => first <= slot && slot <= last)?.[2][1]
    })
  }

  /** Closes the moves from or to a dead master. Its heir stays unknown to a node that imports from it. */
  async #abandonMoves({ id }: ClusterNode): Promise<void> {
    const open = new RegExp(`\\[(\\d+)-[<>]-${id}\\]`, 'g')
    for (const [node, view] of await this.#askAll('CLUSTER', 'NODES')) {
      for (const [, slot = ''] of String(view).matchAll(open)) {
        await node.send('CLUSTER', 'SETSLOT', slot, 'STABLE')
      }
    }
  }

  /** Introduces nodes that do not know each other: one that is slow to answer is forgotten. */
  async #meet(): Promise<boolean> {
    let haveMet = true
    for (const [node, known] of await this.#askAll('CLUSTER', 'NODES')) {
      const strangers = this.#nodes.filter(({ id }) => !String(known).includes(id))
      for (const { port, busPort } of strangers) {
        await node.send('CLUSTER', 'MEET', HOST, port, busPort)
        haveMet = false
      }
    }
    return haveMet
  }

  /** Reports that all living nodes know the same nodes, roles and slots, and all replicas are online. */
  async #isSettled(): Promise<boolean> {
    const count = this.#living.length
    const states = (await this.#askAll('CLUSTER', 'INFO')).map(([, state]) => String(state))
    const links = (await this.#askAll('INFO', 'replication')).map(([, link]) => String(link))
    const views = (await this.#askAll('CLUSTER', 'NODES')).map(([, view]) => healthyNodes(view))
    return (
      views.length === count &&
      views.every((rows) => rows.length === count && rows.join() === views[0]?.join()) &&
      states.every((state) => state.includes('cluster_state:ok')) &&
      // Nobody replaces a master that dies before its replica is online.
      !links.some((link) => /master_link_status:down|,state=(?!online)/.test(link))
    )
  }

  async #until(goal: string, isReached: () => Promise<boolean>): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS
    let cause: unknown
    while (!this.#isStopped && Date.now() < deadline) {
      try {
        if (await isReached()) return
        cause = undefined
      } catch (error) {
        cause = error
      }
      await delay(25)
    }
    throw new Error(`The cluster was stopped or had no time to ${goal}`, { cause })
  }
}

/** The nodes in a reply to CLUSTER NODES that have not failed: id, address, role, master, slots. */
function healthyNodes(reply: unknown): string[] {
  const passing = /myself,| \d+ \d+ \d+ (dis)?connected| \[\S+\]/g
  const rows = String(reply).trim().replaceAll(passing, '').split('\n')
  return rows.filter((row) => !/[ ,]fail[ ,]/.test(row)).toSorted()
}
