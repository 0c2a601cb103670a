/** Operations on the catalog: resolvers, their forms and viewports (spec, Endpoints; R9, R10). */

import { flag, integer, listOf, nullable, object, optional, text } from '../../schema/schema.ts'
import { addition, resolver } from '../catalog.ts'
import { form, formCheck, payload } from '../form.ts'
import { type Operation, PREPARING, RESOLVER_TROUBLE } from './operation.ts'

/** R48 */
const wait = integer({
  minimum: 1,
  maximum: 20,
  description: 'How many seconds to wait for the setup of a resolver that is not prepared; 20 by default',
})

export const RESOLVER_OPERATIONS = {
  getResolvers: {
    method: 'GET',
    path: '/resolvers',
    scope: 'read',
    tag: 'resolvers',
    summary: 'List the resolvers',
    answers: { 200: { description: 'Sorted by name', json: listOf(resolver) } },
    refuses: ['catalog_broken'],
  },
  postResolvers: {
    method: 'POST',
    path: '/resolvers',
    scope: 'admin',
    tag: 'resolvers',
    summary: 'Add a resolver from an archive',
    description:
      "The body is a gzip'd tar of its directory: files and directories only, with manifest.json at the top. Only a server that was started with --uploads takes it. It runs in a container only.",
    query: object({
      sha256: optional(
        text({ pattern: '^[0-9a-f]{64}$', description: 'The digest of the tar, before it was compressed' }),
      ),
      force: optional(flag({ description: 'Replace a resolver of the same name from another source' })),
      dry_run: optional(flag({ description: 'Check it and add nothing' })),
    }),
    takes: 'application/gzip',
    answers: { 200: { description: 'What was added, or would be', json: addition } },
    refuses: [
      'archive_refused',
      'uploads_off',
      'upload_needs_container',
      'resolver_exists',
      'catalog_broken',
      'lock_held',
      'git_missing',
      'git_failed',
    ],
  },
  getResolver: {
    method: 'GET',
    path: '/resolvers/{name}',
    scope: 'read',
    tag: 'resolvers',
    summary: 'Read a resolver',
    answers: { 200: { description: 'The resolver', json: resolver } },
    refuses: ['resolver_unknown', 'catalog_broken', 'manifest_invalid', 'source_missing'],
  },
  deleteResolver: {
    method: 'DELETE',
    path: '/resolvers/{name}',
    scope: 'admin',
    tag: 'resolvers',
    summary: 'Remove a resolver from the catalog',
    description:
      'Its instances stay, also those that run. The files of an upload are removed once no unfinished instance needs them.',
    answers: { 200: { description: 'The entry that was removed', json: resolver } },
    refuses: ['resolver_unknown', 'catalog_broken', 'lock_held', 'disk_full', 'home_unusable'],
  },
  getResolverSchema: {
    method: 'GET',
    path: '/resolvers/{name}/schema',
    scope: 'read',
    tag: 'resolvers',
    summary: 'Read the form of a new instance',
    query: object({
      params: optional(text({ description: 'The values filled in so far, as JSON', examples: ['{"name":"Ada"}'] })),
      wait: optional(wait),
    }),
    answers: { 200: { description: 'The form; null where the resolver has none', json: nullable(form) } },
    refuses: ['resolver_unknown', 'invalid_json', 'request_invalid', ...PREPARING, ...RESOLVER_TROUBLE],
  },
  postResolverCheck: {
    method: 'POST',
    path: '/resolvers/{name}/check',
    scope: 'read',
    tag: 'resolvers',
    summary: 'Check an input without creating anything',
    body: object({ input: payload, wait: optional(wait) }),
    answers: { 200: { description: 'The form and every failing check', json: formCheck } },
    refuses: ['resolver_unknown', ...PREPARING, ...RESOLVER_TROUBLE],
  },
  getResolverViewportJs: {
    method: 'GET',
    path: '/resolvers/{name}/viewport.js',
    scope: 'read',
    tag: 'resolvers',
    summary: 'Read the module that shows its instances',
    answers: { 200: { description: 'An ES module', type: 'text/javascript' } },
    refuses: ['resolver_unknown', 'file_unknown', 'catalog_broken', 'manifest_invalid', 'source_missing'],
  },
} as const satisfies Record<string, Operation>
