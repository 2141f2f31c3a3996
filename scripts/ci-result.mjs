// Prints `N passed, N failed` from Vitest's JSON report: node scripts/ci-result.mjs report.json <vitest's exit code> <failed checks>
// A test file that could not be loaded and a failed check count as one failure each; a missing report too.
import { existsSync, readFileSync } from 'node:fs'

const [, , path, status, failedChecks] = process.argv
const report = path && existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null

let passed = 0
let failed = Number(failedChecks)
if (report) {
  const unloaded = report.testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0)
  passed = report.numPassedTests
  const leftOut = report.numPendingTests + report.numTodoTests
  failed += report.numFailedTests + unloaded.length + leftOut
  if (leftOut > 0) console.log(`${leftOut} tests were left out; they count as failed`)
} else {
  console.log('there is no test report: the build or the test runner failed')
}
// An error outside any test fails the run without failing a test; an empty run proves nothing.
if ((Number(status) !== 0 && failed === Number(failedChecks)) || passed === 0) failed += 1
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
