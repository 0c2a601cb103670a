/** Counts work by turns of the event loop, so that a test says how much is done in one whatever the machine's speed. */

export interface TurnCounter {
  count(bytes: number): void
  /** The most that was counted between two turns. */
  most(): number
  stop(): void
}

export function bytesPerTurn(): TurnCounter {
  let [now, most, isOver] = [0, 0, false]
  const turn = () => {
    now = 0
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  return {
    count(bytes) {
      now += bytes
      most = Math.max(most, now)
    },
    most: () => most,
    stop() {
      isOver = true
    },
  }
}
