/** Takes apart what an attached container says: frames of 8 bytes of head and a payload, for stdout and stderr in turn. Pure. */

export interface Piece {
  stream: 'stdout' | 'stderr'
  bytes: Buffer
}

const HEAD_BYTES = 8
const STDERR = 2

export class Demux {
  #rest: Buffer = Buffer.alloc(0)
  #left = 0
  #stream: Piece['stream'] = 'stdout'

  /** The pieces of a chunk, as long as they are; a payload may come in several. */
  push(chunk: Buffer): Piece[] {
    let data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const pieces: Piece[] = []
    for (;;) {
      if (this.#left > 0) {
        if (data.length === 0) break
        const bytes = data.subarray(0, this.#left)
        pieces.push({ stream: this.#stream, bytes })
        this.#left -= bytes.length
        data = data.subarray(bytes.length)
        continue
      }
      if (data.length < HEAD_BYTES) break
      this.#stream = data[0] === STDERR ? 'stderr' : 'stdout'
      this.#left = data.readUInt32BE(4)
      data = data.subarray(HEAD_BYTES)
    }
    this.#rest = Buffer.from(data)
    return pieces
  }
}
