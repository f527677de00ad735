import { entryOf, optionNames, type Command } from '../command.ts'
import { refuse } from '../errors.ts'
import { adjustAction, grantAction, revokeAction, settleAction } from '../credits/changes.ts'
import { deleteAction, exportAction, importAction } from '../credits/files.ts'
import { auditAction, balanceAction, journalAction } from '../credits/reads.ts'
import { creditsTaskOf, type CreditsAction } from '../credits/task.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { SUBJECT_USAGE } from '../subject.ts'

const OWN_USAGE = `  --id ID               your id of a grant or correction: a repeated one counts once
  --kind KIND           paid or promotional
  --at TIME             the time of the payment or correction (default: now)
  --effective TIME      the time from which a grant may be used (default: at once)
  --expires TIME        the time at which what is left of a grant expires (default: never)
  --priority N          the order of use, from 0 to 1000, a lower number first (default: 100)
  --reason TEXT         a note for the journal
  --debt                make a debt of the rest of a grant that is revoked
  --unrecorded          usage lacks the estimate of the call that is settled, as of one that was answered with 503
  --add AMOUNT          the amount of a correction that adds
  --take AMOUNT         the amount of a correction that takes
  --since TIME          the journal from this time
  --after N             the journal from the entry that follows this one
  --top N               the newest entries only (default: 2000, all that are kept)
  --csv                 print the journal as CSV
  --file FILE           the file of an export
  --confirm AMOUNT      the balance that is deleted
  --yes                 make the change`

export const credits: Command = {
  summary: 'balances: grant, revoke, correct, settle, journal, audit, export',
  usage: `Usage: sluice credits balance --tenant NAME [options]
       sluice credits grant AMOUNT --id ID --kind KIND --tenant NAME [--expires TIME] [--yes] [options]
       sluice credits revoke ID --tenant NAME [--debt] [--yes] [options]
       sluice credits adjust (--add AMOUNT | --take AMOUNT) --id ID --reason TEXT --tenant NAME [--yes] [options]
       sluice credits settle ID AMOUNT --tenant NAME [--unrecorded] [--yes] [options]
       sluice credits journal --tenant NAME [--since TIME] [--csv] [options]
       sluice credits audit --tenant NAME [--file FILE] [options]
       sluice credits export --tenant NAME [--file FILE] [options]
       sluice credits import FILE --tenant NAME [--yes] [options]
       sluice credits delete --tenant NAME --file FILE [--yes --confirm AMOUNT] [options]

Shows and changes the balances of credits(). Amounts are dollars, such as 12.50, or the units of the policy; times are
2026-12-31T18:00Z, or a date, which begins in UTC. Without --yes, a change is shown and not made. settle ends a
reservation that balance lists as abandoned. delete writes the balance into a new file, and asks for its amount.

  --policy NAME         the policy of credits, if the limiter has several
${SUBJECT_USAGE}
${OWN_USAGE}
${LIMITER_USAGE}`,
  takesArguments: true,

  async run(values, [name = '', ...operands], { folder }) {
    const action = entryOf(ACTIONS, name, 'action', ' of sluice credits')
    const stray = Object.keys(values).find((one) => OWN.has(one) && !action.takes.includes(one))
    if (stray !== undefined) refuse(`--${stray} is not for sluice credits ${name}`)
    if (operands.length !== action.operands.length) {
      const needed = action.operands.join(' ') || 'no operand'
      refuse(`sluice credits ${name} takes ${needed}. See: sluice credits --help`)
    }
    const loaded = await limiterFor(values, folder)
    return action.run(creditsTaskOf(values, loaded, folder), operands)
  },
}

const OWN = new Set(optionNames(OWN_USAGE))

const ACTIONS: Readonly<Record<string, CreditsAction>> = {
  balance: balanceAction,
  grant: grantAction,
  revoke: revokeAction,
  adjust: adjustAction,
  settle: settleAction,
  journal: journalAction,
  audit: auditAction,
  export: exportAction,
  import: importAction,
  delete: deleteAction,
}
