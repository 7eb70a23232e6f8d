import 'reflect-metadata'
import { Inject, Injectable, Module, type OnModuleDestroy } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import { createHoldfast } from 'holdfast'
import { memoryStore } from 'holdfast/memory'

const HOLDFAST = Symbol('holdfast')
type Holdfast = ReturnType<typeof createHoldfast>

@Injectable()
class Orders implements OnModuleDestroy {
  constructor(@Inject(HOLDFAST) private readonly holdfast: Holdfast) {}

  pay(id: string): Promise<bigint> {
    return this.holdfast.lock(`order:${id}`, { ttl: '5s' }).run(async (held) => held.fence)
  }

  async onModuleDestroy(): Promise<void> {
    await this.holdfast.close()
  }
}

@Module({
  providers: [Orders, { provide: HOLDFAST, useFactory: () => createHoldfast({ store: memoryStore() }) }],
})
class OrdersModule {}

test('a Nest service holds a lock under Jest with module: commonjs', async () => {
  const app = await Test.createTestingModule({ imports: [OrdersModule] }).compile()
  const orders = app.get(Orders)
  const first = await orders.pay('1')
  const second = await orders.pay('1')
  expect(second > first).toBe(true)
  await app.close()
})
