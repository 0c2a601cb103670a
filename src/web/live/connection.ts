/** The states of the connection to an instance's events, in words. */

export type Connection = 'connecting' | 'live' | 'reconnecting' | 'offline' | 'ended'

export const CONNECTION_WORDS: Readonly<Record<Connection, { word: string; means: string }>> = {
  connecting: { word: 'connecting', means: 'The events so far are being fetched.' },
  live: { word: 'live', means: 'What happens is shown as it happens.' },
  reconnecting: { word: 'reconnecting', means: 'The connection broke off; it is being taken up where it was.' },
  offline: { word: 'offline', means: "The server can't be reached. The page goes on trying." },
  ended: { word: 'ended', means: 'The instance has ended: nothing more will come.' },
}
