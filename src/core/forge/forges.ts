/** The table of forges. */
import type { ForgeName } from '../git/git-providers.ts'
import { azure } from './azure.ts'
import { bitbucket } from './bitbucket.ts'
import { bitbucketServer } from './bitbucket-server.ts'
import type { Forge } from './forge.ts'
import { gitea } from './gitea.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'

export const FORGES: Readonly<Record<ForgeName, Forge>> = {
  github,
  gitlab,
  gitea,
  bitbucket,
  bitbucket_server: bitbucketServer,
  azure,
}
