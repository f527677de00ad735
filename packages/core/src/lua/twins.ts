/* The Lua twins of what joins a decision or runs beside it. A store in Redis finds each at its kind. */
import type { PolicyRule } from '../policies/policy.ts'
import type {
  Fit,
  FitKind,
  MarkKind,
  Operation,
  OperationKind,
  SettlementMark,
} from '../stores/store.ts'

/** The Lua of a kind of operation, which must agree with its `run`. */
export interface LuaTwin<Result, Data = unknown> {
  /** Distinguishes scripts of this kind, if there are several. @default one script */
  shape?(data: Data): string
  /** Makes the script. Called once for each shape, before it is first sent. KEYS are the operation's. */
  script(data: Data): string
  /** Returns ARGV. */
  args(data: Data): readonly string[]
  /** Returns the result, or `undefined` if the script cannot have given this reply. */
  parse(reply: unknown, data: Data): { readonly result: Result } | undefined
}

/** A kind of operation for every store. */
export interface LuaOperationKind<Result, Data = unknown> extends OperationKind<Result, Data> {
  readonly lua: LuaTwin<Result, Data>
}

/** One policy's part of the deciding script. */
export interface ScriptPart {
  readonly rule: PolicyRule
  readonly index: number
  /** The position in ARGV of its mode: `e` (enforced) or `s` (shadow). Its numbers follow. */
  readonly arg: number
  /** The position of its state in the reply. Its available units follow. */
  readonly state: number
}

/** A kind of `Fit` for every store. */
export interface LuaFitKind<Data = unknown> extends FitKind<Data> {
  readonly lua: {
    /** Returns its arguments, the last in ARGV. */
    args(fit: Fit<Data>, policies: readonly PolicyRule[]): readonly string[]
    /**
     * Returns Lua that sets `granted`, and the charge of each key.
     *
     * @param groups The positions in `parts` of the policies that count in one key, key by key.
     */
    grant(parts: readonly ScriptPart[], groups: readonly (readonly number[])[]): string
  }
}

/** A kind of `SettlementMark` for every store. */
export interface LuaMarkKind<Data = unknown> extends MarkKind<Data> {
  readonly lua: {
    /** The number of keys, the last in KEYS. */
    readonly keyCount: number
    /** The number of arguments. */
    readonly argCount: number
    args(mark: SettlementMark<Data>): readonly string[]
    /** Returns Lua that notes a charge of `cost` units to the policy at `index`. */
    note(index: number, position: string): string
    /** Returns Lua that writes the mark. Its arguments begin at `firstArg` in ARGV. */
    write(firstArg: number): string
  }
}

/** An operation for every store. */
export interface LuaOperation<Result, Data = unknown> extends Operation<Result, Data> {
  readonly kind: LuaOperationKind<Result, Data>
}

/** Returns the Lua of an operation, a mark or a fit: what creates one for Redis gives its kind Lua. */
export function luaOf<Result>(operation: Operation<Result>): LuaTwin<Result>
export function luaOf(mark: SettlementMark): LuaMarkKind['lua']
export function luaOf(fit: Fit): LuaFitKind['lua']
export function luaOf({ kind }: { readonly kind: object }): unknown {
  return (kind as LuaOperationKind<unknown>).lua
}
