import { describe, expect, test } from 'vitest'
import { InvalidArgumentError } from '../../errors.ts'
import { StoreFailure } from '../../store/failure.ts'
import { SentTwiceError } from './port.ts'
import { failureOf, isNoScript, refusalOf } from './refusal.ts'

/** Goal: what a server or a client says is taken for what it means. Method: their own words, as they were heard. */

const inScript = (code: string, rest: string) =>
  `ERR Error running script (call to f_0123456789abcdef0123456789abcdef01234567): @user_script:42: ${code} ${rest}`

const TABLE: [code: string, message: string, final: boolean][] = [
  ['READONLY', "READONLY You can't write against a read only replica.", false],
  [
    'READONLY',
    "READONLY You can't write against a read only replica. script: 5f2, on @user_script:7.",
    false,
  ],
  ['LOADING', 'LOADING Redis is loading the dataset in memory', false],
  ['MASTERDOWN', "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", false],
  ['CLUSTERDOWN', 'CLUSTERDOWN The cluster is down', false],
  ['TRYAGAIN', 'TRYAGAIN Multiple keys request during rehashing of slot', false],
  ['BUSY', 'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.', false],
  [
    'MISCONF',
    'MISCONF Redis is configured to save RDB snapshots, but it is unable to persist on disk.',
    false,
  ],
  ['OOM', "OOM command not allowed when used memory > 'maxmemory'.", false],
  ['OOM', "OOM command not allowed when used memory > 'maxmemory'. script: 5f2, on @user_script:9.", false],
  ['NOREPLICAS', 'NOREPLICAS Not enough good replicas to write.', false],
  ['NOPERM', "NOPERM this user has no permissions to run the 'evalsha' command", true],
  ['NOPERM', 'NOPERM No permissions to access a key', true],
  ['NOAUTH', 'NOAUTH Authentication required.', true],
  ['WRONGTYPE', 'WRONGTYPE Operation against a key holding the wrong kind of value', true],
  ['MOVED', 'MOVED 3999 127.0.0.1:6381', true],
  ['CROSSSLOT', "CROSSSLOT Keys in request don't hash to the same slot", true],
  ['FENCELIMIT', 'FENCELIMIT the last fence 9007199254740991 leaves no room below 2^53', true],
]

describe('D13: what a server refuses', () => {
  test.each(TABLE)('%s: %s', (code, message, final) => {
    for (const said of [
      message,
      `-${message}`,
      inScript(code, message.slice(code.length + 1)),
      `${message}\nmore`,
    ]) {
      const refusal = refusalOf(said)
      expect(refusal).toBeInstanceOf(StoreFailure)
      expect(refusal).toMatchObject({ kind: 'refused', outcome: 'not-done', reason: code, final })
      expect(refusal.remedy).not.toBe('')
      expect(refusal.message).not.toContain('\n')
      expect(failureOf(new Error(said), 'ioredis')).toMatchObject({ kind: 'refused', reason: code, final })
    }
  })

  test('NOPERM: also where the ACL forbids what a script does, which no server says with a code', () => {
    for (const what of [
      "The user executing the script can't run this command or subcommand script: 5f2, on @user_script:7.",
      "The user executing the script can't access at least one of the keys mentioned in the command arguments",
      "ACL failure in script: User u has no permissions to run the 'set' command script: on @user_script:1.",
      'ACL failure in script: No permissions to access a key script: 5f2, on @user_script:7.',
    ]) {
      expect(refusalOf(`ERR ${what}`)).toMatchObject({ outcome: 'not-done', reason: 'NOPERM', final: true })
    }
  })

  test('WRONGPASS: says what is wrong, and nothing about what was in flight before the login', () => {
    const refusal = refusalOf('WRONGPASS invalid username-password pair or user is disabled.')
    expect(refusal).toMatchObject({ kind: 'refused', outcome: 'unknown', reason: 'WRONGPASS', final: true })
    expect(refusal.remedy).toContain('user name and a password')
  })

  test('what it says in words of its own is not taken for a code', () => {
    for (const said of [
      'ERR syntax error',
      "ERR unknown command 'EVALSHA', with args beginning with: 'abc'",
      'ERR Protocol error: LOADINGS',
      'ERR value is BUSYBODY or so',
    ]) {
      expect(refusalOf(said)).toMatchObject({
        kind: 'refused',
        outcome: 'unknown',
        reason: 'ERR',
        final: true,
      })
    }
  })

  test('the cause is kept', () => {
    const error = new Error('OOM command not allowed')
    expect(failureOf(error, 'ioredis').cause).toBe(error)
  })
})

describe('what a client says', () => {
  test.each([
    ['ioredis', new Error('Connection is closed.')],
    ['ioredis', new Error("Stream isn't writeable and enableOfflineQueue options is false")],
    ['ioredis', new Error('Reached the max retries per request limit (which is 20). Refer to …')],
    ['ioredis', new Error('Command timed out')],
    ['node-redis', new Error('Socket closed unexpectedly')],
    ['node-redis', new Error('The client is closed')],
    ['node-redis', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })],
    ['node-redis', 'a string'],
    ['node-redis', undefined],
  ])('%s: %s: nobody knows whether it was done', (client, error) => {
    const failure = failureOf(error, client)
    expect(failure).toMatchObject({
      kind: 'unreachable',
      outcome: 'unknown',
      final: false,
      reason: 'connection',
    })
    expect(failure.message).toContain(client)
  })

  test('a failure stays what it is', () => {
    const failure = refusalOf('OOM command not allowed')
    expect(failureOf(failure, 'ioredis')).toBe(failure)
  })

  test('a caller’s mistake was found before anything was sent', () => {
    const mistake = new InvalidArgumentError('client', 'x', { problem: 'is closed', remedy: 'Open it.' })
    expect(failureOf(mistake, 'ioredis')).toMatchObject({
      kind: 'refused',
      outcome: 'not-done',
      final: true,
      cause: mistake,
    })
  })

  test('A3: even a clear refusal tells nothing about an earlier copy', () => {
    const refusal = failureOf(new SentTwiceError(new Error('LOADING Redis is loading')), 'ioredis')
    expect(refusal).toMatchObject({ kind: 'refused', outcome: 'unknown', reason: 'LOADING', final: false })
  })
})

test('D12: a script that is not known is told from other refusals', () => {
  const noScript = new Error('NOSCRIPT No matching script. Please use EVAL.')
  expect(isNoScript(noScript)).toBe(true)
  expect(isNoScript(new SentTwiceError(noScript))).toBe(true)
  expect(isNoScript(new Error('NOPERM No permissions'))).toBe(false)
  expect(isNoScript('NOSCRIPT')).toBe(false)
})
