/* The allowance of a subject: it is there on every route, and for those whom a rollout leaves out. */
import type { Subject } from '../subject.ts'
import type { Program } from '../limiter/compile.ts'
import type { Seam } from '../limiter/extensions.ts'
import type { ResolvedEntry } from '../limiter/resolve.ts'
import { decide } from '../limiter/decide.ts'
import type { Account } from './find-credits.ts'

/** The program of each policy alone, by its compiled one: stores know scripts by the policies. */
const programs = new WeakMap<object, Program>()

/** Returns the numbers of an allowance for a subject: those of its plan, settings and periods. `undefined` if it has no end. */
export async function termsOf(
  { runtime, compiled }: Account,
  subject: Subject,
): Promise<ResolvedEntry | undefined> {
  const { program, seam } = runtime
  const { routes, unit } = compiled.policy
  const policy = { ...compiled.policy, rollout: undefined }
  const alone = programs.get(compiled) ?? {
    ...program,
    policies: [policy],
    compiled: [{ ...compiled, policy }],
  }
  programs.set(compiled, alone)
  const isElsewhere = routes?.includes(subject.route ?? '') === false
  const { entries } = await decide(
    { ...runtime, program: alone, seam: seam && withoutRollout(seam) },
    {
      subject: isElsewhere ? { ...subject, route: routes?.[0] } : subject,
      cost: { [unit]: 0 },
      apply: false,
      waitUntil: undefined,
    },
  )
  return entries[0]
}

/** Returns the seam with settings that leave nobody out. */
const withoutRollout = (seam: Seam): Seam => ({
  ...seam,
  async contribute(...call) {
    const contribution = await seam.contribute(...call)
    const { settings } = contribution
    return { ...contribution, settings: (...one) => ({ ...settings?.(...one), enabled: true }) }
  },
})
