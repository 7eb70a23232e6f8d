import type { IncomingMessage, ServerResponse } from 'node:http'
import { IdempotencyMismatchError, isHoldfastError } from 'holdfast'
import type { Callback } from './callbacks.ts'
import type { Answer } from './checkout.ts'
import type { OrderBook } from './orders.ts'

export interface ServiceParts {
  readonly orders: OrderBook
  readonly handleCallback: (callback: Callback, channel: string) => Promise<Answer>
}

/** 503: a channel repeats its callback then. */
const STATUS: Readonly<Record<Answer, number>> = {
  paid: 200,
  'already-paid': 200,
  declined: 200,
  cancelled: 200,
  'in-progress': 503,
  'unknown-order': 404,
}

/**
 *   POST /orders {id, amount}            a new order
 *   GET  /orders/ID                      how it stands
 *   POST /orders/ID/cancel               cancels one that nobody has begun to pay
 *   POST /callbacks/CHANNEL {id, order}  the customer agreed to pay
 */
export function service({ orders, handleCallback }: ServiceParts) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    void answer(request, response)
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const { status, body } = await route(request)
      response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`)
    } catch (error) {
      if (error instanceof IdempotencyMismatchError) {
        response.writeHead(422).end(`${error.message}\n`)
        return
      }
      console.error(error)
      // The store did not answer in time, or an outcome is not known: to ask again is safe, and tells.
      response.writeHead(isHoldfastError(error) ? 503 : 500).end('Something went wrong.\n')
    }
  }

  async function route(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const [, what, name = '', verb] = (request.url ?? '').split('/')
    const action = `${request.method} ${what}${verb === undefined ? '' : `/${verb}`}`
    if (action === 'POST orders') {
      const { id, amount } = await bodyOf<{ id: string; amount: number }>(request)
      await orders.create(id, amount)
      return { status: 201, body: await orders.find(id) }
    }
    if (action === 'GET orders') {
      const order = await orders.find(name)
      return { status: order === null ? 404 : 200, body: order }
    }
    if (action === 'POST orders/cancel') {
      const cancelled = await orders.cancel(name)
      return { status: cancelled ? 200 : 409, body: await orders.find(name) }
    }
    if (action === 'POST callbacks') {
      const answer = await handleCallback(await bodyOf<Callback>(request), name)
      return { status: STATUS[answer], body: { answer } }
    }
    return { status: 404, body: null }
  }
}

async function bodyOf<T>(request: IncomingMessage): Promise<T> {
  let text = ''
  for await (const part of request) text += String(part)
  return JSON.parse(text) as T
}
