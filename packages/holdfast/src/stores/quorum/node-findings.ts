import type { Finding, StoreFindings } from '../../check/report.ts'
import type { OpenStore } from '../../store/contract.ts'

/** What each node says of its server, under its place in the list; and which of them do not answer. */
export async function nodeFindings(nodes: readonly OpenStore[], budget: number): Promise<StoreFindings> {
  const each = await Promise.all(nodes.map((node, place) => findingsOf(node, place, budget)))
  return {
    findings: each.flatMap(({ findings }) => findings),
    rights: each.find(({ rights }) => rights !== null)?.rights ?? null,
  }
}

async function findingsOf(node: OpenStore, place: number, budget: number): Promise<StoreFindings> {
  const name = `stores[${place}]`
  try {
    const { findings, rights } = (await node.check?.(budget)) ?? { findings: [], rights: null }
    return { findings: findings.map((finding) => ({ ...finding, saw: `${name}: ${finding.saw}` })), rights }
  } catch (error) {
    return { findings: [unreachable(name, error)], rights: null }
  }
}

function unreachable(name: string, error: unknown): Finding {
  return {
    hazard: 'node',
    severity: 'warning',
    saw: `${name}: ${error instanceof Error ? error.message : String(error)}`,
    means: 'the quorum works as long as a majority answers, and bears one failure less',
    remedy: 'Bring it back; a node that comes back empty needs reopenDelay.',
  }
}
