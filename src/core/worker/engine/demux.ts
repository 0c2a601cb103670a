/** Splits the stream of an attached container: frames with a head of 8 bytes and a payload, for stdout or stderr. Pure. */

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

  /** The pieces of a chunk; one payload may span several. */
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
