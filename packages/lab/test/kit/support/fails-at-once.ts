/** A worker that never becomes ready. */

throw new Error('broken on purpose')
