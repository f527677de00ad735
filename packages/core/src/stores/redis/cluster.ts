/*
 * Sending of a Redis command to the node of a cluster that serves its keys. The clients of clusters keep the list of
 * nodes and their connections; the way of a command is ours, because theirs may lead beyond the deadline, or send twice.
 * See https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec
 */
import type { StoreError } from '../../errors.ts'
import { growingPauses, pause } from '../../internal/single-flight.ts'
import { slotOf } from './slot.ts'
import {
  notConnected,
  type RedisError,
  type Command,
  type NodeTransport,
  type Transport,
} from './transport.ts'

/** The nodes of a cluster, as a client knows them. */
export interface ClusterNodes {
  /** True while the client looks for the nodes for the first time. Starts a client that waits for its first command. */
  isConnecting(): boolean
  /** The master of a slot. */
  ofSlot(slot: number): NodeTransport | undefined
  /** The node at `host:port`. */
  at(address: string): NodeTransport | undefined
  /** Has the client ask which nodes serve which slots. `key` is one that has moved. Never throws. */
  refresh(key?: string): Promise<unknown>
}

/** The shortest and the longest pause before a command is sent again of which nothing was done. In milliseconds. */
const PAUSES_MS = [10, 80] as const

/** The least time between two questions which node serves which slot. In milliseconds. */
const REFRESH_EVERY_MS = 100

/**
 * Creates a transport to a cluster. It repeats a command, until the deadline, only if a node says that it has done
 * nothing: because its slot has moved (`MOVED`), is moving (`ASK`), or has a part of the keys in each of two nodes
 * (`TRYAGAIN`).
 */
export function clusterTransport(nodes: ClusterNodes): Transport {
  let refreshedAt = -Infinity

  async function refresh(key?: string): Promise<void> {
    const now = performance.now()
    if (now - refreshedAt < REFRESH_EVERY_MS) return
    refreshedAt = now
    await nodes.refresh(key)
  }

  /** Sends a command until a node has done it, or not known what it has done. */
  async function send(command: Command, signal: AbortSignal): Promise<unknown> {
    const key = keyOf(command)
    const slot = slotOf(key)
    let asked: NodeTransport | undefined
    for (const pauseMs of growingPauses(PAUSES_MS)) {
      const node = asked ?? nodes.ofSlot(slot)
      try {
        if (!node || signal.aborted) throw notConnected()
        return await node(command, signal, asked !== undefined)
      } catch (error) {
        const { word } = error as StoreError
        const address = word === 'ASK' && !asked && (error as RedisError).find(/\S+$/)?.[0]
        const next = address ? nodes.at(address) : undefined
        asked = next
        if (next) continue
        if (word === 'MOVED') await refresh(key)
        else if (word !== 'ASK' && word !== 'TRYAGAIN') {
          // A replica may have taken over.
          if (!word || word === 'CLUSTERDOWN') void refresh()
          throw error
        }
        await pause(pauseMs)
      }
    }
    throw notConnected()
  }

  return async (command, signal) => {
    while (nodes.isConnecting() && !signal.aborted) await pause(PAUSES_MS[0])
    return send(command, signal)
  }
}

/** Returns the first key of a command: all are in one slot. */
const keyOf = ([name, first, , third]: Command): string =>
  String(name === 'EVAL' || name === 'EVALSHA' ? third : first)
