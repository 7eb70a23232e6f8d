/** What was missing when too few replicas had a grant. */
export interface Shortfall {
  /** How many replicas had it in time. */
  readonly acknowledged: number
  /** How many must. */
  readonly replicas: number
  /** How many are set up. */
  readonly of: number
  /** How many were connected to the primary; `null` when it could not be asked. */
  readonly connected: number | null
}
