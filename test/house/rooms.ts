/** Who may import whom: the table of ARCHITECTURE.md as data. A room may always import itself. */

/** These import nothing themselves, so everybody may read them. */
export const COMMON = ['core/errors', 'core/limits']
/** As those, but for the core alone: neither an author's resolver nor a page has faults made in it. */
export const CORE_COMMON = ['core/failpoints']

const GROUND = ['core/files', 'core/protocol']

export const rooms: Readonly<Record<string, readonly string[]>> = {
  commands: ['terminal', 'server', 'core/index', 'core/view', 'core/forms', 'core/protocol'],
  terminal: ['core/index', 'core/view', 'core/forms', 'core/protocol'],
  server: ['core/index', 'core/protocol'],
  web: ['core/protocol', 'core/forms', 'core/view'],
  sdk: ['core/rpc', ...GROUND],
  resolvers: ['sdk'],
  'core/platform': ['core/host', 'core/catalog', 'core/store', 'core/view', 'core/forms', ...GROUND],
  'core/host': [
    'core/worker',
    'core/git',
    'core/reality-check',
    'core/catalog',
    'core/store',
    'core/view',
    'core/forms',
    'core/rpc',
    ...GROUND,
  ],
  'core/worker': ['core/rpc', ...GROUND],
  'core/git': ['core/worker', ...GROUND],
  'core/reality-check': ['core/worker', 'core/git', ...GROUND],
  'core/catalog': ['core/git', 'core/store', 'core/forms', ...GROUND],
  // The record is derived from the story, so the store reads the view.
  'core/store': ['core/view', ...GROUND],
  'core/forms': ['core/protocol'],
  'core/view': ['core/protocol'],
  'core/rpc': [],
  'core/files': [],
  'core/protocol': [],
  'core/errors': [],
  'core/failpoints': [],
  'core/limits': [],
}
