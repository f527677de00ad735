// Prints how many tests passed and failed by vitest's JSON report: node count-tests.mjs <report> <failures>
// Appends each failure to the file <failures>, for a list at the end of a long log.
import { appendFileSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

const [report, failures] = process.argv.slice(2)
const {
  numPassedTests = 0,
  numFailedTests = 0,
  testResults = [],
} = JSON.parse(readFileSync(report, 'utf8') || '{}')

const failedFiles = testResults.filter(({ status }) => status === 'failed')
for (const { name, message, assertionResults } of failedFiles) {
  const file = relative(process.cwd(), name)
  const failedTests = assertionResults.filter(({ status }) => status === 'failed')
  for (const { fullName, failureMessages } of failedTests) {
    tell(`${file}: ${fullName}`, failureMessages.join('\n'))
  }
  if (failedTests.length === 0) tell(file, message)
}
console.log(numPassedTests, numFailedTests || (failedFiles.length > 0 ? 1 : 0))

function tell(title, text) {
  const lines = text.split('\n').slice(0, 12)
  appendFileSync(failures, `FAILED ${title}\n${lines.map((line) => `  ${line}\n`).join('')}`)
}
