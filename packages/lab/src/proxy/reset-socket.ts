import type { Socket } from 'node:net'

/**
 * Closes a connection by RST, at once: the other side gets ECONNRESET, after what had reached it before.
 * A Node process that reads data and the reset in one go is told of an end instead (libuv).
 *
 * `socket.resetAndDestroy()` alone would first send all that is queued and a proper end, so that the other side might
 * see an end instead of a reset, or nothing at all while its own buffers are full. The flag is what that method
 * sets inside Node; a test of the proxy finds out should it ever lose its meaning.
 */
export function resetSocket(socket: Socket): void {
  if (!socket.connecting && !socket.destroyed) (socket as Resettable).resetAndClosing = true
  socket.destroy()
}

type Resettable = Socket & { resetAndClosing?: boolean }
