/** The states of the connection to the events of an instance, with their texts. */

export type Connection = 'connecting' | 'live' | 'reconnecting' | 'offline' | 'ended'

export const CONNECTION_WORDS: Readonly<Record<Connection, { word: string; means: string }>> = {
  connecting: { word: 'connecting', means: 'Loading the events so far.' },
  live: { word: 'live', means: 'Events are shown as they happen.' },
  reconnecting: {
    word: 'reconnecting',
    means: 'The connection was lost. The page reconnects and continues after the last event.',
  },
  offline: { word: 'offline', means: "Can't reach the server. The page keeps trying." },
  ended: { word: 'ended', means: 'The instance has ended. There will be no more events.' },
}
