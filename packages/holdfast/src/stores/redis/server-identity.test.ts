import { expect, test } from 'vitest'
import { identityIn } from './server-identity.ts'

const INFO =
  '# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:abc\r\n# Replication\r\nmaster_replid:def\r\n'

test('a server is told by its run id, and what it copies by its replication id', () => {
  expect(identityIn(INFO)).toEqual({ server: 'abc', copies: 'def', dependent: null })
})

test('a node of a cluster is no server of its own', () => {
  expect(identityIn(INFO.replace('standalone', 'cluster'))?.dependent).toMatch(/Redis Cluster/)
  expect(identityIn(`${INFO}cluster_enabled:1\r\n`)?.dependent).toMatch(/Redis Cluster/)
})

test('a service that shows nothing cannot be told from others', () => {
  expect(identityIn('')).toBeNull()
  expect(identityIn('# Server\r\n')).toBeNull()
})
