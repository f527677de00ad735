import { PAGE_STYLE, pageDocument } from '@sluice/dashboard/page'

/** Names to sum up by, as a person chooses them. A team, a user and a key are those of an organisation. */
const CHOICES: readonly (readonly [by: string, title: string])[] = [
  ['tenant', 'Organisation'],
  ['tenant,team', 'Team'],
  ['tenant,user', 'User'],
  ['tenant,key', 'Key'],
  ['model', 'Model'],
  ['tenant,model', 'Organisation and model'],
  ['day', 'Day'],
]

const BODY = `<h2>Spend of organisations, teams, users and keys</h2>
<div class="sluice">
  <form id="enter" class="sluice-card sluice-ask" hidden>
    <label>Operator’s key <input id="key" type="password" autocomplete="off" required></label>
    <button>Show</button>
    <span class="sluice-hint">It stays in this tab until you close it.</span>
  </form>
  <form id="ask" class="sluice-bar" hidden>
    <label>From <input name="from" type="date"></label>
    <label>To <input name="to" type="date"></label>
    <label>Zone <input name="zone" placeholder="UTC" autocomplete="off" spellcheck="false"></label>
    <label>By <select name="by">${CHOICES.map(([by, title]) => `<option value="${by}">${title}</option>`).join('')}</select></label>
    <label>Organisation <input name="tenant" placeholder="all" autocomplete="off" spellcheck="false"></label>
    <button>Show</button>
    <button type="button" id="csv">CSV</button>
    <button type="button" id="leave">Forget the key</button>
  </form>
  <p id="status" class="sluice-hint" role="status"></p>
  <div id="view" class="sluice"></div>
  <div id="limits-view" class="sluice"></div>
</div>`

const STYLE = `
.sluice [hidden] { display: none; }
.sluice button { cursor: pointer; }
.sluice-bar input:is([name='tenant'], [name='zone']) { width: 150px; min-width: 0; }
.spend-bar { display: block; width: 100%; height: 8px; margin: 4px 0; border-radius: 4px; background: var(--sluice-line); }
.spend-bar rect, .spend-days rect { fill: var(--sluice-accent); }
.spend-full rect { fill: var(--sluice-bad); }
.spend-days { display: block; width: 100%; height: 130px; border-bottom: 1px solid var(--sluice-line); }
.spend-axis { display: flex; justify-content: space-between; }
.sluice td button { padding: 2px 6px; border: 1px solid transparent; border-radius: 6px; background: none; color: var(--sluice-accent); font: inherit; font-weight: 600; }
.sluice td button:focus-visible { outline: 2px solid var(--sluice-accent); outline-offset: 2px; }
.sluice .sluice-scroll :is(th, td) { padding-right: 12px; }
.sluice .sluice-scroll thead th:not(.sluice-text) { text-align: right; }
.sluice .sluice-scroll tbody th { min-width: 110px; white-space: normal; overflow-wrap: anywhere; }
`

/** The markup of the answers is made by the Worker, which escapes each text in it. */
const SCRIPT = `
const KEPT = 'sluice-operator-key'
const of = (id) => document.getElementById(id)
const [enter, ask, view, limits, status] = ['enter', 'ask', 'view', 'limits-view', 'status'].map(of)
let latest
let note = ''

function arrange() {
  const has = sessionStorage.getItem(KEPT) !== null
  enter.hidden = has
  ask.hidden = !has
  if (!has) {
    view.replaceChildren()
    limits.replaceChildren()
    of('key').focus()
  }
  return has
}

async function get(path, parameters) {
  const asked = (latest = {})
  status.textContent = 'Loading …'
  const headers = { authorization: 'Bearer ' + sessionStorage.getItem(KEPT) }
  try {
    const answer = await fetch(path + '?' + parameters, { headers, cache: 'no-store' })
    const text = await answer.text()
    if (asked !== latest) return undefined
    if (answer.ok) {
      status.textContent = note
      return text
    }
    if (answer.status === 401 || answer.status === 403) {
      sessionStorage.removeItem(KEPT)
      arrange()
    }
    status.textContent = messageIn(text) ?? 'The gateway answers ' + answer.status + '.'
  } catch {
    if (asked === latest) status.textContent = 'The gateway cannot be reached.'
  }
  return undefined
}

function messageIn(text) {
  try {
    return JSON.parse(text).error.message
  } catch {
    return undefined
  }
}

function question() {
  const given = [...new FormData(ask)].filter(([, value]) => value !== '')
  return new URLSearchParams(given)
}

async function show() {
  const markup = await get('/admin/spend/view', question())
  if (markup === undefined) return
  view.innerHTML = markup
  limits.replaceChildren()
  note = status.textContent = 'As of ' + new Date().toLocaleTimeString() + '. Isolates save what they have counted every 15 seconds.'
}

// This month, in UTC.
const today = new Date().toISOString().slice(0, 10)
ask.elements.from.value = today.slice(0, 8) + '01'
ask.elements.to.value = today

enter.addEventListener('submit', (event) => {
  event.preventDefault()
  sessionStorage.setItem(KEPT, of('key').value.trim())
  of('key').value = ''
  if (arrange()) void show()
})
ask.addEventListener('submit', (event) => {
  event.preventDefault()
  void show()
})
ask.addEventListener('change', () => void show())
of('leave').addEventListener('click', () => {
  sessionStorage.removeItem(KEPT)
  note = status.textContent = ''
  arrange()
})
of('csv').addEventListener('click', async () => {
  const parameters = question()
  parameters.set('format', 'csv')
  const text = await get('/admin/usage', parameters)
  if (text === undefined) return
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  link.download = 'usage.csv'
  link.click()
  URL.revokeObjectURL(link.href)
})
view.addEventListener('click', async (event) => {
  const member = event.target.closest('[data-limits]')?.dataset.limits
  if (member === undefined) return
  const markup = await get('/admin/spend/limits', member)
  if (markup === undefined) return
  limits.innerHTML = markup
  limits.querySelector('h3')?.focus()
})
if (arrange()) void show()
`

/** Creates the page of spend and limits. It has no data: its script asks with the operator's key, which it never sends elsewhere. */
export const spendPage = (): Response =>
  pageDocument({
    title: 'Spend and limits',
    body: () => BODY,
    style: PAGE_STYLE + STYLE,
    script: SCRIPT,
  })
