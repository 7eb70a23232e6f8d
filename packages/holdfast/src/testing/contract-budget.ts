/** Milliseconds for one call of a contract: generous, since its cases are about what is answered, and not about speed. */
export const CONTRACT_BUDGET_MS = 20_000
