import { createHoldfast, type Holdfast } from 'holdfast'
import { mysqlStore } from 'holdfast/mysql'
import mysql, { type RowDataPacket } from 'mysql2/promise'
import { randomUUID } from 'node:crypto'
import type { EffectBench } from './benches.ts'

/** A store over mysql2, with a table of effects beside its tables. */
export async function openMysqlBench(url: string): Promise<EffectBench> {
  const pool = mysql.createPool({ uri: url, connectionLimit: 30 })
  const back = mysql.createPool({ uri: url, connectionLimit: 2 })
  await mysqlStore(back).migrate()
  await back.query('CREATE TABLE IF NOT EXISTS effects (what VARCHAR(200) NOT NULL) ENGINE=InnoDB')
  const prefix = `bench-${randomUUID()}`
  const opened: Holdfast[] = []
  return {
    store: mysqlStore(pool),
    prefix,
    effects: async (what) => {
      const [rows] = await back.query<RowDataPacket[]>('SELECT 1 FROM effects WHERE what = ?', [
        prefix + what,
      ])
      return rows.length
    },
    open: () => {
      const hf = createHoldfast({ store: mysqlStore(pool), prefix, budget: '5s' })
      opened.push(hf)
      return hf
    },
    transact: async (work) => {
      const connection = await pool.getConnection()
      try {
        await connection.beginTransaction()
        const result = await work({
          given: connection,
          effect: async (what) =>
            void (await connection.query('INSERT INTO effects VALUES (?)', [prefix + what])),
          die: async () => void (await back.query(`KILL ${connection.threadId}`)),
        })
        await connection.commit()
        connection.release()
        return result
      } catch (error) {
        await connection.rollback().then(
          () => connection.release(),
          () => connection.destroy(),
        )
        throw error
      }
    },
    end: async () => {
      for (const hf of opened) await hf.close()
      await Promise.all([pool.end(), back.end()])
    },
  }
}
